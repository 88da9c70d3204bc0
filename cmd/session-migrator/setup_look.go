package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	settings "github.com/session-migrator/session-migrator/install/edit"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// look finds what is here and makes the parts, in the order in which they are
// done: what the service reads is written before it starts.
func (s *setup) look(ctx context.Context) error {
	var err error
	if s.config, err = s.a.config(); err != nil {
		return err
	}
	own, err := s.own()
	if err != nil {
		return err
	}
	sessions, err := s.sessions(ctx)
	if err != nil {
		return err
	}
	service, err := s.service(ctx)
	if err != nil {
		return err
	}
	agents, err := s.agents()
	if err != nil {
		return err
	}
	s.parts = []part{own, sessions, service, agents}
	return nil
}

// partSessions names the part that reads what there is.
const partSessions = "sessions"

// sessions finds what there is to be read, and whether it was.
func (s *setup) sessions(ctx context.Context) (part, error) {
	p := part{name: partSessions}
	var found []string
	files := 0
	for _, home := range s.config.CodexHomes {
		n, problems := rollouts(ctx, home)
		if err := ctx.Err(); err != nil {
			return p, err
		}
		files += n
		what := plural(n, "session file")
		switch {
		case !isHome(home):
			what = "not there yet: it is waited for"
		case len(problems) > 0:
			what += ", not all readable"
		}
		found = append(found, fmt.Sprintf("%s (%s)", home, what))
	}
	p.state = "Codex home " + strings.Join(found, ", ")
	if len(missingHomes(s.config)) == len(s.config.CodexHomes) {
		p.state += s.elsewhere()
		return p, nil
	}
	info, err := daemon.Inspect(s.config)
	if err != nil || info.Running || files == 0 || s.haveRead(ctx, files) {
		return p, err
	}
	p.todo = []string{"read " + plural(files, "session file") + " into " + s.config.DB() + ", and write memory files to " + s.config.MemoryDir}
	p.do = func(ctx context.Context) ([]string, error) { return s.read(ctx) }
	return p, nil
}

// elsewhere says where else Codex homes were seen.
func (s *setup) elsewhere() string {
	asked := "CODEX_HOME is not set"
	if v := s.a.env("CODEX_HOME"); v != "" {
		asked = "CODEX_HOME is " + v
	}
	var seen []string
	for _, pattern := range []string{filepath.Join(s.config.User, ".codex"), "/mnt/c/Users/*/.codex"} { // the second: Windows, below WSL
		dirs, _ := filepath.Glob(filepath.Join(pattern, "sessions")) // the patterns are fine
		for _, d := range dirs {
			if home := filepath.Dir(d); !slices.Contains(s.config.CodexHomes, home) {
				seen = append(seen, home)
			}
		}
	}
	if len(seen) == 0 {
		return "; " + asked
	}
	return "; " + asked + "; there is one at " + joined(seen) + ": give --codex-home to use it"
}

// haveRead tells whether the cache knows as many files, to their ends.
func (s *setup) haveRead(ctx context.Context, files int) bool {
	db, err := store.OpenReader(ctx, s.config.DB())
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }() // only read
	totals, err := db.Totals(ctx)
	known, behind := 0, int64(0)
	for _, t := range totals {
		known += t.Files
		behind += t.Behind
	}
	return err == nil && known >= files && behind == 0
}

// read takes everything in for the first time, before a service does.
func (s *setup) read(ctx context.Context) (left []string, err error) {
	log, err := s.a.log(slog.LevelWarn)
	if err != nil {
		return nil, err
	}
	boundMemory()
	bar := s.a.progress()
	sum, err := daemon.Once(ctx, daemon.Options{Config: s.config, Version: version, Log: log, Progress: bar.tell, Healed: s.a.healed})
	bar.done()
	if l, ok := errors.AsType[*daemon.LockedError](err); ok && l.Daemon {
		return nil, nil // one that was started meanwhile does it
	}
	for _, f := range sum.NotFullyRead {
		left = append(left, f.Path+": "+without(f.Path, f.Reason))
	}
	for _, f := range sum.Unwritten {
		left = append(left, f.Path+": "+strings.TrimPrefix(f.Reason, sink.Unwritten))
	}
	return left, explained(s.config, err)
}

// ownJournal names the journal of what setup itself did.
const ownJournal = "setup"

// journals is where it is written down what was done outside of the data folder.
func journals(c config.Config) plan.Journal {
	return plan.Journal{Dir: filepath.Join(c.Home, "receipts")}
}

// own is the settings and the choices that are needed: files of ours.
func (s *setup) own() (part, error) {
	p := part{name: "settings", state: s.config.File, steps: plan.Plan{Name: ownJournal}}
	if !exists(s.config.File) {
		p.state = "the defaults"
	}
	homes, err := s.unsaidHomes()
	if err != nil {
		return p, err
	}
	if homes != nil {
		s.homesSaid = true
		step, err := codexHomesStep(s.config.File, homes)
		if err != nil {
			return p, err
		}
		p.steps.Steps = append(p.steps.Steps, step)
		p.todo = append(p.todo, "write codex_homes = "+joined(homes)+" to "+s.config.File+": services and agents don't see this shell's CODEX_HOME")
	}
	on, err := s.sinkSteps(&p)
	if err != nil {
		return p, err
	}
	if len(on) > 0 {
		p.state += "; memory files also for " + joined(on)
	}
	p.do = func(ctx context.Context) ([]string, error) {
		out, err := journals(s.config).Apply(ctx, p.steps, ownRunner{s.a})
		return out.Left, err
	}
	return p, nil
}

// unsaidHomes gives the Codex homes if a program that is started without this
// shell's environment and flags would not find them; else nil.
func (s *setup) unsaidHomes() ([]string, error) {
	bare, err := config.Load(config.Flags{Home: s.a.flags.home, File: s.a.flags.config}, func(name string) string {
		if name == "CODEX_HOME" {
			return ""
		}
		return s.a.env(name)
	})
	if err != nil {
		return nil, err
	}
	if len(bare.CodexHomes) == len(s.config.CodexHomes) && !slices.ContainsFunc(s.config.CodexHomes, func(h string) bool { return !slices.Contains(bare.CodexHomes, h) }) {
		return nil, nil
	}
	homes := slices.Clone(s.config.CodexHomes)
	for _, h := range bare.CodexHomes { // those that are in use stay
		if !slices.Contains(homes, h) && exists(h) {
			homes = append(homes, h)
		}
	}
	if slices.Equal(homes, bare.CodexHomes) {
		return nil, nil
	}
	return homes, nil
}

// codexHomesStep writes the homes to the settings and leaves the rest of them
// as it is.
func codexHomesStep(file string, homes []string) (plan.Step, error) {
	before, err := plan.Read(file)
	if err != nil {
		return plan.Step{}, err
	}
	after, err := settings.File{Name: file, Format: settings.TOML}.Set(before, []string{"codex_homes"}, homes)
	if err != nil {
		return plan.Step{}, err
	}
	return plan.Write(file, after, 0o600, "programs that don't see this shell find the sessions")
}

// sinkSteps adds the sinks that were asked for, and names those that are on and
// have a place here.
func (s *setup) sinkSteps(p *part) (on []string, err error) {
	all, err := loadChoices(s.config)
	if err != nil {
		return nil, err
	}
	for _, name := range s.flags.sinks {
		k, err := consumer(name)
		if err != nil {
			return nil, usageError{err}
		}
		if k.Mode == sink.ModeProject {
			return nil, hinted(usagef("--sinks: %s is for single projects", name), "session-migrator sink enable "+name+" --workspace DIR")
		}
		if all.Sinks[name].On(k.Mode) {
			continue
		}
		if why := noPlace(s.config, k, enabled(all.Sinks[name])); why != "" {
			return nil, usagef("--sinks: %s: %s", name, why)
		}
		p.steps.Steps = append(p.steps.Steps, plan.Run("memory files for "+name, []string{ownName, "sink", "enable", name}, []string{ownName, "sink", "disable", name}))
		p.todo = append(p.todo, "switch on "+name+": "+k.About)
	}
	for _, k := range sink.Consumers() {
		said := all.Sinks[k.Name]
		if k.Mode != sink.ModeAlways && said.On(k.Mode) && noPlace(s.config, k, said) == "" && (k.Mode != sink.ModeFound || here(s.config, k.Name)) {
			on = append(on, k.Name)
		}
	}
	return on, nil
}

func enabled(said choices.Choice) choices.Choice {
	yes := true
	said.Enabled = &yes
	return said
}

// here tells whether the program of a sink, that is on by itself where its folders are, has
// one for this user.
func here(c config.Config, name string) bool {
	dirs := []string{filepath.Join(c.User, "."+name), filepath.Join(c.User, "."+name+"-ai"), c.Vars[strings.ToUpper(name)+"_CONFIG_DIR"]}
	if folder := c.Vars["WORKBUDDY_DATA_FOLDER_NAME"]; folder != "" && name == "workbuddy" {
		dirs = append(dirs, filepath.Join(c.User, folder))
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		st, err := os.Stat(dir)
		return err == nil && st.IsDir()
	})
}

// ownName stands for this program in a plan, wherever it lies by then.
const ownName = "session-migrator"

// ownRunner runs the commands of setup's own plan in this process.
type ownRunner struct{ a *app }

// Run runs a command line of ours.
func (r ownRunner) Run(ctx context.Context, argv []string) (string, error) {
	var out strings.Builder
	quiet := *r.a
	quiet.out, quiet.err = &out, &out
	root := newRootCommand(&quiet)
	quiet.flags = r.a.flags // the defaults of the new command went over them
	quiet.flags.json = false
	root.SetArgs(argv[1:])
	err := root.ExecuteContext(ctx)
	return out.String(), err
}
