//go:build crash

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

func init() { child = crashChild }

// crashChild is a daemon that waits to be killed.
func crashChild() {
	data, home, _ := strings.Cut(os.Getenv(childEnv), "\n")
	err := daemon.Run(context.Background(), daemon.Options{Config: config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// writer appends to a few rollouts the way Codex does: whole lines mostly, some
// in pieces; nothing that would hide a doubled or lost line.
type writer struct {
	t     *testing.T
	rnd   *rand.Rand
	home  string
	logs  []*rollouttest.Rollout
	wrote []int // bytes of each on disk
}

func newWriter(t *testing.T, rnd *rand.Rand) *writer {
	w := &writer{t: t, rnd: rnd, home: t.TempDir()}
	for _, era := range []rollouttest.Era{rollouttest.Legacy, rollouttest.Paginated, rollouttest.Bare} {
		r := rollouttest.New(era, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", len(w.logs)+1)})
		w.logs, w.wrote = append(w.logs, r), append(w.wrote, 0)
	}
	return w
}

// step writes a little.
func (w *writer) step() {
	w.t.Helper()
	i := w.rnd.IntN(len(w.logs))
	r := w.logs[i]
	if len(r.Bytes()) == w.wrote[i] {
		n := w.rnd.IntN(1000)
		r.User(fmt.Sprint("question ", n)).Call("shell", fmt.Sprintf(`{"cmd":"echo %d"}`, n), strings.Repeat(fmt.Sprint("line ", n, "\n"), w.rnd.IntN(200))).
			Assistant(fmt.Sprint("answer ", n)).End()
	}
	rest := r.Bytes()[w.wrote[i]:]
	n := len(rest)
	if w.rnd.IntN(3) == 0 {
		n = 1 + w.rnd.IntN(len(rest))
	}
	path := filepath.Join(w.home, filepath.FromSlash(r.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := f.Write(rest[:n]); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.wrote[i] += n
}

// TestCrash kills a daemon again and again while rollouts grow. After each kill
// the cache must be what a clean read of the bytes before its cursors gives:
// nothing lost, nothing doubled.
func TestCrash(t *testing.T) {
	kills, _ := strconv.Atoi(os.Getenv("CRASH_KILLS"))
	kills = max(kills, 20)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CRASH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("CRASH_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var w *writer
	var data string
	inFlight := 0
	for k := range kills {
		if k%40 == 0 { // comparing takes as long as the files are
			w, data = newWriter(t, rnd), filepath.Join(t.TempDir(), "data")
		}
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+data+"\n"+w.home)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(time.Duration(rnd.IntN(120)) * time.Millisecond)
		for time.Now().Before(end) {
			w.step()
			time.Sleep(time.Duration(rnd.IntN(4)) * time.Millisecond)
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if w.check(data) {
			inFlight++
		}
		if t.Failed() {
			t.Fatalf("after kill %d", k+1)
		}
	}
	t.Logf("%d kills, %d of them with lines not yet taken in", kills, inFlight)
	if inFlight == 0 {
		t.Error("no kill came while there was something to do: the test tests nothing")
	}
}

// check compares the cache with a clean read of the same bytes, and then the
// state after a restart with a clean read of everything. It tells whether
// lines were waiting.
func (w *writer) check(data string) (waiting bool) {
	w.t.Helper()
	killed := config.Config{Home: data, CodexHomes: []string{w.home}, MemoryDir: filepath.Join(data, "memory")}
	db, err := store.OpenReader(w.t.Context(), killed.DB())
	if errors.Is(err, store.ErrNone) {
		return true
	}
	if err != nil {
		w.t.Fatal(err)
	}
	cut := w.t.TempDir()
	cps, err := db.Checkpoints(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range cps {
		text, err := os.ReadFile(c.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		waiting = waiting || c.Cursor.Offset < int64(len(text))
		rel, err := filepath.Rel(w.home, c.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		to := filepath.Join(cut, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(to, text[:c.Cursor.Offset], 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	before := state(w.t, db)
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.same("the killed cache", before, w.clean(cut))
	if _, err := daemon.Once(w.t.Context(), daemon.Options{Config: killed}); err != nil {
		w.t.Fatal(err)
	}
	if db, err = store.OpenReader(w.t.Context(), killed.DB()); err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	w.same("the restarted cache", state(w.t, db), w.clean(w.home))
	w.wholeFiles(killed.MemoryDir)
	return waiting
}

// clean derives everything from scratch.
func (w *writer) clean(home string) map[string]string {
	w.t.Helper()
	data := w.t.TempDir()
	c := config.Config{Home: data, CodexHomes: []string{home}, MemoryDir: filepath.Join(data, "memory")}
	if _, err := daemon.Once(w.t.Context(), daemon.Options{Config: c}); err != nil {
		w.t.Fatal(err)
	}
	db, err := store.OpenReader(w.t.Context(), c.DB())
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	return state(w.t, db)
}

// state is all that the cache says of each thread, places and clocks left out.
func state(t *testing.T, db *store.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	threads, _, err := db.Threads(t.Context(), store.Filter{Archived: true, Subagents: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		th.Path = ""
		ms, err := db.Messages(t.Context(), th.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ms {
			ms[i].ID = 0
		}
		ds, err := db.Decisions(t.Context(), th.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		var verdicts []string
		for _, d := range ds {
			verdicts = append(verdicts, fmt.Sprint(d.TargetModel, d.Verdict, d.SessionTokens, d.ThroughSeq))
		}
		out[th.ID] = fmt.Sprintf("%+v\n%+v\n%v", th, ms, verdicts)
	}
	return out
}

func (w *writer) same(what string, got, want map[string]string) {
	w.t.Helper()
	for id, text := range want {
		if got[id] == "" && strings.Contains(text, "LastSeq:0") {
			continue // a file without one whole line
		}
		if got[id] != text {
			w.t.Errorf("%s, thread %s:\n%.3000s\nwant\n%.3000s", what, id, got[id], text)
		}
	}
}

// wholeFiles looks for half-written or left-over documents.
func (w *writer) wholeFiles(dir string) {
	w.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".md") && !strings.HasSuffix(string(text), "\n") {
			w.t.Errorf("%s is not whole", path)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}
