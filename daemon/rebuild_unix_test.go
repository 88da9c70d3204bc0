//go:build unix

package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// settings of a data folder.
func settings(home, data string) Options {
	return Options{Config: config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}}
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// manyWords is tool output in which hardly a line comes twice.
func manyWords(rnd *rand.Rand, lines int) string {
	words := strings.Fields("error func return package main import string value index range buffer reader writer config server client request response handler context timeout retry commit branch merge table column query select insert update delete file path line offset token count model window budget decision")
	var s strings.Builder
	for range lines {
		fmt.Fprintf(&s, "%s/%s_%d.go:%d: %s %s %s %q\n", words[rnd.IntN(len(words))], words[rnd.IntN(len(words))], rnd.IntN(1000), rnd.IntN(10_000),
			words[rnd.IntN(len(words))], words[rnd.IntN(len(words))], words[rnd.IntN(len(words))], words[rnd.IntN(len(words))])
	}
	return s.String()
}

// BenchmarkGoal9Rebuild makes a damaged cache anew: set aside, read, parse, count
// in two encodings, decide, commit.
func BenchmarkGoal9Rebuild(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same each time
	home := b.TempDir()
	var size int64
	for i := range 40 {
		r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 700+i)})
		for n := range 60 {
			r.User(fmt.Sprint("question ", n, " of ", i)).Call("exec_command", `{"cmd":"go vet ./..."}`, manyWords(rnd, 120)).Assistant(manyWords(rnd, 3)).End()
		}
		path := filepath.Join(home, filepath.FromSlash(r.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, r.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
		size += r.Size()
	}
	opt := settings(home, filepath.Join(b.TempDir(), "data"))
	if err := CatchUp(b.Context(), opt); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	var used, took time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		f, err := os.OpenFile(opt.Config.DB(), os.O_WRONLY, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		before, begun := cpu(b), time.Now()
		b.StartTimer()
		s, err := once(b.Context(), opt, false, nil)
		if err != nil || s.SetAside == "" || s.Threads != 40 {
			b.Fatalf("%+v, %v", s, err)
		}
		used, took = used+cpu(b)-before, took+time.Since(begun)
		n++
	}
	rate := float64(size) * float64(n) / 1e6 / used.Seconds()
	if rate < 2 {
		b.Errorf("%.1f MB for a second of the processor", rate)
	}
	reliability.Figure(b, 9, "%.0f MB of rollouts made anew, tokens included, in %s: %.0f MB for a second of one processor", float64(size)/1e6, (took / time.Duration(n)).Round(10*time.Millisecond), rate)
}
