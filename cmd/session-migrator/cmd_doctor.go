package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/calibration"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check all that can be wrong here, each with its fix",
		Long: `Checks the settings, the Codex homes, every file that was not fully read, the
data folder, the cache, search by meaning and summaries if they are on, the daemon,
how changes are noticed, the drop folder, the clock and the entries in MCP clients,
and says of each what was seen and how to put it right. It only looks: nothing is
read in, repaired or locked.

Exit codes: 0 nothing is broken, 1 something is, 2 wrong usage.`,
		Example: "  session-migrator doctor\n  session-migrator doctor --json",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a) },
	}
}

// health is what a check found.
type health uint8

const (
	healthOK     health = iota + 1
	healthWarn          // works, but not as well as it could
	healthBroken        // doesn't work
)

// String gives the name used in JSON.
func (h health) String() string { return [...]string{"", "ok", "warn", "broken"}[h] }

// MarshalText gives the same name as String.
func (h health) MarshalText() ([]byte, error) { //nolint:unparam // encoding.TextMarshaler
	return []byte(h.String()), nil
}

type checkJSON struct {
	Name   string `json:"name"`
	State  health `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix"` // empty if nothing is to be done
}

type doctorJSON struct {
	Schema int         `json:"schema"`
	Checks []checkJSON `json:"checks"`
}

func runDoctor(ctx context.Context, a *app) error {
	d := &doctor{a: a}
	d.all(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := a.printChecks(d.checks); err != nil {
		return err
	}
	if n := broken(d.checks); n > 0 {
		return brokenError(fmt.Sprintf("%s broken", things(n)))
	}
	return nil
}

func broken(checks []checkJSON) (n int) {
	for _, c := range checks {
		if c.State == healthBroken {
			n++
		}
	}
	return n
}

// brokenError makes the exit code 1; what is broken was said already.
type brokenError string

func (e brokenError) Error() string { return string(e) }

func things(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return number(n) + " things are"
}

func (a *app) printChecks(checks []checkJSON) error {
	if a.flags.json {
		return a.printJSON(doctorJSON{Schema: 1, Checks: list(checks)})
	}
	colours := map[health]colour{healthOK: green, healthWarn: yellow, healthBroken: red}
	var b bytes.Buffer
	for _, c := range checks {
		state := fmt.Sprintf("%-6s", c.State)
		fmt.Fprintf(&b, "%s  %-15s  %s\n", a.paint(a.out, colours[c.State], state), c.Name, clean(c.Detail, false))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", 25), "fix: "+clean(c.Fix, false))
		}
	}
	_, err := a.out.Write(b.Bytes())
	return err
}

// doctor gathers what its checks find.
type doctor struct {
	a      *app
	checks []checkJSON
	kept   []keptSink // what the cache knows of the sinks that are on
}

func (d *doctor) add(name string, state health, fix, format string, args ...any) {
	d.checks = append(d.checks, checkJSON{name, state, fmt.Sprintf(format, args...), fix})
}

func (d *doctor) ok(name, format string, args ...any) { d.add(name, healthOK, "", format, args...) }

func (d *doctor) warn(name, fix, format string, args ...any) {
	d.add(name, healthWarn, fix, format, args...)
}

func (d *doctor) broken(name, fix, format string, args ...any) {
	d.add(name, healthBroken, fix, format, args...)
}

// all runs the checks. Without settings there is nothing to look at.
func (d *doctor) all(ctx context.Context) {
	c, err := d.a.config()
	if err != nil {
		fix := "mend the settings"
		if h, ok := errors.AsType[*hintError](err); ok {
			fix = h.hint
		}
		d.broken("settings", fix, "%v", err)
		return
	}
	if exists(c.File) {
		d.ok("settings", "%s", c.File)
	} else {
		d.ok("settings", "the defaults; %s is not there and needn't be", c.File)
	}
	info := d.daemon(ctx, c)
	d.service(ctx, c)
	for _, home := range c.CodexHomes {
		d.home(ctx, home, len(c.CodexHomes) > 1)
	}
	d.folder(c)
	d.cache(ctx, c, info)
	d.meaning(c, info)
	d.summaries(c, info)
	d.watching(info)
	d.drop(c, info)
	d.sinks(c, info)
	d.backups(c)
	d.vocabularies()
	d.calibrations(c)
	d.clients(c)
}

// vocabularies looks at what was imported: what can't be used is no error
// elsewhere, its models are estimated.
func (d *doctor) vocabularies() {
	const again = "session-migrator tokens import FILE, with the file from the model's publisher"
	shelf, err := d.a.vocabularies()
	if err != nil {
		d.broken("vocabularies", again, "%v", err)
		return
	}
	for _, e := range shelf.Entries() {
		if err := shelf.Check(e.Name); err != nil {
			d.broken("vocabularies", again, "%s are estimated, not counted: %v", strings.Join(e.Models, ", "), err)
		}
	}
}

// calibrations looks at what vendors counted: a file that can't be read is no
// error elsewhere, either.
func (d *doctor) calibrations(c config.Config) {
	if _, err := calibration.Open(c.Home); err != nil {
		d.broken("calibrations", "delete "+filepath.Join(c.Home, calibration.Name)+", and give session-migrator tokens calibrate again",
			"what vendors counted is not used: %v", err)
	}
}
