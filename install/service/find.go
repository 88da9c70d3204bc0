package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf16"

	"github.com/session-migrator/session-migrator/install/plan"
)

// Find gives the service that is installed, of this user or of the machine. It
// asks the manager's own files, not our records. nil: none is.
func (h Host) Find(ctx context.Context, run plan.Runner) (*Installed, error) {
	switch h.Manager {
	case Systemd, Launchd:
		for _, system := range []bool{h.System, !h.System} {
			h.System = system
			if i, err := h.fromFile(); i != nil || err != nil {
				return i, err
			}
		}
	case Task, RunKey, SCM:
		return h.fromWindows(ctx, run)
	}
	return nil, nil
}

// fromFile reads a unit or a plist.
func (h Host) fromFile() (*Installed, error) {
	path := h.Definition()
	text, err := plan.Read(path)
	if err != nil || text == nil {
		return nil, err
	}
	i := &Installed{Manager: h.Manager, System: h.System, Definition: path, Ours: strings.Contains(string(text), mark)}
	var argv []string
	if h.Manager == Launchd {
		if argv, err = parsePlist(text); err != nil {
			return i, fmt.Errorf("read %s: %w", path, err)
		}
	} else {
		for line := range strings.Lines(string(text)) {
			if cmd, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "ExecStart="); ok {
				argv = parseExecStart(cmd)
			}
		}
	}
	i.run(argv)
	return i, nil
}

func (i *Installed) run(argv []string) {
	if len(argv) > 0 {
		i.Program, i.Args = argv[0], argv[1:]
	}
}

func (h Host) fromWindows(ctx context.Context, run plan.Runner) (*Installed, error) {
	h.Manager = Task
	if out, err := run.Run(ctx, []string{"schtasks", "/Query", "/TN", h.taskName(), "/XML"}); err == nil && out != "" {
		program, args, ours, err := parseTask(fromUTF16(out))
		if err != nil {
			return nil, fmt.Errorf("read the task %s: %w", h.taskName(), err)
		}
		return &Installed{Manager: Task, Definition: h.Definition(), Program: program, Args: args, Ours: ours}, nil
	}
	if out, err := run.Run(ctx, []string{"reg", "query", runKeyPath, "/v", Name}); err == nil {
		if _, line, ok := strings.Cut(out, "REG_SZ"); ok {
			h.Manager = RunKey
			line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
			i := &Installed{Manager: RunKey, Definition: h.Definition(), Ours: true}
			i.run(splitWindows(strings.TrimSpace(line)))
			return i, nil
		}
	}
	out, err := run.Run(ctx, []string{manageService, "show"})
	if err != nil || out == "" {
		return nil, nil //nolint:nilerr // there is none, or nobody may ask
	}
	i := &Installed{Manager: SCM, System: true, Definition: Name, Ours: true}
	i.run(splitWindows(out))
	return i, nil
}

// fromUTF16 decodes what schtasks prints if it is that.
func fromUTF16(s string) string {
	b := []byte(strings.TrimPrefix(s, "\xff\xfe"))
	if len(b) < 2 || b[1] != 0 {
		return s
	}
	var units []uint16
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
	}
	return string(utf16.Decode(units))
}

// State is what the manager says of the service.
type State struct {
	Enabled bool   `json:"enabled"` // starts at login
	Active  string `json:"active"`  // active, activating, inactive, failed; empty: it does not say
	PID     int    `json:"pid"`     // 0: none
	Detail  string `json:"detail"`  // of a failure
}

// State asks the manager. An error says that it can't be asked.
func (h Host) State(ctx context.Context, run plan.Runner) (State, error) {
	switch h.Manager {
	case Systemd:
		out, err := run.Run(ctx, h.systemctl("show", Name+".service", "--property=ActiveState,SubState,MainPID,UnitFileState,Result,ExecMainStatus,NRestarts"))
		if err != nil {
			return State{}, err
		}
		return systemdState(out), nil
	case Launchd:
		out, err := run.Run(ctx, []string{"launchctl", "print", h.launchTarget()})
		if err != nil {
			return State{Active: "inactive"}, nil //nolint:nilerr // it is not loaded
		}
		return launchdState(out), nil
	case Task, RunKey, SCM:
		return State{Enabled: true}, nil // it was found; what runs the daemon says itself
	}
	return State{}, nil
}

func systemdState(out string) State {
	v := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			v[key] = value
		}
	}
	s := State{Enabled: v["UnitFileState"] == "enabled", Active: v["ActiveState"]}
	_, _ = fmt.Sscan(v["MainPID"], &s.PID)
	if s.Active != "active" && v["Result"] != "" && v["Result"] != "success" {
		s.Detail = "ended with " + v["Result"]
		if v["Result"] == "exit-code" {
			s.Detail = "ended with exit code " + v["ExecMainStatus"]
		}
		if v["SubState"] == "auto-restart" {
			s.Detail += ", is started again"
		}
	}
	return s
}

func launchdState(out string) State {
	s := State{Enabled: true, Active: "inactive"}
	for line := range strings.Lines(out) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		switch {
		case !ok:
		case key == "state" && value == "running":
			s.Active = "active"
		case key == "pid":
			_, _ = fmt.Sscan(value, &s.PID)
		case key == "last exit code" && value != "0" && value != "(never exited)":
			s.Detail = "ended with exit code " + value
		}
	}
	if s.Active == "active" {
		s.Detail = ""
	}
	return s
}

// Verb is what is asked of a service that is installed.
type Verb uint8

// The verbs.
const (
	Start Verb = iota + 1
	Stop
	Restart
)

// String gives the name of the command.
func (v Verb) String() string { return [...]string{"", "start", "stop", "restart"}[v] }

// Control gives the steps that do what is asked, with nothing to take back.
func (i Installed) Control(h Host, v Verb) (plan.Plan, error) {
	h.Manager, h.System = i.Manager, i.System
	p := plan.Plan{Name: JournalName + "-" + v.String()}
	add := func(tolerated bool, argv ...string) {
		p.Steps = append(p.Steps, plan.Step{Why: v.String() + " the service", Command: &plan.Command{Argv: argv, Tolerated: tolerated, Quiet: tolerated}})
	}
	stop, start := v != Start, v != Stop
	switch i.Manager {
	case Systemd:
		if start {
			add(true, h.systemctl("reset-failed", Name+".service")...)
		}
		add(false, h.systemctl(v.String(), Name+".service")...)
	case Launchd:
		switch v {
		case Start:
			add(true, "launchctl", "bootstrap", h.domain(), i.Definition)
			add(false, "launchctl", "kickstart", h.launchTarget())
		case Stop:
			add(false, "launchctl", "kill", "SIGTERM", h.launchTarget())
		case Restart:
			add(true, "launchctl", "bootstrap", h.domain(), i.Definition)
			add(false, "launchctl", "kickstart", "-k", h.launchTarget())
		}
	case Task:
		if stop {
			add(start, "schtasks", "/End", "/TN", h.taskName())
		}
		if start {
			add(false, "schtasks", "/Run", "/TN", h.taskName())
		}
	case RunKey:
		if stop {
			add(start, endService)
		}
		if start {
			add(false, append([]string{startDetached, i.Program}, i.Args...)...)
		}
	case SCM:
		if stop {
			add(start, manageService, "stop")
		}
		if start {
			add(false, manageService, "start")
		}
	}
	return p, p.Validate()
}

// Removal gives the plan that takes away a service of which no record is left,
// such as after the data folder was deleted.
func (i Installed) Removal(h Host) (plan.Plan, error) {
	h.Manager, h.System = i.Manager, i.System
	p := plan.Plan{Name: JournalName}
	if !i.Ours {
		return p, fmt.Errorf("%w by us: %s", ErrRefused, i.Definition)
	}
	do := func(why string, tolerated bool, argv ...string) {
		p.Steps = append(p.Steps, plan.Step{Why: why, Command: &plan.Command{Argv: argv, Tolerated: tolerated}})
	}
	switch i.Manager {
	case Systemd:
		do("ends, and starts no more", true, h.systemctl("disable", "--now", Name+".service")...)
	case Launchd:
		do("ends, and starts no more", true, "launchctl", "bootout", h.launchTarget())
	case Task:
		do("ends", true, "schtasks", "/End", "/TN", h.taskName())
		do("starts no more", false, "schtasks", "/Delete", "/TN", h.taskName(), "/F")
	case RunKey:
		do("ends", true, endService)
		do("starts no more", false, "reg", "delete", runKeyPath, "/v", Name, "/f")
	case SCM:
		do("ends", true, manageService, "stop")
		do("starts no more", false, manageService, "uninstall")
	}
	if i.Manager == Systemd || i.Manager == Launchd {
		s, err := plan.Remove(i.Definition, "the service's definition")
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, s)
	}
	if i.Manager == Systemd {
		do("systemd forgets the unit", true, h.systemctl("daemon-reload")...)
	}
	return p, p.Validate()
}

// Version asks the program that the service starts which it is; empty if it
// can't be asked.
func (i Installed) Version(ctx context.Context, run plan.Runner) string {
	if _, err := os.Stat(i.Program); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	out, err := run.Run(ctx, []string{i.Program, "version", "--json"})
	if err != nil {
		return ""
	}
	var v struct {
		Version string `json:"version"`
	}
	if json.Unmarshal([]byte(out), &v) != nil {
		return ""
	}
	return v.Version
}
