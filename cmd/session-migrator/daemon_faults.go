package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
)

// fault is what is wrong, and how to put it right.
type fault struct{ name, what, fix string }

const restart = "stop the daemon and start it again"

// daemonFaults says what is wrong with a daemon that runs, as seen from here.
func daemonFaults(c config.Config, i daemon.Info) []fault {
	var out []fault
	add := func(name, fix, format string, args ...any) {
		out = append(out, fault{name, fmt.Sprintf(format, args...), fix})
	}
	switch {
	case i.Version != "" && i.Version != version:
		add("daemon version", restart, "the daemon is of version %s, this program of %s", i.Version, version)
	case i.Program.Replaced():
		add("daemon version", restart, "the program at %s was replaced or deleted since the daemon was started", i.Program.Path)
	}
	if len(i.Homes) > 0 && !slices.Equal(i.Homes, c.CodexHomes) {
		add("daemon settings", restart+" from this shell, or set codex_homes in "+c.File, "the daemon watches %s, this shell asks for %s (CODEX_HOME or --codex-home)", joined(i.Homes), joined(c.CodexHomes))
	}
	if i.MemoryDir != "" && i.MemoryDir != c.MemoryDir {
		add("daemon settings", restart, "the daemon writes memory files to %s, the settings say %s", i.MemoryDir, c.MemoryDir)
	}
	if short := daemon.Short(c); short != nil && i.Paused.Reason == "" { // it may have had no room to say so
		i.Paused = daemon.Paused{Reason: short.Error(), Since: time.Now()}
	}
	if i.Paused.Reason != "" {
		add("intake", "make room on the disk of "+c.Home+", and see that it can be written to; intake then goes on by itself", "nothing new is taken in since %s: %s", i.Paused.Since.Local().Format("2006-01-02 15:04:05"), i.Paused.Reason)
	}
	return out
}
