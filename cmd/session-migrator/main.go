// Command session-migrator keeps hand-off memories of Codex sessions ready:
// for every session and every model whether the model can take it over, and
// what exactly it should be given.
//
// The way of the data: a command reads the settings, brings the cache up to
// date unless a daemon does, opens it read-only, asks the pipeline and prints
// the answer. Only run and rebuild write, through package daemon.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/config"
)

const unknownVersion = "dev"

// What the linker is told. A build without it is nobody's release, or one by
// "go install": see ownVersion.
var (
	version      = unknownVersion
	commit, date string
)

func main() {
	info, _ := debug.ReadBuildInfo()
	version = ownVersion(version, info)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default is back: a second one ends at once.
	context.AfterFunc(ctx, stop)
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now}
	os.Exit(a.main(ctx, os.Args[1:]))
}

// app is what every command works with.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      config.Env
	now      func() time.Time
	flags    globalFlags
	began    bool // the command line was understood
}

type globalFlags struct {
	home       string
	codexHomes []string
	config     string
	logLevel   string
	json       bool
	noColor    bool
}

// main runs one command line and gives its exit code.
func (a *app) main(ctx context.Context, args []string) int {
	out := &latch{w: a.out}
	a.out = out
	root := newRootCommand(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("print the answer: %w", out.err)
	}
	if err != nil && !a.began {
		err = usageError{err}
	}
	return a.report(ctx, a.ofCache(err))
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "session-migrator",
		Short: "Hand a Codex session over to any other model",
		Long: `Keeps, for every Codex session on this machine, exact token counts, a verdict
per target model (direct or compress) and a hand-off memory file ready.

SESSION is a full id, a unique prefix of at least 8 characters, its last 8,
"latest", or the path of a rollout file.`,
		Example: `  session-migrator run                                 # backfill, then watch
  session-migrator sessions --model claude-opus-4-8    # which fit, which don't
  session-migrator migrate latest --to claude-opus-4-8 -o handoff.md`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := `run "session-migrator --help" for the commands`
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return hinted(usageError{errors.New("unknown command " + quote(args[0]))}, hint)
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.began = true
			_, err := a.log(slog.LevelWarn) // a wrong level is told before anything is done
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if shown, _ := cmd.Flags().GetBool("version"); shown { // ours: it is there
				return printVersion(a)
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	// Cobra's own needs a template, and with one in the program the linker keeps
	// every method of every type: an eighth of the program.
	root.Flags().BoolP("version", "v", false, "version for session-migrator")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hinted(usageError{plainFlagError(err)}, `run "`+cmd.CommandPath()+` --help" for the flags`)
	})
	root.SuggestionsMinimumDistance = 2

	f := root.PersistentFlags()
	f.StringVar(&a.flags.home, "home", "", "data folder (default $SESSION_MIGRATOR_HOME, else ~/.session-migrator)")
	f.StringArrayVar(&a.flags.codexHomes, "codex-home", nil, "Codex home, repeatable (default $CODEX_HOME, else ~/.codex)")
	f.StringVar(&a.flags.config, "config", "", "settings file (default config.toml in the data folder)")
	f.StringVar(&a.flags.logLevel, "log-level", "", "debug, info, warn or error (default warn; info for run without a terminal)")
	f.BoolVar(&a.flags.json, "json", false, "print JSON")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colour (NO_COLOR is honoured too)")

	for _, c := range []*cobra.Command{
		newRunCommand(a), newSetupCommand(a), newSessionsCommand(a), newSearchCommand(a), newShowCommand(a), newDecideCommand(a), newMigrateCommand(a),
		newOriginalCommand(a), newSummarizeCommand(a), newSpendCommand(a), newModelsCommand(a), newTokensCommand(a), newMCPCommand(a),
		newConnectCommand(a), newDisconnectCommand(a), newSinkCommand(a), newPinCommand(a), newUnpinCommand(a), newServiceCommand(a),
		newStatusCommand(a), newDoctorCommand(a), newRebuildCommand(a), newBenchCommand(a), newDemoCommand(a), newVersionCommand(a),
	} {
		root.AddCommand(c)
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(*cobra.Command, []string) error {
				return usagef("completion takes the name of a shell: bash, fish, powershell or zsh")
			}
			c.Args = nil
			c.Example = "  source <(session-migrator completion bash)"
			for _, shell := range c.Commands() {
				shell.Example = "  " + shell.CommandPath() + " > completions"
			}
		}
	}
	return root
}

// config resolves the settings.
func (a *app) config() (config.Config, error) {
	c, err := config.Load(config.Flags{Home: a.flags.home, CodexHomes: a.flags.codexHomes, File: a.flags.config}, a.env)
	switch {
	case errors.Is(err, config.ErrNoUser):
		return c, hinted(usageError{err}, "set HOME to your home folder, or give --home DIR and --codex-home DIR")
	case err != nil:
		hint := "mend the setting named above, or give --config FILE"
		if p, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
			hint = letRead(p.Path, hint)
		}
		return c, hinted(usageError{err}, hint)
	}
	return c, apart(c)
}

// named refuses an empty name where one was to be given.
func named(cmd *cobra.Command, flag string) error {
	if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
		return noModel(flag)
	}
	return nil
}

func noModel(flag string) error {
	return hinted(usagef("--%s is empty; give the name of a model", flag), `"session-migrator models" lists them`)
}

// plainFlagError says of a flag's value what it should be, not who found out.
func plainFlagError(err error) error {
	wrong, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err
	}
	what := "give a whole number"
	switch {
	case wrong.Func == "ParseBool":
		what = "give true or false"
	case errors.Is(err, strconv.ErrRange):
		what = "give a smaller number"
	}
	return errors.New(strings.TrimSuffix(err.Error(), wrong.Error()) + what)
}

// log gives the logger: to stderr, from the level asked for on.
func (a *app) log(fallback slog.Level) (*slog.Logger, error) {
	level := fallback
	if a.flags.logLevel != "" {
		if err := level.UnmarshalText([]byte(a.flags.logLevel)); err != nil {
			return nil, hinted(usageError{errors.New("unknown log level " + quote(a.flags.logLevel))}, "known are debug, info, warn and error")
		}
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level, ReplaceAttr: shownAttr})), nil
}

// shownAttr takes secrets out of what is logged: a path or an error may hold
// one, and logs are copied into reports.
func shownAttr(_ []string, at slog.Attr) slog.Attr {
	switch at.Value.Kind() {
	case slog.KindString:
		at.Value = slog.StringValue(shown(at.Value.String()))
	case slog.KindAny:
		if err, ok := at.Value.Any().(error); ok {
			at.Value = slog.StringValue(shown(err.Error()))
		}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindUint64, slog.KindTime, slog.KindGroup, slog.KindLogValuer:
	}
	return at
}

// args makes a wrong number of arguments a usage error that says what is
// expected.
func args(min, max int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) >= min && (max < 0 || len(given) <= max) {
			return nil
		}
		msg := cmd.Name() + " takes " + what
		if len(given) > 0 && max == 0 {
			msg = cmd.Name() + " takes no argument, got " + quote(given[0])
		}
		return hinted(usageError{errors.New(msg)}, "usage: "+cmd.UseLine())
	}
}
