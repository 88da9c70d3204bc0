package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
)

// shownBytes is how much of an answer that can't be used is shown to the model
// when it is asked once more.
const shownBytes = 2000

// call makes one call: its answer, checked. An answer that can't be used is asked
// for once more, with what is wrong. ErrEmpty if there is nothing in its part.
func (r *run) call(ctx context.Context, c Call) (Doc, error) {
	q := chat.Question{Name: "notes", Schema: json.RawMessage(schema), Output: c.Output, Messages: []chat.Message{
		{Role: "system", Text: c.System()}, {Role: "user", Text: c.render(r.client.nonce(), r.earlier(c))}}}
	if c.Part == Heading {
		q.Schema = json.RawMessage(headingSchema)
	}
	doc, said, err := r.ask(ctx, c, q, c.Part)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || !mends(e.Reason) {
		return doc, err
	}
	wrong := e.Said
	if e.Reason == chat.Truncated {
		wrong = "it was cut off because it was too long; write half as much"
	}
	if said != "" && len(said) <= shownBytes {
		q.Messages = append(q.Messages, chat.Message{Role: "assistant", Text: said})
	}
	q.Messages = append(q.Messages, chat.Message{Role: "user",
		Text: "Your answer can't be used: " + wrong + ". Answer again, with nothing but the one JSON object that was asked for."})
	c.Tokens += r.plan.count(said) + 64
	doc, _, err = r.ask(ctx, c, q, Repair)
	return doc, err
}

// mends tells which answers are worth being asked for once more.
func mends(reason chat.Reason) bool {
	return reason == chat.NotJSON || reason == chat.WrongShape || reason == chat.Truncated
}

// ask asks once and reads the answer, which it also gives as it was said.
func (r *run) ask(ctx context.Context, c Call, q chat.Question, as Part) (d Doc, said string, err error) {
	var hooks chat.Hooks
	if r.before != nil {
		size := 0
		for _, m := range q.Messages {
			size += len(m.Text)
		}
		hooks.Before = func(try int) error {
			return r.before(Request{Part: as, Try: try, Tokens: c.Tokens, Output: c.Output, Bytes: size})
		}
	}
	if r.after != nil {
		hooks.After = func(u chat.Usage, err error) {
			r.after(Usage{Input: u.Input, Output: u.Output, Told: u.Told, Err: err})
		}
	}
	said, err = r.client.chat.Ask(ctx, q, hooks)
	if err != nil {
		return Doc{}, "", err
	}
	d, err = r.read(c, said)
	if err == nil || errors.Is(err, ErrEmpty) {
		return d, said, err
	}
	reason := chat.WrongShape
	if errors.Is(err, errNoJSON) || errors.Is(err, errCut) {
		reason = chat.NotJSON
	}
	return Doc{}, said, &chat.Error{Reason: reason, Host: r.client.Host(), Model: r.client.Model(), Said: oneLine(clip(plain(err.Error()), 200)), Err: err}
}

// read makes a checked Doc of an answer.
func (r *run) read(c Call, said string) (Doc, error) {
	if c.Part == Heading {
		return r.readHeading(said)
	}
	d, empty, err := decode(said)
	switch {
	case err != nil:
		return Doc{}, err
	case empty:
		return Doc{}, ErrEmpty
	}
	if d = checked(d, r.plan.known.of(c)); d.Title == "" || d.bare() {
		return Doc{}, errors.New("nothing in it is of this session: check title, turns, paths and quotes")
	}
	return d, nil
}

func (r *run) readHeading(said string) (Doc, error) {
	raw, err := object(said)
	if err != nil {
		return Doc{}, err
	}
	var h heading
	if err := strict(raw, &h); err != nil {
		return Doc{}, err
	}
	if units(h.Title) > textUnits || units(h.Goal) > textUnits || len(h.Closed) > 10*listItems {
		return Doc{}, fmt.Errorf("a text has more than %d characters", textUnits)
	}
	d := checked(Doc{Title: h.Title, Goal: h.Goal}, r.plan.known)
	h.Title, h.Goal = d.Title, d.Goal
	if h.Title == "" {
		return Doc{}, errors.New(`"title" is missing`)
	}
	return h.over(r.doc), nil
}
