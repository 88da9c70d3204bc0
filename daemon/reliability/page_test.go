package reliability_test

import (
	"os"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func TestRowsAreNumbered(t *testing.T) {
	if f, g := reliability.Faults(), reliability.Goals(); len(f) != 48 || len(g) != 24 {
		t.Fatalf("%d faults, %d goals", len(f), len(g))
	}
	for _, rows := range [][]reliability.Row{reliability.Faults(), reliability.Goals()} {
		for i, r := range rows {
			if r.N != i+1 || r.What == "" {
				t.Errorf("row %d is %+v", i+1, r)
			}
		}
	}
}

func TestRecordsBecomeRows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(reliability.DirEnv, dir)
	t.Run("one", func(t *testing.T) { reliability.Fault(t, 23, "os.Truncate | to 0") })
	t.Run("two", func(t *testing.T) { reliability.Figure(t, 6, "p99 %d ms", 12) })
	records, err := reliability.Read(dir)
	if err != nil || len(records) != 2 {
		t.Fatalf("%v, %v", records, err)
	}
	page, missing := reliability.Page(records)
	for _, want := range []string{
		"| 23 | cut to nothing and written anew | a new generation; what was there stays, marked | os.Truncate \\| to 0 | `daemon/reliability` TestRecordsBecomeRows/one | pass |",
		"| p99 12 ms | `daemon/reliability` TestRecordsBecomeRows/two | pass<br>not here: Windows",
		"| 1 | killed at a random moment | after the restart the cache says what the files say |  |  | **no test** |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if want := 48 - 1 + 24 - 1 - 1; len(missing) != want {
		t.Errorf("%d missing, want %d: %q", len(missing), want, missing)
	}
}

func TestDamagedRecordIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/1.jsonl", []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reliability.Read(dir); err == nil || !strings.Contains(err.Error(), "1.jsonl:2") {
		t.Errorf("got %v", err)
	}
}
