// Package service makes the daemon a service of the user: it starts at login,
// comes back after a crash, and is taken away again without a trace.
//
// The way of the data:
//
//	[1] Detect says which service manager there is: systemd, launchd, the
//	    Windows task scheduler, or what stands in for it
//	[2] Spec.Plan renders the definition (a unit, a plist, a task) and gives
//	    the plan that installs it, from what was found and nothing else
//	[3] package plan shows, applies and takes back
//	[4] Find reads back what is installed, from the manager's own files, so that
//	    no environment is needed to uninstall
//
// The definitions are ours: those of kardianos/service start nothing at login
// (systemd), restart after a clean stop (launchd) or need an administrator
// (Windows). What it is used for is to tell which manager there is, and to be
// a service of the Windows service control manager, which has an interface of
// its own.
package service

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/install/plan"
)

// Name is what the service is called wherever it has a name.
const Name = "session-migrator"

// Label is the name in the reverse order that launchd wants.
const Label = "io.github.session-migrator"

const (
	description = "session-migrator: hand-off memories of Codex sessions"
	homepage    = "https://github.com/session-migrator/session-migrator"
	// mark is in every definition that we write.
	mark = "Written by session-migrator service install"
)

// Manager is what starts services.
type Manager uint8

// The managers.
const (
	Systemd Manager = iota + 1
	Launchd
	Task   // Windows task scheduler
	RunKey // Windows: programs of this user that start at login
	SCM    // Windows service control manager
)

// String gives the name used in JSON and on the command line.
func (m Manager) String() string {
	if m < Systemd || m > SCM {
		return "none"
	}
	return [...]string{"", "systemd", "launchd", "task", "run-key", "scm"}[m]
}

// MarshalText gives the same name as String.
func (m Manager) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// ParseManager is the reverse of String.
func ParseManager(name string) (Manager, error) {
	for m := Systemd; m <= SCM; m++ {
		if m.String() == name {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown service manager %q; known are systemd, launchd, task, run-key and scm", name)
}

// Host is the machine and the user that the service is for.
type Host struct {
	Manager Manager
	System  bool   // for the whole machine, as a user of it
	User    string // name
	UID     string // number; empty on Windows
	Home    string // folder of the user
	// ConfigHome is $XDG_CONFIG_HOME; empty: .config in Home.
	ConfigHome string
	// RuntimeDir is told to systemctl where the shell does not; empty: it does.
	RuntimeDir string
}

// Spec is what the service runs.
type Spec struct {
	Host    Host
	Program string   // absolute
	Args    []string // "run" and what follows
	Data    string   // data folder
	Linger  bool     // without a login, too (systemd)
	Restart bool     // one of another version runs

	Was      *Installed // what is installed already; nil: nothing
	Password string     // of the user, for the service control manager
}

// Installed is a service that was found.
type Installed struct {
	Manager    Manager  `json:"manager"`
	System     bool     `json:"system"`
	Definition string   `json:"definition"` // file, or name in the manager
	Program    string   `json:"program"`
	Args       []string `json:"args"`
	Ours       bool     `json:"-"` // we wrote it
}

// Arg gives what follows a flag in the arguments, the last time; empty if it is
// not there.
func (i Installed) Arg(flag string) string {
	all := i.ArgAll(flag)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// ArgAll gives what follows each occurrence of a flag.
func (i Installed) ArgAll(flag string) []string {
	var out []string
	for n := 0; n+1 < len(i.Args); n++ {
		if i.Args[n] == flag {
			out = append(out, i.Args[n+1])
			n++
		}
	}
	return out
}

// ErrRefused says that something here can't or should not be made a service.
var ErrRefused = errors.New("not installed")

// JournalName names the journal of what install did.
const JournalName = "service"

// Plan gives the steps that install the service, in a state of the machine that
// only the plan's own checks look at.
func (s Spec) Plan() (plan.Plan, error) {
	for _, text := range append([]string{s.Program, s.Data}, s.Args...) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return plan.Plan{}, fmt.Errorf("%w: %q holds a control character, which no service manager takes", ErrRefused, text)
		}
	}
	var p plan.Plan
	var err error
	switch s.Host.Manager {
	case Systemd:
		p, err = s.systemd()
	case Launchd:
		p, err = s.launchd()
	case Task:
		p, err = s.task()
	case RunKey:
		p = s.runKey()
	case SCM:
		p, err = s.scm()
	}
	if err != nil {
		return plan.Plan{}, err
	}
	p.Name = JournalName
	return p, p.Validate()
}

// Definition is where the service's definition lies.
func (h Host) Definition() string {
	switch h.Manager {
	case Systemd:
		if h.System {
			return path.Join("/etc/systemd/system", Name+".service")
		}
		return filepath.Join(h.configHome(), "systemd", "user", Name+".service")
	case Launchd:
		if h.System {
			return path.Join("/Library/LaunchDaemons", Label+".plist")
		}
		return filepath.Join(h.Home, "Library", "LaunchAgents", Label+".plist")
	case Task:
		return h.taskName()
	case RunKey:
		return runKeyPath + `\` + Name
	case SCM:
		return Name
	}
	return ""
}

func (h Host) configHome() string {
	if h.ConfigHome != "" {
		return h.ConfigHome
	}
	return filepath.Join(h.Home, ".config")
}

// LogFile is where the service writes its log; empty: to the manager's.
func (h Host) LogFile(data string) string {
	switch h.Manager {
	case Launchd:
		if h.System {
			return path.Join("/Library/Logs", Name+".log")
		}
		return filepath.Join(h.Home, "Library", "Logs", Name+".log")
	case Task, RunKey, SCM:
		return filepath.Join(data, "logs", Name+".log")
	case Systemd:
	}
	return ""
}

// Supervised tells whether the daemon needs a process of ours that starts it
// again: the task scheduler restarts what could not be started, not what fails.
func (m Manager) Supervised() bool { return m == Task || m == RunKey }
