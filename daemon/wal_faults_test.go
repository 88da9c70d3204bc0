//go:build linux && faults

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// What a loss of power may leave of a WAL that was not synced: the end is
// missing, or other bytes stand in it; and nothing of the shared memory.
func TestFaultWALDamage(t *testing.T) {
	reliability.Fault(t, 8, "200 copies of a cache in use, their WAL cut or overwritten from a random byte on, the -shm file removed")
	rnd := seeded(t)
	home := t.TempDir()
	all := fiveThreads()
	put(t, home, all, 0.3)
	opt := settings(home, filepath.Join(t.TempDir(), "data"))
	if err := CatchUp(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	// A writer at work, whose files are copied as they are at some moments.
	e, err := start(t.Context(), opt, roleCommand)
	if err != nil {
		t.Fatal(err)
	}
	const moments = 10
	var copies []string
	for i := range moments {
		put(t, home, all, min(1, 0.3+0.7*float64(i+1)/(moments-1)))
		l, err := e.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.catchUp(t.Context(), l, newTally(nil)); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		for _, suffix := range []string{"", "-wal"} {
			copyFile(t, opt.Config.DB()+suffix, filepath.Join(dir, filepath.Base(opt.Config.DB())+suffix))
		}
		copies = append(copies, dir)
	}
	if err := e.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := cleanTables(t, home)
	const rounds = 200
	var risked int64
	behind := 0
	for i := range rounds {
		from := copies[rnd.IntN(len(copies))]
		dir := t.TempDir()
		opt := settings(home, filepath.Join(dir, "data"))
		wal, err := os.ReadFile(filepath.Join(from, filepath.Base(opt.Config.DB())+"-wal"))
		if err != nil || len(wal) == 0 {
			t.Fatalf("nothing is in the WAL: %d bytes, %v", len(wal), err)
		}
		at := rnd.IntN(len(wal))
		what := "cut"
		if i%2 == 0 {
			wal = wal[:at]
		} else {
			what = "overwritten"
			for j := at; j < len(wal); j += 1 + rnd.IntN(4096) {
				wal[j] ^= byte(1 + rnd.IntN(255))
			}
		}
		risked += int64(len(wal) - at)
		copyFile(t, filepath.Join(from, filepath.Base(opt.Config.DB())), opt.Config.DB())
		if err := os.WriteFile(opt.Config.DB()+"-wal", wal, 0o600); err != nil {
			t.Fatal(err)
		}
		var lines int64
		s, err := once(t.Context(), opt, false, nil)
		if lines = s.Lines; err != nil {
			t.Fatalf("round %d, %s at %d: %v", i, what, at, err)
		}
		if lines > 0 {
			behind++
		}
		if got := tables(t, opt.Config.DB()); got != want {
			t.Fatalf("round %d, %s at %d: %s", i, what, at, differ(got, want))
		}
		_ = os.RemoveAll(dir)
	}
	if behind == 0 {
		t.Error("no damage took anything away: the test tests nothing")
	}
	reliability.Figure(t, 2, "%d WALs, half cut and half garbled at a random byte: %d were behind after that and read again, all equal a clean read", rounds, behind)
}
