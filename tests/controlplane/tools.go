//go:build tools

// These programs are built from this module too, each into a file of its own; the imports keep them in go.mod.
package main

import (
	_ "sigs.k8s.io/karpenter/kwok"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
