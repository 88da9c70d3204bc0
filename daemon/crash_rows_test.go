//go:build crash || faults

package daemon_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// row is one row of the cache: its columns by name, as text.
type row struct {
	names, values []string
}

// rows are what a table says, by keys that mean the same in every cache.
type rows map[string]row

// cacheRows are the derived tables of a cache. Numbers of rows, clocks and what
// only this cache's past explains are left out; see the queries.
type cacheRows struct {
	rollouts, items, turns, damage, unknown, threads, decisions, packs, names rows

	ever rows // all items, those of earlier generations too, by rollout and number
}

// The first column of each is the key. Items are numbered from the start of
// their generation.
const (
	rolloutQuery = `SELECT rollout_id, thread_id, stamp, off, line, head_len, hex(head), tail_len, hex(tail), facts, parser, parser_version,
		base_rollout, base_ordinal, base_offset, json_remove(sums,'$.seal') AS sums, awaits_parent, last_seq-gen_seq AS items,
		pending, state, reason, path, form, archived, size, mtime_ns, gen FROM rollout`
	itemQuery = `SELECT r.rollout_id||' item '||((i.id & 4294967295)-r.gen_seq), i.role, i.turn, i.ts_ns, i.off, i.size, i.ordinal, i.inherited,
		i.dead_off, i.dead_ord, i.phase, i.exit_code, i.images, i.tok_o200k, i.tok_cl100k, i.tok_shrunk, i.key, hex(i.hash), i.turn_id, i.name, i.call_id, i.args, i.text
		FROM rollout r JOIN item i ON i.id BETWEEN (r.id<<32)+r.gen_seq+1 AND (r.id<<32)+4294967295`
	everQuery = `SELECT r.rollout_id||' item '||(i.id & 4294967295), i.gen, i.role||' '||i.off||' '||hex(i.hash)||' '||i.text
		FROM rollout r JOIN item i ON i.id BETWEEN (r.id<<32) AND (r.id<<32)+4294967295`
	turnQuery    = `SELECT r.rollout_id||' turn '||t.number, t.turn_id, t.started_ns, t.ended_ns, t.state, t.error FROM turn t JOIN rollout r ON r.id=t.rollout`
	damageQuery  = `SELECT r.rollout_id||' damage at '||d.off||' line '||d.line, d.size, d.cause, d.detail, d.salvaged FROM damage d JOIN rollout r ON r.id=d.rollout`
	unknownQuery = `SELECT r.rollout_id||' unknown '||u.kind||' '||u.name||' '||u.version, u.count, u.line FROM unknown u JOIN rollout r ON r.id=u.rollout`
	threadQuery  = `SELECT t.thread_id, r.rollout_id AS head, t.workspace, t.parent, t.subagent, t.archived, t.gone, t.state, t.created_ns, t.updated_ns, t.tokens, t.title, t.body
		FROM thread t JOIN rollout r ON r.id=t.head`
	decisionQuery = `SELECT t.thread_id||' for '||g.model, d.tokens, d.messages, d.through_seq, d.verdict, d.strategy, d.fit, d.target_tokens, d.budget
		FROM decision d JOIN thread t ON t.id=d.thread JOIN target g ON g.id=d.target`
	nameQuery = `SELECT thread_id, name FROM thread_name`
	packQuery = `SELECT t.thread_id||' '||p.strategy||' '||p.budget, p.through_seq, p.tokens, p.kept, p.omitted FROM pack p JOIN thread t ON t.id=p.thread`
)

// unsound are questions that no row may answer, whatever the rollouts say.
var unsound = map[string]string{
	"an item behind the last":       `SELECT r.rollout_id, i.id & 4294967295 FROM rollout r JOIN item i ON i.id BETWEEN (r.id<<32)+r.last_seq+1 AND (r.id<<32)+4294967295`,
	"an item of another generation": `SELECT r.rollout_id, i.id & 4294967295 FROM rollout r JOIN item i ON i.id BETWEEN (r.id<<32) AND (r.id<<32)+4294967295 WHERE (i.gen=r.gen)<>((i.id & 4294967295)>r.gen_seq)`,
	"an item of no rollout":         `SELECT id, '' FROM item WHERE id>>32 NOT IN (SELECT id FROM rollout)`,
	"items out of order":            `SELECT rollout, id FROM (SELECT id>>32 AS rollout, gen, id, off, lag(off) OVER (PARTITION BY id>>32, gen ORDER BY id) AS before FROM item) WHERE off<before`,
	"an item twice":                 `SELECT id>>32, off FROM item GROUP BY id>>32, gen, off, role, ordinal, call_id, text, turn HAVING count(*)>1`,
	"a hole in the numbers": `SELECT r.rollout_id, count(i.id) FROM rollout r LEFT JOIN item i ON i.id BETWEEN (r.id<<32)+r.gen_seq+1 AND (r.id<<32)+r.last_seq
		WHERE r.off>0 GROUP BY r.id HAVING count(i.id)<>r.last_seq-r.gen_seq`,
}

func openRows(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+path+"?mode=ro&_query_only=1&_busy_timeout=1000")
}

// readRows reads the whole cache, and what is wrong with it taken by itself.
func readRows(ctx context.Context, path string) (c cacheRows, wrong []string, err error) {
	db, err := openRows(path)
	if err != nil {
		return c, nil, err
	}
	defer db.Close()
	var sound string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&sound); err != nil {
		return c, nil, err
	}
	if sound != "ok" {
		wrong = append(wrong, sound)
	}
	for _, q := range []struct {
		to   *rows
		text string
	}{
		{&c.rollouts, rolloutQuery}, {&c.items, itemQuery}, {&c.turns, turnQuery}, {&c.damage, damageQuery}, {&c.unknown, unknownQuery},
		{&c.threads, threadQuery}, {&c.decisions, decisionQuery}, {&c.packs, packQuery}, {&c.ever, everQuery}, {&c.names, nameQuery},
	} {
		if *q.to, err = queryRows(ctx, db, q.text); err != nil {
			return c, nil, err
		}
	}
	for what, q := range unsound {
		bad, err := queryRows(ctx, db, q)
		if err != nil {
			return c, nil, fmt.Errorf("%s: %w", what, err)
		}
		for k, r := range bad {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s", what, k, strings.Join(r.values, " ")))
		}
	}
	return c, append(wrong, c.sums()...), nil
}

func queryRows(ctx context.Context, db *sql.DB, q string) (rows, error) {
	rs, err := db.QueryContext(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%.60s: %w", q, err)
	}
	defer rs.Close()
	names, err := rs.Columns()
	if err != nil {
		return nil, err
	}
	out := rows{}
	cells := make([]sql.NullString, len(names))
	to := make([]any, len(names))
	for i := range cells {
		to[i] = &cells[i]
	}
	for rs.Next() {
		if err := rs.Scan(to...); err != nil {
			return nil, err
		}
		r := row{names: names[1:], values: make([]string, 0, len(names)-1)}
		for _, v := range cells[1:] {
			r.values = append(r.values, v.String)
		}
		out[cells[0].String] = r
	}
	return out, rs.Err()
}

func (r row) get(name string) string {
	if i := slices.Index(r.names, name); i >= 0 {
		return r.values[i]
	}
	return ""
}

// number is a column that holds nothing but numbers.
func (r row) number(name string) int64 {
	n, err := strconv.ParseInt(r.get(name), 10, 64)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return n
}

// sums compares the figures that are kept with what the rows add up to.
func (c *cacheRows) sums() (wrong []string) {
	type sums struct {
		Roles    [8]int `json:"r"`
		O200k    int64  `json:"o"`
		Cl100k   int64  `json:"c"`
		Shrunk   int64  `json:"s"`
		Migrated int    `json:"m"`
	}
	add := map[string]*sums{}
	for id := range c.rollouts {
		add[id] = &sums{}
	}
	for key, it := range c.items {
		s := add[key[:36]]
		if it.get("dead_off") != "" {
			continue
		}
		role := transcript.Role(it.number("role"))
		s.Roles[role]++
		if role.Migrates() {
			s.O200k, s.Cl100k, s.Shrunk = s.O200k+it.number("tok_o200k"), s.Cl100k+it.number("tok_cl100k"), s.Shrunk+it.number("tok_shrunk")
			s.Migrated++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.rollouts)) {
		var kept sums
		if err := json.Unmarshal([]byte(c.rollouts[id].get("sums")), &kept); err != nil {
			wrong = append(wrong, id+": "+err.Error())
		}
		if kept != *add[id] {
			wrong = append(wrong, fmt.Sprintf("rollout %s: the sums say %+v, the rows %+v", id, kept, *add[id]))
		}
	}
	return wrong
}

// apart names the first difference between two sets of rows: a row that is
// missing, one too many, or the columns that differ and the first of them.
// Columns left out are those of skip.
func apart(got, want rows, skip ...string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok {
			return k + " is missing"
		}
		var differ []string
		var first string
		for i, name := range g.names {
			if w := want[k].values[i]; g.values[i] != w && !slices.Contains(skip, name) {
				if differ = append(differ, name); first == "" {
					a, b := around(g.values[i], w)
					first = fmt.Sprintf("%s is %q, want %q", name, a, b)
				}
			}
		}
		switch {
		case len(differ) > 1:
			return fmt.Sprintf("%s: %s differ: %s", k, strings.Join(differ, ", "), first)
		case len(differ) == 1:
			return k + ": " + first
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			return k + " is there, and must not be"
		}
	}
	return ""
}

// around cuts two texts to where they begin to differ.
func around(a, b string) (string, string) {
	const before, shown = 40, 160
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	i = max(0, i-before)
	return a[i:min(len(a), i+shown)], b[i:min(len(b), i+shown)]
}

// only keeps the rows whose key begins with one of the ids.
func (r rows) only(ids map[string]bool) rows {
	out := rows{}
	for k, v := range r {
		if ids[k[:36]] {
			out[k] = v
		}
	}
	return out
}
