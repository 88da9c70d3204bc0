package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// A place that appears gets the documents of sessions that there are, also if
// nobody looked when it came to be: with run --once, and with the next start.
func TestPlaceThatAppearsBetweenRuns(t *testing.T) {
	for name, next := range map[string]func(*desk){
		"once": func(d *desk) {
			if _, n, left, err := d.e.publishAll(d.t.Context()); err != nil || len(left) > 0 {
				d.t.Error(n, left, err)
			}
			if err := d.e.close(d.t.Context()); err != nil {
				d.t.Error(err)
			}
		},
		"daemon": func(d *desk) { d.run(func() { time.Sleep(time.Minute) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				d := newDesk(t, 0, consumerOf(t, "workbuddy"))
				start := time.Now()
				for i := range 32 {
					d.begin(rollouttest.Options{Cwd: dir, Start: start.Add(time.Duration(i-40) * time.Hour)})
				}
				if _, _, _, err := d.e.publishAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				if with, without := d.receipts("workbuddy"); with != 0 || without != 30 {
					t.Fatalf("%d and %d receipts without a place", with, without)
				}
				if err := os.Mkdir(filepath.Join(dir, ".workbuddy"), 0o700); err != nil {
					t.Fatal(err)
				}
				next(d)
				if n := len(documentsIn(t, dir)); n != 30 {
					t.Errorf("%d documents in a place that appeared, want the 30 that are kept", n)
				}
			})
		})
	}
}
