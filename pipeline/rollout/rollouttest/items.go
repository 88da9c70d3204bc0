package rollouttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// User writes a request of the person, ending the turn before it.
func (r *Rollout) User(text string) *Rollout { return r.user(text, true) }

// Steer writes a request that goes into the turn under way.
func (r *Rollout) Steer(text string) *Rollout { return r.user(text, false) }

func (r *Rollout) user(text string, starts bool) *Rollout {
	if starts || r.turn == "" {
		r.End()
		r.begin()
	}
	r.message("user", nil, "user.text", text)
	switch r.era {
	case Legacy, Marked:
		r.event("user_message", "message", text, "images", []string{})
	case Paginated:
		r.itemCompleted(object("type", "UserMessage", "content", []json.RawMessage{object("type", "text", "text", text)}))
	case Bare:
	}
	return r
}

// begin opens a turn where the era has marks for that.
func (r *Rollout) begin() {
	if r.era < Marked {
		return
	}
	r.turn = r.newID()
	r.event("task_started", "turn_id", r.turn, "model_context_window", r.opt.Window)
	r.turnContext()
}

// End closes the turn under way with its answer, where the era has marks for
// that. User does it, too.
func (r *Rollout) End() *Rollout {
	if r.turn != "" {
		r.event("task_complete", "turn_id", r.turn, "last_agent_message", "done")
		r.turn = ""
	}
	return r
}

// Fail closes the turn under way without an answer, and with an error unless
// message is empty (versions up to 0.150 don't tell).
func (r *Rollout) Fail(message string) *Rollout {
	if r.turn != "" {
		var failure any
		if message != "" {
			failure = object("message", message)
		}
		r.event("task_complete", "turn_id", r.turn, "last_agent_message", json.RawMessage("null"), "error", failure)
		r.turn = ""
	}
	return r
}

// Abort interrupts the turn under way.
func (r *Rollout) Abort() *Rollout {
	r.message("user", nil, "generic.turn_aborted", "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>")
	r.event("turn_aborted", "turn_id", optional(r.turn), "reason", "interrupted")
	r.turn = ""
	return r
}

// Inject writes a message of the role user that no person wrote.
func (r *Rollout) Inject(element, text string) *Rollout {
	r.message("user", nil, "unknown", "<"+element+">\n"+text+"\n</"+element+">")
	return r
}

// Image writes a request with a picture.
func (r *Rollout) Image(text string) *Rollout {
	r.End()
	r.begin()
	picture := object("type", "input_image", "image_url", "data:image/png;base64,iVBORw0KGgo=")
	r.message("user", picture, "user.text", text)
	return r
}

// Assistant writes words of the model.
func (r *Rollout) Assistant(text string) *Rollout {
	if r.era == Legacy || r.era == Marked {
		r.event("agent_message", "message", text)
	}
	r.itemCompleted(object("type", "AgentMessage", "content", []json.RawMessage{object("type", "Text", "text", text)}))
	r.message("assistant", nil, "unknown", text)
	return r
}

// Reasoning writes a summary of the model's thoughts.
func (r *Rollout) Reasoning(text string) *Rollout {
	r.line("response_item", object("type", "reasoning", "summary", []json.RawMessage{object("type", "summary_text", "text", text)},
		"encrypted_content", "gAAAAA=="))
	return r
}

// message writes a response item of the type message.
func (r *Rollout) message(role string, picture json.RawMessage, kind, text string) {
	kindOf := "input_text"
	if role == "assistant" {
		kindOf = "output_text"
	}
	var content, kinds []any
	if picture != nil {
		content, kinds = append(content, picture), append(kinds, "user.image")
	}
	content, kinds = append(content, object("type", kindOf, "text", text)), append(kinds, kind)
	pairs := []any{"type", "message", "role", role, "content", content}
	if r.era == Bare {
		pairs = []any{"type", "message", "id", json.RawMessage("null"), "role", role, "content", content}
	}
	if r.era == Paginated {
		pairs = append(pairs, "internal_chat_message_metadata_passthrough", object("turn_id", optional(r.turn), "content_item_kinds", kinds))
	}
	r.line("response_item", object(pairs...))
}

// Call writes a tool call and its output.
func (r *Rollout) Call(name, args, output string) *Rollout {
	id := r.CallOnly(name, args)
	return r.Output(id, output)
}

// CallOnly writes a tool call and gives its id, for an output later or never.
func (r *Rollout) CallOnly(name, args string) string {
	r.ids++
	id := fmt.Sprintf("call_%06d", r.ids)
	r.line("response_item", object("type", "function_call", "name", name, "arguments", args, "call_id", id))
	return id
}

// Output writes the output of the call with an id, as its era wraps it.
func (r *Rollout) Output(id, output string) *Rollout {
	switch r.era {
	case Bare, Legacy:
		output = string(object("output", output, "metadata", object("exit_code", 0, "duration_seconds", 0.1)))
	case Marked, Paginated:
		output = "Chunk ID: 71d5b3\nWall time: 0.0513 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\n" + output
	}
	return r.RawOutput(id, string(value(output)))
}

// RawOutput writes an output given as JSON: a string, a list of parts, an
// object.
func (r *Rollout) RawOutput(id, output string) *Rollout {
	r.line("response_item", object("type", "function_call_output", "call_id", id, "output", json.RawMessage(output)))
	return r
}

// Tokens reports the usage of one response: input with what of it was cached,
// output with what of it was reasoning.
func (r *Rollout) Tokens(input, cached, output, reasoning int64) *Rollout {
	last := [5]int64{input, cached, output, reasoning, input + output}
	for i := range last {
		r.total[i] += last[i]
	}
	if r.era == Paginated {
		r.ids++
		r.line("token_usage_record", object("thread_id", r.opt.ThreadID, "turn_id", r.turn,
			"response_id", fmt.Sprintf("resp_%06d", r.ids), "usage", usage(last)))
	}
	return r.tokenCount(last)
}

// Again repeats the newest totals, as a change of rate limits does.
func (r *Rollout) Again() *Rollout { return r.tokenCount(r.total) }

func (r *Rollout) tokenCount(last [5]int64) *Rollout {
	r.event("token_count", "info", object("total_token_usage", usage(r.total), "last_token_usage", usage(last),
		"model_context_window", r.opt.Window), "rate_limits", json.RawMessage("null"))
	return r
}

// Quota reports that so many percent of the account's first limit are used; a
// zero reset is not told.
func (r *Rollout) Quota(percent float64, resets time.Time) *Rollout {
	first := []any{"used_percent", percent, "window_minutes", 300}
	if !resets.IsZero() {
		first = append(first, "resets_at", resets.Unix())
	}
	r.event("token_count", "info", json.RawMessage("null"), "rate_limits", object("primary", object(first...), "secondary", json.RawMessage("null")))
	return r
}

// Context reports that the next request starts from so many tokens.
func (r *Rollout) Context(tokens int64) *Rollout {
	return r.tokenCount([5]int64{tokens, 0, 0, 0, tokens})
}

func usage(u [5]int64) json.RawMessage {
	return object("input_tokens", u[0], "cached_input_tokens", u[1], "output_tokens", u[2],
		"reasoning_output_tokens", u[3], "total_tokens", u[4])
}

// Compact writes a compaction that keeps history beside the summary.
func (r *Rollout) Compact(summary string, history ...string) *Rollout {
	var items []json.RawMessage
	for _, text := range history {
		items = append(items, object("type", "message", "role", "user", "content", []json.RawMessage{object("type", "input_text", "text", text)}))
	}
	pairs := []any{"message", summary}
	if items != nil {
		pairs = append(pairs, "replacement_history", items)
	}
	r.line("compacted", object(pairs...))
	return r
}

// Rollback takes the last n requests back, as done up to 0.145.
func (r *Rollout) Rollback(n int) *Rollout {
	r.End()
	r.event("thread_rolled_back", "num_turns", n)
	return r
}

// Rename gives the thread a name.
func (r *Rollout) Rename(title string) *Rollout {
	r.event("thread_name_updated", "thread_id", r.opt.ThreadID, "thread_name", title)
	return r
}

// Fork writes the front of a fork made by copy: a new header, then all lines
// of the parent with the time of the fork. It goes on as a rollout of its own.
func (r *Rollout) Fork(opt Options) *Rollout {
	opt.ForkedFrom = r.opt.ThreadID
	if opt.Start.IsZero() {
		opt.Start = r.now.Add(1000 * 1000 * 1000)
	}
	opt.BaseRollout = "-" // no context of its own: the parent's is copied
	f := New(r.era, opt)
	f.opt.BaseRollout = ""
	for line := range strings.Lines(r.buf.String()) {
		if i := strings.Index(line, `","type":`); i > 0 && strings.HasPrefix(line, `{"timestamp":"`) {
			line = `{"timestamp":"` + f.now.Format("2006-01-02T15:04:05.000Z") + line[i:]
		}
		f.buf.WriteString(line)
	}
	f.total, f.ids = r.total, r.ids+100
	return f
}
