package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/store/sqlite"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Prints the version; with --json also the commit and its date, the Go and the
SQLite that the program was built with, and the system it was built for.`,
		Example: "  session-migrator version --json",
		Args:    args(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				info, _ := debug.ReadBuildInfo()
				return a.printJSON(versionOf(version, commit, date, info))
			}
			return printVersion(a)
		},
	}
}

func printVersion(a *app) error {
	_, err := fmt.Fprintln(a.out, "session-migrator", version)
	return err
}

// versionJSON is what is known of this program; commit and date are empty where
// it was built from a copy without its history.
type versionJSON struct {
	Schema   int    `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Modified bool   `json:"modified"` // built from more than the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	SQLite   string `json:"sqlite"`
	Driver   string `json:"sqlite_driver"`
}

// versionOf takes what the linker was told; where it was told nothing, what Go
// recorded by itself.
func versionOf(version, commit, date string, info *debug.BuildInfo) versionJSON {
	v := versionJSON{Schema: 1, Version: ownVersion(version, info), Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	v.SQLite, v.Driver = sqlite.Version()
	if info == nil || commit != "" {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// ownVersion is the linker's; of a program made by "go install …@v1.2.3" it is
// the module's.
func ownVersion(linked string, info *debug.BuildInfo) string {
	if linked != unknownVersion || info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return linked
	}
	return info.Main.Version
}
