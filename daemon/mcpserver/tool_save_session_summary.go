package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/daemon/spool"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/summary"
)

func saveSessionSummary() *tool {
	return &tool{
		name: "save_session_summary", title: "Save a session summary",
		description: "Save a summary that you wrote of a session, on this machine, for whoever goes on: it stands in the session's memory. Replaces the one before.",
		search:      "save store write a summary of a session",
		writes:      true,
		params: []param{sessionParam, {name: "summary", required: true, other: []string{"text"}},
			{name: "through_event", required: true, other: []string{"through", "event"}}},
		input: `{"type":"object","properties":{` +
			`"session":{"type":"string"},` +
			`"summary":{"type":"string","description":"Up to 5,000 characters: goal, state, decisions and why, what failed, next steps. No secrets"},` +
			`"through_event":{"type":"integer","minimum":1,"description":"Number of the newest message that it covers, as format=summary names it"}},` +
			`"required":["session","summary","through_event"],"additionalProperties":false}`,
		run: runSaveSessionSummary,
	}
}

func runSaveSessionSummary(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	text, err := s.givenSummary(c.args)
	if err != nil {
		return result{}, err
	}
	if !c.args.has("through_event") {
		return result{}, c.args.missing("through_event")
	}
	through, err := c.args.number("through_event", 0)
	if err != nil {
		return result{}, err
	}
	id, err := s.session(ctx, h, c)
	if err != nil {
		return result{}, err
	}
	last, err := s.throughIn(ctx, h, id, int64(through))
	if err != nil {
		return result{}, err
	}
	err = spool.Put(s.deps.Spool, summary.Summary{ThreadID: id, Source: summary.ByCaller, Model: c.caller.model, Client: c.caller.client,
		Text: text, Through: int64(through), Created: s.now()})
	switch {
	case errors.Is(err, spool.ErrFull):
		return result{}, advise("Not saved: %s. %s", err, s.spoolState(ctx))
	case err != nil:
		return result{}, fmt.Errorf("save the summary: %w", err)
	}
	return result{text: fmt.Sprintf("Saved for session %s, through message %d of %d. %s", id, through, last, s.spoolState(ctx))}, nil
}

// givenSummary gives the text as it will be stored: so nothing secret is written
// to the spool.
func (s *server) givenSummary(a args) (string, error) {
	text, err := a.text("summary")
	if err != nil {
		return "", err
	}
	if !a.has("summary") {
		return "", a.missing("summary")
	}
	fit, err := pipeline.SummaryText(text)
	switch {
	case errors.Is(err, summary.ErrBlank):
		return "", advise("The summary is blank, or holds only texts of session-migrator itself. Write what whoever goes on must know.")
	case errors.Is(err, summary.ErrTooLong) || err == nil && len(fit) > summary.MaxBytes:
		return "", advise("The summary has %s bytes, the limit is %s. Shorten it: up to 5,000 characters are best.", grouped(max(len(text), len(fit))), grouped(summary.MaxBytes))
	case err != nil:
		return "", advise("The summary can't be saved: %s.", err)
	}
	return fit, nil
}

// throughIn checks how far a summary goes, and gives how many messages there are.
func (s *server) throughIn(ctx context.Context, h *handle, id string, through int64) (last int64, err error) {
	v, err := h.pipe.View(ctx, id)
	if err != nil {
		return 0, err
	}
	last = v.Thread.LastSeq
	if through < 1 || through > last {
		return 0, advise("through_event is %d, but the messages of session %s are numbered 1 to %d. Give the number of the newest one that the summary covers: %d if that is all.", through, id, last, last)
	}
	was, err := h.db.Summary(ctx, id, summary.ByCaller)
	if errors.Is(err, store.ErrNotFound) {
		return last, nil
	}
	if err == nil && through < was.Through && was.Through <= last {
		err = advise("The stored summary covers messages up to %d, yours only up to %d, so it would lose something. Read what is newer (get_session_context, format=messages), add it, and save with through_event=%d.", was.Through, through, last)
	}
	return last, err
}

// spoolState says when what was saved will be seen.
func (s *server) spoolState(ctx context.Context) string {
	switch d := s.daemon(ctx); {
	case !d.Running:
		return "The daemon is not running: it takes the summary in when it starts (`session-migrator run`)."
	case !d.Spools:
		return "The daemon that is running was started before summaries were switched on: it takes this one in when it is restarted."
	}
	return "The daemon takes it in within a second or two; get_session_context, format=summary, shows it then."
}

// summaryDocument puts the stored summary into a document, or the short form of
// the memory if there is none.
func (s *server) summaryDocument(ctx context.Context, p *pipeline.Pipeline, v pipeline.View, d *document, q pipeline.MemoryRequest) error {
	last := v.Thread.LastSeq
	var err error
	d.body, err = p.Notes(ctx, v)
	if errors.Is(err, store.ErrNotFound) {
		d.remark = "No LLM summary of this session: this is the short form of its memory."
		if s.deps.Spool != "" && last > 0 {
			d.remark = fmt.Sprintf("No LLM summary yet. To make one: read format=memory, write ≤ 5,000 characters, call save_session_summary with through_event=%d.", last)
		}
		q.Units = summaryUnits
		d.body, err = p.Memory(ctx, v, q)
		return err
	}
	if err != nil {
		return err
	}
	was, err := p.Summary(ctx, v)
	if err != nil {
		return err
	}
	who := "an agent"
	if was.Made != nil {
		who = "the model " + clip(oneLine(was.Model), 80)
	}
	d.remark = fmt.Sprintf("Generated: %s wrote this summary %s, through message %d of %d.", who, stamp(was.Created), min(was.Through, last), last)
	if s.deps.Spool != "" && was.Through < last {
		d.remark += fmt.Sprintf(" To renew it: read what is newer, call save_session_summary with through_event=%d.", last)
	}
	return nil
}
