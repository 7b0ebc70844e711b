// Command controlplane is a whole Kubernetes control plane in one program, for Moorage's demo, tests and benchmarks.
//
// The component is the program's own name when it is called through a link of that name, else the first argument:
//
//	controlplane kube-apiserver --help
//
// One program and not five because they share nearly all of their packages: it is built and linked once.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // request metrics of the components' clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components run with os.Args as if each were a program of its own, and return the exit code.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          cobraComponent(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraComponent(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          cobraComponent(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 runKubectl,
}

func main() {
	run, ok := components[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run, ok = components[os.Args[0]]
	}
	if !ok {
		var names []string
		for name := range components {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintln(os.Stderr, "usage: controlplane COMPONENT ARGUMENTS..., where COMPONENT is one of", strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}

func cobraComponent(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}
