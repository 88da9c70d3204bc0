package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/handoff"
	"github.com/session-migrator/session-migrator/install/service"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

const refreshEvery = 2 * time.Second

func newStatusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how the daemon, the cache and the drop folder are",
		Long: `Says whether a daemon runs, what was read of each Codex home and what was not
and why, how the sinks are, and which sessions run out of context or quota, with
the command that hands each on. It only looks: nothing is read in.

Exit codes: 0 answered, 2 wrong usage, 10 no cache yet.`,
		Example: "  session-migrator status --watch",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return watchStatus(cmd.Context(), a)
			}
			s, problem, err := a.status(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(a.printStatus(a.out, s), problem)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every 2 s until Ctrl-C")
	return cmd
}

type statusJSON struct {
	Schema   int               `json:"schema"`
	Version  string            `json:"version"`
	Daemon   daemonJSON        `json:"daemon"`
	DB       dbJSON            `json:"db"`
	Roots    []rootJSON        `json:"roots"`
	Watch    watchJSON         `json:"watch"` // backend "none" without a daemon
	Sinks    []sinkJSON        `json:"sinks"`
	Summary  summaryState      `json:"summary"`
	Problems []string          `json:"problems"`
	Handoffs []handoff.Handoff `json:"handoffs"` // sessions that run out of context or quota
	Memory   string            `json:"memory_dir"`
	Config   string            `json:"config"`
	Search   indexJSON         `json:"search"`

	Embeddings embeddingsJSON `json:"embeddings"`

	Service *service.Installed `json:"service"` // null: none is installed
}

type daemonJSON struct {
	Running bool       `json:"running"`
	PID     int        `json:"pid"` // 0 if none runs
	Since   *time.Time `json:"since"`
	Version string     `json:"version"`

	Replaced  bool       `json:"program_replaced"` // another program lies where it was started from
	Homes     []string   `json:"codex_homes"`      // that it watches
	MemoryDir string     `json:"memory_dir"`       // that it writes to
	Paused    *string    `json:"paused"`           // why intake waits, null if it doesn't
	PausedAt  *time.Time `json:"paused_since"`

	Service  string `json:"service,omitempty"`   // the service manager that started it
	UserHome string `json:"user_home,omitempty"` // HOME as it sees it
}

type dbJSON struct {
	Path   string `json:"path"`
	Schema int    `json:"schema"` // 0: no cache yet
	Bytes  int64  `json:"bytes"`

	Rebuild *pipeline.Rebuild `json:"rebuild"` // null: all is there
	daemon.Care
	Problem *string `json:"problem"` // why the cache can't be asked, null if it can
	none    bool
}

type rootJSON struct {
	Path         string     `json:"path"`
	Exists       bool       `json:"exists"`
	Files        int        `json:"files"`
	Threads      int        `json:"threads"`
	Bytes        int64      `json:"bytes"`
	BacklogBytes int64      `json:"backlog_bytes"` // as of ListedAt
	NotFullyRead []fileJSON `json:"not_fully_read"`
	ListedAt     *time.Time `json:"listed_at"`
	Rollouts     *int       `json:"rollouts"` // found just now, where the cache can't be asked; else null
}

type fileJSON struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`

	// Where it was not read, as of status.
	Damage  []transcript.Damage `json:"damage,omitempty"`        // the first ones
	Damaged int                 `json:"damaged_lines,omitempty"` // all
	Torn    *tornJSON           `json:"torn,omitempty"`
	Fix     string              `json:"fix,omitempty"` // the command that lets it be read
}

// tornJSON is a last line that was never finished.
type tornJSON struct {
	Offset int64     `json:"offset"` // where it begins
	Bytes  int64     `json:"bytes"`
	Since  time.Time `json:"since"`
}

func fileOf(p *store.Problem) fileJSON {
	f := fileJSON{Path: p.Path, Reason: strings.Join(fewReasons(problemsOf(*p), p.Damaged-len(p.Damage)), "; "), Damage: p.Damage, Damaged: p.Damaged}
	if p.TornBytes > 0 {
		f.Torn = &tornJSON{p.TornOffset, p.TornBytes, p.TornSince}
	}
	if p.State == store.FileUnreadable {
		_, f.Fix = denied(p.Path, false)
	}
	return f
}

// noBackend is how changes are noticed when no daemon runs.
const noBackend = "none"

type watchJSON struct {
	Backend   string     `json:"backend"`
	Watches   int        `json:"watches"`
	Dropped   int64      `json:"dropped"`
	LastEvent *time.Time `json:"last_event"`
}

type sinkJSON struct {
	Name      string  `json:"name"`
	Enabled   bool    `json:"enabled"`
	Files     int     `json:"files"`
	LastError *string `json:"last_error"`

	Since   *time.Time `json:"since"`    // of last_error
	NextTry *time.Time `json:"next_try"` // nothing is written before
	Waiting int        `json:"waiting"`  // sessions whose file is not renewed yet
	Edited  []string   `json:"edited"`   // files that somebody edited: they are not renewed any more

	Shared   int      `json:"shared"`   // files with lines of ours
	Logs     int      `json:"logs"`     // daily logs with entries of ours
	Absent   bool     `json:"absent"`   // it has no place here yet
	Problems []string `json:"problems"` // of single shared files

	AbsentWhy string `json:"absent_why,omitempty"`
	asked     bool   // the user switched it on

	unwritten []string // places that can't be written, as the daemon says
}

// status gathers what can be known. problem is why the cache could not be
// looked into; the rest is there all the same.
func (a *app) status(ctx context.Context) (s statusJSON, problem, err error) {
	c, err := a.config()
	if err != nil {
		return s, nil, err
	}
	s = statusJSON{Schema: 1, Version: version, DB: dbJSON{Path: c.DB()}, Sinks: []sinkJSON{}, Problems: []string{}, Handoffs: []handoff.Handoff{}, Memory: c.MemoryDir, Config: c.File, Search: indexJSON{Path: c.Search(), none: true}}
	info, err := daemon.Inspect(c)
	if err != nil {
		s.Problems = append(s.Problems, "the daemon can't be asked: "+err.Error())
	}
	s.Daemon, s.Service = daemonOf(info), a.serviceOf(ctx, c)
	s.Watch.Backend = noBackend
	if info.Running {
		s.Watch = watchJSON{Backend: info.Backend, Watches: info.Watches, Dropped: info.Dropped, LastEvent: instant(info.LastEvent)}
		s.Problems = append(s.Problems, info.Problems...)
		for _, f := range daemonFaults(c, info) {
			s.Problems = append(s.Problems, f.what+": "+f.fix)
		}
	}
	s.Embeddings, s.Summary = embeddingsOf(c, info), summariesOf(c, info)
	for _, k := range info.Sinks {
		s.Sinks = append(s.Sinks, sinkJSON{Name: k.Name, Enabled: k.Enabled, Files: k.Files, LastError: orNull(k.LastError), Since: instant(k.Since), NextTry: instant(k.NextTry),
			Waiting: k.Waiting, Edited: []string{}, Shared: k.Shared, Absent: k.Absent, Problems: list(k.Problems), unwritten: k.Unwritten})
	}
	faults := dropFaults(c, info)
	if f, short := roomFault(c); short && !info.Running { // a daemon says so itself
		faults = append(faults, f)
	}
	for _, f := range faults {
		s.Problems = append(s.Problems, f.what+": "+f.fix)
	}
	for _, h := range c.CodexHomes {
		s.Roots = append(s.Roots, rootJSON{Path: h, Exists: isHome(h), NotFullyRead: []fileJSON{}})
		if !isHome(h) {
			s.Problems = append(s.Problems, "no Codex home at "+h)
		}
	}
	if _, err := choices.Load(c.Home); err != nil && !info.Running {
		s.Problems = append(s.Problems, err.Error()) // a daemon says so itself
	}
	problem = s.look(ctx, c, a.now())
	s.whyAbsent(c)
	if problem != nil {
		problem = tellDaemon(c, info, problem)
		s.unreadCache(ctx, cacheFault(c, info.Running, problem), errors.Is(problem, store.ErrNone))
	}
	return s, problem, nil
}

// dropSink is the name of the sink that is always on.
const dropSink = "drop"

// look adds what stands in the cache.
func (s *statusJSON) look(ctx context.Context, c config.Config, now time.Time) (err error) {
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.DB.Bytes = db.Size()
	if s.DB.Schema, err = db.Schema(ctx); err != nil {
		return err
	}
	if s.DB.Rebuild, err = pipeline.Rebuilding(ctx, db); err != nil {
		return err
	}
	if s.DB.Care, err = daemon.CareOf(ctx, db); err != nil {
		return err
	}
	s.Search = indexOf(ctx, c, db)
	if err := s.Summary.look(ctx, db); err != nil {
		return err
	}
	homes, err := db.Homes(ctx)
	if err != nil {
		return err
	}
	for _, h := range homes {
		s.root(h.Path).ListedAt = instant(h.Listed)
	}
	totals, err := db.Totals(ctx)
	if err != nil {
		return err
	}
	for _, t := range totals {
		r := s.root(t.Home)
		r.Files, r.Threads, r.Bytes, r.BacklogBytes = t.Files, t.Threads, t.Bytes, t.Behind
	}
	problems, err := db.Problems(ctx)
	if err != nil {
		return err
	}
	for i := range problems {
		if err := readTo(ctx, db, &problems[i]); err != nil {
			return err
		}
		r := s.root(problems[i].Home)
		r.NotFullyRead = append(r.NotFullyRead, fileOf(&problems[i]))
	}
	files, edited, err := memoryFiles(ctx, db, c)
	if err != nil {
		return err
	}
	if err := s.lookAtSinks(ctx, c, db); err != nil {
		return err
	}
	for i := range s.Sinks {
		if k := &s.Sinks[i]; k.Name == dropSink {
			k.Files, k.Edited = files, allShown(edited)
		}
	}
	p, err := pipeline.New(ctx, db, daemon.PipelineOptions(c))
	if err != nil {
		return err
	}
	s.Handoffs, err = handoff.List(ctx, db, p, c.Handoff.Threshold, now)
	return err
}

// memoryFiles counts those that are there, and names those that somebody edited.
func memoryFiles(ctx context.Context, db *store.DB, c config.Config) (n int, edited []string, err error) {
	receipts, err := db.Receipts(ctx, dropSink)
	for _, r := range receipts {
		path := filepath.Join(c.MemoryDir, filepath.FromSlash(r.Name))
		if r.Name == "" || !exists(path) {
			continue
		}
		n++
		if !r.Managed {
			edited = append(edited, path)
		}
	}
	slices.Sort(edited)
	return n, edited, err
}

// root gives the entry of a home, also of one that only the cache knows.
func (s *statusJSON) root(path string) *rootJSON {
	i := slices.IndexFunc(s.Roots, func(r rootJSON) bool { return r.Path == path })
	if i < 0 {
		s.Roots = append(s.Roots, rootJSON{Path: path, Exists: exists(path), NotFullyRead: []fileJSON{}})
		i = len(s.Roots) - 1
	}
	return &s.Roots[i]
}

func (a *app) printStatus(w io.Writer, s statusJSON) error {
	if a.flags.json {
		return a.printJSON(s)
	}
	now := a.now()
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	if s.Daemon.Running {
		since := ""
		if s.Daemon.Since != nil {
			since = ", for " + took(now.Sub(*s.Daemon.Since))
		}
		line("daemon", "%s%s%s, version %s", a.paint(w, green, "running"), processOf(s.Daemon.PID), since, orDash(s.Daemon.Version))
	} else if s.Service != nil {
		line("daemon", `not running; "session-migrator service start" starts it`)
	} else {
		line("daemon", `not running; "session-migrator run" starts it`)
	}
	s.printService(line)
	if s.Watch.Backend != noBackend {
		event := "no change seen yet"
		if s.Watch.LastEvent != nil {
			event = "last change seen " + ago(now, *s.Watch.LastEvent)
		}
		line("watch", "%s, %s, %s", orDash(s.Watch.Backend), plural(s.Watch.Watches, "folder"), event)
	}
	switch {
	case s.DB.none:
		line("cache", "none yet at %s", s.DB.Path)
	case s.DB.Problem != nil:
		line("cache", "%s %s", s.DB.Path, a.paint(w, red, "can't be asked"))
	default:
		line("cache", "%s, %s", s.DB.Path, size(s.DB.Bytes))
	}
	s.DB.care(now, line)
	if s.DB.Problem == nil {
		s.Search.print(line)
	}
	s.Embeddings.print(a, now, line)
	s.Summary.print(a, now, line)
	for _, r := range s.Roots {
		if !r.Exists {
			line("home", "%s %s", r.Path, a.paint(w, red, "does not exist"))
			continue
		}
		if r.Rollouts != nil {
			line("home", "%s: %s", r.Path, plural(*r.Rollouts, "rollout"))
			continue
		}
		backlog := ""
		if r.BacklogBytes > 0 {
			backlog = ", " + size(r.BacklogBytes) + " not read yet"
		}
		line("home", "%s: %s, %s, %s%s", r.Path, plural(r.Files, "file"), plural(r.Threads, "session"), size(r.Bytes), backlog)
		for _, f := range r.NotFullyRead {
			line("", "%s\n           %s", clean(f.Path, false), strings.ReplaceAll(clean(f.Reason, false), "; ", "\n           "))
			if f.Fix != "" {
				line("", "  fix: %s", clean(f.Fix, false))
			}
		}
	}
	for _, k := range s.Sinks {
		if k.Absent && k.Files == 0 && !k.asked {
			continue // a program that isn't here
		}
		state := plural(k.Files, "file")
		if len(k.Edited) > 0 {
			state += " (" + number(len(k.Edited)) + " edited: yours, not renewed)"
		}
		if !k.Enabled {
			state = "off"
		}
		if k.LastError != nil {
			state += ", " + a.paint(w, red, clean(*k.LastError, false))
			if k.Since != nil && k.NextTry != nil {
				state += fmt.Sprintf(" (for %s, %s waiting, next try in %s)", took(now.Sub(*k.Since)), plural(k.Waiting, "session"), took(max(0, k.NextTry.Sub(now))))
			}
		}
		where := ""
		if k.Name == dropSink {
			where = " in " + s.Memory
		}
		line("sink", "%s: %s%s", k.Name, state, where+k.more())
		for _, p := range k.Problems {
			line("", "%s", clean(p, false))
		}
	}
	for _, h := range s.Handoffs {
		line("handoff", "%s: %s\n         %s", a.paint(w, yellow, h.String()), h.Name(titleColumns), clean(h.Command, false))
	}
	for _, p := range s.Problems {
		line(a.paint(w, yellow, "problem"), "%s", clean(p, false))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// watchStatus shows the status again and again. Ctrl-C is how it is meant to
// end.
func watchStatus(ctx context.Context, a *app) error {
	_, tty := terminal(a.out)
	t := time.NewTicker(refreshEvery)
	defer t.Stop()
	for {
		s, _, err := a.status(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if tty && !a.flags.json {
			put(a.out, "\x1b[H\x1b[2J")
		}
		if err := a.printStatus(a.out, s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
