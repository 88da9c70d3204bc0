package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is asked for each rollout or thread must not look at all of them: with
// 10,000 that is the difference between a minute and an hour.
func TestQueriesUseAnIndex(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "data", "session-migrator.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, query := range map[string]string{
		"rollouts that wait for a thread": awaitingQuery,
		"sub-agents of a thread":          subagentsQuery,
		"threads that wait for a rollout": dependentsQuery,
		"histories that begin in one":     uncountQuery,
	} {
		rows, err := db.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, "x")
		if err != nil {
			t.Fatal(name, err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(step, "SCAN ") && step != "SCAN up" && step != "SCAN down" && step != "SCAN CONSTANT ROW" {
				t.Errorf("%s: %s", name, step)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
