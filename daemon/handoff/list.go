package handoff

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// Handoff is a session that should be handed on, and how.
type Handoff struct {
	ThreadID string     `json:"thread_id"`
	Title    string     `json:"title"` // without secrets
	Why      Why        `json:"why"`
	Percent  int        `json:"percent"`   // in use
	ResetsAt *time.Time `json:"resets_at"` // of the quota; null: not known, or of no quota
	Command  string     `json:"command"`   // hands it on
}

// List gives the sessions that are due, the newest first. A threshold of 0 is
// DefaultThreshold.
func List(ctx context.Context, db *store.DB, p *pipeline.Pipeline, threshold float64, now time.Time) ([]Handoff, error) {
	out := []Handoff{}
	threads, _, err := db.Threads(ctx, store.Filter{Since: now.Add(-fresh)})
	if err != nil || len(threads) == 0 {
		return out, err
	}
	said, err := marks(ctx, db)
	if err != nil {
		return out, err
	}
	for i := range threads {
		due, _ := dueOf(&threads[i], said[threads[i].ID], now, threshold)
		for _, d := range due {
			out = append(out, Of(ctx, db, p, threads[i], d))
		}
	}
	return out, nil
}

// Of says how a session that is due is handed on.
func Of(ctx context.Context, db *store.DB, p *pipeline.Pipeline, t transcript.Thread, d Due) Handoff {
	h := Handoff{ThreadID: t.ID, Title: pipeline.RedactText(t.Title), Why: d.Why, Percent: d.Percent}
	if !d.Resets.IsZero() {
		at := d.Resets.UTC()
		h.ResetsAt = &at
	}
	id := t.ID[max(0, len(t.ID)-8):]
	if _, err := db.Resolve(ctx, id, "", ""); err != nil {
		id = t.ID // two of them end alike
	}
	h.Command = "session-migrator migrate " + id + " --to " + word(p.Successor(t, d.Why == Quota))
	return h
}

// String says in a line what runs out.
func (h Handoff) String() string {
	s := fmt.Sprintf("context %d %% full", h.Percent)
	if h.Why == Quota {
		s = fmt.Sprintf("quota %d %% used", h.Percent)
		if h.ResetsAt != nil {
			s += ", resets at " + h.ResetsAt.Local().Format("2006-01-02 15:04")
		}
	}
	return s
}

// Name is the title for one line, at most max characters: no marks that move
// the cursor or turn the text round.
func (h Handoff) Name(max int) string {
	s := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), !unicode.IsPrint(r):
			return -1
		}
		return r
	}, h.Title)), " ")
	if rs := []rune(s); len(rs) > max {
		s = string(rs[:max-1]) + "…"
	}
	return s
}

var plainWord = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// word quotes an argument where a shell would not take it as one.
func word(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
