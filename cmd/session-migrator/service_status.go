package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
)

func newServiceStatusCommand(a *app, f *serviceFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say how the service is and what it sees",
		Long: `Says whether the service is installed, starts at login and runs, which version of
the program, and with which home folder, Codex homes and data folder: what the
service uses, which needn't be what your shell has.

Exit codes: 0 answered, 1 failed, 2 wrong usage.`,
		Example: "  session-migrator service status --json",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServiceStatus(cmd.Context(), a, f) },
	}
}

type serviceStatusJSON struct {
	Schema    int                `json:"schema"`
	Installed *service.Installed `json:"installed"` // null: it is not
	Version   string             `json:"version"`   // of the program that is started; empty: not known
	State     *service.State     `json:"state"`     // null: the manager does not say
	Daemon    daemonJSON         `json:"daemon"`
	Seen      seenJSON           `json:"sees"`
	Log       string             `json:"log"` // file, or the command that shows it
	Problems  []string           `json:"problems"`

	problems []serviceProblem // the same
}

// serviceProblem is what is wrong with a service.
type serviceProblem struct {
	what   string
	fix    string // what to do about it; empty: what says it, or nobody knows
	broken bool   // the service can't start
	also   string // doctor's check that says the same of a daemon that runs
}

// String says it with what to do.
func (p serviceProblem) String() string {
	if p.fix == "" {
		return p.what
	}
	return p.what + ": " + p.fix
}

// The commands that mend a service, for people.
const (
	fixByInstall = `"session-migrator service install"`
	fixByRestart = `"session-migrator service restart"`
)

// seenJSON is what the service works with: what the daemon says, or else what it
// will be started with.
type seenJSON struct {
	Home       string   `json:"user_home"`
	Data       string   `json:"home"`
	CodexHomes []string `json:"codex_homes"`
	MemoryDir  string   `json:"memory_dir"`
}

func runServiceStatus(ctx context.Context, a *app, f *serviceFlags) error {
	s, err := a.serviceHost(ctx, f)
	if err != nil {
		return err
	}
	if err := s.installedData(a); err != nil {
		return err
	}
	s.follow()
	out, err := s.status(ctx, a)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	return a.printService(out)
}

func (s *serviceHost) status(ctx context.Context, a *app) (serviceStatusJSON, error) {
	out := serviceStatusJSON{Schema: 1, Installed: s.was, Problems: []string{}, Seen: seenJSON{CodexHomes: []string{}}}
	i, err := daemon.Inspect(s.config)
	if err != nil {
		return out, err
	}
	out.Daemon = daemonOf(i)
	problem := func(p serviceProblem) {
		out.problems, out.Problems = append(out.problems, p), append(out.Problems, p.String())
	}
	if s.was == nil {
		if s.none != nil {
			problem(serviceProblem{what: fmt.Sprintf("it can't be installed here: %v", s.none)})
		}
		if i.Running {
			out.Seen = seenBy(s.config, i)
		}
		return out, nil
	}
	out.Version = s.was.Version(ctx, s.run)
	out.Log = s.was.Arg("--log-file")
	if out.Log == "" {
		out.Log = plan.Quote(s.journalctl("-n", "200"))
	}
	out.Seen = s.seen(i)
	switch {
	case !exists(s.was.Program):
		problem(serviceProblem{what: fmt.Sprintf("the program %s is not there", s.was.Program), fix: "install it again, then run " + fixByInstall, broken: true})
	case out.Version == "":
		problem(serviceProblem{what: fmt.Sprintf("the program %s can't be started", s.was.Program), broken: true})
	case i.Running && i.Version != "" && i.Version != out.Version:
		problem(serviceProblem{what: fmt.Sprintf("version %s runs, version %s is installed", i.Version, out.Version), fix: fixByRestart, also: checkVersion})
	case i.Running && i.Program.Replaced():
		problem(serviceProblem{what: "the program was replaced while it runs", fix: fixByRestart, also: checkVersion})
	}
	if i.Running && i.Service == "" && i.PID != 0 {
		problem(serviceProblem{what: fmt.Sprintf("the daemon that runs (process %d) is not the service: somebody started it by hand, and the service gives way to it", i.PID)})
	}
	if s.asksForHomes(a) && !slices.Equal(out.Seen.CodexHomes, s.shell.CodexHomes) {
		what := fmt.Sprintf("the service watches %s, this shell asks for %s (CODEX_HOME or --codex-home)", joined(out.Seen.CodexHomes), joined(s.shell.CodexHomes))
		problem(serviceProblem{what: what, fix: fixByInstall + " takes over the latter", also: checkSettings})
	}
	if a.env("SESSION_MIGRATOR_HOME") != "" && s.shell.Home != out.Seen.Data {
		problem(serviceProblem{what: fmt.Sprintf("the service's data folder is %s, this shell's is %s (SESSION_MIGRATOR_HOME or --home)", out.Seen.Data, s.shell.Home)})
	}
	st, err := s.host.State(ctx, s.run)
	if err != nil {
		problem(serviceProblem{what: fmt.Sprintf("the service manager can't be asked: %v", s.explain(ctx, err))})
		return out, nil
	}
	out.State = &st
	if !st.Enabled {
		problem(serviceProblem{what: "it does not start at login", fix: fixByInstall})
	}
	if st.Detail != "" {
		problem(serviceProblem{what: "it " + st.Detail, fix: `"session-migrator service logs" says why`})
	}
	return out, nil
}

// seen is what the service works with.
func (s *serviceHost) seen(i daemon.Info) seenJSON {
	if i.Running && i.Service != "" && len(i.Homes) > 0 {
		return seenBy(s.config, i)
	}
	out := seenJSON{Data: s.was.Arg("--home"), CodexHomes: list(s.was.ArgAll("--codex-home")), MemoryDir: s.config.MemoryDir}
	if env, err := overlay(func(string) string { return "" }, s.was.ArgAll("--env")); err == nil {
		out.Home = env(homeVar())
	}
	return out
}

func seenBy(c config.Config, i daemon.Info) seenJSON {
	return seenJSON{Home: i.UserHome, Data: c.Home, CodexHomes: list(i.Homes), MemoryDir: i.MemoryDir}
}

func daemonOf(i daemon.Info) daemonJSON {
	out := daemonJSON{Running: i.Running, PID: i.PID, Since: instant(i.Since), Version: i.Version, Homes: list(i.Homes), Service: i.Service}
	if i.Running {
		out.Replaced, out.MemoryDir, out.UserHome = i.Program.Replaced(), i.MemoryDir, i.UserHome
		out.Paused, out.PausedAt = orNull(i.Paused.Reason), instant(i.Paused.Since)
	}
	return out
}

func (a *app) printService(s serviceStatusJSON) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s %s\n", name, clean(fmt.Sprintf(format, args...), false))
	}
	if s.Installed == nil {
		line("service", `not installed; "session-migrator service install" does it`)
	} else {
		whose := "for this user"
		if s.Installed.System {
			whose = "for the machine"
		}
		starts := ""
		if s.State != nil && s.State.Enabled {
			starts = ", starts at login"
			if s.Installed.System {
				starts = ", starts with the machine"
			}
		}
		line("service", "installed %s (%s)%s", whose, s.Installed.Manager, starts)
		line("as", "%s", s.Installed.Definition)
		line("program", "%s, version %s", s.Installed.Program, orDash(s.Version))
		if s.State != nil && s.State.Active != "" {
			line("state", "%s%s", s.State.Active, processOf(s.State.PID))
		}
	}
	if s.Daemon.Running {
		since := ""
		if s.Daemon.Since != nil {
			since = ", for " + took(a.now().Sub(*s.Daemon.Since))
		}
		fmt.Fprintf(&b, "%-8s %s%s%s, version %s\n", "daemon", a.paint(a.out, green, "running"), processOf(s.Daemon.PID), since, orDash(s.Daemon.Version))
	} else {
		line("daemon", "not running")
	}
	if s.Seen.Data != "" {
		line("sees", "home folder %s", orDash(s.Seen.Home))
		line("", "Codex homes %s", joined(s.Seen.CodexHomes))
		line("", "data folder %s", s.Seen.Data)
		line("", "memory files %s", orDash(s.Seen.MemoryDir))
	}
	if s.Log != "" {
		line("log", "%s", s.Log)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "%-8s %s\n", a.paint(a.out, yellow, "problem"), clean(p, false))
	}
	_, err := a.out.Write(b.Bytes())
	return err
}

// printService says what the service is and what it sees.
func (s *statusJSON) printService(line func(name, format string, args ...any)) {
	i := s.Service
	if i == nil {
		return
	}
	what := ""
	switch {
	case s.Daemon.Running && s.Daemon.Service == "":
		what = "; the daemon that runs was started by hand"
	case s.Daemon.Running:
		what = fmt.Sprintf("; it sees %s, home folder %s", joined(s.Daemon.Homes), orDash(s.Daemon.UserHome))
	case len(i.ArgAll("--codex-home")) > 0:
		what = "; it sees " + joined(i.ArgAll("--codex-home"))
	}
	line("service", "installed (%s)%s", i.Manager, clean(what, false))
}

// serviceOf is what status shows of the service: from files alone, for it is
// asked again and again. nil: none is installed.
func (a *app) serviceOf(ctx context.Context, c config.Config) *service.Installed {
	f := &serviceFlags{}
	switch runtime.GOOS {
	case "linux":
		f.manager = service.Systemd.String()
	case "darwin":
		f.manager = service.Launchd.String()
	default: // its files are not for reading
		rec, err := (plan.Journal{Dir: filepath.Join(c.Home, "receipts")}).Load(service.JournalName)
		if err != nil || len(rec.Steps) == 0 {
			return nil
		}
		m := service.Task
		if !slices.ContainsFunc(rec.Steps, func(d plan.Done) bool { return d.File != nil }) {
			m = service.RunKey
		}
		return &service.Installed{Manager: m, Definition: "see service status"}
	}
	s, err := a.serviceHost(ctx, f)
	if err != nil {
		return nil
	}
	return s.was
}

// logLines is how many lines of the log are shown.
const logLines = 200

func newServiceLogsCommand(a *app, f *serviceFlags) *cobra.Command {
	n, follow := logLines, false
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the service's log",
		Long: `Shows the end of the service's log: what systemd's journal has of it, or the
daemon's own file where there is no journal.

Exit codes: 0 shown, 1 failed, 2 wrong usage, 12 not installed, 130 interrupted.`,
		Example: "  session-migrator service logs -n 50\n  session-migrator service logs --follow",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServiceLogs(cmd.Context(), a, f, n, follow) },
	}
	cmd.Flags().IntVarP(&n, "lines", "n", n, "how many of the newest lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	return cmd
}

const followPoll = 500 * time.Millisecond
