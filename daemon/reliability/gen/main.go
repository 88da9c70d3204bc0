// Command gen writes docs/reliability.md from the records of a test run.
//
//	go run ./daemon/reliability/gen DIR docs/reliability.md
package main

import (
	"fmt"
	"os"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen RECORDS PAGE")
		os.Exit(2)
	}
	missing, err := write(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, m := range missing {
		fmt.Fprintln(os.Stderr, "no test: "+m)
	}
	if len(missing) > 0 {
		os.Exit(1)
	}
}

func write(dir, page string) (missing []string, err error) {
	records, err := reliability.Read(dir)
	if err != nil {
		return nil, err
	}
	text, missing := reliability.Page(records)
	return missing, os.WriteFile(page, text, 0o600) //nolint:gosec // where the caller says
}
