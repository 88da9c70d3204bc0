package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store/spend"
)

func TestTheLedgerIsKept(t *testing.T) {
	db, _ := open(t)
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	old := spend.Entry{At: at, Kind: spend.Embedding, Host: "a.example", Model: "m", Calls: 2, Input: 500, Exact: true, MicroUSD: 10, Thread: "t", Outcome: spend.Done}
	other := spend.Entry{At: at.Add(time.Minute), Kind: spend.Summary, Host: "b.example", Model: "n", Calls: 1, Input: 7, Output: 3, MicroUSD: 99, Outcome: spend.Refused}
	newer := spend.Entry{At: at.Add(time.Hour), Kind: spend.Embedding, Host: "a.example", Model: "m", Calls: 1, Input: 100, MicroUSD: 2, Outcome: spend.Unavailable}
	for _, e := range []spend.Entry{old, newer, other} {
		pending := e
		pending.Outcome, pending.Input = spend.Pending, 9
		var err error
		if pending.ID, err = db.RecordSpend(t.Context(), pending); err != nil {
			t.Fatal(err)
		}
		e.ID = pending.ID
		if id, err := db.RecordSpend(t.Context(), e); err != nil || id != e.ID {
			t.Fatal(id, err)
		}
	}
	for since, want := range map[time.Time]spend.Sum{
		at:                    {Calls: 3, Input: 600, MicroUSD: 12},
		at.Add(1):             {Calls: 1, Input: 100, MicroUSD: 2},
		at.Add(2 * time.Hour): {},
	} {
		if got, err := db.SpentSince(t.Context(), spend.Embedding, since); err != nil || got != want {
			t.Errorf("since %v: %+v, %v, want %+v", since, got, err, want)
		}
	}
	if got, err := db.Spent(t.Context(), at); err != nil || !slices.Equal(got, []spend.Entry{newer, other, old}) {
		t.Errorf("listed %+v, %v", got, err)
	}
	backup, err := db.Backup(t.Context())
	if err != nil || backup == "" {
		t.Fatalf("backup %q, %v", backup, err)
	}
	if err := db.Forget(t.Context(), nil); err != nil { // a rebuild
		t.Fatal(err)
	}
	back, _ := open(t)
	if _, err := back.Rescue(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if got, err := back.SpentSince(t.Context(), spend.Embedding, at); err != nil || got.Calls != 3 {
		t.Errorf("from the backup: %+v, %v", got, err)
	}
	// What nobody tells the price of is counted as that, not as free.
	for _, e := range []spend.Entry{{At: at, Kind: spend.Summary, Calls: 2, Unpriced: true}, {At: at, Kind: spend.Summary, Calls: 1, MicroUSD: 5}} {
		if _, err := back.RecordSpend(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := back.SpentSince(t.Context(), spend.Summary, at); err != nil || got.MicroUSD != 104 || got.Unpriced != 2 {
		t.Errorf("unpriced: %+v, %v", got, err)
	}
	if all, err := back.Spent(t.Context(), at); err != nil || !slices.ContainsFunc(all, func(e spend.Entry) bool { return e.Unpriced && e.MicroUSD == 0 }) {
		t.Errorf("listed: %+v, %v", all, err)
	}
	// Much later the old is forgotten.
	newer.At = at.AddDate(2, 0, 0)
	if _, err := db.RecordSpend(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Spent(t.Context(), time.Time{}.AddDate(1970, 0, 0)); err != nil || len(got) != 1 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}
