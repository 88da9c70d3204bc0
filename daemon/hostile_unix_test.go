//go:build !windows

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// Links, a pipe and a folder where documents are: nothing is written through
// them, nothing hangs, and the other documents are written.
func TestHostileTargetsStayInside(t *testing.T) {
	reliability.Fault(t, 48, "a link, a pipe and a folder in place of memory files, a link in place of a project's folder")
	p := newPlace(t)
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := make([]*rollouttest.Rollout, 4)
	for i := range b {
		b[i] = rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 900+i), Cwd: fmt.Sprintf("/srv/p%d", i)})
		b[i].User("question").Assistant("answer").End()
		p.write(b[i], -1)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	file := func(i int) string {
		names, err := filepath.Glob(filepath.Join(p.opt.Config.MemoryDir, "projects", "*", fmt.Sprintf("2*-%08d.md", 900+i)))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		return names[0]
	}
	link, pipe, folder, project := file(0), file(1), file(2), filepath.Dir(file(3))
	for _, err := range []error{
		os.Remove(link), os.Symlink(victim, link), os.Remove(pipe), syscall.Mkfifo(pipe, 0o600), os.Remove(folder), os.Mkdir(folder, 0o700),
		os.RemoveAll(project), os.Symlink(outside, project),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range b {
		r.User("more").Assistant("newer answer").End()
		p.write(r, -1)
	}
	_, err := daemon.Once(t.Context(), p.opt) // some can't be written: that may be an error, but nothing else
	t.Logf("told: %v", err)
	for _, name := range []string{link, pipe} {
		if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() || !strings.Contains(p.text(name), "newer answer") {
			t.Errorf("%s is not the document: %v, %v", name, st, err)
		}
	}
	if got := p.text(victim); got != "mine" {
		t.Errorf("written through a link: %q", got)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		t.Errorf("outside lie %v, %v", names, err)
	}
	reliability.Figure(t, 16, "documents and a project that became links, a pipe and a folder: no byte outside the drop folder")
}
