package mcpserver

import (
	"context"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/decide"
)

func getSessionContext() *tool {
	return &tool{
		name: "get_session_context", title: "Get session context",
		description: "Get a session's context: the text to resume, to continue work another agent left off, or to hand the thread over, as pages. memory: what matters, short. handoff: all of it if target_model can take it, else the most valuable part. messages: the whole transcript, as JSON lines. summary: shortest. Follow next_cursor; the last page's new= as cursor later gives only what was added since.",
		search:      "get context memory of an earlier or last session: continue resume load handoff hand over a codex thread to another agent",
		paged:       true,
		params:      []param{sessionParam, targetParam, {name: "format"}, nextParam, bytesParam, cursorParam},
		input: `{"type":"object","properties":{` +
			`"session":{"type":"string","description":"As in get_migration_decision"},` +
			`"target_model":{"type":"string","description":"Who is to continue"},` +
			`"format":{"type":"string","enum":["memory","handoff","messages","summary"],"default":"memory"},` +
			nextSchema +
			`"max_bytes":{"type":"integer","minimum":2000,"maximum":200000,"default":32000},` +
			`"cursor":{"type":"string"}},"required":["session"],"additionalProperties":false}`,
		run: runGetSessionContext,
	}
}

// nextSchema describes the argument of what is to be asked next.
const nextSchema = `"next_prompt":{"type":"string","description":"What will be asked next: adds passages about it"},`

// maxNext bounds it, in characters: it goes with the cursor of each page.
const maxNext = 2_000

// next gives what is to be asked next; empty: not said.
func (a args) next() (string, error) {
	text, err := a.text("next_prompt")
	return clip(text, maxNext), err
}

// summaryUnits is the size of the short form, in UTF-16 units.
const summaryUnits = 5_000

func runGetSessionContext(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	cur, err := s.firstPage(h.pipe, c)
	if err != nil {
		return result{}, err
	}
	if !c.args.has("session") && cur.Session != "" {
		if c.args.values["session"], err = marshal(cur.Session); err != nil {
			return result{}, err
		}
	}
	id, err := s.session(ctx, h, c)
	if err != nil {
		return result{}, err
	}
	switch {
	case cur.New && cur.Hash == "":
		return s.newContext(ctx, h, id, cur)
	case cur.Hash != "":
		return s.furtherContext(ctx, h, id, cur)
	}
	if cur.Target, err = s.target(h.pipe, c, false); err != nil {
		return result{}, err
	}
	if cur.Kind, err = contextFormat(c.args, cur.Target); err != nil {
		return result{}, err
	}
	if cur.Next, err = c.args.next(); err != nil {
		return result{}, err
	}
	cur.Session = id
	v, err := h.pipe.View(ctx, id)
	if err != nil {
		return result{}, err
	}
	d, err := s.contextDocument(ctx, h.pipe, v, cur)
	if err != nil {
		return result{}, err
	}
	s.pages.put(d)
	return s.page(ctx, h.pipe, d, cur, s.freshness(ctx, v.Fresh).text())
}

func contextFormat(a args, target string) (string, error) {
	format, err := a.text("format")
	if err != nil {
		return "", err
	}
	switch format {
	case "":
		return "memory", nil
	case "handoff":
		if target == "" {
			return "", a.missing("target_model")
		}
		return format, nil
	case "memory", "messages", "summary":
		return format, nil
	}
	return "", advise("Unknown format %q: memory, handoff, messages or summary.", echoed(format, 40))
}

// furtherContext gives a page after the first. While the session grows the
// pages go on with the state of page 1.
func (s *server) furtherContext(ctx context.Context, h *handle, id string, cur cursor) (result, error) {
	if cur.Session != id {
		return result{}, errCursor
	}
	t, err := h.db.Thread(ctx, id)
	if err != nil {
		return result{}, err
	}
	f, err := h.pipe.Freshness(ctx, &t)
	if err != nil {
		return result{}, err
	}
	d := s.pages.get(cur.Hash, id)
	if d == nil {
		if d, err = s.contextAgain(ctx, h.pipe, id, cur); err != nil {
			return result{}, err
		}
		s.pages.put(d)
	}
	fresh := s.freshness(ctx, f).text()
	if t.LastSeq > d.through || t.LastSeq == d.through && f.Behind > 0 {
		fresh = "this session grew since page 1: new= on the last page gives the new turns"
	}
	return s.page(ctx, h.pipe, d, cur, fresh)
}

// contextAgain makes the document of a cursor anew, after a restart.
func (s *server) contextAgain(ctx context.Context, p *pipeline.Pipeline, id string, cur cursor) (*document, error) {
	v, err := p.View(ctx, id)
	if err != nil {
		return nil, err
	}
	if cur.Kind == "messages" || cur.New {
		// What was added stands behind what was there.
		n := len(v.Messages)
		for n > 0 && v.Messages[n-1].Position > cur.Through {
			n--
		}
		v.Messages = v.Messages[:n]
		v.Thread.LastSeq = min(v.Thread.LastSeq, cur.Through)
	}
	if cur.New {
		if v.Messages, err = behind(v.Messages, cur.Since); err != nil {
			return nil, err
		}
	}
	if cur.Target != "" {
		if _, err := lookUp(p, cur.Target); err != nil {
			return nil, err
		}
	}
	d, err := s.contextDocument(ctx, p, v, cur)
	if err != nil {
		return nil, err
	}
	if d.hash() != cur.Hash {
		return nil, advise("This session grew since page 1 (new turns were added) and its old state is not at hand any more. Start again without cursor.")
	}
	return d, nil
}

// contextDocument makes the text of a session in the cursor's format.
func (s *server) contextDocument(ctx context.Context, p *pipeline.Pipeline, v pipeline.View, cur cursor) (*document, error) {
	d := &document{name: "session " + v.Thread.ID, session: v.Thread.ID, through: v.Thread.LastSeq, shape: shapeMarkdown,
		labels: []string{fmt.Sprintf("%q", titleOf(v.Thread.Title))}, last: markOf(v.Messages)}
	if cur.New {
		return d, d.added(v.Messages, cur)
	}
	var dec decide.Decision
	if cur.Target != "" {
		if err := p.Recall(ctx, &v.Thread); err != nil {
			return nil, err
		}
		dec = p.Decide(v.Thread, cur.Target, decide.Options{})
		d.labels = append(d.labels, "for "+echoed(cur.Target, 80))
	}
	var err error
	switch cur.Kind {
	case "messages":
		d.shape = shapeLines
		d.labels = append(d.labels, fmt.Sprintf("%d messages", len(v.Messages)), grouped(v.Thread.Tokens["o200k_base"])+" tokens")
		d.body, err = messageLines(pipeline.Redacted(v.Messages), cur.lineBytes())
	case "handoff":
		var out pipeline.Handoff
		if out, err = p.Migrate(ctx, v, pipeline.Request{Target: cur.Target, Next: cur.Next}); err != nil {
			return nil, err
		}
		d.body = out.Text
		d.labels = append(d.labels, handoffLabel(out), grouped(out.Tokens)+" tokens")
	case "memory", "summary":
		q := pipeline.MemoryRequest{Target: cur.Target, Next: cur.Next}
		if cur.Kind == "summary" {
			err = s.summaryDocument(ctx, p, v, d, q)
		} else {
			d.body, err = p.Memory(ctx, v, q)
		}
		if err != nil {
			return nil, err
		}
		d.labels = append(d.labels, cur.Kind)
		if cur.Target != "" && dec.Verdict == decide.Direct && d.remark == "" {
			d.remark = fmt.Sprintf("The whole session (%s tokens) fits %s: format=handoff gives all of it.", grouped(dec.SessionTokens), echoed(cur.Target, 80))
		}
	default:
		return nil, errCursor
	}
	return d, err
}

// handoffLabel says what was done to make a hand-over.
func handoffLabel(h pipeline.Handoff) string {
	if h.Omitted == 0 && h.Decision.Verdict == decide.Direct {
		return "direct"
	}
	found := ""
	if h.Retrieved > 0 {
		found = fmt.Sprintf(", %d with passages for the next request", h.Retrieved)
	}
	return fmt.Sprintf("%s (%s: %d messages kept, %d left out%s)", h.Decision.Verdict, h.Strategy, h.Kept, h.Omitted, found)
}
