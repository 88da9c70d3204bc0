package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// mark names a message so that it is known again: turns may be taken back, and
// their places be given to others.
type mark struct {
	Position int64  `json:"p"` // 0: before the first
	Hash     string `json:"h"`
}

// start marks the beginning of a session without messages.
const start = "start"

func markOf(ms []transcript.Message) mark {
	if len(ms) == 0 {
		return mark{Hash: start}
	}
	m := &ms[len(ms)-1]
	sum := sha256.Sum256([]byte(m.Role.String() + "\n" + m.Body()))
	return mark{m.Position, hex.EncodeToString(sum[:6])}
}

// behind gives the messages that follow the marked one.
func behind(ms []transcript.Message, since mark) ([]transcript.Message, error) {
	n := len(ms)
	for n > 0 && ms[n-1].Position > since.Position {
		n--
	}
	if markOf(ms[:n]) != since {
		return nil, advise("What you read last is no longer in this session: turns were taken back. Start again without cursor.")
	}
	return ms[n:], nil
}

// newCursor asks for what is added to the session after d was made.
func (d *document) newCursor(cur cursor) string {
	return encodeCursor(cursor{Tool: cur.Tool, Kind: cur.Kind, Session: cur.Session, Target: cur.Target,
		Page: 1, Bytes: cur.Bytes, Default: cur.Default, New: true, Since: d.last})
}

// newContext gives what was added since the cursor's page.
func (s *server) newContext(ctx context.Context, h *handle, id string, cur cursor) (result, error) {
	if cur.Session != id {
		return result{}, errCursor
	}
	v, err := h.pipe.View(ctx, id)
	if err != nil {
		return result{}, err
	}
	fresh := s.freshness(ctx, v.Fresh).text()
	if v.Messages, err = behind(v.Messages, cur.Since); err != nil {
		return result{}, err
	}
	if len(v.Messages) == 0 {
		return result{text: fmt.Sprintf("session %s · %q · nothing new since your last read · %s · new=%s\n", id, titleOf(v.Thread.Title), fresh, encodeCursor(cur))}, nil
	}
	d, err := s.contextDocument(ctx, h.pipe, v, cur)
	if err != nil {
		return result{}, err
	}
	s.pages.put(d)
	return s.page(ctx, h.pipe, d, cur, fresh)
}

// added makes d the text of messages that were added: as JSON lines if that is
// the format, else as turns.
func (d *document) added(ms []transcript.Message, cur cursor) (err error) {
	tokens := 0
	for i := range ms {
		tokens += ms[i].Tokens
	}
	d.labels = append(d.labels, fmt.Sprintf("new since your last read: %d messages", len(ms)), grouped(tokens)+" tokens")
	ms = pipeline.Redacted(ms)
	if cur.Kind == "messages" {
		d.shape = shapeLines
		d.body, err = messageLines(ms, cur.lineBytes())
		return err
	}
	var b strings.Builder
	for i := range ms {
		m := &ms[i]
		body := m.Body()
		shown := body
		if m.Role != transcript.RoleUser && m.Role != transcript.RoleAssistant {
			shown = shortened(body, m.Ref)
		}
		writeOriginal(&b, m, shown, len(body))
	}
	d.body = []byte(b.String())
	return nil
}

// What is shown of a longer text of a tool: its beginning and its end.
const (
	shownHead = 1_000
	shownTail = 500
)

// shortened leaves the middle of a long text out; the ref has all of it.
func shortened(body, ref string) string {
	if len(body) <= shownHead+shownTail+200 {
		return body
	}
	head, tail := shownHead, len(body)-shownTail
	for head > 0 && !utf8.RuneStart(body[head]) {
		head--
	}
	for tail < len(body) && !utf8.RuneStart(body[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n⟦%s left out: %s⟧\n%s", body[:head], bytesText(int64(tail-head)), ref, body[tail:])
}
