//go:build linux && faults

package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// usage is what a process has used so far.
type usage struct {
	cpu  time.Duration
	read int64 // bytes, of whatever
}

func used(t *testing.T) (u usage) {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	u.read = field(t, "/proc/self/io", "rchar:")
	return u
}

// field gives a number of a file of the kernel.
func field(t *testing.T, path, key string) int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in %s", key, path)
	return 0
}

// 1,200 day folders with 25,000 files of years past cost next to nothing.
func TestFaultLongHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: makes 25,000 files and looks at an idle watch for a minute")
	}
	const folders, files = 1200, 25_000
	home := realTemp(t)
	long := time.Now().Add(-90 * 24 * time.Hour)
	paths := make([]string, files)
	text := strings.Repeat("x", 2047) + "\n"
	for i := range paths {
		d := i % folders
		paths[i] = filepath.Join(home, sessionsDir, fmt.Sprint(2023+d/336), fmt.Sprintf("%02d", 1+d/28%12), fmt.Sprintf("%02d", 1+d%28), base(i))
		put(t, paths[i], text)
		chtimes(t, paths[i], long)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1024, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
	r := start(t, Options{Homes: []string{home}}, nil)
	for range paths {
		r.get(time.Minute)
	}
	live := filepath.Join(home, sessionsDir, "2027", "01", "01", base(files+1))
	put(t, live, "x")
	r.size(live, 1, soon)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	if len(open) >= 64+1 {
		t.Errorf("%d descriptors, want less than 64 and one for the live file", len(open))
	}
	r.none(5 * time.Second) // until all has come to rest
	began, from := time.Now(), used(t)
	r.none(defaultRescan + 5*time.Second) // one listing at least
	took, to := time.Since(began), used(t)
	share := 100 * (to.cpu - from.cpu).Seconds() / took.Seconds()
	read := to.read - from.read
	if read > 64<<10 {
		t.Errorf("%d bytes read while nothing happened", read)
	}
	began = time.Now()
	appendTo(t, paths[0], text)
	r.size(paths[0], 2*int64(len(text)), 2*defaultRescan)
	reliability.Figure(t, 7, "25,000 files in 1,200 folders: %d descriptors, %d watches; watching idle for %.0f s: %.2f %% of a core, %d bytes read (the kernel's own counters); an append to an old file seen after %.0f s",
		len(open), r.Health().Watches, took.Seconds(), share, read, time.Since(began).Seconds())
	if share > 5 {
		t.Errorf("%.2f %% of a core", share)
	}
}
