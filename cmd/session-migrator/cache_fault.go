package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
)

// healing is all there is to say of a bad cache that a daemon works on.
const healing = "the daemon is making it anew, ask again in a few seconds"

// cacheFault says why the cache can't be asked, and what to do about it: the
// same to status, to doctor and to whoever asked. running tells of a daemon.
func cacheFault(c config.Config, running bool, err error) fault {
	f := fault{name: "cache", what: err.Error()}
	if errors.Is(err, store.ErrNone) {
		f.what = "there is no cache yet at " + c.DB()
	}
	_, f.fix = classify(err)
	switch {
	case running && heals(err):
		f.fix = healing
	case lockedOut(c, err):
		for _, path := range []string{c.DB(), c.DB() + "-wal", c.DB() + "-shm", c.Home} {
			if what, fix := denied(path, true); fix != "" {
				f.what, f.fix = "the cache can't be read: "+what, fix
				return f
			}
		}
		if f.fix == "" {
			f.fix = "see that you may read and write " + c.Home + " and what is in it, or give another --home DIR"
		}
	}
	return f
}

// heals tells whether a daemon that meets the same makes the cache anew.
func heals(err error) bool {
	return errors.Is(err, store.ErrNone) || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign)
}

// ofCache gives an error about the cache its next step. A daemon is told of
// what it has to heal: not every damage shows to the one who writes.
func (a *app) ofCache(err error) error {
	c, cErr := a.config()
	if cErr != nil || !heals(err) && !lockedOut(c, err) {
		return err
	}
	info, _ := daemon.Inspect(c) // one that can't be asked is none
	err = tellDaemon(c, info, err)
	if _, told := errors.AsType[*hintError](err); told {
		return err
	}
	f := cacheFault(c, info.Running, err)
	return hinted(fmt.Errorf("%s%w", f.what, silent{err}), f.fix)
}

// lockedOut tells whether rights keep us from the cache.
func lockedOut(c config.Config, err error) bool {
	if errors.Is(err, store.ErrFolder) {
		return true
	}
	p, ok := errors.AsType[*fs.PathError](err)
	return ok && errors.Is(err, fs.ErrPermission) && (p.Path == c.Home || strings.HasPrefix(p.Path, c.DB()))
}

// tellDaemon asks who writes next to look the cache over, if err is of damage.
func tellDaemon(c config.Config, info daemon.Info, err error) error {
	if info.Running && errors.Is(err, store.ErrForeign) {
		_ = daemon.Suspect(c, store.ErrDamaged) // only a hint
	}
	return daemon.Suspect(c, err)
}

// homeOf is the name of the owner whose home folder this is: nobody is told to
// take that over.
func homeOf(path, owner string) string {
	u, err := user.LookupId(strings.TrimPrefix(owner, "user "))
	if err != nil || filepath.Clean(u.HomeDir) != filepath.Clean(path) {
		return ""
	}
	return u.Username
}

// denied says that the rights of a file or folder keep this user out, and the
// command that mends it; empty if they don't.
func denied(path string, write bool) (what, fix string) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrPermission) && filepath.Dir(path) != path {
		return denied(filepath.Dir(path), false)
	}
	if err != nil || runtime.GOOS == "windows" {
		return "", ""
	}
	need, how := fs.FileMode(0o400), "u+r"
	switch {
	case st.IsDir() && write:
		need, how = 0o700, "700"
	case st.IsDir():
		need, how = 0o500, "u+rx"
	case write:
		need, how = 0o600, "600"
	}
	perm := st.Mode().Perm()
	switch owner := foreignOwner(st); {
	case owner != "" && perm&(need>>6) != need>>6 && homeOf(path, owner) != "":
		return fmt.Sprintf("%s is the home folder of %s", path, homeOf(path, owner)), "set HOME to your own home folder, or give --home DIR"
	case owner != "" && perm&(need>>6) != need>>6:
		return fmt.Sprintf("%s belongs to %s and has mode %04o", path, owner, perm), `sudo chown "$(id -un)" ` + shellWord(path)
	case owner == "" && perm&need != need:
		return fmt.Sprintf("%s has mode %04o", path, perm), "chmod " + how + " " + shellWord(path)
	}
	return "", ""
}

// letRead is the command that lets a file be read; else what to do without one.
func letRead(path, without string) string {
	if _, fix := denied(path, false); fix != "" {
		return fix
	}
	return without
}

// unreadCache adds to the status that the cache could not be asked, and what
// can be known without it.
func (s *statusJSON) unreadCache(ctx context.Context, f fault, none bool) {
	s.DB.Problem, s.DB.none = &f.what, none
	s.Problems = append(s.Problems, "cache: "+f.what+": "+f.fix)
	for i := range s.Roots {
		if n, _ := rollouts(ctx, s.Roots[i].Path); s.Roots[i].Exists { // as many as can be read
			s.Roots[i].Rollouts = &n
		}
	}
}
