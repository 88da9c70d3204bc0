package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
)

// serviceFlags are those that all service commands take.
type serviceFlags struct {
	system  bool
	user    string
	manager string
	dryRun  bool
}

func newServiceCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have the daemon start at login and come back after a crash",
		Long: `Makes "session-migrator run" a service of this user: of systemd on Linux, launchd
on macOS, the task scheduler on Windows (where it doesn't answer, a program that
starts at login). No administrator is needed.

"service install" writes down what it does; "service uninstall" takes exactly
that back. Codex homes, data folder and program are those at the time of install:
a service doesn't see your shell's environment.`,
		Example: `  session-migrator service install --dry-run   # what would be done
  session-migrator service install
  session-migrator service status`,
		Args: args(0, 0, "the name of a command: install, uninstall, start, stop, restart, status or logs"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := &serviceFlags{}
	p := cmd.PersistentFlags()
	p.BoolVar(&f.system, "system", false, "a service of the machine, running as --user from its start on (needs an administrator)")
	p.StringVar(&f.user, "user", "", "with --system: the user it runs as (default who called sudo)")
	p.StringVar(&f.manager, "manager", "", "systemd, launchd, task, run-key or scm (default what is there)")
	p.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	cmd.AddCommand(newServiceInstallCommand(a, f), newServiceUninstallCommand(a, f))
	for _, v := range []service.Verb{service.Start, service.Stop, service.Restart} {
		cmd.AddCommand(newServiceControlCommand(a, f, v))
	}
	cmd.AddCommand(newServiceStatusCommand(a, f), newServiceLogsCommand(a, f))
	return cmd
}

// serviceHost is the service's side of things, as all commands need it.
type serviceHost struct {
	host   service.Host
	config config.Config // with the data folder of what is installed
	shell  config.Config // as this shell asks for
	was    *service.Installed
	run    service.Runner
	none   error // why nothing can be installed here; nil: it can
}

// serviceHost finds the manager, the user and what is installed.
func (a *app) serviceHost(ctx context.Context, f *serviceFlags) (*serviceHost, error) {
	s := &serviceHost{run: service.Runner{Next: plan.Exec{}}}
	if err := s.whose(a, f); err != nil {
		return nil, err
	}
	if f.manager != "" {
		m, err := service.ParseManager(f.manager)
		if err != nil {
			return nil, usageError{err}
		}
		s.host.Manager = m
	} else {
		m, err := service.Detect(ctx, s.run)
		if err != nil { // what would be done can be shown all the same
			m, s.none = service.Systemd, hinted(err, `have your own supervisor run "session-migrator run"; it needs no terminal`)
		}
		s.host.Manager = m
		if f.system && runtime.GOOS == "windows" {
			s.host.Manager = service.SCM
		}
	}
	var err error
	if s.shell, err = a.config(); err != nil {
		return nil, err
	}
	s.config = s.shell
	s.run.Running = func() (int, error) {
		i, err := daemon.Inspect(s.config)
		return i.Supervisor, err
	}
	if s.host.Manager == service.Systemd && s.host.ConfigHome != "" && !s.searched(ctx) {
		s.host.ConfigHome = ""
	}
	if s.was, err = s.host.Find(ctx, s.run); err != nil {
		return nil, err
	}
	return s, nil
}

// searched tells whether systemd looks for units where this shell's
// XDG_CONFIG_HOME says; one that doesn't answer is believed to.
func (s *serviceHost) searched(ctx context.Context) bool {
	out, err := s.run.Run(ctx, s.host.UnitPath())
	return err != nil || slices.Contains(strings.Fields(strings.TrimPrefix(out, "UnitPath=")), filepath.Dir(s.host.Definition()))
}

// installedData lets what is asked be about the data folder of the service that
// is installed, unless --home names another.
func (s *serviceHost) installedData(a *app) error {
	if s.was == nil || a.flags.home != "" {
		return nil
	}
	data := s.was.Arg("--home")
	if data == "" {
		return nil
	}
	a.flags.home = data
	c, err := a.config()
	a.flags.home = ""
	s.config = c
	return err
}

// whose says for which user the service is.
func (s *serviceHost) whose(a *app, f *serviceFlags) error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("find out who you are: %w", err)
	}
	if f.user != "" && !f.system {
		return usagef("--user goes with --system; without it the service is this user's")
	}
	sudo := a.env("SUDO_USER")
	if os.Geteuid() == 0 && sudo != "" && sudo != "root" && !f.system {
		return hinted(usagef("under sudo the service would be root's, who has no Codex sessions"),
			"run it as "+sudo+", without sudo; or give --system for a service of the machine that runs as "+sudo)
	}
	if f.system {
		name := f.user
		if name == "" {
			name = sudo
		}
		if name == "" {
			return hinted(usagef("whose sessions a service of the machine reads must be said"), "give --user NAME")
		}
		if me, err = user.Lookup(name); err != nil {
			return usageError{fmt.Errorf("find the user %s: %w", name, err)}
		}
		env := a.env
		a.env = func(n string) string {
			if n == "HOME" || n == "USERPROFILE" {
				return me.HomeDir
			}
			return env(n)
		}
	}
	s.host = service.Host{System: f.system, User: me.Username, Home: me.HomeDir, ConfigHome: a.env("XDG_CONFIG_HOME")}
	if runtime.GOOS != "windows" {
		s.host.UID = me.Uid
	}
	if f.system {
		s.host.ConfigHome = ""
		return nil
	}
	if home := a.env("HOME"); home != "" && runtime.GOOS == "darwin" {
		s.host.Home = home
	}
	// su and some remote shells leave it out, and the manager is there all the same.
	if dir := filepath.Join("/run/user", strconv.Itoa(os.Getuid())); runtime.GOOS == "linux" && a.env("XDG_RUNTIME_DIR") == "" && exists(dir) {
		s.host.RuntimeDir = dir
	}
	return nil
}

// journal is where it is written down what was installed.
func (s *serviceHost) journal() plan.Journal {
	if s.host.System && s.host.Manager == service.Systemd {
		return plan.Journal{Dir: "/var/lib/session-migrator"}
	}
	if s.host.System && s.host.Manager == service.Launchd {
		return plan.Journal{Dir: "/Library/Application Support/session-migrator"}
	}
	return plan.Journal{Dir: filepath.Join(s.config.Home, "receipts")}
}

// follow takes manager and place from what is installed.
func (s *serviceHost) follow() {
	if s.was != nil {
		s.host.Manager, s.host.System = s.was.Manager, s.was.System
	}
}

// errNoService says that there is nothing to start, stop or look into.
type errNoService struct{}

func (errNoService) Error() string { return "the service is not installed" }

func noService() error {
	return hinted(errNoService{}, `install it with "session-migrator service install"`)
}

func newServiceControlCommand(a *app, f *serviceFlags, v service.Verb) *cobra.Command {
	short := map[service.Verb]string{
		service.Start:   "Start the service now",
		service.Stop:    "Stop the service until the next login",
		service.Restart: "Stop the service and start it again, as after an upgrade",
	}
	return &cobra.Command{
		Use:   v.String(),
		Short: short[v],
		Long: short[v] + `.

Exit codes: 0 done, 1 failed, 2 wrong usage, 12 not installed.`,
		Example: "  session-migrator service " + v.String(),
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServiceControl(cmd.Context(), a, f, v) },
	}
}

func runServiceControl(ctx context.Context, a *app, f *serviceFlags, v service.Verb) error {
	s, err := a.serviceHost(ctx, f)
	if err != nil {
		return err
	}
	if s.was == nil {
		return noService()
	}
	if err := s.installedData(a); err != nil {
		return err
	}
	s.follow()
	p, err := s.was.Control(s.host, v)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.printPlan(p, nil)
	}
	before, err := daemon.Inspect(s.config)
	if err != nil {
		return err
	}
	if v == service.Start && before.Running && before.Service == "" && before.Version != "" {
		return hinted(&daemon.LockedError{Home: s.config.Home, PID: before.PID, Daemon: true}, "stop that one first (Ctrl-C in its terminal)")
	}
	if _, err := p.Do(ctx, s.run); err != nil {
		return s.explain(ctx, err)
	}
	if v == service.Stop {
		if err := s.stopped(ctx, before); err != nil {
			return err
		}
		put(a.out, "stopped; it starts again at the next login\n")
		return nil
	}
	old := 0
	if v == service.Restart {
		old = before.PID
	}
	return a.answers(ctx, s, s.was.Version(ctx, s.run), old)
}

// explain adds what helps where a manager can't be reached.
func (s *serviceHost) explain(ctx context.Context, err error) error {
	if err == nil || s.host.Manager != service.Systemd {
		return err
	}
	if s.host.System {
		if os.Geteuid() != 0 {
			return hinted(err, "a service of the machine needs sudo")
		}
		return err
	}
	if _, down := s.run.Run(ctx, s.host.Reachable()); down != nil {
		return hinted(err, "systemd answers only within a login of yours (not through su or cron): log in, or run \"loginctl enable-linger "+s.host.User+"\" once; without systemd have your own supervisor run \"session-migrator run\"")
	}
	return err
}

var errNotYet = errors.New("the daemon does not answer")
