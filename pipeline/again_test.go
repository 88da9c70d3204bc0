package pipeline_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// lay writes a rollout under a home.
func lay(t *testing.T, home string, r *rollouttest.Rollout, more string) string {
	t.Helper()
	path := filepath.Join(home, filepath.FromSlash(r.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(r.Bytes(), more...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that is rewritten between the order to read everything again and the
// reading keeps what it said before: only the same bytes may replace their rows.
func TestRewrittenBeforeItIsReadAgainKeepsWhatWasThere(t *testing.T) {
	b, home := newBench(t), t.TempDir()
	id := "019a0000-0000-7000-8000-000000000001"
	lay(t, home, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id}).User("first words").Assistant("noted"), "")
	b.ingest(home, false)
	if err := b.db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	lay(t, home, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id, Cwd: "/other"}).User("other words").Assistant("noted too"), "")
	b.ingest(home, false)
	if got := b.said(id); got != "other words | noted too" {
		t.Errorf("said %q", got)
	}
	old, err := b.db.Rewritten(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := dialogue(old); got != "first words | noted" {
		t.Errorf("of before there is %q", got)
	}
}

// What is counted of a file without any item is counted once, however often it
// is read again.
func TestDamageIsCountedOnceWhenReadAgain(t *testing.T) {
	b, home := newBench(t), t.TempDir()
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000001"})
	lay(t, home, r, "{\"timestamp\n{\"timestamp\":\"2026-09-01T09:00:00.000Z\",\"ordinal\":9,\"type\":\"news\",\"payload\":{}}\n")
	b.ingest(home, false)
	before := b.thread(r.ThreadID()).Counts
	if before.DamagedLines != 1 || before.Unknown != 1 {
		t.Fatalf("%+v", before)
	}
	if err := b.db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b.ingest(home, false)
	if after := b.thread(r.ThreadID()).Counts; after != before {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// family is a parent and a fork of it, not yet on disk.
func family() (parent, fork *rollouttest.Rollout) {
	parent = rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000001"}).
		User("of the parent").Assistant("an answer to it")
	fork = parent.Fork(rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000002"})
	return parent, fork.Wait(time.Minute).User("of the fork").Assistant("an answer to that")
}

// A fork that was read while its parent's last line was being written knows
// copies from its own once that line is there, even if it isn't whole.
func TestForkWaitsForTheEndOfItsParent(t *testing.T) {
	b, home := newBench(t), t.TempDir()
	parent, fork := family()
	lay(t, home, parent, "")
	b.ingest(home, false)
	lay(t, home, parent, `{"timestamp":`)
	lay(t, home, fork, "")
	b.ingest(home, true)
	if waits := b.waits(fork.ThreadID()); waits != "" {
		t.Errorf("the fork waits for %s", waits)
	}
}

// A parent that isn't where it was is about to be found elsewhere, with more in
// it than was read: nothing may be recognised by what is known of it.
func TestForkWaitsForAParentThatMoved(t *testing.T) {
	b, home := newBench(t), t.TempDir()
	parent, fork := family()
	path := lay(t, home, parent, "")
	b.ingest(home, false)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	lay(t, home, fork, "")
	b.ingest(home, false)
	if waits := b.waits(fork.ThreadID()); waits != parent.ThreadID() {
		t.Errorf("the fork waits for %q", waits)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	lay(t, home, parent, `{"timestamp":`)
	b.ingest(home, false)
	if waits := b.waits(fork.ThreadID()); waits != "" {
		t.Errorf("the fork waits for %s", waits)
	}
}

func (b *bench) waits(rolloutID string) string {
	b.t.Helper()
	cp, err := b.db.Rollout(b.t.Context(), rolloutID)
	if err != nil {
		b.t.Fatal(err)
	}
	return cp.AwaitsParent
}

// Between the rows of what could be read and the note that the rest can't be, the
// file must not look finished: whoever is killed there would never look again.
func TestUnreadableNeverLooksFinished(t *testing.T) {
	b, home := newBench(t), t.TempDir()
	id := "019a0000-0000-7000-8000-000000000001"
	path := filepath.Join(home, "sessions", "rollout-2026-09-01T09-00-00-"+id+".jsonl.zst")
	f := store.File{RolloutID: id, ThreadID: id, Home: home, Path: path, Form: store.FormZstd, Size: 8}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("no frame"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The note can't be made: a trigger stands in for the kill.
	b.sql(`CREATE TRIGGER kill BEFORE UPDATE OF reason ON rollout WHEN new.reason<>'' BEGIN SELECT RAISE(ABORT, 'killed'); END`)
	if _, err := b.pipe.Ingest(t.Context(), f); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v", err)
	}
	cps, err := b.db.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.sql("DROP TRIGGER kill")
	if _, err := b.pipe.Ingest(t.Context(), f); err == nil {
		t.Errorf("the file is taken for read: %+v", cps)
	}
}

// sql changes the cache behind the pipeline's back.
func (b *bench) sql(text string) {
	b.t.Helper()
	db, err := sql.Open("sqlite3", b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.t.Context(), text); err != nil {
		b.t.Fatal(err)
	}
}
