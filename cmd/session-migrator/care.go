package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/store"
)

// care prints what was done to keep the cache right.
func (d *dbJSON) care(now time.Time, line func(key, format string, args ...any)) {
	if d.Rebuild != nil {
		line("", "%s", clean(d.Rebuild.String(), false))
	}
	if r := d.Recovered; r != nil {
		line("", "made anew %s: %s", ago(now, r.At), clean(r.Reason, false))
		if r.Aside != "" {
			line("", "  the damaged one lies in %s", r.Aside)
		}
		if r.Backup != "" {
			line("", "  what is in no rollout any more: from it, and from %s", r.Backup)
		}
	}
	if b := d.Backup; b != nil && b.Path != "" {
		line("backup", "%s", b.Path)
	}
	if c := d.Check; c != nil {
		found := "nothing differed"
		if c.Repairs > 0 {
			found = plural(c.Repairs, "repair") + " so far"
		}
		line("check", "%s, %s of %s: %s", ago(now, c.At), number(c.Checked), plural(c.Of, "file"), found)
		for _, f := range c.Found {
			line("", "%s %s", clean(fmt.Sprint(f.At.Format(time.DateOnly), " ", f.Path), false), clean(f.Reason, false))
		}
	}
}

// healed says in a sentence that a damaged cache was replaced.
func (a *app) healed(r daemon.Recovered) {
	what, rest := "the cache was damaged", ""
	if strings.Contains(r.Reason, store.ErrForeign.Error()) {
		what = "what lay in the cache's place was none"
	}
	switch {
	case r.Unread && r.Backup != "":
		rest = "; not all of it could be read, and what is in no rollout any more is from " + r.Backup
	case r.Unread:
		rest = "; not all of it could be read, and there is no backup of what is in no rollout any more"
	}
	a.warn("%s: it was moved to %s, and the cache is made anew%s", what, r.Aside, rest)
}

// ago is an age in words.
func ago(now, then time.Time) string {
	a := age(now, then)
	if a == "now" {
		return "just now"
	}
	return a + " ago"
}
