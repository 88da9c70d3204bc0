package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
)

// fault is what is wrong, and how to put it right.
type fault struct{ name, what, fix string }

const restart = "stop the daemon and start it again"

// The checks of a daemon that look at what its service does, too.
const (
	checkVersion  = "daemon version"
	checkSettings = "daemon settings"
)

// daemonFaults says what is wrong with a daemon that runs, as seen from here.
func daemonFaults(c config.Config, i daemon.Info) []fault {
	var out []fault
	add := func(name, fix, format string, args ...any) {
		out = append(out, fault{name, fmt.Sprintf(format, args...), fix})
	}
	changed, replaced := i.Program.Changed()
	restart := restart
	if i.Service != "" {
		restart = `run "session-migrator service restart"`
	}
	switch {
	case i.Version != "" && newer(i.Version, version):
		add(checkVersion, "update this program, or use the daemon's: "+shellWord(i.Program.Path), "the daemon is of version %s, this program is older: %s", i.Version, version)
	case i.Version != "" && i.Version != version:
		add(checkVersion, restart, "the daemon is of version %s, this program of %s", i.Version, version)
	case replaced && changed.Gone:
		add(checkVersion, restart, "the program that the daemon was started from is gone: %s", i.Program.Path)
	case replaced:
		add(checkVersion, restart, "the program at %s was replaced at %s, since the daemon was started", i.Program.Path, changed.At.Local().Format("2006-01-02 15:04:05"))
	}
	if len(i.Homes) > 0 && !slices.Equal(i.Homes, c.CodexHomes) {
		anew := restart + " from this shell, or set codex_homes in " + c.File
		if i.Service != "" {
			anew = `run "session-migrator service install" from this shell`
		}
		add(checkSettings, anew, "the daemon watches %s, this shell asks for %s (CODEX_HOME or --codex-home)", joined(i.Homes), joined(c.CodexHomes))
	}
	if i.MemoryDir != "" && i.MemoryDir != c.MemoryDir {
		add(checkSettings, restart, "the daemon writes memory files to %s, the settings say %s", i.MemoryDir, c.MemoryDir)
	}
	if short := daemon.Short(c); short != nil && i.Paused.Reason == "" { // it may have had no room to say so
		i.Paused = daemon.Paused{Reason: short.Error(), Since: time.Now()}
	}
	if i.Paused.Reason != "" {
		add("intake", makeRoom(c), "nothing new is taken in since %s: %s", i.Paused.Since.Local().Format("2006-01-02 15:04:05"), i.Paused.Reason)
	}
	return out
}

// newer tells whether version a follows b: v1.10.0 does v1.9.2. What is no
// version follows nothing.
func newer(a, b string) bool {
	x, okX := numbersOf(a)
	y, okY := numbersOf(b)
	return okX && okY && slices.Compare(x[:], y[:]) > 0
}

// numbersOf gives the three of a version, what comes behind them left out.
func numbersOf(version string) (n [3]int, ok bool) {
	_, err := fmt.Sscanf(version, "v%d.%d.%d", &n[0], &n[1], &n[2])
	return n, err == nil
}

func makeRoom(c config.Config) string {
	return "make room on the disk of " + c.Home + ", and see that it can be written to; intake then goes on by itself"
}

// roomFault says that too little is free to take anything in, daemon or not.
func roomFault(c config.Config) (f fault, short bool) {
	if err := daemon.Short(c); err != nil {
		return fault{"room", err.Error(), makeRoom(c)}, true
	}
	return fault{}, false
}

// dropFaults says what keeps memory files from being written: what is seen of
// the folder, and what a daemon says of its sinks.
func dropFaults(c config.Config, i daemon.Info) []fault {
	var out []fault
	add := func(fix, format string, args ...any) {
		out = append(out, fault{"drop folder", fmt.Sprintf(format, args...), fix})
	}
	elsewhere := "or set memory.dir in " + c.File + " to another folder"
	st, err := os.Stat(c.MemoryDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		add(letRead(c.MemoryDir, "see that you may read it")+", "+elsewhere, "%v", err)
	case !st.IsDir():
		add("move it away, "+elsewhere, "%s is no folder", c.MemoryDir)
	default:
		if hint := mendDrop(c); hint != "" {
			add(hint, "%s is not safe: others could change what agents read, or lead it elsewhere", c.MemoryDir)
		}
		if owner := foreignOwner(st); owner != "" {
			add("chown -R it to you, "+elsewhere, "%s belongs to %s", c.MemoryDir, owner)
		} else if err := writable(c.MemoryDir); err != nil {
			_, fix := denied(c.MemoryDir, true)
			add(cmp.Or(fix, "see that you may write to it")+", "+elsewhere, "%s can't be written: %v", c.MemoryDir, err)
		}
	}
	again := "it is tried again by itself"
	if len(out) > 0 {
		again = "as above; it is then tried again by itself"
	}
	for _, k := range i.Sinks {
		if k.Name == dropSink && k.LastError != "" {
			add(again, "%s: %s waiting since %s: %s", k.Name, plural(k.Waiting, "session"), k.Since.Local().Format("2006-01-02 15:04:05"), k.LastError)
		}
	}
	return out
}

// processOf names the one that a daemon is, if it is known.
func processOf(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(", process %d", pid)
}
