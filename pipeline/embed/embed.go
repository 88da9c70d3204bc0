// Package embed turns texts into vectors that lie near each other when the
// texts mean alike. It does nothing by itself: who calls it has been told by the
// user to, has taken the secrets out of the texts, and keeps the account.
//
// The way of the data:
//
//	[1] New looks the options over: which endpoint, whether it may be remote;
//	[2] Embed sends at most Batch texts in one request, as OpenAI's
//	    /v1/embeddings takes them;
//	[3] its transport dials nothing that the options don't allow, follows
//	    nowhere, tries again what may pass, and reads no answer without end;
//	[4] the answer is checked (as many vectors as texts, all of one length,
//	    finite, not zero) and normalised.
//
// A folder with a model2vec model can take the endpoint's place; then nothing
// is sent at all.
package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

// Batch is how many texts a request has at most.
const Batch = 64

// UsualDims is how long vectors are asked to be: a quarter of what models give,
// for a few points of quality.
const UsualDims = 256

var (
	// ErrOptions means that the options can't be worked with.
	ErrOptions = errors.New("the embedding settings don't fit together")
	// ErrRemote means that the endpoint is not on this machine and nobody allowed
	// for that. It comes with ErrOptions.
	ErrRemote = wire.ErrRemote
	// ErrRefused means that the endpoint doesn't serve us: no or a wrong key, no
	// right, no such model or path. Trying again doesn't help.
	ErrRefused = errors.New("the endpoint refuses")
	// ErrRequest means that the endpoint takes requests, but not this one: most
	// often a text is too long for the model.
	ErrRequest = errors.New("the endpoint doesn't take the request")
	// ErrUnavailable means that nothing useful came back, tries included. It may
	// pass. It wraps *WaitError where the endpoint said how long to wait.
	ErrUnavailable = errors.New("the endpoint can't be reached or doesn't answer")
	// ErrAnswer means that what came back are not the vectors asked for.
	ErrAnswer = errors.New("the endpoint's answer can't be used")
)

// WaitError means that the endpoint asked to be left alone.
type WaitError struct{ For time.Duration }

// Error says for how long.
func (e *WaitError) Error() string { return "asked to wait for " + e.For.String() }

// Options say which endpoint makes the vectors.
type Options struct {
	BaseURL     string        // up to and without /embeddings
	Model       string        // as the endpoint calls it
	Dims        int           // length of the vectors; 0: UsualDims where the endpoint can, else the model's own
	Key         string        // sent as bearer token; empty: none
	AllowRemote bool          // else only this machine is spoken to
	Batch       int           // texts a request; 0: Batch
	Attempts    int           // tries of a request; 0: attempts
	Timeout     time.Duration // of one try, its answer included; 0: tryFor
}

// Client asks an endpoint. It is safe for concurrent use.
type Client struct {
	opt   Options
	host  string
	local bool
	api   *openai.Client
	wire  *transport

	mu     sync.Mutex // guards the rest
	refuse bool       // the endpoint doesn't take dimensions
	dims   int        // of the first answer; all others have as many
}

// Answer is what Embed got.
type Answer struct {
	Vectors [][]float32 // as many as texts, normalised
	Spent   Spent
}

// Spent is what an Embed cost, also one that failed.
type Spent struct {
	Calls  int   // requests that were sent, tries included
	Tokens int64 // that the endpoint counted
	Told   bool  // it did, and it can be so; else Tokens is 0
}

// New looks the options over. Nothing is sent. ErrOptions.
func New(opt Options) (*Client, error) {
	host, local, err := wire.Check(opt.BaseURL, opt.Key != "", opt.AllowRemote)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if opt.Model == "" {
		return nil, fmt.Errorf("%w: no model is given", ErrOptions)
	}
	if opt.Dims < 0 || opt.Dims > maxDims {
		return nil, fmt.Errorf("%w: %d dimensions; give 1 to %d", ErrOptions, opt.Dims, maxDims)
	}
	if opt.Batch == 0 {
		opt.Batch = Batch
	}
	if opt.Attempts == 0 {
		opt.Attempts = attempts
	}
	if opt.Timeout == 0 {
		opt.Timeout = tryFor
	}
	c := &Client{opt: opt, host: host, local: local, wire: newTransport(opt, local)}
	cfg := openai.DefaultConfig(opt.Key)
	cfg.BaseURL = strings.TrimRight(opt.BaseURL, "/")
	cfg.HTTPClient = &http.Client{Transport: c.wire}
	c.api = openai.NewClientWithConfig(cfg)
	return c, nil
}

// Host is where texts go, as ledgers and status show it.
func (c *Client) Host() string { return c.host }

// Local tells whether texts stay on this machine.
func (c *Client) Local() bool { return c.local }

// Model is as the endpoint calls it.
func (c *Client) Model() string { return c.opt.Model }

// Batch is how many texts it takes at a time.
func (c *Client) Batch() int { return c.opt.Batch }

// Close frees idle connections.
func (c *Client) Close() { c.wire.wire.Base.CloseIdleConnections() }

// Embed gives a vector for each text, in one request. Empty texts, and more
// than c.Batch(), are a bug of the caller. Errors: ErrRefused, ErrRequest,
// ErrUnavailable, ErrAnswer, and ctx's. What was spent is told with an error, too.
func (c *Client) Embed(ctx context.Context, texts []string) (Answer, error) {
	if len(texts) == 0 || len(texts) > c.opt.Batch {
		panic("bug: not a batch of texts to embed")
	}
	ctx, sent := counted(ctx)
	a, err := c.ask(ctx, texts, c.asks())
	if errors.Is(err, ErrRequest) && c.asks() > 0 && c.opt.Dims == 0 && !sent.full() {
		// Models that can't shorten their vectors refuse the field.
		if a, err = c.ask(ctx, texts, 0); err == nil {
			c.mu.Lock()
			c.refuse = true
			c.mu.Unlock()
		}
	}
	a.Spent.Calls = sent.n
	if err != nil {
		return Answer{Spent: a.Spent}, fmt.Errorf("ask %s for embeddings: %w", c.host, err)
	}
	return a, nil
}

// asks is the dimensions to ask for; 0: none.
func (c *Client) asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refuse:
		return 0
	case c.opt.Dims > 0:
		return c.opt.Dims
	}
	return UsualDims
}

// mostTokens is how many tokens texts can have: one a byte, and what models put
// around each. An endpoint that counts more counts something else.
func mostTokens(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t) + 64
	}
	return n
}

func (c *Client) ask(ctx context.Context, texts []string, dims int) (a Answer, err error) {
	res, err := c.api.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{
		Input: texts, Model: openai.EmbeddingModel(c.opt.Model), Dimensions: dims, EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	})
	if err != nil {
		return a, c.kind(ctx, err, texts)
	}
	sent, _ := ctx.Value(countKey{}).(*count)
	if n := max(res.Usage.PromptTokens, res.Usage.TotalTokens); n > 0 && n <= mostTokens(texts) {
		a.Spent.Tokens, a.Spent.Told = int64(n), true
	}
	if a.Vectors, err = vectors(res.Data, len(texts), sent.body); err != nil {
		return a, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	got := len(a.Vectors[0])
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.opt.Dims > 0 && got != c.opt.Dims:
		return a, fmt.Errorf("%w: vectors of %d dimensions came, %d were asked for: leave the dimensions out for a model that has one length only", ErrAnswer, got, c.opt.Dims)
	case c.dims > 0 && got != c.dims:
		return a, fmt.Errorf("%w: vectors of %d dimensions came, earlier ones had %d", ErrAnswer, got, c.dims)
	}
	c.dims = got
	return a, nil
}
