// Package chat asks models through any endpoint that speaks as OpenAI's
// /chat/completions.
//
// The way of the data:
//
//	[1] New looks the endpoint over: which one, whether it may be remote
//	[2] Ask sends a question, each request announced to the caller, who may
//	    refuse it; what a server doesn't take (response_format, temperature) is
//	    left out from then on
//	[3] what may pass is tried again: 429, 5xx, silence, a broken connection,
//	    an answer without text
//	[4] what comes is text that a model finished, or an *Error with its reason
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

var (
	// ErrOptions means that the settings can't be worked with.
	ErrOptions = errors.New("the summary settings don't fit together")
	// ErrRemote means that the endpoint is not on this machine and nobody allowed
	// for that. It comes with ErrOptions.
	ErrRemote = wire.ErrRemote
)

// Times and tries.
const (
	CallFor = 120 * time.Second // of one request, its answer included
	JobFor  = 10 * time.Minute  // of all calls of a plan
	Tries   = 4                 // of a call that may pass

	firstWait = time.Second // between tries; doubles
	lastWait  = time.Minute

	// blanks is how often an answer without text is asked for again: it is paid for.
	blanks = 2
	// adapts is how much a server may refuse of what isn't needed.
	adapts = 5
	// maxAnswer is what the longest answer takes, its thoughts included.
	maxAnswer = 4 << 20
)

// Endpoint says who is asked.
type Endpoint struct {
	Provider    Provider      // 0: Custom
	BaseURL     string        // up to and without /chat/completions; empty: the provider's
	Model       string        // as the endpoint calls it; empty: the provider's
	Key         string        // sent as bearer token; empty: none
	AllowRemote bool          // else only this machine is spoken to
	Timeout     time.Duration // of one request; 0: CallFor
	Tries       int           // 0: Tries
}

// String names the endpoint, without the key.
func (e Endpoint) String() string { return fmt.Sprintf("%s of %s", e.Model, e.BaseURL) }

// GoString is String: what prints a whole struct prints no key either.
func (e Endpoint) GoString() string { return e.String() }

// Check looks e over without sending anything: ErrOptions with what is wrong,
// ErrRemote with it where the endpoint is remote and not allowed. It is pure.
func (e Endpoint) Check() (host string, local bool, err error) {
	e = e.Fill()
	if e.BaseURL == "" {
		return "", false, fmt.Errorf("%w: no base URL is given for provider %s", ErrOptions, e.Provider)
	}
	if host, local, err = wire.Check(e.BaseURL, e.Key != "", e.AllowRemote); err != nil {
		return host, local, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if e.Model == "" {
		return host, local, fmt.Errorf("%w: no model is given for provider %s", ErrOptions, e.Provider)
	}
	return host, local, nil
}

// Client asks an endpoint. It is safe for concurrent use.
type Client struct {
	e     Endpoint
	host  string
	local bool
	api   *openai.Client
	wire  *wire.Wire

	wait func(ctx context.Context, d time.Duration) error
	now  func() time.Time

	mu sync.Mutex // guards manner
	manner
}

// manner is how the server wants to be asked, as far as it is known.
type manner struct {
	forms  []form  // best first; the first is used
	limits []limit // likewise
	warm   bool    // no temperature
	most   int     // tokens of an answer; 0: as asked
}

// New looks the endpoint over. Nothing is sent. ErrOptions.
func New(e Endpoint) (*Client, error) {
	e = e.Fill()
	host, local, err := e.Check()
	if err != nil {
		return nil, err
	}
	c := &Client{e: e, host: host, local: local, wire: wire.New(local, e.Timeout, maxAnswer), wait: wire.Sleep, now: time.Now}
	c.manner = manner{forms: providers[e.Provider].forms, limits: limits(e), warm: reasons(e.Model)}
	cfg := openai.DefaultConfig(e.Key)
	cfg.BaseURL = e.BaseURL
	cfg.HTTPClient = &http.Client{Transport: keeper{c.wire}}
	c.api = openai.NewClientWithConfig(cfg)
	return c, nil
}

// Host is where texts go, as ledgers and status show it.
func (c *Client) Host() string { return c.host }

// Local tells whether texts stay on this machine.
func (c *Client) Local() bool { return c.local }

// Model is as the endpoint calls it.
func (c *Client) Model() string { return c.e.Model }

// Close frees idle connections.
func (c *Client) Close() { c.wire.Base.CloseIdleConnections() }

// Message is one of a question.
type Message struct {
	Role string // system, user or assistant
	Text string
}

// Question is what a model is asked.
type Question struct {
	Messages []Message
	Output   int             // tokens the answer may have
	Schema   json.RawMessage // of the answer
	Name     string          // of the schema
}

// Usage is what a request cost.
type Usage struct {
	Input  int64
	Output int64
	Told   bool // by the endpoint, and it can be so; else both are 0
}

// Hooks are called around each request, one at a time. Both may be nil.
type Hooks struct {
	Before func(try int) error    // from 1 on; if it fails nothing is sent
	After  func(u Usage, e error) // once for each Before that returned nil
}

// Ask gives the text of the model's answer. Errors: *Error, ctx's, what
// h.Before returned, wrapped.
func (c *Client) Ask(ctx context.Context, q Question, h Hooks) (string, error) {
	adapted, blank, failed := 0, 0, 0
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("ask %s: %w", c.host, context.Cause(ctx))
		}
		if h.Before != nil {
			if err := h.Before(try); err != nil {
				return "", fmt.Errorf("ask %s: %w", c.host, err)
			}
		}
		m := c.how()
		text, used, err := c.once(ctx, q, m)
		if h.After != nil {
			h.After(used, err)
		}
		e, ok := errors.AsType[*Error](err)
		if !ok { // it came, or the caller gave up
			return text, err
		}
		if adapted < adapts && c.adapt(e, m) {
			adapted++
			continue
		}
		if e.Reason == Blank || e.Reason == NoChoices {
			blank++
		}
		failed++
		if !e.Reason.passes() || failed >= c.e.Tries || blank > blanks || e.Wait > lastWait {
			return "", err
		}
		if err := c.wait(ctx, max(wire.Backoff(failed, firstWait, lastWait), e.Wait)); err != nil {
			return "", fmt.Errorf("ask %s: %w", c.host, errors.Join(err, context.Cause(ctx)))
		}
	}
}

func (c *Client) how() manner {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.manner
}

// request words a question as the server wants it.
func (c *Client) request(q Question, m manner) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: c.e.Model}
	for _, msg := range q.Messages {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: msg.Role, Content: msg.Text})
	}
	out := q.Output
	if m.most > 0 {
		out = min(out, m.most)
	}
	switch m.limits[0] {
	case maxTokens:
		r.MaxTokens = out //nolint:staticcheck // deprecated by OpenAI only: others know no other
	case maxCompletion:
		r.MaxCompletionTokens = out
	case noLimit:
	}
	if !m.warm {
		r.Temperature = 0.2 // 0 would be left out
	}
	switch m.forms[0] {
	case asText:
	case asObject:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case asSchema:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Name, Schema: q.Schema, Strict: true}}
	}
	return r
}

// once sends one request.
func (c *Client) once(ctx context.Context, q Question, m manner) (string, Usage, error) {
	ctx, kept := keep(ctx)
	res, err := c.api.CreateChatCompletion(ctx, c.request(q, m))
	if err != nil {
		if ctx.Err() != nil {
			return "", Usage{}, fmt.Errorf("ask %s: %w", c.host, context.Cause(ctx))
		}
		return "", Usage{}, c.sort(err, kept, q)
	}
	used := usage(res.Usage, q)
	if len(res.Choices) == 0 {
		return "", used, c.empty(kept, q)
	}
	text, reason, said := answer(res.Choices[0])
	if reason != 0 {
		return "", used, c.fault(reason, 0, c.said(said, q), nil)
	}
	return text, used, nil
}

// usage takes what the endpoint counted, if texts of that length can have so
// many tokens.
func usage(u openai.Usage, q Question) Usage {
	in, out := u.PromptTokens, u.CompletionTokens
	if out == 0 && u.TotalTokens > in {
		out = u.TotalTokens - in
	}
	most := 1024
	for _, m := range q.Messages {
		most += len(m.Text) + 64
	}
	if in <= 0 || in > most || out < 0 || out > maxAnswer {
		return Usage{}
	}
	return Usage{Input: int64(in), Output: int64(out), Told: true}
}
