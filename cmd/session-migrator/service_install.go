package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
)

type installFlags struct {
	*serviceFlags
	program string
	linger  bool
}

func newServiceInstallCommand(a *app, f *serviceFlags) *cobra.Command {
	in := &installFlags{serviceFlags: f}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the service, or bring it up to date, and start it",
		Long: `Installs the service and starts it, then waits until the daemon answers. Once more
it has nothing to do; after an upgrade of the program it restarts the service.

Exit codes: 0 installed and running, 1 failed, 2 wrong usage, 11 a daemon that you
started yourself runs.`,
		Example: "  session-migrator service install --dry-run\n  session-migrator service install --linger",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServiceInstall(cmd.Context(), a, in) },
	}
	cmd.Flags().StringVar(&in.program, "program", "", "the program that is started (default this one)")
	cmd.Flags().BoolVar(&in.linger, "linger", false, "Linux: run without a login, too (loginctl enable-linger)")
	return cmd
}

func runServiceInstall(ctx context.Context, a *app, f *installFlags) error {
	s, err := a.serviceHost(ctx, f.serviceFlags)
	if err != nil {
		return err
	}
	if s.none != nil && !f.dryRun {
		return s.none
	}
	if err := s.keep(a); err != nil {
		return err
	}
	spec, warning, err := s.spec(a, f)
	if err != nil {
		return err
	}
	info, err := daemon.Inspect(s.config)
	if err != nil {
		return err
	}
	if info.Running && info.Service == "" && info.Version != "" {
		locked := hinted(&daemon.LockedError{Home: s.config.Home, PID: info.PID, Daemon: true}, "you started that daemon yourself: stop it (Ctrl-C in its terminal), then install")
		if !f.dryRun {
			return locked
		}
		a.warn("%v: it must be stopped before the service is installed", locked)
	}
	spec.Restart = info.Running && info.Service != "" && s.outdated(info, spec.Program)
	p, rec, err := s.pending(ctx, spec)
	if err != nil {
		return err
	}
	if f.dryRun {
		for _, w := range []error{warning, s.none} {
			if w != nil {
				a.warn("install would end with: %v", w)
			}
		}
		return a.printPlan(p, nil)
	}
	if f.manager == "" && s.host.Manager == service.SCM && spec.Password == "" {
		if spec.Password, err = a.password(spec.Host.User); err != nil {
			return err
		}
		s.run.Password = spec.Password
	}
	if len(p.Steps) > 0 || !rec.Complete {
		if err := a.applyService(ctx, s, spec, f.manager == ""); err != nil {
			return err
		}
	} else if !a.flags.json {
		put(a.out, "installed already, nothing to do\n")
	}
	return a.answers(ctx, s, version, 0)
}

// pending is what is to be done to install the service.
func (s *serviceHost) pending(ctx context.Context, spec service.Spec) (plan.Plan, plan.Receipt, error) {
	rec, err := s.journal().Load(service.JournalName)
	if err != nil {
		return plan.Plan{}, rec, err
	}
	p, err := spec.Plan()
	if err != nil {
		return p, rec, err
	}
	p, err = p.Pending(ctx, s.run, !rec.Complete)
	return p, rec, err
}

// applyService installs. Where the task scheduler refuses, as some machines of
// companies let it, the service starts at login without one.
func (a *app) applyService(ctx context.Context, s *serviceHost, spec service.Spec, mayFallBack bool) error {
	p, err := spec.Plan()
	if err != nil {
		return err
	}
	out, err := s.journal().Apply(ctx, p, s.run)
	if err != nil && spec.Host.Manager == service.Task && mayFallBack && ctx.Err() == nil {
		a.warn("the task scheduler refuses (%v): the service starts at login without it", err)
		if _, err := s.journal().Undo(ctx, service.JournalName, s.run); err != nil {
			return err
		}
		s.host.Manager = service.RunKey
		spec.Host, spec.Args = s.host, s.args(a)
		return a.applyService(ctx, s, spec, false)
	}
	if err != nil {
		err = s.explain(ctx, err)
		if h, ok := errors.AsType[*hintError](err); ok {
			return h
		}
		return hinted(err, `"session-migrator service install" goes on from here, "session-migrator service uninstall" takes back what was done`)
	}
	for _, left := range out.Left {
		a.warn("%s", left)
	}
	if a.flags.json {
		return nil
	}
	var b bytes.Buffer
	for _, step := range out.Done {
		switch {
		case step.File != nil:
			fmt.Fprintf(&b, "wrote %s\n", step.File.Path)
		case len(step.Command.Argv) > 0:
			fmt.Fprintf(&b, "ran   %s\n", plan.Quote(step.Command.Argv))
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	_, err = a.out.Write(b.Bytes())
	return err
}

// keep lets what is installed stay as it is where this shell says nothing: an
// upgrade is installed from any shell.
func (s *serviceHost) keep(a *app) error {
	if s.was == nil || !s.was.Ours {
		return nil
	}
	if a.env("SESSION_MIGRATOR_HOME") == "" {
		if err := s.installedData(a); err != nil {
			return err
		}
	}
	if homes := s.was.ArgAll("--codex-home"); len(homes) > 0 && !s.asksForHomes(a) {
		s.config.CodexHomes = homes
	}
	vars := maps.Clone(s.config.Vars)
	for _, set := range s.was.ArgAll("--env") {
		name, value, _ := strings.Cut(set, "=")
		if _, ok := vars[name]; !ok && name != homeVar() {
			vars[name] = value
		}
	}
	s.config.Vars = vars
	return nil
}

// asksForHomes tells whether this shell or the settings name Codex homes.
func (s *serviceHost) asksForHomes(a *app) bool {
	return len(a.flags.codexHomes) > 0 || a.env("CODEX_HOME") != "" || !slices.Equal(s.shell.CodexHomes, []string{filepath.Join(s.shell.User, ".codex")})
}

// spec says what the service runs. warning is what a dry run goes on in spite of.
func (s *serviceHost) spec(a *app, f *installFlags) (spec service.Spec, warning, err error) {
	if s.was != nil {
		if data := s.was.Arg("--home"); data != "" && data != s.config.Home {
			return spec, nil, hinted(fmt.Errorf("a service for the data folder %s is installed, this shell asks for %s", data, s.config.Home),
				`run "session-migrator service uninstall" first`)
		}
		if s.was.System != s.host.System {
			return spec, nil, hinted(fmt.Errorf("the service is installed already, as %s", s.was.Definition), `uninstall that one first: "session-migrator service uninstall" with --system if it is the machine's`)
		}
		if !s.was.Ours {
			return spec, nil, hinted(fmt.Errorf("%s was not written by session-migrator", s.was.Definition), "move it away first")
		}
	}
	spec = service.Spec{Host: s.host, Data: s.config.Home, Args: s.args(a), Linger: f.linger, Was: s.was}
	if f.program != "" {
		if spec.Program, err = filepath.Abs(f.program); err == nil {
			err = service.Stays(spec.Program)
		}
		return spec, nil, hintedIf(err, "give --program the path of session-migrator")
	}
	spec.Program, err = service.Program(a.places())
	if errors.Is(err, service.ErrRefused) {
		err = hinted(err, `copy it to where it stays, such as `+homeBin()+`, and run "session-migrator service install" from there; or give --program FILE`)
		if f.dryRun && spec.Program != "" {
			return spec, err, nil
		}
	}
	return spec, nil, err
}

func hintedIf(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hinted(err, hint)
}

// homeBin is where a user's own programs go.
func homeBin() string {
	if runtime.GOOS == "windows" {
		return `%LOCALAPPDATA%\Programs\session-migrator`
	}
	return "~/.local/bin"
}

// places is where this program lies, by all that is known.
func (a *app) places() service.Places {
	p := service.Places{Executable: executable(), Temp: []string{os.TempDir()}}
	if runtime.GOOS != "windows" {
		p.Temp = append(p.Temp, "/tmp", "/var/tmp", "/dev/shm")
	}
	if strings.ContainsAny(os.Args[0], `/\`) {
		if abs, err := filepath.Abs(os.Args[0]); err == nil {
			p.Invoked = abs
		}
	}
	if path, err := exec.LookPath("session-migrator"); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			p.OnPath = abs
		}
	}
	return p
}

// homeVar is the variable that says where the user's folder is.
func homeVar() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// args is the daemon's command line: every place as it is now, absolute.
func (s *serviceHost) args(a *app) []string {
	c := s.config
	out := []string{"run", "--service", s.host.Manager.String(), "--home", c.Home}
	for _, h := range c.CodexHomes {
		out = append(out, "--codex-home", h)
	}
	if a.flags.config != "" {
		out = append(out, "--config", c.File)
	}
	if a.flags.logLevel != "" {
		out = append(out, "--log-level", a.flags.logLevel)
	}
	if c.User != "" {
		out = append(out, "--env", homeVar()+"="+c.User)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Vars)) {
		out = append(out, "--env", name+"="+c.Vars[name])
	}
	if l := s.host.LogFile(c.Home); l != "" {
		out = append(out, "--log-file", l)
	}
	if s.host.Manager.Supervised() {
		out = append(out, "--supervise")
	}
	return out
}

// outdated tells whether the daemon that runs is not what would be started now.
func (s *serviceHost) outdated(info daemon.Info, program string) bool {
	if info.Version != "" && info.Version != version || info.Program.Replaced() {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil || info.Program.Path == "" {
		return false
	}
	other, err := filepath.EvalSymlinks(info.Program.Path)
	return err == nil && real != other
}

// password asks for the password of the user that a service runs as.
func (a *app) password(name string) (string, error) {
	put(a.err, "password of %s (the service manager of Windows wants it): ", name)
	text, err := term.ReadPassword(int(os.Stdin.Fd()))
	put(a.err, "\n")
	if err != nil {
		return "", hinted(fmt.Errorf("read the password: %w", err), "run it in a terminal")
	}
	return string(text), nil
}

// answerMost is how long a daemon may take to answer after it was started.
const (
	answerMost = 30 * time.Second
	answerPoll = 100 * time.Millisecond
)

// answers waits until the daemon says that it runs, of that version and not as
// the process old, and says so.
func (a *app) answers(ctx context.Context, s *serviceHost, want string, old int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerMost, errNotYet)
	defer cancel()
	t := time.NewTicker(answerPoll)
	defer t.Stop()
	for {
		i, err := daemon.Inspect(s.config)
		if err == nil && i.Running && i.PID != old && i.Service != "" && i.Version != "" && (want == "" || i.Version == want) {
			return a.running(s, i)
		}
		select {
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errNotYet) {
				return ctx.Err()
			}
			return s.silent(context.WithoutCancel(ctx), i)
		case <-t.C:
		}
	}
}

func (a *app) running(s *serviceHost, i daemon.Info) error {
	if a.flags.json {
		return a.printJSON(installJSON{Schema: 1, Running: true, PID: i.PID, Version: i.Version, Manager: s.host.Manager, Definition: s.host.Definition()})
	}
	_, err := fmt.Fprintf(a.out, "running%s, version %s; it watches %s\n", processOf(i.PID), i.Version, joined(i.Homes))
	return err
}

type installJSON struct {
	Schema     int             `json:"schema"`
	Running    bool            `json:"running"`
	PID        int             `json:"pid"`
	Version    string          `json:"version"`
	Manager    service.Manager `json:"manager"`
	Definition string          `json:"definition"`
}

// silent says all that is known of a daemon that does not answer.
func (s *serviceHost) silent(ctx context.Context, i daemon.Info) error {
	what := fmt.Sprintf("%v within %s", errNotYet, answerMost)
	if i.Running && i.Version != "" {
		what = fmt.Sprintf("the daemon that answers (process %d) is of version %s", i.PID, i.Version)
	}
	if st, err := s.host.State(ctx, s.run); err == nil {
		for _, more := range []string{st.Active, st.Detail} {
			if more != "" {
				what += ", " + more
			}
		}
	}
	return hinted(errors.New(what), `"session-migrator service logs" says why; "session-migrator service status" how it is`)
}

// stopped waits until the daemon that ran is gone.
func (s *serviceHost) stopped(ctx context.Context, before daemon.Info) error {
	if !before.Running {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerMost, errNotYet)
	defer cancel()
	t := time.NewTicker(answerPoll)
	defer t.Stop()
	for {
		i, err := daemon.Inspect(s.config)
		if err != nil || !i.Running || i.PID != before.PID {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemon (process %d) still runs", i.PID)
		case <-t.C:
		}
	}
}

// printPlan shows what would be done.
func (a *app) printPlan(p plan.Plan, notes []string) error {
	p.Notes = append(slices.Clone(p.Notes), notes...)
	if a.flags.json {
		return a.printJSON(planOf(p))
	}
	return p.Print(a.out, plan.PrintOptions{Mask: func(s string) string { return clean(shown(s), false) }})
}

type planJSON struct {
	Schema int        `json:"schema"`
	DryRun bool       `json:"dry_run"`
	Steps  []stepJSON `json:"steps"`
	Notes  []string   `json:"notes"`
}

type stepJSON struct {
	Kind string   `json:"kind"` // write, remove or run
	Why  string   `json:"why"`
	Path string   `json:"path,omitempty"`
	Argv []string `json:"argv,omitempty"`
	Undo []string `json:"undo,omitempty"`
	Text string   `json:"text,omitempty"` // that the file gets
}

func planOf(p plan.Plan) planJSON {
	out := planJSON{Schema: 1, DryRun: true, Steps: []stepJSON{}, Notes: allShown(p.Notes)}
	for _, s := range p.Steps {
		switch {
		case s.File != nil && s.File.After == nil:
			out.Steps = append(out.Steps, stepJSON{Kind: "remove", Why: s.Why, Path: s.File.Path})
		case s.File != nil:
			out.Steps = append(out.Steps, stepJSON{Kind: "write", Why: s.Why, Path: s.File.Path, Text: shown(s.File.Text())})
		case len(s.Command.Argv) > 0:
			out.Steps = append(out.Steps, stepJSON{Kind: "run", Why: s.Why, Argv: allShown(s.Command.Argv), Undo: allShown(s.Command.Undo)})
		}
	}
	return out
}
