package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

const (
	// snippetLength is how many characters of a hit are shown.
	snippetLength = 240
	// searchLimit is how many hits are given if nobody says.
	searchLimit = 10
	// searchRounds is how often more hits are asked for in place of those that
	// aren't shown.
	searchRounds = 8
)

// SearchHit is one item that answers a question. Its texts are fit to leave.
type SearchHit struct {
	ThreadID  string
	Title     string // of the thread
	Workspace string // key
	Cwd       string // the thread's folder as it was written
	Ref       string
	Role      transcript.Role
	Tool      string // name, calls only
	Time      time.Time
	Turn      int      // 1-based through the thread; 0 before the first request
	Snippet   string   // at most 240 characters on one line
	Words     []string // that matched, as the snippet may have them
	Dead      bool     // rolled back, or rewritten away: not in the thread's branch any more
}

// SearchResult is an answer, best hit first.
type SearchResult struct {
	Hits   []SearchHit
	Next   int      // Offset at which further hits follow; 0: there are none
	Behind int64    // items that could not be looked through yet
	Notes  []string // what of the question was read otherwise than typed, in sentences
}

// Search answers a question over all threads. x may be nil: then the cache is
// looked through as it stands. An index that can't be asked is no error, it is
// gone around.
//
// What is shown is cut out of the text that is fit to leave, so half a secret
// can't come out; and an item that answers only by what was redacted is no hit:
// asking on and on would spell the secret. What this program itself put into a
// session is no hit either.
func (p *Pipeline) Search(ctx context.Context, x *search.Index, r search.Request) (SearchResult, error) {
	var out SearchResult
	limit := r.Limit
	if limit <= 0 {
		limit = searchLimit
	}
	for round := 1; ; round++ {
		r.Limit = limit - len(out.Hits)
		found, err := p.find(ctx, x, r)
		if err != nil {
			return SearchResult{}, err
		}
		if round == 1 {
			out.Behind = found.Behind
		}
		for _, n := range found.Notes {
			if n = RedactText(n); !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
		for i := range found.Hits {
			if h, ok := hitOf(&found.Hits[i]); ok {
				out.Hits = append(out.Hits, h)
			}
		}
		r.Offset += len(found.Hits)
		if !found.More || len(found.Hits) == 0 {
			return out, nil
		}
		if len(out.Hits) == limit || round == searchRounds {
			out.Next = r.Offset
			return out, nil
		}
	}
}

func (p *Pipeline) find(ctx context.Context, x *search.Index, r search.Request) (search.Found, error) {
	if x != nil {
		found, err := x.Find(ctx, p.db, r)
		if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrBusy) {
			return found, err
		}
	}
	return search.Scan(ctx, p.db, r)
}

// hitOf makes a hit fit to leave; false if what matched must not.
func hitOf(h *search.Hit) (SearchHit, bool) {
	m, t := &h.Message, &h.Thread
	out := SearchHit{
		ThreadID: t.ID, Title: RedactText(t.Title), Workspace: RedactText(t.Workspace), Cwd: RedactText(t.Cwd), Ref: m.Ref, Role: m.Role,
		Tool: RedactText(m.Name), Time: m.Time, Turn: m.ThreadTurn, Words: h.Words, Dead: h.Dead,
	}
	if m.Role == transcript.RoleToolCall && loop.Call(m.Name) || m.Role == transcript.RoleToolResult && ownHits(m.Text) {
		return out, false
	}
	body := m.Body()
	if m.Role == transcript.RoleToolCall && strings.IndexByte(body, '\\') >= 0 && json.Valid([]byte(body)) {
		body = defuse.Escapes(body)
	}
	body = defuse.Visible(body)
	said, ours := loop.Text(m.Role, body)
	if ours > 0 && none(said, h.Words) && !none(body, h.Words) {
		return out, false
	}
	shown := redact.Text(said)
	if shown != said && lost(said, shown, h.Words) {
		return out, false
	}
	out.Snippet = search.Snippet(defuse.Marks(shown), h.Words, snippetLength)
	return out, true
}

// ownHits tells whether a tool's output is an answer of our own search: it would
// be found again and again.
func ownHits(text string) bool {
	text = strings.ReplaceAll(text, `\"`, `"`) // some versions record JSON in JSON
	return strings.Contains(text, `"hits":[{"session_id":"`) && strings.Contains(text, `"snippet":"`)
}

// none tells whether none of the words is in s.
func none(s string, words []string) bool {
	s = strings.ToLower(s)
	for _, w := range words {
		if strings.Contains(s, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// lost tells whether a word of those was in before and isn't in after.
func lost(before, after string, words []string) bool {
	before, after = strings.ToLower(before), strings.ToLower(after)
	for _, w := range words {
		w = strings.ToLower(w)
		if strings.Contains(before, w) && !strings.Contains(after, w) {
			return true
		}
	}
	return false
}
