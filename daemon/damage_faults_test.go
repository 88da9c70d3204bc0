//go:build linux && faults

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// seeded gives the random numbers of a run, which FAULT_SEED repeats.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FAULT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FAULT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // to be repeated
}

// fiveThreads are of every era, one of them a fork.
func fiveThreads() []*rollouttest.Rollout {
	var all []*rollouttest.Rollout
	for i, era := range []rollouttest.Era{rollouttest.Legacy, rollouttest.Paginated, rollouttest.Bare, rollouttest.Legacy} {
		r := rollouttest.New(era, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 500+i)})
		for n := range 12 {
			r.User(fmt.Sprint("question ", i, n)).Call("shell", `{"cmd":"ls"}`, strings.Repeat(fmt.Sprint("file ", n, "\n"), 20)).
				Assistant(strings.Repeat(fmt.Sprint("answer ", n, " "), 30)).End()
		}
		all = append(all, r)
	}
	f := all[0].Fork(rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000504"})
	return append(all, f.User("in the fork").Assistant("yes").End())
}

// put writes a part of each rollout, from the start. The fork, the last, comes
// when what it was made from is whole.
func put(t *testing.T, home string, all []*rollouttest.Rollout, part float64) {
	t.Helper()
	if part < 1 {
		all = all[:len(all)-1]
	}
	for _, r := range all {
		path := filepath.Join(home, filepath.FromSlash(r.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		text := r.Bytes()
		if _, err := f.Write(text[:int(part*float64(len(text)))]); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// cleanTables derives a home from scratch.
func cleanTables(t *testing.T, home string) string {
	t.Helper()
	opt := settings(home, filepath.Join(t.TempDir(), "data"))
	if err := CatchUp(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return tables(t, opt.Config.DB())
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// healed does what Run does with damage, and a day's check.
func healedBy(t *testing.T, opt Options) (steps []string, check Check) {
	t.Helper()
	for range heals + 1 {
		err := func() (err error) {
			opt.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
			e, err := start(t.Context(), opt, roleCommand)
			if err != nil {
				return err
			}
			defer func() { err = e.closed(t.Context(), err) }()
			if e.aside != "" {
				steps = append(steps, "set aside")
			}
			e.quiet = time.Millisecond
			l, err := e.list(t.Context())
			if err != nil {
				return err
			}
			if err := e.catchUp(t.Context(), l, newTally(nil)); err != nil {
				return err
			}
			if err := e.check(t.Context(), nil); err != nil {
				return err
			}
			c, err := CareOf(t.Context(), e.db)
			if err == nil && c.Check != nil {
				check = *c.Check
			}
			return err
		}()
		if err == nil {
			return steps, check
		}
		steps = append(steps, err.Error())
		if !errors.Is(err, store.ErrDamaged) {
			break
		}
	}
	t.Errorf("not healed: %q", steps)
	return steps, check
}

// derived gives a home with rollouts, what is derived of it, and the cache's bytes.
func derived(t *testing.T, all []*rollouttest.Rollout) (home, want string, whole []byte) {
	t.Helper()
	home = t.TempDir()
	put(t, home, all, 1)
	opt := settings(home, filepath.Join(t.TempDir(), "data"))
	if err := CatchUp(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	want = tables(t, opt.Config.DB())
	whole, err := os.ReadFile(opt.Config.DB())
	if err != nil {
		t.Fatal(err)
	}
	return home, want, whole
}

func TestFaultFlippedBytes(t *testing.T) {
	reliability.Fault(t, 44, "1 to 4 bytes flipped anywhere in 200 caches; then a start and a check of all rollouts")
	rnd := seeded(t)
	home, want, whole := derived(t, fiveThreads())
	aside, repaired, silent := 0, 0, 0
	const rounds = 200
	for i := range rounds {
		dir := t.TempDir()
		opt := settings(home, filepath.Join(dir, "data"))
		text := append([]byte(nil), whole...)
		var where []int
		for range 1 + rnd.IntN(4) {
			at := rnd.IntN(len(text))
			if at >= 60 && at < 64 {
				at += 4 // a higher number of the schema is a newer program's, whoever wrote it
			}
			text[at] ^= byte(1 + rnd.IntN(255))
			where = append(where, at)
		}
		if err := os.MkdirAll(opt.Config.Home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(opt.Config.DB(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		steps, check := healedBy(t, opt)
		switch {
		case len(steps) > 0:
			aside++
		case check.Repairs > 0:
			repaired++
		default:
			silent++
		}
		if got := tables(t, opt.Config.DB()); got != want {
			t.Errorf("round %d, bytes %v flipped, steps %q, found %+v: %s", i, where, steps, check.Found, differ(got, want))
		}
		if t.Failed() {
			return
		}
		_ = os.RemoveAll(dir)
	}
	reliability.Figure(t, 10, "%d caches with flipped bytes: %d set aside and made anew, %d repaired in place, %d hit in nothing that counts; all equal a clean read after one check of all", rounds, aside, repaired, silent)
}
