package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

const (
	attempts = 4                // of a request
	tryFor   = 60 * time.Second // of one: a model that is being loaded takes its time

	firstWait = time.Second // between tries; doubles
	lastWait  = 30 * time.Second

	// maxAnswer is what Batch vectors of maxDims take as JSON, and some.
	maxAnswer = 16 << 20
	maxDims   = 8192
)

// transport sends requests, again where that may help, and reads answers whole
// before they are looked at: within the time and the size that a try has.
type transport struct {
	wire     *wire.Wire
	attempts int
	wait     func(ctx context.Context, d time.Duration) error
	now      func() time.Time
}

func newTransport(opt Options, local bool) *transport {
	return &transport{wire: wire.New(local, opt.Timeout, maxAnswer), attempts: opt.Attempts, wait: wire.Sleep, now: time.Now}
}

// count tells of the requests that were sent for one Embed.
type count struct {
	n    int
	most int           // 0: as many as the options say
	wait time.Duration // that the last answer asked for
	body []byte        // of the last answer that is a success
}

func (c *count) full() bool { return c.most > 0 && c.n >= c.most }

type countKey struct{}

type mostKey struct{}

// AtMost bounds the requests that one Embed with ctx sends, tries included.
func AtMost(ctx context.Context, n int) context.Context { return context.WithValue(ctx, mostKey{}, n) }

type beforeKey struct{}

// Before has f called before each request that one Embed with ctx sends, with
// its number from 1 on. If f fails nothing more is sent, and Embed's error wraps
// f's.
func Before(ctx context.Context, f func(n int) error) context.Context {
	return context.WithValue(ctx, beforeKey{}, f)
}

func counted(ctx context.Context) (context.Context, *count) {
	c := new(count)
	c.most, _ = ctx.Value(mostKey{}).(int)
	return context.WithValue(ctx, countKey{}, c), c
}

// RoundTrip implements http.RoundTripper. Of statuses that may pass it gives the
// last, when tries or time have run out.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	sent, _ := ctx.Value(countKey{}).(*count)
	before, _ := ctx.Value(beforeKey{}).(func(n int) error)
	for n := 1; ; n++ {
		if before != nil && sent != nil {
			if err := before(sent.n + 1); err != nil {
				return nil, err
			}
		}
		res, err := t.once(req)
		if sent != nil {
			sent.n++
			sent.wait = 0
			if err == nil {
				sent.wait = wire.RetryAfter(res.Header, t.now())
			}
		}
		again, wait := t.again(res, err, n)
		if !again || ctx.Err() != nil || sent != nil && sent.full() {
			return res, err
		}
		if err := t.wait(ctx, wait); err != nil {
			return nil, errors.Join(err, context.Cause(ctx)) // with a response it would be logged by net/http
		}
	}
}

// once sends the request and keeps the answer.
func (t *transport) once(req *http.Request) (*http.Response, error) {
	res, err := t.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if sent, ok := req.Context().Value(countKey{}).(*count); ok && res.StatusCode == http.StatusOK {
		if b, ok := res.Body.(*wire.Body); ok {
			sent.body = b.Bytes
		}
	}
	return res, nil
}

// again tells whether the n-th try is worth another, and after what time.
func (t *transport) again(res *http.Response, err error, n int) (bool, time.Duration) {
	if n >= t.attempts {
		return false, 0
	}
	wait := wire.Backoff(n, firstWait, lastWait)
	switch {
	case wire.Final(err):
		return false, 0
	case err != nil:
		return true, wait
	case wire.Passes(res.StatusCode):
		asked := wire.RetryAfter(res.Header, t.now())
		return asked <= lastWait, max(wait, asked)
	}
	return false, 0
}

// kind sorts what go-openai says into our errors.
func (c *Client) kind(ctx context.Context, err error, texts []string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	status, text := 0, ""
	// A RequestError first: it may wrap an APIError of which nothing could be read.
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		status, text = e.HTTPStatusCode, string(e.Body)
	} else if e, ok := errors.AsType[*openai.APIError](err); ok {
		status, text = e.HTTPStatusCode, e.Message
	}
	if status == 0 {
		sent, ok := errors.AsType[*url.Error](err)
		switch {
		case errors.Is(err, wire.ErrLong):
			return fmt.Errorf("%w: %w", ErrAnswer, wire.ErrLong)
		case !ok: // it came, and can't be read
			return fmt.Errorf("%w: it is not the JSON of an answer with embeddings; see that the base URL is of an endpoint that speaks as OpenAI's", ErrAnswer)
		case errors.Is(err, wire.ErrMoved) || errors.Is(err, wire.ErrOutside):
			return fmt.Errorf("%w: %w", ErrRefused, sent.Err)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, c.wire.wire.Plain(sent.Err))
	}
	said := fmt.Sprintf("status %d", status)
	if text = wire.Said(text, c.opt.Key, texts...); text != "" {
		said += ": " + text
	}
	switch {
	case wire.Passes(status):
		if sent, ok := ctx.Value(countKey{}).(*count); ok && sent.wait > 0 {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, said, &WaitError{For: sent.wait})
		}
		return fmt.Errorf("%w: %s", ErrUnavailable, said)
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s", ErrRequest, said)
	}
	return fmt.Errorf("%w: %s", ErrRefused, said)
}
