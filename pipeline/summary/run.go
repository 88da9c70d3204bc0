package summary

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
)

// ErrEmpty means that the model finds nothing in the thread that is worth
// keeping.
var ErrEmpty = errors.New("the model finds nothing worth keeping")

// Client has a model write summaries. It is safe for concurrent use; calls go
// out one at a time.
type Client struct {
	chat  *chat.Client
	job   time.Duration
	nonce func() string

	one chan struct{} // holds a value while a Run is under way
}

// Request is one request that is about to be sent.
type Request struct {
	Part   Part
	Try    int // of this call, from 1 on
	Tokens int // of the input, counted or at most
	Output int // tokens the answer may have
	Bytes  int // of the text
}

// Usage is what a request cost.
type Usage struct {
	Input  int64
	Output int64
	Told   bool  // by the endpoint, and it can be so; else both are 0
	Err    error // nil: an answer came; else *chat.Error or the context's
}

// New makes a client. Nothing is sent. chat.ErrOptions.
func New(e chat.Endpoint) (*Client, error) {
	c, err := chat.New(e)
	if err != nil {
		return nil, err
	}
	return &Client{chat: c, job: chat.JobFor, nonce: nonce, one: make(chan struct{}, 1)}, nil
}

// nonce is the random part of the tags of one request.
func nonce() string {
	var b [nonceLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Close frees idle connections.
func (c *Client) Close() { c.chat.Close() }

// Host is where texts go, as ledgers and status show it.
func (c *Client) Host() string { return c.chat.Host() }

// Local tells whether texts stay on this machine.
func (c *Client) Local() bool { return c.chat.Local() }

// Model is as the endpoint calls it.
func (c *Client) Model() string { return c.chat.Model() }

// Window asks a server on the way how many tokens the model takes in as it is
// loaded (Ollama, LM Studio, vLLM). 0: it doesn't tell; then hint says what
// the user can do about it, if anything. No text of a thread is sent.
func (c *Client) Window(ctx context.Context) (tokens int, hint string) { return c.chat.Window(ctx) }

// Run makes the calls of a plan, one at a time, within chat.JobFor.
//
// before is called before each request that is sent, further tries included; if
// it fails nothing more is sent and Run's error wraps its. after is called once
// for each before that returned nil. Both may be nil.
//
// Errors: *chat.Error with the reason, ErrEmpty, the context's, before's. If
// some calls of a plan were answered before one failed, Prior is what they
// gave, Through above 0: it is checked and paid for, and the next plan can begin
// with it. Otherwise it is zero.
func (c *Client) Run(ctx context.Context, p Plan, before func(Request) error, after func(Usage)) (Prior, error) {
	select {
	case c.one <- struct{}{}:
		defer func() { <-c.one }()
	case <-ctx.Done():
		return Prior{}, fmt.Errorf("wait for the summary under way: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.job, fmt.Errorf("the summary took longer than %v: %w", c.job, context.DeadlineExceeded))
	defer cancel()
	r := run{client: c, plan: p, before: before, after: after, calls: p.Calls}
	if p.prior != nil {
		r.doc, r.updates = p.prior.Doc, p.prior.Updates+1
	}
	err := r.all(ctx)
	switch {
	case err != nil && (r.through == 0 || r.doc.bare()):
		return Prior{}, err
	case r.doc.bare():
		return Prior{}, ErrEmpty
	}
	doc, _ := r.doc.Fit(p.chars)
	return Prior{Doc: doc, Through: r.through, Turns: r.turns, Updates: r.updates}, err
}

// run is a plan on its way.
type run struct {
	client  *Client
	plan    Plan
	before  func(Request) error
	after   func(Usage)
	calls   []Call // that are left
	halved  bool   // calls are halved, because one was too long
	doc     Doc    // so far
	parts   []Doc
	through int64
	turns   int
	updates int
}

// all makes the calls.
func (r *run) all(ctx context.Context) error {
	for len(r.calls) > 0 {
		c := r.calls[0]
		if c.Part == Heading && len(r.parts) == 0 {
			break // over nothing
		}
		doc, err := r.call(ctx, c)
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Reason == chat.Overflow && !r.halved && len(c.rows) > 0 {
			r.halve()
			continue
		}
		if err != nil && !errors.Is(err, ErrEmpty) {
			return err
		}
		r.calls = r.calls[1:]
		r.through, r.turns = c.through, max(r.turns, c.To)
		if r.plan.prior != nil {
			r.turns = max(r.turns, r.plan.prior.Turns)
		}
		switch {
		case err != nil: // nothing in this part
		case c.Part == Chunk:
			r.parts = append(r.parts, doc)
			r.doc = merge(r.parts)
		default:
			r.doc = doc
		}
	}
	return nil
}

// earlier is what a call is given of the answers before it.
func (r *run) earlier(c Call) string {
	switch c.Part {
	case Update:
		if c.earlier != "" {
			return c.earlier
		}
		return fitTokens(r.doc, r.plan.notes, r.plan.count)
	case Heading:
		// What the model numbers must be what is kept.
		r.doc, _ = r.doc.Fit(r.plan.chars)
		for n := r.doc.Units(); r.plan.count(numbered(r.doc)) > r.plan.heading && n > 256; {
			n = n * 3 / 4
			r.doc, _ = r.doc.Fit(n)
		}
		return numbered(r.doc)
	case Whole, Chunk, Repair:
	}
	return ""
}
