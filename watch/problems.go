package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// listedProblems are the problems of a listing that a user can care about.
func listedProblems(res *listing, homes int) []Problem {
	var problems []Problem
	for _, p := range res.problems {
		if base := filepath.Base(p.Path); errors.Is(p.Err, fs.ErrNotExist) && (base == sessionsDir || base == archivedDir) {
			continue // made with the first session, and by the first archiving
		}
		problems = append(problems, p)
	}
	for i := range homes {
		_, others := Resolve(filesOf(res.found, i))
		problems = append(problems, others...)
	}
	return problems
}

// tellHow renews what the health says of how changes are noticed, and what is
// in the way.
func (l *loop) tellHow(now time.Time) {
	var texts []string
	polls := l.backend == nil
	if l.limited {
		texts = append(texts, "not enough watches for all folders: "+l.limit.Error()+"; looking by the clock meanwhile"+moreWatches(l.limit))
	}
	for _, h := range l.homes {
		polls = polls || l.polls(h, now)
		if now.Before(h.distrust) {
			texts = append(texts, h.path+": changes come without events; looking by the clock (nothing to do; network and shared folders are so)")
		}
	}
	for i, p := range l.listed {
		if len(texts) == maxProblems-1 && len(l.listed)-i > 1 {
			texts = append(texts, fmt.Sprintf("and %d more", len(l.listed)-i))
			break
		}
		texts = append(texts, p.String()+readable(p))
	}
	backend := pollBackend
	if !polls {
		backend = l.backend.name()
	}
	l.w.tell(func(h *Health) { h.Backend, h.Problems = backend, texts })
}

const pollBackend = "poll"

// unread says that the last listing could not read a folder, or what is in it.
func (l *loop) unread(dir string) bool {
	return slices.ContainsFunc(l.listed, func(p Problem) bool {
		return errors.Is(p.Err, fs.ErrPermission) && (p.Path == dir || filepath.Dir(p.Path) == dir)
	})
}

// readable says how a problem of permissions is mended.
func readable(p Problem) string {
	if !errors.Is(p.Err, fs.ErrPermission) || runtime.GOOS == "windows" {
		return ""
	}
	return "; let this user read it: chmod u+rX " + shellQuote(p.Path)
}

func shellQuote(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`!*?[](){}<>|&;~#") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// moreWatches says how the limit that err tells of is raised.
func moreWatches(err error) string {
	if runtime.GOOS != "linux" {
		if errors.Is(err, syscall.EMFILE) {
			return `; allow more with "ulimit -n" before the start`
		}
		return ""
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return sysctl("fs.inotify.max_user_watches", 524_288)
	case errors.Is(err, syscall.ENFILE):
		return sysctl("fs.file-max", 1_048_576)
	case errors.Is(err, syscall.EMFILE) && descriptorsLeft():
		return sysctl("fs.inotify.max_user_instances", 1024)
	case errors.Is(err, syscall.EMFILE):
		return `; allow more with "ulimit -n" before the start`
	}
	return ""
}

// sysctl is the command that sets key to enough, or to twice what it is.
func sysctl(key string, enough int) string {
	text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(key, ".", "/"))
	if now, aerr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && aerr == nil && 2*now > enough {
		enough = 2 * now
	}
	return fmt.Sprintf("; allow more with: sudo sysctl %s=%d", key, enough)
}

// descriptorsLeft tells the two limits apart that have one error: of the
// process and of the user's watchers.
func descriptorsLeft() bool {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
