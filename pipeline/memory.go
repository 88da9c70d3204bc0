package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// MemoryRequest says how a hand-off document is wanted.
type MemoryRequest struct {
	Units    int            // UTF-16 units it may have; 0: by Budget
	Budget   memory.Budget  // 0: standard, or by Target. Direct is for a target that takes all of it; another gets full
	Target   string         // model it is for; empty: any
	Bare     bool           // without front matter
	Location *time.Location // for dates; nil: UTC
	Next     string         // what is to be asked next: what was said about it is quoted
}

// Memory writes the hand-off document of a thread: the whole dialogue if the
// target takes the thread as it is and no size is given, else the facts.
func (p *Pipeline) Memory(ctx context.Context, v View, q MemoryRequest) ([]byte, error) {
	in, err := p.memoryInput(ctx, v)
	if err != nil {
		return nil, err
	}
	in.Location = q.Location
	if in.Summary, in.NoSummary, err = p.summaryOf(ctx, v); err != nil {
		return nil, err
	}
	if q.Units == 0 && q.Budget == 0 && q.Target == "" {
		q.Units = p.opt.TargetChars
	}
	if q.Next != "" {
		ms, _ := HandedOn(v.Messages)
		in.Found = found(q.Next, ms)
	}
	opt := memory.Options{Budget: q.Budget, Units: q.Units, Bare: q.Bare}
	if q.Target == "" {
		ts := p.targets.Load()
		for _, i := range ts.shown {
			in.Decisions = append(in.Decisions, decideFor(ts.table, ts.windows[i], v.Thread, p.opt.Decide))
		}
	} else {
		d := p.Decide(v.Thread, q.Target, decide.Options{})
		in.Decisions = []decide.Decision{d}
		if q.Units == 0 && (q.Budget == 0 || q.Budget == memory.BudgetDirect) {
			opt.Budget, opt.Direct = memory.BudgetFull, d.Verdict == decide.Direct
		}
	}
	return memory.Render(memory.Build(in), opt)
}

// memoryInput gives what is recorded of a thread.
func (p *Pipeline) memoryInput(ctx context.Context, v View) (memory.Input, error) {
	in := memory.Input{Thread: v.Thread}
	kept, own := loop.Strip(v.Messages)
	in.Messages, in.Own = clipped(kept), own
	var err error
	if v.Thread.ID != "" {
		in.Turns, err = p.db.Turns(ctx, v.Thread.ID)
	}
	return in, err
}

// Brief gives a thread in a few lines, for files that hold many.
func (p *Pipeline) Brief(ctx context.Context, v View) (memory.Digest, error) {
	in, err := p.memoryInput(ctx, v)
	if err != nil {
		return memory.Digest{}, err
	}
	return memory.Brief(memory.Build(in)), nil
}

// clipAbove is the size of a tool output in bytes above which a document sees
// only its two ends: it quotes lines of them at most.
const clipAbove = 256 << 10

// clipped gives the messages with very long tool outputs cut in the middle.
func clipped(ms []transcript.Message) []transcript.Message {
	out := ms
	for i, m := range ms {
		if m.Role != transcript.RoleToolResult || len(m.Text) <= clipAbove {
			continue
		}
		if &out[0] == &ms[0] {
			out = slices.Clone(ms)
		}
		text := RedactText(m.Text) // a cut must not leave half of a secret
		head, tail := text[:min(len(text), clipAbove/2)], text[max(0, len(text)-clipAbove/2):]
		head, tail = head[:strings.LastIndexByte(head, '\n')+1], tail[strings.IndexByte(tail, '\n')+1:]
		out[i].Text = head + tail
	}
	return out
}

// MemoryName is the file name of a thread's document, fixed at first use by
// who keeps it.
func MemoryName(v View, loc *time.Location) string { return memory.FileName(v.Thread, loc) }

// Pack selects what each target that can't take the whole thread is to be
// given, once for each budget, and remembers how much that is.
func (p *Pipeline) Pack(ctx context.Context, v View) error {
	type ask struct {
		strategy string
		budget   int
	}
	var asks []ask
	for _, d := range p.decisions(v.Thread) {
		if d.Budget != nil {
			if a := (ask{d.Strategy.String(), *d.Budget}); !slices.Contains(asks, a) {
				asks = append(asks, a)
			}
		}
	}
	if len(asks) == 0 {
		return nil
	}
	count, release, err := p.counter(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	slices.SortFunc(asks, func(a, b ask) int {
		return cmp.Or(cmp.Compare(a.strategy, b.strategy), cmp.Compare(b.budget, a.budget))
	})
	in := compress.Input{Count: count, Session: last8(v.Thread.ID)}
	in.Messages, in.Own = HandedOn(v.Messages)
	if in.Summary, err = p.summed(ctx, v); err != nil {
		return err
	}
	var packs []store.Pack
	for _, a := range asks {
		// What fits a smaller budget too is no other selection.
		if n := len(packs); n > 0 && packs[n-1].Strategy == a.strategy && packs[n-1].Tokens <= a.budget {
			same := packs[n-1]
			same.Budget = a.budget
			packs = append(packs, same)
			continue
		}
		s, err := compress.ByName(a.strategy)
		if err != nil {
			return err
		}
		in.BudgetTokens = a.budget
		sel, err := s.Select(in)
		if err != nil {
			return err
		}
		packs = append(packs, store.Pack{Strategy: a.strategy, Budget: a.budget, ThroughSeq: v.Thread.LastSeq, Tokens: sel.Tokens, Kept: sel.KeptMessages, Omitted: sel.OmittedMessages})
	}
	return p.db.SavePacks(ctx, v.Thread.ID, packs)
}
