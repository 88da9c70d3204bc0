package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  session-migrator version --json",
		Args:    args(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				return a.printJSON(versionJSON{Schema: 1, Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH})
			}
			return printVersion(a)
		},
	}
}

func printVersion(a *app) error {
	_, err := fmt.Fprintln(a.out, "session-migrator", version)
	return err
}

type versionJSON struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}
