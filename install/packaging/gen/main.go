// Command gen makes what a release has beside its programs. .ci/release calls
// it; the same input gives the same bytes.
//
//	[1] gen pack      a folder as .tar.gz or .zip
//	[2] gen notices   the licences of all that is in the programs
//	[3] gen sbom      what is in one program, as CycloneDX JSON
//	[4] gen manifests for Homebrew, Scoop, winget and nfpm, from templates/
//	[5] gen sums      SHA256SUMS of a folder
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the flags of all commands; each uses what it needs.
type options struct {
	out     string
	prefix  string
	version string
	epoch   int64
	libc    string // file with the licence of a C library that is linked in
}

func (o options) time() time.Time { return time.Unix(o.epoch, 0).UTC() }

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to make: pack, notices, sbom, manifests or sums")
	}
	var o options
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.StringVar(&o.out, "out", "", "file or folder to write")
	f.StringVar(&o.prefix, "prefix", "", "folder that all files of the archive are in")
	f.StringVar(&o.version, "version", "", "version without v")
	f.Int64Var(&o.epoch, "epoch", 0, "time of the commit, in seconds since 1970")
	f.StringVar(&o.libc, "libc", "", "licence text of the C library that is linked in")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	rest := f.Args()
	commands := map[string]struct {
		least int
		do    func() error
	}{
		"pack":      {1, func() error { return pack(o, rest[0]) }},
		"notices":   {1, func() error { return writeNotices(o, rest) }},
		"sbom":      {1, func() error { return writeSBOM(o, rest[0]) }},
		"manifests": {1, func() error { return writeManifests(o, rest[0]) }},
		"sums":      {1, func() error { return writeSums(rest[0]) }},
	}
	c, ok := commands[args[0]]
	switch {
	case !ok:
		return fmt.Errorf("no command %q", args[0])
	case len(rest) < c.least:
		return fmt.Errorf("%s needs the files or the folder to work on", args[0])
	}
	return c.do()
}
