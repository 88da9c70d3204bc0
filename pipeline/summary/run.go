package summary

import (
	"context"
	"errors"

	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
)

// ErrEmpty means that the model finds nothing in the thread that is worth
// keeping.
var ErrEmpty = errors.New("the model finds nothing worth keeping")

// Options of a client. The zero value works.
type Options struct{}

// Client has a model write summaries. It is safe for concurrent use, but calls
// go out one at a time.
type Client struct{ chat *chat.Client }

// Request is one request that is about to be sent.
type Request struct {
	Part   Part
	Try    int // 1: the first time
	Tokens int // of the input, counted or at most
	Output int // tokens the answer may have
	Bytes  int // of the text
}

// Usage is what a request cost.
type Usage struct {
	Input  int64
	Output int64
	Told   bool  // by the endpoint; else both are 0
	Err    error // nil: an answer came; else *chat.Error or the context's
}

// New makes a client. Nothing is sent. chat.ErrOptions.
func New(e chat.Endpoint, opt Options) (*Client, error) { return &Client{}, nil }

// Close frees idle connections.
func (c *Client) Close() {}

// Host is where texts go, as ledgers and status show it.
func (c *Client) Host() string { return "" }

// Local tells whether texts stay on this machine.
func (c *Client) Local() bool { return false }

// Model is as the endpoint calls it.
func (c *Client) Model() string { return "" }

// Window asks a server on the way how many tokens the model takes in as it is
// loaded (Ollama, LM Studio, vLLM). 0: it doesn't tell; then hint says what
// the user can do about it, if anything. No text of a thread is sent.
func (c *Client) Window(ctx context.Context) (tokens int, hint string) { return 0, "" }

// Run makes the calls of a plan, one at a time, within JobFor.
//
// before is called before each request that is sent, further tries included; if
// it fails nothing more is sent and Run's error wraps its. after is called once
// for each before that returned nil. Both may be nil.
//
// Errors: *chat.Error with the reason, ErrEmpty, the context's, before's. If
// some calls of a plan were answered before one failed, Prior is what they
// gave, Through above 0: it is valid and paid for, and the next plan can begin
// with it. Otherwise it is zero.
func (c *Client) Run(ctx context.Context, p Plan, before func(Request) error, after func(Usage)) (Prior, error) {
	return Prior{}, nil
}
