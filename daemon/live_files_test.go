//go:build unix

package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// talk makes the n-th of several threads: one question, one answer.
func talk(n int) *rollouttest.Rollout {
	b := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", n)})
	return b.User(fmt.Sprint("question ", n)).Assistant(fmt.Sprint("answer ", n)).End()
}

// unprivileged are the commands that start a process which permissions apply to.
func unprivileged(t *testing.T) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("root may read anything, and setpriv is not installed")
	}
	return []string{"setpriv", "--bounding-set=-all", "--inh-caps=-all"}
}

func TestPermissionGivenLater(t *testing.T) {
	if served(t) {
		return
	}
	reliability.Fault(t, 40, "a rollout and a day folder with mode 0000, read by a process without privileges; the modes given back")
	p := newPlace(t)
	open, file, folder := talk(1), talk(2), talk(3)
	p.write(open, -1)
	closed := p.write(file, -1)
	inside := p.write(folder, -1)
	dir := filepath.Join(p.codex(), "sessions", "2025", "01", "01")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(inside, filepath.Join(dir, filepath.Base(inside))); err != nil {
		t.Fatal(err)
	}
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(closed, 0)
	chmod(dir, 0)
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that it can be deleted
	s := p.spawn(time.Minute, unprivileged(t)...)
	db := p.reader()
	if got := p.said(db, open.ThreadID()); got != "question 1|answer 1" {
		t.Errorf("the readable one: %q", got)
	}
	problems, err := db.Problems(t.Context())
	if err != nil || len(problems) != 1 || problems[0].Path != closed || !strings.Contains(problems[0].Reason, "permission denied") {
		t.Errorf("problems = %+v, %v, want the unreadable file", problems, err)
	}
	p.until("the folder is named, with what to do", func() bool {
		return strings.Contains(strings.Join(p.info().Problems, "\n"), dir+": permission denied; let this user read it: chmod u+rX "+dir)
	})
	chmod(closed, 0o600)
	chmod(dir, 0o700)
	p.until("the file is taken in", func() bool { return p.said(db, file.ThreadID()) == "question 2|answer 2" })
	p.until("what is in the folder is taken in", func() bool { return p.said(db, folder.ThreadID()) == "question 3|answer 3" })
	p.until("no problem is left", func() bool {
		problems, err := db.Problems(t.Context())
		return err == nil && len(problems) == 0 && len(p.info().Problems) == 0
	})
	s.stop()
	if s.err != nil {
		t.Errorf("%v\n%s", s.err, s.errs.String())
	}
}

// What only looks like a rollout is passed over, named, and stops nothing.
func TestSpecialFiles(t *testing.T) {
	reliability.Fault(t, 41, "a pipe, a socket, a device, links to a file and to a folder, and a folder, each named like a rollout; made before the start and while the daemon runs")
	p := newPlace(t)
	first := talk(1)
	target := p.write(first, -1)
	dir := filepath.Dir(target)
	n := 100
	name := func(suffix string) string {
		n++
		return filepath.Join(dir, fmt.Sprintf("rollout-2026-08-20T09-00-00-019a0000-0000-7000-8000-%012d%s", n, suffix))
	}
	odd := func() (paths []string) {
		t.Helper()
		for _, suffix := range []string{".jsonl", ".jsonl.zst"} {
			pipe, socket, link, folder, device := name(suffix), name(suffix), name(suffix), name(suffix), name(suffix)
			for _, err := range []error{
				syscall.Mkfifo(pipe, 0o600), os.Symlink(target, link), os.Mkdir(folder, 0o700), bound(socket),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			paths = append(paths, pipe, socket, link, folder)
			if err := syscall.Mknod(device, syscall.S_IFCHR|0o600, 1<<8|3); err == nil { // /dev/null; root's to make
				paths = append(paths, device)
			}
		}
		return paths
	}
	paths := odd()
	stop := p.start()
	db := p.reader()
	paths = append(paths, odd()...)
	last := talk(2)
	p.write(last, -1)
	took := p.until("a rollout beside them is taken in", func() bool { return p.said(db, last.ThreadID()) == "question 2|answer 2" })
	if got := p.said(db, first.ThreadID()); got != "question 1|answer 1" {
		t.Errorf("the one linked to: %q", got)
	}
	t.Logf("%d special files, the next rollout after %v", len(paths), took)
	if n, err := db.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("%d threads, %v, want 2", n, err)
	}
	half := paths[:len(paths)/2] // those the first listing had
	p.until("they are named", func() bool {
		text := strings.Join(p.info().Problems, "\n")
		for _, path := range half {
			if !strings.Contains(text, path+": not a regular file") {
				return false
			}
		}
		return true
	})
	begun := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

// bound leaves a socket at path.
func bound(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	// The path of a socket may have 100 bytes: less than ours.
	short := filepath.Join(os.TempDir(), fmt.Sprintf("s%d-%d", os.Getpid(), fd))
	err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: short})
	_ = syscall.Close(fd)
	if err != nil {
		return err
	}
	return os.Rename(short, path)
}
