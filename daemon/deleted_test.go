package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// No list and no line leads to a document that the user deleted, and a list of
// nothing goes.
func TestDeletedDocumentIsNamedNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := buddies(t, 0, 1)[0]
		d := newDesk(t, 0, consumerOf(t, "workbuddy"))
		d.begin(rollouttest.Options{Cwd: dir})
		last := d.begin(rollouttest.Options{Cwd: dir})
		memory := filepath.Join(dir, ".workbuddy", "memory")
		index := filepath.Join(memory, "codex", "INDEX.md")
		read := func(name string) string {
			t.Helper()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		id := d.threads[0].ThreadID()
		d.run(func() {
			time.Sleep(2 * time.Minute)
			r, err := d.e.db.Receipt(t.Context(), "workbuddy", id)
			if err != nil || r.Name == "" {
				t.Fatalf("%+v, %v", r, err)
			}
			base := filepath.Base(r.Name)
			if !strings.Contains(read(index), base) || !strings.Contains(read(filepath.Join(memory, "MEMORY.md")), base) {
				t.Fatalf("it isn't named at first:\n%s", read(filepath.Join(memory, "MEMORY.md")))
			}
			if err := os.Remove(filepath.FromSlash(r.Name)); err != nil {
				t.Fatal(err)
			}
			d.say(last, "second")
			time.Sleep(20 * time.Minute)
			for _, name := range []string{index, filepath.Join(memory, "MEMORY.md")} {
				if strings.Contains(read(name), base) {
					t.Errorf("%s leads to nothing:\n%s", name, read(name))
				}
			}
			for _, name := range documentsIn(t, dir) {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			d.pub.rescan()
			time.Sleep(20 * time.Minute)
			if _, err := os.Lstat(index); err == nil {
				t.Errorf("a list of nothing:\n%s", read(index))
			}
		})
	})
}
