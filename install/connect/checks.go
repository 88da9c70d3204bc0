package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/session-migrator/session-migrator/install/plan"
)

// Fault is something about a client that is not as it should be.
type Fault struct {
	Client string
	Broken bool   // the client can't use us; else it can, but not as it should
	What   string // in words
	Fix    string
}

// Check looks over all clients that are found. fine are those that are
// connected, loose those that are not.
func (c *Connector) Check() (faults []Fault, fine, loose []string) {
	for _, name := range Names() {
		all, err := c.Look(name)
		if err != nil {
			faults = append(faults, Fault{name, true, err.Error(), "session-migrator disconnect " + name + ", then connect it again"})
			continue
		}
		if len(all[0].Found) == 0 {
			continue
		}
		before, connected, lost := len(faults), false, false
		for _, st := range all {
			faults = append(faults, c.faults(st)...)
			connected = connected || st.State == Connected && st.Off == ""
			lost = lost || st.State != Absent
		}
		switch {
		case len(faults) > before:
		case connected:
			fine = append(fine, name)
		case !lost:
			loose = append(loose, name)
		}
	}
	return faults, fine, loose
}

func (c *Connector) faults(st Status) (out []Fault) {
	again := "session-migrator connect " + st.Client
	add := func(broken bool, fix, format string, args ...any) {
		out = append(out, Fault{st.Client, broken, fmt.Sprintf(format, args...), fix})
	}
	switch st.State {
	case Unread:
		fix := ""
		if e, ok := errors.AsType[*Error](st.Problem); ok {
			fix = e.Next
		}
		add(true, fix, "its settings can't be read: %v", errors.Unwrap(st.Problem))
	case Foreign:
		add(false, again+" --force puts ours in its place", "the entry %s in %s starts another program: %s", Key, st.File, plan.Quote(st.Command))
	case Stale:
		if _, err := os.Stat(st.Command[0]); errors.Is(err, fs.ErrNotExist) {
			add(true, again, "the entry in %s starts %s, which is not there", st.File, st.Command[0])
		} else {
			add(false, again, "the entry in %s runs %s; this program would be %s", st.File, plan.Quote(st.Command), plan.Quote(c.wanted(st.Command)))
		}
	case Absent:
		if st.Lost {
			add(true, again+"; disconnect if you took it out", "%s was connected, and the entry is no longer in %s", st.Title, st.File)
		}
	case Connected:
		if _, err := os.Stat(c.server.Command); err != nil {
			add(true, again, "the entry in %s starts %s: %v", st.File, c.server.Command, err)
		}
	}
	if len(st.Doubles) > 0 && st.State != Absent {
		add(false, "take all but one out of "+st.File, "more than one entry in %s starts this program: %s", st.File, strings.Join(st.Doubles, ", "))
	}
	if st.Off != "" {
		add(false, "switch it on there, or leave it so", "the entry in %s is switched off: %s", st.File, st.Off)
	}
	return out
}
