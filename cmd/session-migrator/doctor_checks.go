package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/disk"
)

const (
	checkPatience = 10 * time.Second // for looking the cache over
	backupAge     = 48 * time.Hour   // one is taken each day
	leftOverAge   = 10 * time.Minute // younger temporaries may be in use
	fewWatches    = 8192             // editors alone take more
	maxNamed      = 20               // files a check names
	clockSlack    = 24 * time.Hour
)

func (d *doctor) daemon(ctx context.Context, c config.Config) daemon.Info {
	info, err := daemon.Inspect(c)
	switch {
	case err != nil:
		d.broken("daemon", "see that you may read "+c.Run()+" and what is in it", "can't be asked: %v", err)
		return info
	case !info.Running:
		fix := "session-migrator run, or session-migrator service install"
		if d.a.serviceOf(ctx, c) != nil {
			fix = "session-migrator service start; session-migrator service logs says why it doesn't run"
		}
		d.warn("daemon", fix, "not running: commands take new lines in themselves, memory files stay as they are")
	default:
		d.ok("daemon", "running%s, version %s", processOf(info.PID), orDash(info.Version))
	}
	if info.Running {
		for _, f := range daemonFaults(c, info) {
			state := healthWarn
			if f.name == "intake" {
				state = healthBroken
			}
			d.add(f.name, state, f.fix, "%s", f.what)
		}
	}
	return info
}

func (d *doctor) home(ctx context.Context, home string, more bool) {
	st, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state := healthBroken
		if more {
			state = healthWarn
		}
		d.add("codex home", state, "start Codex once, or give its folder with --codex-home DIR, CODEX_HOME or codex_homes in the settings", "%s does not exist", home)
		return
	case err != nil:
		d.broken("codex home", "see that you may read "+home, "%v", err)
		return
	case !st.IsDir():
		d.broken("codex home", "give the folder that holds sessions/", "%s is no folder", home)
		return
	}
	n, problems := rollouts(ctx, home)
	for _, p := range problems {
		fix := "see that you may read it"
		if e, ok := errors.AsType[*fs.PathError](p); ok {
			fix = letRead(e.Path, fix)
		}
		d.broken("codex home", fix, "%v", p)
	}
	switch {
	case n == 0 && len(problems) == 0:
		d.warn("codex home", "use Codex, or give the right folder with --codex-home DIR", "%s holds no sessions yet", home)
	case n > 0:
		d.ok("codex home", "%s, %s", home, plural(n, "rollout"))
	}
}

// rollouts counts the rollouts below a home. What isn't there is no problem.
func rollouts(ctx context.Context, home string) (n int, problems []error) {
	for _, dir := range []string{"sessions", "archived_sessions"} {
		root := filepath.Join(home, dir)
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				problems = append(problems, err)
			case e.Type().IsRegular() && strings.HasPrefix(e.Name(), "rollout-"):
				n++
			}
			return nil
		})
		if err != nil {
			return n, problems
		}
	}
	return n, problems
}

func (d *doctor) folder(c config.Config) {
	st, err := os.Stat(c.Home)
	if errors.Is(err, fs.ErrNotExist) {
		d.ok("data folder", "%s is not there yet; the first command makes it", c.Home)
		return
	}
	if err != nil {
		d.broken("data folder", "see that you may read "+c.Home+", or give another --home DIR", "%v", err)
		return
	}
	if !st.IsDir() {
		d.broken("data folder", "move it away, or give another --home DIR", "%s is no folder", c.Home)
		return
	}
	fine := len(d.checks)
	if owner := foreignOwner(st); owner != "" {
		d.broken("data folder", "chown -R it to you, or give another --home DIR", "%s belongs to %s", c.Home, owner)
	}
	if err := writable(c.Home); err != nil {
		d.broken("data folder", "see that you may write to "+c.Home+", or give another --home DIR", "%s can't be written: %v", c.Home, err)
	}
	if runtime.GOOS != "windows" {
		if st.Mode().Perm()&0o077 != 0 {
			d.warn("data folder", "chmod 700 "+shellWord(c.Home), "%s has mode %04o: other users may look in", c.Home, st.Mode().Perm())
		}
	}
	if kind := disk.Shared(c.Home); kind != "" {
		d.warn("data folder", "give a folder on a disk of this machine: --home DIR or SESSION_MIGRATOR_HOME", "%s lies on %s, where a cache can be damaged by two machines at once", c.Home, kind)
	}
	if f, short := roomFault(c); short {
		d.broken(f.name, f.fix, "%s", f.what)
	} else if u, err := disk.Of(c.Home); err == nil {
		d.ok("room", "%s free", size(u.Free))
	}
	if len(d.checks) == fine || len(d.checks) == fine+1 && d.checks[fine].Name == "room" {
		d.ok("data folder", "%s", c.Home)
	}
}

func (d *doctor) cache(ctx context.Context, c config.Config, info daemon.Info) {
	for _, dir := range setAside(c.Home) {
		d.warn("set aside", "delete it when you don't need it any more", "%s: a damaged cache that was made anew since", dir)
	}
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		d.unreadCache(c, info, err)
		return
	}
	defer func() { _ = db.Close() }() // only read
	schema, err := db.Schema(ctx)
	if err == nil {
		err = errors.Join(db.Outdated(ctx), d.integrity(ctx, db))
	}
	if err != nil {
		d.unreadCache(c, info, err)
		return
	}
	d.private("cache", c.DB())
	d.private("search", c.Search())
	d.ok("cache", "%s, %s, schema %d", c.DB(), size(db.Size()), schema)
	if clean, err := db.Meta(ctx, "clean_shutdown"); err == nil && clean == "no" && !info.Running {
		d.warn("last stop", "nothing to do: the next run looks the cache over first", "the last run did not end by itself")
	}
	d.files(ctx, db)
	d.edited(ctx, c, db)
	d.backlog(ctx, db, info)
	d.search(ctx, c, db, info)
	d.clock(ctx, db)
}

// private looks whether other users may read a database.
func (d *doctor) private(name, path string) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if f, err := os.Stat(path + suffix); err == nil && f.Mode().IsRegular() && runtime.GOOS != "windows" && f.Mode().Perm()&0o077 != 0 {
			d.warn(name, "chmod 600 "+shellWord(path+suffix), "%s has mode %04o: other users may read it", path+suffix, f.Mode().Perm())
		}
	}
}

// unreadCache says why the cache can't be asked. One that isn't there, or is
// being made anew, is nothing broken.
func (d *doctor) unreadCache(c config.Config, info daemon.Info, err error) {
	f := cacheFault(c, info.Running, tellDaemon(c, info, err))
	state := healthBroken
	if f.fix == healing || errors.Is(err, store.ErrNone) {
		state = healthWarn
	}
	d.add(f.name, state, f.fix, "%s", f.what)
}

// integrity looks for damage, as far as the patience goes.
func (d *doctor) integrity(ctx context.Context, db *store.DB) error {
	quick, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	err := db.Check(quick)
	if err != nil && quick.Err() != nil && ctx.Err() == nil {
		d.ok("integrity", "not looked over to the end: it takes longer than %s", took(checkPatience))
		return nil
	}
	return err
}

func setAside(home string) []string {
	var out []string
	for _, pattern := range []string{"damaged-*", "corrupt-*"} {
		dirs, _ := filepath.Glob(filepath.Join(home, pattern)) // the pattern is fine
		out = append(out, dirs...)
	}
	return out
}

// files names every file that was not fully read, with the reason and the byte
// position, as status does.
func (d *doctor) files(ctx context.Context, db *store.DB) {
	problems, err := db.Problems(ctx)
	if err != nil {
		d.broken("files", "", "%v", err)
		return
	}
	// Status names both of two files of a session; here they are one thing.
	unread := map[string]bool{}
	for _, p := range problems {
		unread[p.Unread] = p.Unread != ""
	}
	problems = slices.DeleteFunc(problems, func(p store.Problem) bool { return unread[p.Path] })
	for i, p := range problems {
		if i == maxNamed {
			d.warn("files", `"session-migrator status" names all`, "%s more not fully read", plural(len(problems)-i, "file"))
			break
		}
		if err := readTo(ctx, db, &p); err != nil {
			d.broken("files", "", "%v", err)
			return
		}
		fix, f := "nothing to do: the rest of the file was read", fileOf(&p)
		switch {
		case f.Fix != "":
			fix = f.Fix
		case p.State == store.FileUnreadable:
			fix = "see that you may read it; it is tried again by itself"
		case p.Unread != "":
			fix = "the one that was read first is used: keep the one you want and move the other out of the Codex home"
		}
		d.warn("files", fix, "%s: %s", p.Path, f.Reason)
	}
	if len(problems) == 0 {
		d.ok("files", "all were read to the end")
	}
}

// edited names the files that are somebody's own by now, of all sinks.
func (d *doctor) edited(ctx context.Context, c config.Config, db *store.DB) {
	if err := d.keptSinks(ctx, c, db); err != nil {
		d.broken("edited", "", "%v", err)
		return
	}
	var edited []string
	for _, k := range d.kept {
		edited = append(edited, k.edited...)
	}
	for i, path := range edited {
		if i == maxNamed {
			d.ok("edited", `%s more; "session-migrator status --json" names all`, plural(len(edited)-i, "file"))
			break
		}
		d.ok("edited", "%s is yours since you edited it, and is not renewed; delete it to have it made again with the session's next turn", path)
	}
}

func (d *doctor) backlog(ctx context.Context, db *store.DB, info daemon.Info) {
	totals, err := db.Totals(ctx)
	if err != nil {
		d.broken("backlog", "", "%v", err)
		return
	}
	var behind int64
	for _, t := range totals {
		behind += t.Behind
	}
	switch {
	case behind == 0:
		d.ok("backlog", "none")
	case info.Running:
		d.warn("backlog", "wait: the daemon is reading", "%s not read yet", size(behind))
	default:
		d.warn("backlog", "session-migrator run --once", "%s not read yet", size(behind))
	}
}

// clock compares the machine's with the sessions'.
func (d *doctor) clock(ctx context.Context, db *store.DB) {
	const fix = "set the clock of this machine; times of sessions and files depend on it"
	now := d.a.now()
	threads, _, err := db.Threads(ctx, store.Filter{Limit: 1, Archived: true, Subagents: true})
	if err != nil {
		d.broken("clock", "", "%v", err)
		return
	}
	switch {
	case now.Year() < 2026:
		d.warn("clock", fix, "it says %s, before this program was made", now.Format("2006-01-02"))
	case len(threads) > 0 && threads[0].Updated.Sub(now) > clockSlack:
		d.warn("clock", fix, "it says %s, but a session was changed on %s", now.Format("2006-01-02"), threads[0].Updated.Format("2006-01-02"))
	default:
		d.ok("clock", "%s", now.Format("2006-01-02 15:04 -0700"))
	}
}

// watchLimits are files of Linux that say how many folders may be watched.
const watchLimits = "/proc/sys/fs/inotify/max_user_watches"

func (d *doctor) watching(info daemon.Info) {
	if text, err := os.ReadFile(watchLimits); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n < fewWatches {
			d.warn("watch limit", "sudo sysctl fs.inotify.max_user_watches=524288", "%s folders may be watched by all programs of yours together", number(n))
		}
	}
	if !info.Running || info.Backend == "" { // none, or it started just now
		return
	}
	told := false
	for _, p := range info.Problems {
		if strings.Contains(p, choices.Name) {
			continue // the check of choices says so
		}
		what, fix := watchFix(p)
		d.warn("watching", fix, "%s", what)
		told = told || strings.Contains(p, byClock)
	}
	if info.Backend == "poll" {
		if !told {
			d.warn("watching", elsewhereHome, "changes are looked for "+byClock+": other machines may make some, of which the system does not tell")
		}
		return
	}
	d.ok("watching", "%s, %s", orDash(info.Backend), plural(info.Watches, "folder"))
}

const (
	byClock       = "by the clock"
	elsewhereHome = "nothing is lost; to have changes a little sooner, move the Codex home to a disk of this machine"
)

// watchFix parts what the watcher says of a problem from what it says to do.
func watchFix(problem string) (what, fix string) {
	for mark, say := range map[string]string{"; allow more with: ": "", "; allow more with ": "start the daemon with more: ", "; let this user read it: ": ""} {
		if what, fix, ok := strings.Cut(problem, mark); ok {
			return what, say + fix
		}
	}
	if strings.Contains(problem, byClock) {
		what, _, _ = strings.Cut(problem, " (")
		return what, elsewhereHome
	}
	return problem, "see that you may read it"
}

func (d *doctor) drop(c config.Config, info daemon.Info) {
	faults := dropFaults(c, info)
	for _, f := range faults {
		d.broken(f.name, f.fix, "%s", f.what)
	}
	if n := leftOver(c.MemoryDir, d.a.now().Add(-leftOverAge)); n > 0 {
		d.warn("left over", "nothing to do: the next run removes them", "%s of an interrupted run in %s", plural(n, "temporary file"), c.MemoryDir)
	}
	switch {
	case len(faults) > 0:
	case exists(c.MemoryDir):
		d.ok("drop folder", "%s", c.MemoryDir)
	default:
		d.ok("drop folder", "%s is not there yet; the first run makes it", c.MemoryDir)
	}
}

// leftOver counts our own temporaries that are older than before.
func leftOver(dir string, before time.Time) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), ".sm-") || !strings.HasSuffix(e.Name(), ".tmp") {
			return nil //nolint:nilerr // what can't be read is told elsewhere
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			n++
		}
		return nil
	})
	return n
}

// backups looks for copies of what no rollout can give again.
func (d *doctor) backups(c config.Config) {
	files, _ := filepath.Glob(filepath.Join(c.Home, "backups", "*.db")) // the pattern is fine
	var newest time.Time
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.ModTime().After(newest) {
			newest = st.ModTime()
		}
	}
	switch {
	case newest.IsZero():
		d.ok("backups", "none yet; the daemon takes one a day of what no rollout can give again")
	case d.a.now().Sub(newest) > backupAge:
		d.warn("backups", "leave \"session-migrator run\" running", "the newest was taken %s", ago(d.a.now(), newest))
	default:
		d.ok("backups", "%s, the newest taken %s", plural(len(files), "backup"), ago(d.a.now(), newest))
	}
}
