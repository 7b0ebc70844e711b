package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credential plugins of a user's own kubeconfig
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl does what kubectl's own main does, except that it sends requests as fast as the server takes them: at
// kubectl's own five a second a hundred nodes take twenty seconds.
func runKubectl() int {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).
		WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(300).
		WithDiscoveryQPS(50).
		WithWarningPrinter(streams).
		WithWrapConfigFn(func(config *rest.Config) *rest.Config {
			config.QPS = -1 // no limit
			return config
		})
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	if err := cli.RunNoErrOutput(command); err != nil {
		util.CheckErr(err) // prints the error as kubectl does and ends the process
	}
	return 0
}
