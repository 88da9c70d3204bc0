package main

import (
	"fmt"
	"time"
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

// ago is an age in words.
func ago(now, then time.Time) string {
	a := age(now, then)
	if a == "now" {
		return "just now"
	}
	return a + " ago"
}
