package store_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

func summaryOf(id, text string, through int64) summary.Summary {
	return summary.Summary{ThreadID: id, Source: summary.ByCaller, Model: "m", Client: "c", Text: text, Through: through, Created: time.Unix(5, 0).UTC()}
}

// A newer summary replaces an older one unless it covers less; each that does
// makes documents due, the same again does not.
func TestSummaryIsReplacedByOneThatCoversAsMuch(t *testing.T) {
	db, _ := open(t)
	if err := db.SaveSummary(t.Context(), summaryOf(parentID, "x", 1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no thread: %v", err)
	}
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two", "u:three", "a:four"))
	if _, err := db.Summary(t.Context(), parentID, summary.ByCaller); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("there is one: %v", err)
	}
	steps := []struct {
		text    string
		through int64
		stored  string
		renews  bool
	}{{"a", 3, "a", true}, {"a", 3, "a", false}, {"b", 3, "b", true}, {"c", 2, "b", false}, {"d", 4, "d", true}}
	for _, s := range steps {
		before, err := db.Rev(t.Context(), parentID)
		if err != nil {
			t.Fatal(err)
		}
		err = db.SaveSummary(t.Context(), summaryOf(parentID, s.text, s.through))
		if errors.Is(err, summary.ErrCoversLess) != (s.text == "c") || err != nil && s.text != "c" {
			t.Errorf("%+v: %v", s, err)
		}
		after, err := db.Rev(t.Context(), parentID)
		if err != nil || (after != before) != s.renews {
			t.Errorf("%+v: revision %d, then %d, %v", s, before, after, err)
		}
		if got, err := db.Summary(t.Context(), parentID, summary.ByCaller); err != nil || got.Text != s.stored || got.Client != "c" || got.Model != "m" || !got.Created.Equal(time.Unix(5, 0)) {
			t.Errorf("%+v: stored %+v, %v", s, got, err)
		}
	}
}

// One that covers more than the thread has by now stands in no other's way.
func TestSummaryOfMoreThanThereIsGivesWay(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	for _, through := range []int64{9, 2} {
		if err := db.SaveSummary(t.Context(), summaryOf(parentID, "x", through)); err != nil {
			t.Errorf("through %d: %v", through, err)
		}
	}
}

// No rollout gives a summary again: it is in backups, and taken over from a
// cache that is made anew.
func TestSummarySurvivesTheCache(t *testing.T) {
	old, path := open(t)
	commit(t, old, script(parentID, parentID, 1, "u:one", "a:two"))
	if err := old.SaveSummary(t.Context(), summaryOf(parentID, "kept", 2)); err != nil {
		t.Fatal(err)
	}
	backup, err := old.Backup(t.Context())
	if err != nil || backup == "" {
		t.Fatalf("backup %q, %v", backup, err)
	}
	if err := old.SaveSummary(t.Context(), summaryOf(parentID, "newer", 2)); err != nil {
		t.Fatal(err)
	}
	if err := old.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := old.Summary(t.Context(), parentID, summary.ByCaller); err != nil || got.Text != "newer" {
		t.Errorf("after a rebuild: %+v, %v", got, err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{path: "newer", backup: "kept"} {
		db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "session-migrator.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Rescue(t.Context(), from); err != nil {
			t.Error(err)
		}
		if got, err := db.Summary(t.Context(), parentID, summary.ByCaller); err != nil || got.Text != want || got.Through != 2 {
			t.Errorf("from %s: %+v, %v", from, got, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A model's summary stands beside an agent's; its own it may replace by one that
// covers less, because what it rested on was taken back.
func TestSummariesOfBothSources(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	made := summary.Summary{ThreadID: parentID, Source: summary.ByModel, Model: "m", Through: 2, Created: time.Unix(6, 0).UTC(),
		Made: &summary.Made{Prior: []byte(`{"doc":{"title":"x"}}`), Key: "k", Basis: "b", Host: "h", Updates: 1, Input: 5, Output: 6, Exact: true, MicroUSD: 7}}
	for _, s := range []summary.Summary{summaryOf(parentID, "said", 1), made} {
		if err := db.SaveSummary(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.Summaries(t.Context(), parentID)
	if err != nil || len(all) != 2 || !reflect.DeepEqual(all[1], made) || all[0].Text != "said" {
		t.Fatalf("%+v, %v", all, err)
	}
	if !all[1].Newer(&all[0]) || all[0].Newer(&all[1]) {
		t.Error("the one that covers more is not the newer")
	}
	made.Through = 1
	if err := db.SaveSummary(t.Context(), made); err != nil {
		t.Errorf("covers less: %v", err)
	}
	if all, err = db.Summaries(t.Context(), parentID); err != nil || !all[1].Newer(&all[0]) {
		t.Errorf("of two that cover as much the one written last: %+v, %v", all, err)
	}
}

// How an attempt went makes the documents due if it changes what they say, and
// is over when there is a summary.
func TestTries(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two"))
	rev := func() int64 {
		n, err := db.Rev(t.Context(), parentID)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := db.Try(t.Context(), parentID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	try := summary.Try{ThreadID: parentID, At: time.Unix(9, 0).UTC(), Basis: "b", Failures: 1, Reason: "not JSON"}
	before := rev()
	for range 2 {
		if err := db.SaveTry(t.Context(), try); err != nil {
			t.Fatal(err)
		}
		try.At = try.At.Add(time.Second)
	}
	if n := rev(); n != before+1 {
		t.Errorf("the same reason twice: %d revisions", n-before)
	}
	try.At = try.At.Add(-time.Second)
	if got, err := db.Try(t.Context(), parentID); err != nil || got != try {
		t.Errorf("%+v, %v", got, err)
	}
	if err := db.SaveSummary(t.Context(), summary.Summary{ThreadID: parentID, Source: summary.ByModel, Through: 1, Made: &summary.Made{}}); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Try(t.Context(), parentID); err != nil || got.Failures != 0 || got.Reason != "" || !got.At.Equal(try.At) {
		t.Errorf("after a summary: %+v, %v", got, err)
	}
}
