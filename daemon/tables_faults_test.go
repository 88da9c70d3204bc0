//go:build linux && faults

package daemon

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// tables is all that is derived in a cache, row ids, clocks and counters of
// changes left out.
func tables(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, q := range []string{
		"SELECT rollout_id, thread_id, stamp, form, archived, gen, gen_seq, last_seq, off, line, head_len, hex(head), tail_len, hex(tail), state, facts, CAST(parser AS TEXT), sums, base_rollout, base_ordinal, base_offset, awaits_parent, home, path, pending, CASE WHEN base_rollout<>'' THEN base_sums END FROM rollout ORDER BY rollout_id",
		"SELECT r.rollout_id, i.id&4294967295, i.gen, role, turn, ts_ns, i.off, i.size, ordinal, inherited, dead_off, dead_ord, phase, exit_code, images, tok_o200k, tok_cl100k, tok_shrunk, key, hex(hash), turn_id, name, call_id, args, text FROM item i LEFT JOIN rollout r ON r.id=i.id>>32 ORDER BY 1, 2",
		"SELECT r.rollout_id, number, turn_id, started_ns, ended_ns, t.state, error FROM turn t LEFT JOIN rollout r ON r.id=t.rollout ORDER BY 1, 2",
		"SELECT r.rollout_id, d.line, d.off, d.size, cause, detail, salvaged FROM damage d LEFT JOIN rollout r ON r.id=d.rollout ORDER BY 1, 2",
		"SELECT r.rollout_id, kind, name, version, count, u.line FROM unknown u LEFT JOIN rollout r ON r.id=u.rollout ORDER BY 1, 2, 3",
		"SELECT thread_id, workspace, parent, subagent, archived, gone, state, created_ns, updated_ns, tokens, title, replace(body, path, '') FROM (SELECT *, json_extract(body, '$.Path') path FROM thread) ORDER BY thread_id",
		"SELECT t.thread_id, g.model, g.body, verdict, strategy, fit, d.tokens, target_tokens, budget, messages, through_seq FROM decision d LEFT JOIN thread t ON t.id=d.thread LEFT JOIN target g ON g.id=d.target ORDER BY 1, 2",
		"SELECT thread_id, name FROM thread_name ORDER BY 1",
	} {
		printRows(t, db, q, &out)
	}
	return out.String()
}

// differ names the first line in which two dumps differ.
func differ(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%.1500s\nwant\n%.1500s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// printRows prints what a query gives, a row a line.
func printRows(t *testing.T, db *sql.DB, query string, out *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(out, row...)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
