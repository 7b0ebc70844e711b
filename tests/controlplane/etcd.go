package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func runEtcd() int {
	etcdmain.Main(os.Args) // it ends the process itself when it fails
	return 0
}
