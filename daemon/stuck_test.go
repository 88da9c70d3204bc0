package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// consumerOf gives a consumer of those that there are.
func consumerOf(t *testing.T, name string) sink.Consumer {
	t.Helper()
	all := sink.Consumers()
	i := slices.IndexFunc(all, func(c sink.Consumer) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no consumer %s", name)
	}
	return all[i]
}

// buddies makes workspaces that WorkBuddy works in, the first ones with a file
// where its memory folder has to be.
func buddies(t *testing.T, bad, good int) (dirs []string) {
	t.Helper()
	for i := range bad + good {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("w%d", i))
		if err := os.MkdirAll(filepath.Join(dir, ".workbuddy"), 0o700); err != nil {
			t.Fatal(err)
		}
		if i < bad {
			if err := os.WriteFile(filepath.Join(dir, ".workbuddy", "memory"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

func documentsIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".workbuddy", "memory", "codex", "[0-9]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A workspace that can't be written holds up no other of its sink, also if it
// has more sessions than a sink that fails as a whole tries.
func TestPlaceThatCannotBeWrittenIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dirs := buddies(t, 1, 1)
		bad, good := dirs[0], dirs[1]
		d := newDesk(t, 0, consumerOf(t, "workbuddy"))
		for range 5 {
			d.begin(rollouttest.Options{Cwd: bad})
		}
		last := d.begin(rollouttest.Options{Cwd: good})
		d.run(func() {
			time.Sleep(time.Second)
			if n := len(documentsIn(t, good)); n != 1 {
				t.Fatalf("%d documents beside a place that can't be written", n)
			}
			time.Sleep(10 * time.Minute)
			d.say(last, "second")
			time.Sleep(time.Second)
			if text, err := os.ReadFile(documentsIn(t, good)[0]); err != nil || !strings.Contains(string(text), "second answer") {
				t.Errorf("it isn't renewed within a second: %v", err)
			}
			i := d.info("workbuddy")
			said := strings.Join(i.Problems, "\n")
			if i.LastError != "" || i.Waiting != 5 || !strings.Contains(said, "5 sessions wait") || !strings.Contains(said, "move "+filepath.Join(bad, ".workbuddy", "memory")+" away") {
				t.Errorf("said of it: %+v", i)
			}
			if err := os.Remove(filepath.Join(bad, ".workbuddy", "memory")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lastPause + time.Second)
			if n := len(documentsIn(t, bad)); n != 5 {
				t.Errorf("%d documents once it can be written", n)
			}
			time.Sleep(15 * time.Minute)
			if i := d.info("workbuddy"); i.Waiting != 0 || len(i.Problems) > 0 || i.Shared < 2 {
				t.Errorf("and said: %+v", i)
			}
		})
	})
}

// Rights are named with what gives them.
func TestPlaceWithoutRights(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	synctest.Test(t, func(t *testing.T) {
		dir := buddies(t, 0, 1)[0]
		folder := filepath.Join(dir, ".workbuddy")
		if err := os.Chmod(folder, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
		d := newDesk(t, 0, consumerOf(t, "workbuddy"))
		d.begin(rollouttest.Options{Cwd: dir})
		d.run(func() {
			time.Sleep(time.Minute)
			if i := d.info("workbuddy"); i.LastError != "" || !strings.Contains(strings.Join(i.Problems, "\n"), "permission denied; chmod u+rwx "+folder) {
				t.Errorf("said of it: %+v", i)
			}
		})
	})
}

// A run that ends by itself writes the others, also what they share, and lists
// what is left.
func TestOnceWritesBesideAPlaceThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dirs := buddies(t, 1, 1)
		bad, good := dirs[0], dirs[1]
		d := newDesk(t, 0, consumerOf(t, "workbuddy"))
		for range 5 {
			d.begin(rollouttest.Options{Cwd: bad})
		}
		d.begin(rollouttest.Options{Cwd: good})
		_, n, left, err := d.e.publishAll(t.Context())
		if err != nil || n != 1 || len(documentsIn(t, good)) != 1 {
			t.Errorf("%d documents, %v", n, err)
		}
		if _, err := os.Stat(filepath.Join(good, ".workbuddy", "memory", "MEMORY.md")); err != nil {
			t.Error(err)
		}
		if len(left) == 0 || !strings.HasPrefix(left[0].Path, filepath.Join(bad, ".workbuddy", "memory")) || !strings.Contains(left[0].Reason, "move ") {
			t.Errorf("left: %+v", left)
		}
		if err := d.e.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
