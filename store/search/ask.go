package search

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const (
	// postingsMost is how many items are taken of those that hold a word: those
	// that were taken in last. A word that so many hold tells little.
	postingsMost = 3000
	// manyClauses is how many words a question has for each to count for less.
	manyClauses = 6
	// maxWide is how many words of a question are looked for in other forms too:
	// those that the fewest items have.
	maxWide = 4
)

// asker asks the index as it stands in tx.
type asker struct {
	x    *Index
	tx   *sql.Tx
	cond string // on rowid
	args []any
	and  string // on the words
}

// only lets nothing but some rollouts (nil: all) and roles (nil: all) answer.
func (a *asker) only(rows []int64, roles []transcript.Role) {
	a.cond, a.args, a.and = "", nil, ""
	switch {
	case len(rows) == 1:
		a.cond, a.args = " AND rowid BETWEEN ? AND ?", []any{rows[0] << 32, rows[0]<<32 | (1<<32 - 1)}
	case rows != nil:
		b, err := json.Marshal(rows)
		if err != nil {
			panic("bug: " + err.Error())
		}
		a.cond, a.args = " AND rowid>>32 IN (SELECT value FROM json_each(?))", []any{string(b)}
	}
	if len(roles) > 0 {
		var or []string
		for _, r := range roles {
			or = append(or, `"`+roleName(r)+`"`)
		}
		a.and = "(" + strings.Join(or, " OR ") + ") AND "
	}
}

// holding gives the items that hold what the expression says, those that were
// taken in last first, at most limit of them; none for an empty one.
func (a *asker) holding(ctx context.Context, e string, limit int) ([]int64, error) {
	if e == "" {
		return nil, nil
	}
	if a.and != "" {
		e = a.and + "(" + e + ")"
	}
	// One text instead of thousands of rows: a row costs more than what is in it.
	query := "SELECT coalesce(group_concat(id), '') FROM (SELECT rowid AS id FROM words WHERE words MATCH ?" + a.cond + " ORDER BY rowid DESC LIMIT ?)" //nolint:gosec // a condition of ours
	rows, err := a.tx.QueryContext(ctx, query, join([]any{e}, a.args, limit)...)
	if err != nil {
		return nil, a.failed(e, err)
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return nil, a.failed(e, err)
		}
		out = numbers(text)
	}
	if err := rows.Err(); err != nil {
		return nil, a.failed(e, err)
	}
	return out, nil
}

// numbers reads decimal numbers with commas between.
func numbers(text []byte) []int64 {
	if len(text) == 0 {
		return nil
	}
	out := make([]int64, 0, bytes.Count(text, []byte{','})+1)
	n := int64(0)
	for _, c := range text {
		if c == ',' {
			out = append(out, n)
			n = 0
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return append(out, n)
}

// size is how many items the index has, about.
func (a *asker) size(ctx context.Context) (n float64, err error) {
	err = a.tx.QueryRowContext(ctx, "SELECT total(through) FROM held").Scan(&n)
	return n, a.x.wrap("count the items", err)
}

func join(first []any, more []any, last ...any) []any {
	return append(append(first, more...), last...)
}

// failed is an error of the index; the expression is of letters and digits of
// the question, and isn't told.
func (a *asker) failed(e string, err error) error {
	return a.x.wrap(fmt.Sprintf("ask for %d bytes of words", len(e)), err)
}
