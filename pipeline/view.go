package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// maxReadThrough bounds how many uncommitted bytes an answer reads itself.
const maxReadThrough = 8 << 20

// Freshness proves how new an answer is.
type Freshness struct {
	Path     string    `json:"path"`      // of the rollout that holds the newest lines
	FileSize int64     `json:"file_size"` // bytes on disk when asked; 0 if the file is gone
	Read     int64     `json:"read"`      // logical bytes the answer rests on
	Behind   int64     `json:"behind"`    // bytes of whole lines not in the answer
	Through  int64     `json:"through"`   // thread position of the newest item
	LastItem time.Time `json:"last_item"` // of the newest line
	Checked  time.Time `json:"checked"`
	// Rederived: the cache disagreed with itself, so the answer was read from
	// the rollout.
	Rederived bool `json:"rederived,omitempty"`
}

// View is a thread with its current branch, as fresh as its rollout.
type View struct {
	Thread   transcript.Thread
	Messages []transcript.Message
	Fresh    Freshness
}

// View gives a thread and its messages. Lines that the daemon hasn't committed
// yet are read for this one answer if they are few; else Fresh says how far
// behind it is. What the cache holds is proved first. store.ErrNotFound if the
// thread isn't here; store.ErrChanged if its rows disagree with each other and
// can't be read anew for this answer.
func (p *Pipeline) View(ctx context.Context, threadID string) (View, error) {
	var v View
	var err error
	if v.Thread, err = p.db.Thread(ctx, threadID); err != nil {
		return v, err
	}
	if v.Messages, err = p.db.Messages(ctx, threadID, 0, 0); err != nil {
		return v, err
	}
	cp, err := p.db.Rollout(ctx, v.Thread.RolloutID)
	if err != nil {
		return v, err
	}
	if err := p.prove(ctx, &v); errors.Is(err, store.ErrChanged) {
		return v, p.rederive(ctx, &v, cp, err)
	} else if err != nil {
		return v, err
	}
	v.Fresh = p.freshness(&v.Thread, cp)
	if v.Fresh.Behind > 0 && v.Fresh.Behind <= maxReadThrough && cp.ParserVersion == rollout.Version() {
		// A file that can't be read is named by status, with the reason; the
		// answer is what the cache has, and says that it is behind.
		if err := p.readThrough(ctx, &v, cp); err != nil && ctx.Err() != nil {
			return v, fmt.Errorf("read the uncommitted lines of %s: %w", cp.Path, err)
		}
	}
	return v, nil
}

// Freshness tells how far the stored state of a thread is behind its rollout,
// at the price of one stat.
func (p *Pipeline) Freshness(ctx context.Context, t *transcript.Thread) (Freshness, error) {
	cp, err := p.db.Rollout(ctx, t.RolloutID)
	if err != nil {
		return Freshness{}, err
	}
	return p.freshness(t, cp), nil
}

func (p *Pipeline) freshness(t *transcript.Thread, cp store.Checkpoint) Freshness {
	f := Freshness{Path: cp.Path, Read: cp.Cursor.Offset, Through: t.LastSeq, LastItem: t.Updated, Checked: time.Now().UTC()}
	st, err := tail.StatFile(cp.Path)
	if err != nil {
		return f // gone or moved: what is here is all there is
	}
	f.FileSize = st.Size
	if cp.Form == store.FormPlain {
		f.Behind = max(0, st.Size-cp.Cursor.Offset-cp.Pending)
	} else if st.Size != cp.Size {
		f.Behind = max(1, st.Size-cp.Size)
	}
	return f
}

// readThrough adds to v what stands in the rollout behind the cursor. After an
// error nothing was added.
func (p *Pipeline) readThrough(ctx context.Context, v *View, cp store.Checkpoint) error {
	switch cp.Form {
	case store.FormDocument:
		return nil
	case store.FormZstd:
		if err := tail.Verify(cp.Path); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err // what stands before the damage can be wrong
		}
	case store.FormPlain:
	}
	r, err := tail.Open(cp.Path, cursorOf(cp.Cursor), tailOptions())
	if errors.Is(err, tail.ErrReplaced) || errors.Is(err, tail.ErrTruncated) || errors.Is(err, fs.ErrNotExist) {
		return nil // the daemon will start a generation; until then the answer says that it is behind
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	var st rollout.State
	if len(cp.Parser) > 0 {
		if err := json.Unmarshal(cp.Parser, &st); err != nil {
			return fmt.Errorf("read the parser state: %w", err)
		}
	}
	before := st.Facts
	parser := rollout.NewParser(st, rollout.Options{Parent: p.lineage(ctx)})
	var delta transcript.Delta
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		parser.Line(lineOf(&l), &delta)
	}
	select {
	case c := <-p.counters:
		v.extend(&delta, cp, before, parser.State().Facts, c)
		p.counters <- c
	case <-ctx.Done():
		return ctx.Err()
	}
	v.Fresh.Read, v.Fresh.Behind = r.Cursor().Offset, 0
	v.Fresh.Through, v.Fresh.LastItem = v.Thread.LastSeq, v.Thread.Updated
	return nil
}

// extend applies a delta to the view the way a commit would apply it to the
// store.
func (v *View) extend(d *transcript.Delta, cp store.Checkpoint, before, after transcript.Facts, c *counters) {
	t := &v.Thread
	own := t.LastSeq - (cp.LastSeq - cp.GenerationSeq) // positions before the rollout's first item
	turn0 := t.Turns                                   // turns before its first turn
	for i := len(v.Messages) - 1; i >= 0; i-- {
		if m := &v.Messages[i]; m.RolloutID == t.RolloutID && m.Turn > 0 {
			turn0 = m.ThreadTurn - m.Turn
			break
		}
	}
	for i := range d.Items {
		it := d.Items[i]
		n := c.item(&it)
		position := own + it.Seq
		it.Seq += cp.GenerationSeq
		m := transcript.Message{
			Item: it, RolloutID: t.RolloutID, Position: position, ThreadTurn: threadTurn(turn0, it.Turn),
			Tokens: n.O200k, Hash: n.Hash.String(), Ref: it.RefIn(t.RolloutID),
		}
		v.Messages = append(v.Messages, m)
		v.count(&m, n, 1)
		t.LastSeq = max(t.LastSeq, m.Position)
	}
	for _, dead := range d.Dead {
		kept := v.Messages[:0]
		for i := range v.Messages {
			m := v.Messages[i]
			if m.RolloutID == t.RolloutID && m.Seq >= cp.GenerationSeq+dead.From && m.Seq <= cp.GenerationSeq+dead.To {
				v.count(&m, c.item(&m.Item), -1)
				continue
			}
			kept = append(kept, m)
		}
		v.Messages = kept
	}
	t.Untouched = t.ForkedFrom != "" && (len(v.Messages) == 0 || v.Messages[len(v.Messages)-1].Inherited)
	t.Turns = turn0
	for i := range v.Messages {
		t.Turns = max(t.Turns, v.Messages[i].ThreadTurn)
	}
	for _, u := range d.Unknown {
		t.Counts.Unknown += u.Count
	}
	t.Counts.DamagedLines += len(d.Damage)
	if n := len(d.Turns); n > 0 {
		t.State = d.Turns[n-1].State
	}
	t.OwnUsage = t.OwnUsage.Plus(after.Usage.Minus(before.Usage))
	t.Usage = t.Usage.Plus(after.Usage.Minus(before.Usage))
	if after.Updated.After(t.Updated) {
		t.Updated = after.Updated
	}
	if after.ContextNow > 0 {
		t.ContextTokens, t.ContextInput = after.ContextNow, after.ContextInput
	}
	if after.Model != "" {
		t.Model = after.Model
	}
	if f := after.First; f.Input > 0 && before.First.Input == 0 {
		v.firstRequest(f, cp.GenerationSeq)
	}
}

// firstRequest counts the first request, when the vendor's count of it is among
// the lines that aren't committed yet.
func (v *View) firstRequest(f transcript.FirstRequest, before int64) {
	for i := range v.Messages {
		if m := &v.Messages[i]; m.RolloutID == v.Thread.RolloutID && m.Seq <= before+f.Through {
			f.Add(m.Role, 1, int64(m.Tokens))
		}
	}
	v.Thread.First = f
}

// threadTurn places a rollout's turn within the thread; 0 is before any request.
func threadTurn(before, turn int) int {
	if turn == 0 {
		return 0
	}
	return before + turn
}

func (v *View) count(m *transcript.Message, n store.ItemCount, sign int) {
	t := &v.Thread
	switch m.Role {
	case transcript.RoleUser:
		t.Counts.User += sign
	case transcript.RoleAssistant:
		t.Counts.Assistant += sign
	case transcript.RoleToolCall:
		t.Counts.ToolCalls += sign
	case transcript.RoleToolResult:
		t.Counts.ToolResults += sign
	case transcript.RoleReasoning:
		t.Counts.Reasoning += sign
	case transcript.RoleCompaction:
		t.Counts.Compactions += sign
	case transcript.RoleAgent:
	}
	if m.Role.Migrates() {
		t.Migrated += sign
		t.Tokens["o200k_base"] += int64(sign * n.O200k)
		t.Tokens["cl100k_base"] += int64(sign * n.Cl100k)
		t.ShrunkTokens["o200k_base"] += int64(sign * n.Shrunk)
	}
}

// ViewOf makes a view of messages that are in no rollout: numbered, counted,
// and without refs.
func (p *Pipeline) ViewOf(ctx context.Context, ms []transcript.Message) (View, error) {
	v := View{Thread: transcript.Thread{
		State:  transcript.StateEmpty,
		Tokens: map[string]int64{"o200k_base": 0, "cl100k_base": 0}, ShrunkTokens: map[string]int64{"o200k_base": 0},
	}}
	var c *counters
	select {
	case c = <-p.counters:
		defer func() { p.counters <- c }()
	case <-ctx.Done():
		return v, ctx.Err()
	}
	turn := 0
	for i, m := range ms {
		if m.Role == transcript.RoleUser {
			turn++
			v.Thread.State = transcript.StateUnanswered
		}
		if m.Role == transcript.RoleAssistant {
			v.Thread.State = transcript.StateAnswered
		}
		n := c.item(&m.Item)
		m.Seq, m.Position, m.Turn, m.ThreadTurn = int64(i+1), int64(i+1), turn, turn
		m.Tokens, m.Hash = n.O200k, n.Hash.String()
		v.count(&m, n, 1)
		v.Messages = append(v.Messages, m)
	}
	v.Thread.LastSeq, v.Thread.Turns = int64(len(ms)), turn
	return v, nil
}
