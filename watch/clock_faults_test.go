//go:build linux && faults

package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// run does what only root can; the test is skipped without.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s can't be had here: %v: %s", name, err, out)
	}
}

// coarse gives a folder of a real file system whose times are whole seconds.
func coarse(t *testing.T) string {
	t.Helper()
	dir := realTemp(t)
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	mkdir(t, at)
	put(t, image, "")
	if err := os.Truncate(image, 8<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", "-F", "-I", "128", image)
	run(t, "mount", "-o", "loop", image, at)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return at
}

// A rewrite of the same size within the second of the last look changes nothing
// that could be seen.
func TestFaultWholeSeconds(t *testing.T) {
	reliability.Fault(t, 42, "an ext4 whose times are whole seconds; 20 rewrites of equal size, each in the second of the last look")
	home := filepath.Join(coarse(t), "codex")
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "0")
	if fi, err := os.Stat(path); err != nil || fi.ModTime().Nanosecond() != 0 {
		t.Skipf("times are finer here: %v, %v", fi, err)
	}
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.want(Present, path, soon)
	for range 20 {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		wrote := time.Now()
		if _, err := f.WriteAt([]byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for r.want(Present, path, soon).Seen.Before(wrote) { // another look at the last one
		}
	}
	reliability.Figure(t, 22, "times in whole seconds: 20 of 20 rewrites of equal size within a second seen")
}

// Without events the listing after the second is over sees it, and takes it for
// no missed event.
func TestFaultWholeSecondsListed(t *testing.T) {
	reliability.Fault(t, 42, "the same without any event: seen by the next listing")
	home := filepath.Join(coarse(t), "codex")
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "0")
	r := start(t, Options{Homes: []string{home}, Rescan: 3 * time.Second}, faked(newFake(plenty, nil)))
	first := r.want(Present, path, soon)
	if first.File.CTimeNs%int64(time.Second) == 0 {
		t.Skip("the second was over before the first look")
	}
	put(t, path, "1")
	r.want(Present, path, soon)
	r.none(4 * time.Second)
	if h := r.Health(); h.Missed != 0 {
		t.Errorf("health = %+v, want nothing missed", h)
	}
}
