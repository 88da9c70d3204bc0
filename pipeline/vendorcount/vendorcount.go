// Package vendorcount asks a vendor how many tokens a model of its makes of a
// text. It does nothing by itself: who calls it has been told by the user to,
// has taken the secrets out of the text, and has entered the call in the account.
//
//	[1] New looks the options over: which endpoint, and that no key goes out
//	    unencrypted;
//	[2] Count sends one request, once: it follows nowhere, and reads no answer
//	    without end;
//	[3] what comes back is sorted: a count, or why there is none.
package vendorcount

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

const (
	tryFor    = 30 * time.Second
	maxAnswer = 8 << 20 // some answer with every token
)

var (
	// ErrOptions means that the options can't be worked with.
	ErrOptions = errors.New("the counting settings don't fit together")
	// ErrRefused means that the endpoint doesn't serve us: no or a wrong key, no
	// such model or path.
	ErrRefused = errors.New("the endpoint refuses")
	// ErrUnavailable means that nothing useful came back. It may pass. It wraps
	// *WaitError where the endpoint said how long to wait.
	ErrUnavailable = errors.New("the endpoint can't be reached or doesn't answer")
	// ErrAnswer means that what came back is no count.
	ErrAnswer = errors.New("the endpoint's answer can't be used")
)

// WaitError means that the endpoint asked to be left alone.
type WaitError struct{ For time.Duration }

// Error says for how long.
func (e *WaitError) Error() string { return "asked to wait for " + e.For.String() }

// Options say whom to ask.
type Options struct {
	Vendor  Vendor
	BaseURL string        // empty: the vendor's
	Key     string        // required, except on this machine
	Timeout time.Duration // of a request, its answer included; 0: half a minute
}

// Client asks one vendor. It is safe for concurrent use.
type Client struct {
	opt  Options
	base *url.URL
	wire *wire.Wire
}

// New looks the options over. Nothing is sent. ErrOptions.
func New(opt Options) (*Client, error) {
	if opt.Vendor == 0 || int(opt.Vendor) >= len(vendors) {
		return nil, fmt.Errorf("%w: no vendor", ErrOptions)
	}
	if opt.BaseURL == "" {
		opt.BaseURL = vendors[opt.Vendor].base
	}
	if opt.Timeout == 0 {
		opt.Timeout = tryFor
	}
	_, local, err := wire.Check(opt.BaseURL, opt.Key != "", true)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of %s: %w", ErrOptions, opt.Vendor, err)
	}
	if !local && opt.Key == "" {
		return nil, fmt.Errorf("%w: there is no key for %s", ErrOptions, opt.Vendor)
	}
	base, err := url.Parse(opt.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of %s: %w", ErrOptions, opt.Vendor, err)
	}
	return &Client{opt: opt, base: base, wire: wire.New(local, opt.Timeout, maxAnswer)}, nil
}

// Host is where texts go.
func (c *Client) Host() string { return c.base.Host }

// Close frees idle connections.
func (c *Client) Close() { c.wire.Base.CloseIdleConnections() }

// Count asks how many tokens a model makes of a text, as one message where the
// vendor counts messages. What stands around it is counted too. Errors:
// ErrRefused, ErrUnavailable, ErrAnswer, and ctx's.
func (c *Client) Count(ctx context.Context, model, text string) (int64, error) {
	n, err := c.count(ctx, model, text)
	if err != nil {
		return 0, fmt.Errorf("have %s count: %w", c.base.Host, err)
	}
	return n, nil
}

func (c *Client) count(ctx context.Context, model, text string) (int64, error) {
	v := &vendors[c.opt.Vendor]
	body, err := json.Marshal(v.body(model, text))
	if err != nil {
		return 0, fmt.Errorf("write the request: %w", err)
	}
	to := c.base.JoinPath(v.path(model))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("write the request: %w", err)
	}
	req.GetBody = nil // net/http must not send it a second time by itself
	req.Header.Set("Content-Type", "application/json")
	for k, value := range v.header(c.opt.Key) {
		req.Header.Set(k, value)
	}
	res, err := c.wire.RoundTrip(req)
	if err != nil {
		return 0, c.unanswered(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // the wire has read it whole
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, c.unanswered(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		return 0, c.status(res, answer, text)
	}
	n, ok := v.tokens(answer)
	if !ok {
		return 0, fmt.Errorf("%w: it has no count of tokens", ErrAnswer)
	}
	// A token is a byte at least, and formats put little around a message.
	if n < 1 || n > int64(len(text))+4096 {
		return 0, fmt.Errorf("%w: %d tokens of %d bytes can't be", ErrAnswer, n, len(text))
	}
	return n, nil
}

// unanswered sorts what kept an answer from coming.
func (c *Client) unanswered(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, wire.ErrMoved), errors.Is(err, wire.ErrOutside):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case errors.Is(err, wire.ErrLong):
		return fmt.Errorf("%w: %w", ErrAnswer, wire.ErrLong)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, c.wire.Plain(err))
}

// status sorts an answer that is no success.
func (c *Client) status(res *http.Response, answer []byte, text string) error {
	said := fmt.Sprintf("status %d", res.StatusCode)
	if why := c.reason(string(answer), text); why != "" {
		said += ": " + why
	}
	if !wire.Passes(res.StatusCode) {
		return fmt.Errorf("%w: %s", ErrRefused, said)
	}
	if wait := wire.RetryAfter(res.Header, time.Now()); wait > 0 {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, said, &WaitError{For: wait})
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, said)
}

// reason is what an endpoint says of an error; nothing if it says back a line of
// what it was sent.
func (c *Client) reason(said, text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return wire.Said(said, c.opt.Key, lines...)
}
