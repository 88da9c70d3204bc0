package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// Of a damaged cache only what its hash proves is taken over; a second source
// adds what is missing.
func TestRescueTakesWhatIsProved(t *testing.T) {
	old, path := open(t)
	b := script(parentID, parentID, 1, "u:one", "a:two", "u:three", "a:four")
	commit(t, old, b)
	commit(t, old, script(childID, childID, 1, "u:derived", "a:too"))
	rewritten := script(headID, headID, 1, "u:first", "a:version")
	commit(t, old, rewritten)
	second := script(headID, headID, 1, "u:second version")
	second.NewGeneration = true
	commit(t, old, second)
	if err := old.Touch(t.Context(), b.File, store.FileGone, "deleted", nil); err != nil {
		t.Fatal(err)
	}
	if err := old.SetNames(t.Context(), map[string]string{parentID: "my name"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := old.SaveReceipt(t.Context(), store.Receipt{Sink: "drop", ThreadID: parentID, Name: "a.md", Hash: "h", Rev: 7, Managed: true, Written: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := old.SaveReceipt(t.Context(), store.Receipt{Sink: "drop", ThreadID: childID, Name: "b.md", Hash: "h", Managed: true, Written: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := old.SetShared(t.Context(), "workbuddy", map[string]string{"/w/MEMORY.md": `{"hash":"1"}`}); err != nil {
		t.Fatal(err)
	}
	backup, err := old.Backup(t.Context())
	if err != nil || backup == "" {
		t.Fatalf("backup %q, %v", backup, err)
	}
	if again, err := old.Backup(t.Context()); err != nil || again != "" {
		t.Errorf("a second backup %q, %v", again, err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{
		"UPDATE item SET text='other' WHERE text='three'",
		"UPDATE rollout SET archived=7, form=9 WHERE state=3", // the row of what is gone
		"UPDATE rollout SET state=0 WHERE state=3",
		"UPDATE receipt SET bytes='x' WHERE name='b.md'",
	} {
		if _, err := raw.ExecContext(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}

	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "session-migrator.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// Neither /h/sessions/… is there: without the file a rollout counts as gone.
	if n, err := db.Rescue(t.Context(), path); err != nil || n != 3 {
		t.Fatalf("%d rollouts, %v", n, err)
	}
	if got := said(t, db, parentID); got != "one two four" {
		t.Errorf("said %q", got)
	}
	if th := thread(t, db, parentID); th.Title != "my name" || th.Migrated != 3 || th.Tokens["o200k_base"] != int64(len("onetwofour")) {
		t.Errorf("%+v", th)
	}
	if gone, err := db.Rewritten(t.Context(), headID); err != nil || len(gone) != 2 || gone[0].Text != "first" {
		t.Errorf("rewritten: %+v, %v", gone, err)
	}
	if r, err := db.Receipt(t.Context(), "drop", parentID); err != nil || r.Name != "a.md" || r.Rev == 7 {
		t.Errorf("receipt %+v, %v", r, err)
	}
	if got, err := db.Shared(t.Context(), "workbuddy"); err != nil || got["/w/MEMORY.md"] != `{"hash":"1"}` {
		t.Errorf("shared %v, %v", got, err)
	}
	// What is taken over must not be found damaged again.
	if err := db.CheckAll(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := db.Receipt(t.Context(), "drop", childID); err != nil || r.Name != "" {
		t.Errorf("a receipt that was never written: %+v, %v", r, err)
	}
	if _, err := db.Rescue(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if got := said(t, db, parentID); got != "one two three four" {
		t.Errorf("with the backup: %q", got)
	}
	if err := db.Verify(t.Context(), parentID); err != nil {
		t.Error(err)
	}
	if _, err := db.Rescue(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil {
		t.Error("nothing was rescued, and no word of it")
	}
}
