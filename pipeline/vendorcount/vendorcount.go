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
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	tryFor    = 30 * time.Second
	dialFor   = 10 * time.Second
	maxAnswer = 8 << 20 // some answer with every token
	maxReason = 300     // bytes of what an endpoint says of an error
	maxWait   = 24 * time.Hour
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

	errMoved   = errors.New("it sends on to another address, which is not followed")
	errOutside = errors.New("the endpoint's name leads off this machine")
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
	http *http.Client
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
	u, err := url.Parse(opt.BaseURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the address of %s is not one of http or https with a host and a path", ErrOptions, opt.Vendor)
	}
	local := loopback(u.Hostname())
	switch {
	case !local && u.Scheme != "https":
		return nil, fmt.Errorf("%w: text and key would go to %s unencrypted; give an https address", ErrOptions, u.Host)
	case !local && opt.Key == "":
		return nil, fmt.Errorf("%w: there is no key for %s", ErrOptions, opt.Vendor)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	d := &net.Dialer{Timeout: dialFor}
	t := &http.Transport{DialContext: d.DialContext, TLSHandshakeTimeout: dialFor, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10}
	if local {
		d.Control = insideOnly
	} else {
		t.Proxy = http.ProxyFromEnvironment
	}
	c := &Client{opt: opt, base: u, http: &http.Client{Transport: t, Timeout: opt.Timeout}}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return errMoved }
	return c, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// insideOnly refuses to dial what isn't this machine, whatever a hosts file says.
func insideOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("dial %s: %w", address, errOutside)
	}
	return nil
}

// Host is where texts go.
func (c *Client) Host() string { return c.base.Host }

// Close frees idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

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
	res, err := c.http.Do(req)
	if err != nil {
		return 0, c.unanswered(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // all that is wanted of it is read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, c.unanswered(ctx, err)
	case len(answer) > maxAnswer:
		return 0, fmt.Errorf("%w: it is longer than any answer should be", ErrAnswer)
	case res.StatusCode != http.StatusOK:
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
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errMoved), errors.Is(err, errOutside):
		return fmt.Errorf("%w: %w", ErrRefused, inner(err))
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: it did not answer within %v", ErrUnavailable, c.opt.Timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it closed the connection before its answer was whole", ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, inner(err))
}

func inner(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// status sorts an answer that is no success.
func (c *Client) status(res *http.Response, answer []byte, text string) error {
	said := fmt.Sprintf("status %d", res.StatusCode)
	if why := c.reason(string(answer), text); why != "" {
		said += ": " + why
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout || res.StatusCode >= 500:
		if wait := retryAfter(res.Header, time.Now()); wait > 0 {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, said, &WaitError{For: wait})
		}
		return fmt.Errorf("%w: %s", ErrUnavailable, said)
	}
	return fmt.Errorf("%w: %s", ErrRefused, said)
}

// retryAfter reads how long an endpoint wants to be left alone: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, maxWait.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), maxWait)
	}
	return 0
}

// echo is how many bytes of the text, said back by an endpoint, give it away.
const echo = 12

// reason is what an endpoint says of an error, fit for a terminal: short, on one
// line, without our key, and nothing at all if it says back what it was sent.
func (c *Client) reason(said, text string) string {
	if c.opt.Key != "" {
		said = strings.ReplaceAll(said, c.opt.Key, "[key]")
	}
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); len(line) >= echo && strings.Contains(said, line[:echo]) {
			return ""
		}
	}
	said = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(said) > maxReason {
		said = strings.ToValidUTF8(said[:maxReason], "") + "…"
	}
	return said
}
