package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/install/connect"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
	"github.com/session-migrator/session-migrator/store"
)

type connectFlags struct {
	dryRun bool
	force  bool
}

func newConnectCommand(a *app) *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "connect [CLIENT…]",
		Short: "Put our MCP server into the settings of agents and editors",
		Long: `Adds the entry of our MCP server to the settings of the clients named: ` + strings.Join(connect.Names(), ", ") + `;
"all" is all that are found here. Without a name it lists what is found, and whether
it is connected.

Where a client has a command of its own for that, and the entry is new, that one is
run; else one key of its file is changed, and every other byte stays. What the file
held before is kept for disconnect. An entry that starts us from another place is
renewed, one that you switched off stays off, and one under our name that starts
another program is changed only after you said so.

Exit codes: 0 connected, 1 failed, 2 wrong usage, 3 some were left out, 12 no such
client, or it is not here.`,
		Example:           "  session-migrator connect\n  session-migrator connect codex claude --dry-run\n  session-migrator connect all",
		ValidArgsFunction: completeClient,
		RunE:              func(cmd *cobra.Command, given []string) error { return runConnect(cmd.Context(), a, given, f) },
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be changed")
	cmd.Flags().BoolVar(&f.force, "force", false, "change an entry of somebody else's under our name; connect what is not found here")
	return cmd
}

func newDisconnectCommand(a *app) *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "disconnect [CLIENT…]",
		Short: "Take our MCP server out of the settings of agents and editors",
		Long: `Takes our entry out of the settings of the clients named; "all" is all that have one.
A file that nobody changed since connect gets the bytes back that it had before; of
any other only our entry is taken out. Without a name it lists as connect does.

Exit codes: 0 disconnected, 1 failed, 2 wrong usage, 3 some were left out, 12 no such
client.`,
		Example:           "  session-migrator disconnect cursor\n  session-migrator disconnect all --dry-run",
		ValidArgsFunction: completeClient,
		RunE:              func(cmd *cobra.Command, given []string) error { return runDisconnect(cmd.Context(), a, given, f) },
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be changed")
	return cmd
}

// completeClient offers the names of clients to the shell.
func completeClient(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(connect.Names(), func(n string) bool { return slices.Contains(given, n) })
	return append(names, "all"), cobra.ShellCompDirectiveNoFileComp
}

type connectJSON struct {
	Schema  int           `json:"schema"`
	Server  []string      `json:"server"` // the command that entries get
	DryRun  bool          `json:"dry_run"`
	Clients []connectedIs `json:"clients"`
}

type connectedIs struct {
	Client  string        `json:"client"`
	Title   string        `json:"title"`
	Found   []string      `json:"found"` // what shows that it is here
	File    string        `json:"file"`
	State   connect.State `json:"state"`
	Command []string      `json:"command"` // the entry's
	Off     *string       `json:"off"`     // what switches the entry off
	Doubles []string      `json:"doubles"`
	Lost    bool          `json:"lost"`
	Changed bool          `json:"changed"`        // now, or by a dry run it would be
	Plan    string        `json:"plan,omitempty"` // of a dry run
	Notes   []string      `json:"notes"`
	Problem *string       `json:"problem"`
	Fix     *string       `json:"fix"`
}

// connector gives what connects the clients of this user.
func (a *app) connector(c config.Config) (*connect.Connector, connect.Server, error) {
	s, err := a.server(c)
	if err != nil {
		return nil, s, err
	}
	return a.connectorOf(c, s), s, nil
}

func (a *app) connectorOf(c config.Config, s connect.Server) *connect.Connector {
	m := connect.Machine{OS: runtime.GOOS, Home: c.User, Env: a.env, Find: exec.LookPath, CodexHomes: c.CodexHomes}
	return connect.New(m, s, c.Home, plan.Exec{Alone: true})
}

// server is how clients are to start this program. They hand little of the
// environment on, so that what it says goes into the arguments, unless the
// settings say the same.
func (a *app) server(c config.Config) (connect.Server, error) {
	path := executable()
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		return connect.Server{}, hinted(usagef("%s is gone when this command has ended", path), "build the program first: make build, then bin/session-migrator connect")
	}
	if known, err := exec.LookPath("session-migrator"); err == nil && sameFile(known, path) {
		path = known // a link that an upgrade keeps
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return connect.Server{}, fmt.Errorf("find this program: %w", err)
	}
	s := connect.Server{Command: path, Args: []string{"mcp"}}
	bare := func(name string) string {
		if name == "HOME" || name == "USERPROFILE" {
			return a.env(name)
		}
		return ""
	}
	usual, err := config.Load(config.Flags{}, bare)
	if err != nil || usual.Home != c.Home {
		s.Args = append(s.Args, "--home", c.Home)
	}
	fl := config.Flags{Home: c.Home}
	if a.flags.config != "" {
		s.Args, fl.File = append(s.Args, "--config", c.File), c.File
	}
	if usual, err = config.Load(fl, bare); err != nil || !slices.Equal(usual.CodexHomes, c.CodexHomes) {
		for _, h := range c.CodexHomes {
			s.Args = append(s.Args, "--codex-home", h)
		}
	}
	return s, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func runConnect(ctx context.Context, a *app, given []string, f connectFlags) error {
	w, err := a.connecting(given, f.dryRun)
	if err != nil || w == nil {
		return err
	}
	a.warnMoving()
	for _, name := range w.names(func(st connect.Status) bool { return len(st.Found) > 0 }) {
		o := connect.Options{Force: f.force}
		p, err := w.c.Plan(name, o)
		if errors.Is(err, connect.ErrForeign) && !f.dryRun && a.agreed("%v\nPut ours in its place?", err) {
			o.Force = true
			p, err = w.c.Plan(name, o)
		}
		res := connect.Result{Client: name, Steps: p.Steps, Notes: p.Notes}
		if err == nil && !f.dryRun {
			res, err = w.c.Connect(ctx, name, o)
		}
		if err := w.told(ctx, p, res, err); err != nil {
			return err
		}
	}
	return w.end("connected")
}

// warnMoving says that entries are going to start a program that goes away.
func (a *app) warnMoving() {
	if _, err := service.Program(a.places()); errors.Is(err, service.ErrRefused) {
		a.warn("%s: clients can't start it once it is gone; copy it to where it stays, such as %s, and connect from there",
			strings.TrimPrefix(err.Error(), service.ErrRefused.Error()+": "), homeBin())
	}
}

func runDisconnect(ctx context.Context, a *app, given []string, f connectFlags) error {
	w, err := a.connecting(given, f.dryRun)
	if err != nil || w == nil {
		return err
	}
	w.off = true
	for _, name := range w.names(func(st connect.Status) bool {
		return st.Changed || st.State == connect.Connected || st.State == connect.Stale
	}) {
		p, err := w.c.Undoing(name)
		res := connect.Result{Client: name, Steps: p.Steps, Notes: p.Notes}
		if err == nil && !f.dryRun {
			res, err = w.c.Disconnect(ctx, name)
		}
		if err := w.told(ctx, p, res, err); err != nil {
			return err
		}
	}
	return w.end("disconnected")
}

// connectWork is one run of connect or disconnect.
type connectWork struct {
	a      *app
	c      *connect.Connector
	given  []string
	out    connectJSON
	off    bool // disconnect
	done   int
	failed []error
}

// foreignTo tells whether root, by sudo, would write into the home of another
// owner, who could not change the files then.
func foreignTo(euid int, sudo, owner string) bool {
	return euid == 0 && sudo != "" && sudo != "root" && owner != ""
}

// connecting begins the work; without names it lists, and there is none.
func (a *app) connecting(given []string, dryRun bool) (*connectWork, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	for _, name := range given {
		if name != "all" && !slices.Contains(connect.Names(), name) {
			hint := "known are " + joined(connect.Names()) + ", and all"
			if near := nearest(name, connect.Names()); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, hinted(fmt.Errorf("client %s: %w", quote(name), store.ErrNotFound), hint)
		}
	}
	if c.User == "" {
		return nil, hinted(usageError{config.ErrNoUser}, "set HOME to your home folder: clients have their settings there")
	}
	if info, err := os.Stat(c.User); err == nil && len(given) > 0 && !dryRun && foreignTo(os.Geteuid(), a.env("SUDO_USER"), foreignOwner(info)) {
		return nil, hinted(usagef("under sudo the files in %s would become root's", c.User), "run it without sudo")
	}
	con, s, err := a.connector(c)
	if err != nil {
		return nil, err
	}
	w := &connectWork{a: a, c: con, given: given, out: connectJSON{Schema: 1, DryRun: dryRun, Server: append([]string{s.Command}, s.Args...)}}
	if len(given) > 0 {
		return w, nil
	}
	return nil, w.list()
}

// names gives the clients to work on; "all" is those that fit.
func (w *connectWork) names(fits func(connect.Status) bool) []string {
	if !slices.Contains(w.given, "all") {
		return slices.Compact(w.given)
	}
	var out []string
	for _, name := range connect.Names() {
		if all, err := w.c.Look(name); err == nil && slices.ContainsFunc(all, fits) {
			out = append(out, name)
		}
	}
	return out
}

func (w *connectWork) rows(name string) ([]connectedIs, error) {
	all, err := w.c.Look(name)
	if err != nil {
		return nil, err
	}
	var out []connectedIs
	for _, st := range all {
		r := connectedIs{Client: st.Client, Title: st.Title, Found: list(st.Found), File: st.File, State: st.State, Command: list(allShown(st.Command)),
			Off: orNull(st.Off), Doubles: list(st.Doubles), Lost: st.Lost, Notes: []string{}}
		if st.Problem != nil {
			r.fail(st.Problem)
		}
		out = append(out, r)
	}
	return out, nil
}

func (r *connectedIs) fail(err error) {
	what := shown(err.Error())
	r.Problem = &what
	if e, ok := errors.AsType[*connect.Error](err); ok {
		r.Fix = orNull(e.Next)
		what = shown(e.Err.Error())
	}
}

// told keeps and prints what became of one client.
func (w *connectWork) told(ctx context.Context, p plan.Plan, res connect.Result, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	rows, lookErr := w.rows(res.Client)
	if lookErr != nil {
		return lookErr
	}
	rows[0].Changed, rows[0].Notes = len(res.Steps) > 0 && err == nil, list(allShown(res.Notes))
	if err == nil {
		w.done++
		if w.out.DryRun {
			rows[0].Plan = planText(p)
		}
		w.say(rows, res)
	} else {
		rows[0].fail(err)
		w.failed = append(w.failed, err)
	}
	w.out.Clients = append(w.out.Clients, rows...)
	return nil
}

// say prints what became of one client.
func (w *connectWork) say(rows []connectedIs, res connect.Result) {
	if w.a.flags.json {
		return
	}
	if w.out.DryRun {
		put(w.a.out, "%s:\n%s", res.Client, rows[0].Plan)
		return
	}
	for _, line := range w.words(rows, res) {
		put(w.a.out, "%s: %s\n", res.Client, clean(line, false))
	}
	for _, n := range res.Notes {
		put(w.a.err, "%s: %s\n", res.Client, masked(n))
	}
}

// words says what was done, or that there was nothing to do.
func (w *connectWork) words(rows []connectedIs, res connect.Result) (out []string) {
	if len(res.Steps) == 0 {
		if w.off {
			return []string{"not connected, nothing to do"}
		}
		return []string{"connected already, in " + rows[0].File}
	}
	verb := "connected"
	if w.off {
		verb = "disconnected"
	}
	for _, s := range res.Steps {
		if s.Command != nil {
			out = append(out, verb+" by "+plan.Quote(s.Command.Argv))
		} else {
			out = append(out, fmt.Sprintf("%s: %s: %s", verb, s.File.Path, s.Why))
		}
	}
	return out
}

func planText(p plan.Plan) string {
	var b strings.Builder
	_ = p.Print(&b, plan.PrintOptions{Mask: masked, Private: true}) // a builder takes all
	return b.String()
}

// end prints what JSON is to be printed and gives the exit code.
func (w *connectWork) end(verb string) error {
	if len(w.out.Clients) == 0 && !w.a.flags.json {
		put(w.a.out, "no client is to be %s\n", verb)
	}
	if w.a.flags.json {
		w.out.Clients = list(w.out.Clients)
		if err := w.a.printJSON(w.out); err != nil {
			return err
		}
	}
	if len(w.failed) == 0 {
		return nil
	}
	if w.done == 0 && len(w.failed) == 1 {
		err := w.failed[0]
		hint := ""
		if e, ok := errors.AsType[*connect.Error](err); ok {
			hint = e.Next
		}
		if errors.Is(err, connect.ErrNotFound) {
			err = fmt.Errorf("%w: %w", err, store.ErrNotFound)
		}
		return hinted(err, hint)
	}
	for _, err := range w.failed {
		if e, ok := errors.AsType[*connect.Error](err); ok {
			w.a.warn("%v: %s", e, e.Next)
		} else {
			w.a.warn("%v", err)
		}
	}
	what := fmt.Sprintf("%s could not be %s", plural(len(w.failed), "client"), verb)
	if w.done == 0 {
		return errors.New(what)
	}
	return partlyError{what}
}

// list prints all clients that are found or have something of ours.
func (w *connectWork) list() error {
	t := table{head: []string{"CLIENT", "STATE", "FILE"}, paint: map[string]colour{"connected": green, "outdated": yellow, "unreadable": red}}
	for _, name := range connect.Names() {
		rows, err := w.rows(name)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if len(r.Found) == 0 && r.State == connect.Absent && !r.Lost {
				continue
			}
			w.out.Clients = append(w.out.Clients, r)
			state := r.State.String()
			if r.Off != nil {
				state += ", off"
			}
			t.add(r.Client, state, clean(r.File, false))
		}
	}
	if w.a.flags.json {
		w.out.Clients = list(w.out.Clients)
		return w.a.printJSON(w.out)
	}
	if len(w.out.Clients) == 0 {
		put(w.a.out, "no client is found here; known are %s\n", joined(connect.Names()))
		return nil
	}
	if err := t.print(w.a, w.a.out); err != nil {
		return err
	}
	for _, r := range w.out.Clients {
		switch {
		case r.Problem != nil:
			w.a.warn("%s: %s", r.Client, *r.Problem)
		case r.Lost:
			w.a.warn("%s was connected, and its entry is gone", r.Client)
		case r.State == connect.Foreign, r.State == connect.Stale:
			w.a.warn("%s: the entry starts %s", r.Client, plan.Quote(r.Command))
		}
	}
	if slices.ContainsFunc(w.out.Clients, func(r connectedIs) bool { return r.State == connect.Absent || r.State == connect.Stale }) {
		put(w.a.err, "%s connect CLIENT… connects, %[1]s connect all does all of these\n", program())
	}
	return nil
}

// agreed asks a yes-or-no question on a terminal; without one the answer is no.
func (a *app) agreed(format string, args ...any) bool {
	f, ok := a.in.(*os.File)
	if !ok || a.flags.json || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	put(a.err, format+" [y/N] ", args...)
	line, _ := bufio.NewReader(a.in).ReadString('\n') // no answer is no
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

// clients looks at the clients that are found: connected ones first need to work.
func (d *doctor) clients(c config.Config) {
	if c.User == "" {
		return
	}
	con, _, err := d.a.connector(c)
	if err != nil {
		return // a program that is gone after this command: there is nothing to compare with
	}
	faults, fine, loose := con.Check()
	for _, f := range faults {
		state := healthWarn
		if f.Broken {
			state = healthBroken
		}
		d.add("mcp client", state, f.Fix, "%s: %s", f.Client, shown(f.What))
	}
	if len(fine) > 0 {
		d.ok("mcp clients", "connected: %s", joined(fine))
	}
	if len(loose) > 0 {
		d.add("mcp clients", healthOK, "session-migrator connect "+strings.Join(loose, " "), "here, and not connected: %s", joined(loose))
	}
}
