package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline"
)

func migrateSession() *tool {
	return &tool{
		name: "migrate_session", title: "Migrate session messages",
		description: "Migrate chat messages you pass (a JSON list, not a session of this machine), compress them for a smaller model: all of them if they fit target_model, else the most valuable part. Nothing is stored; for later pages give cursor and an empty messages_json.",
		search:      "migrate compress trim shrink chat messages json to fit another or smaller model",
		paged:       true,
		params: []param{{name: "messages_json", required: true, other: []string{"messages"}}, {name: "target_model", required: true, other: targetParam.other},
			{name: "source_model", other: []string{"source"}}, reserveParam, nextParam, bytesParam, cursorParam},
		input: `{"type":"object","properties":{` +
			`"messages_json":{"type":"string","description":"JSON list of {role, content}, OpenAI or Anthropic style, at most 8 MB"},` +
			`"target_model":{"type":"string"},"source_model":{"type":"string"},"reserve_tokens":{"type":"integer","minimum":0},` +
			nextSchema +
			`"max_bytes":{"type":"integer","minimum":2000,"maximum":200000,"default":32000},` +
			`"cursor":{"type":"string"}},"required":["messages_json","target_model"],"additionalProperties":false}`,
		run: runMigrateSession,
	}
}

// maxMessages bounds messages_json in bytes.
const maxMessages = 8_000_000

// givenSession stands for the session of documents made of what a caller gave.
const givenSession = "messages_json"

func runMigrateSession(ctx context.Context, s *server, c call) (result, error) {
	p, release, err := s.cache.models(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	cur, err := s.firstPage(p, c)
	if err != nil {
		return result{}, err
	}
	if cur.Hash != "" {
		if d := s.pages.get(cur.Hash, givenSession); d != nil {
			return s.page(ctx, p, d, cur, "nothing stored")
		}
		return result{}, advise("The pages of this migration are not at hand any more (they are kept for 10 minutes). Call again with messages_json and without cursor.")
	}
	target, err := s.target(p, c, true)
	if err != nil {
		return result{}, err
	}
	opt := s.deps.PipelineOptions.Decide
	if opt.Reserve, err = c.args.number("reserve_tokens", opt.Reserve); err != nil {
		return result{}, err
	}
	raw := c.args.values["messages_json"]
	if raw == nil {
		return result{}, c.args.missing("messages_json")
	}
	next, err := c.args.next()
	if err != nil {
		return result{}, err
	}
	d, err := s.migration(ctx, p, raw, pipeline.Request{Target: target, Decide: opt, Next: next})
	if err != nil {
		return result{}, err
	}
	cur.Kind, cur.Target = "handoff", target
	s.pages.put(d)
	return s.page(ctx, p, d, cur, "nothing stored")
}

func (s *server) migration(ctx context.Context, p *pipeline.Pipeline, raw json.RawMessage, q pipeline.Request) (*document, error) {
	messages, err := givenMessages(raw)
	if err != nil {
		return nil, err
	}
	v, err := p.ViewOf(ctx, messages)
	if err != nil {
		return nil, err
	}
	h, err := p.Migrate(ctx, v, q)
	if err != nil {
		return nil, err
	}
	d := &document{name: givenSession, session: givenSession, shape: shapeMarkdown, body: h.Text, labels: []string{
		"for " + echoed(q.Target, 80), fmt.Sprintf("%d messages, %s tokens", len(messages), grouped(h.Decision.SessionTokens)),
		handoffLabel(h), "result " + grouped(h.Tokens) + " tokens",
	}}
	if h.Omitted > 0 {
		d.remark = "Refs such as t17 name turns of the messages you passed: look there, nothing was stored."
	}
	return d, nil
}
