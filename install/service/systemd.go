package service

import (
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/install/plan"
)

// unit renders the systemd unit.
func (s Spec) unit() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s. To change it for good:", mark)
	line("# systemctl --user edit %s", Name)
	line("[Unit]")
	line("Description=%s", description)
	line("Documentation=%s", homepage)
	// Five starts a minute that fail, and it is left alone.
	line("StartLimitIntervalSec=60")
	line("StartLimitBurst=5")
	line("")
	line("[Service]")
	line("Type=notify")
	line("NotifyAccess=main")
	line("ExecStart=%s", execStart(s.Program, s.Args))
	if s.Host.System {
		line("User=%s", s.Host.User)
	}
	line("Restart=on-failure")
	line("RestartSec=2")
	// Wrong usage and another daemon: to try again changes nothing.
	line("RestartPreventExitStatus=2 11")
	line("TimeoutStartSec=10min") // a damaged cache is looked over first
	line("TimeoutStopSec=30")
	line("WatchdogSec=60")
	line("UMask=0077")
	line("Nice=10")
	line("MemoryMax=512M")
	// What a service manager of a user can do without a namespace.
	line("NoNewPrivileges=yes")
	line("RestrictSUIDSGID=yes")
	line("RestrictRealtime=yes")
	line("LockPersonality=yes")
	line("SystemCallArchitectures=native")
	line("")
	line("[Install]")
	if s.Host.System {
		line("WantedBy=multi-user.target")
	} else {
		line("WantedBy=default.target")
	}
	return []byte(b.String())
}

// execStart writes a command line for systemd. Specifiers and variables are
// escaped; the latter are none in the name of the program.
func execStart(program string, args []string) string {
	out := unitWord(program, false)
	for _, a := range args {
		out += " " + unitWord(a, true)
	}
	return out
}

func unitWord(s string, variables bool) string {
	plain := s != "" && !strings.ContainsAny(s, " \t\"'\\;")
	s = strings.ReplaceAll(s, "%", "%%")
	if variables {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// parseExecStart is the reverse of execStart.
func parseExecStart(line string) []string {
	var out []string
	var word strings.Builder
	in, quoted := false, false
	flush := func() {
		if in {
			text := strings.ReplaceAll(word.String(), "%%", "%")
			if len(out) > 0 {
				text = strings.ReplaceAll(text, "$$", "$")
			}
			out = append(out, text)
		}
		word.Reset()
		in = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case c == '"':
			quoted, in = !quoted, true
		case c == ' ' && !quoted:
			flush()
		default:
			in = true
			word.WriteByte(c)
		}
	}
	flush()
	return out
}

// systemctl gives a command line of it.
func (h Host) systemctl(args ...string) []string {
	if h.System {
		return append([]string{"systemctl"}, args...)
	}
	out := append([]string{"systemctl", "--user"}, args...)
	if h.RuntimeDir != "" {
		out = append([]string{"env", "XDG_RUNTIME_DIR=" + h.RuntimeDir}, out...)
	}
	return out
}

// UnitPath is the command that prints where the manager looks for units.
func (h Host) UnitPath() []string { return h.systemctl("show", "--property=UnitPath") }

// Reachable is the command that succeeds where the user's manager answers.
func (h Host) Reachable() []string { return h.systemctl("show", "--property=Version") }

func (s Spec) systemd() (plan.Plan, error) {
	h := s.Host
	file, err := plan.Write(h.Definition(), s.unit(), 0o644, "the service: what runs, and when it is started again")
	if err != nil {
		return plan.Plan{}, err
	}
	const unit = Name + ".service"
	p := plan.Plan{Steps: []plan.Step{
		{Why: "systemd forgets the unit", Command: &plan.Command{Undo: h.systemctl("daemon-reload"), UndoTolerated: true}},
		file,
		{Why: "systemd reads the unit", Command: &plan.Command{Argv: h.systemctl("daemon-reload"), Follows: true}},
	}}
	if s.Linger && !h.System {
		p.Steps = append(p.Steps, plan.Step{Why: "runs without a login, too", Command: &plan.Command{
			Argv: []string{"loginctl", "enable-linger", h.User}, Undo: []string{"loginctl", "disable-linger", h.User},
			Check: []string{"test", "-e", "/var/lib/systemd/linger/" + h.User}, UndoTolerated: true,
		}})
	}
	p.Steps = append(p.Steps,
		plan.Step{Why: "starts at login", Command: &plan.Command{
			Argv: h.systemctl("enable", unit), Undo: h.systemctl("disable", "--now", unit), Check: h.systemctl("is-enabled", "--quiet", unit), UndoTolerated: true,
		}},
		plan.Step{Why: "earlier failures don't count", Command: &plan.Command{Argv: h.systemctl("reset-failed", unit), Follows: true, Tolerated: true, Quiet: true}},
		s.started(file.File.Before == nil, h.systemctl("start", unit), h.systemctl("restart", unit), h.systemctl("is-active", "--quiet", unit)),
	)
	switch {
	case h.System:
		p.Notes = append(p.Notes, "it runs as "+h.User+" from the start of the machine on")
	case !s.Linger:
		p.Notes = append(p.Notes, "it runs while you are logged in; give --linger (loginctl enable-linger) to have it run without a login, too")
	}
	return p, nil
}

// started gives the step that lets the service run now: by a restart where its
// definition changes or an older one runs, by a start where none does.
func (s Spec) started(fresh bool, start, restart, running []string) plan.Step {
	c := &plan.Command{Argv: restart, Check: running, Renews: true}
	why := "runs now"
	switch {
	case s.Restart:
		c.Check, why = nil, "the version that runs is not this one"
	case fresh:
		c.Argv = start
	}
	return plan.Step{Why: why, Command: c}
}
