package embed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
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

	"github.com/sashabaranov/go-openai"
)

const (
	attempts = 4                // of a request
	tryFor   = 60 * time.Second // of one: a model that is being loaded takes its time
	dialFor  = 10 * time.Second

	firstWait = time.Second // between tries; doubles
	lastWait  = 30 * time.Second

	// maxAnswer is what Batch vectors of maxDims take as JSON, and some.
	maxAnswer = 16 << 20
	maxDims   = 8192
	maxReason = 300 // bytes of what an endpoint says of an error
)

var (
	errLong    = errors.New("it is longer than any answer should be")
	errOutside = errors.New("the endpoint's name leads off this machine")
	errMoved   = errors.New("it sends on to another address, which is not followed: give that as base URL")
)

// transport sends requests, again where that may help, and reads answers whole
// before they are looked at: within the time and the size that a try has.
type transport struct {
	base     *http.Transport
	attempts int
	timeout  time.Duration
	wait     func(ctx context.Context, d time.Duration) error
	now      func() time.Time
}

func newTransport(opt Options, local bool) *transport {
	d := &net.Dialer{Timeout: dialFor}
	base := &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialFor, ForceAttemptHTTP2: true,
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	if local {
		d.Control = insideOnly // whatever a hosts file says, and no proxy
	} else {
		base.Proxy = http.ProxyFromEnvironment
	}
	return &transport{base: base, attempts: opt.Attempts, timeout: opt.Timeout, wait: sleep, now: time.Now}
}

// insideOnly refuses to dial what isn't this machine.
func insideOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("dial %s: %w", address, errOutside)
	}
	return nil
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
				sent.wait = retryAfter(res.Header, t.now())
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

// once sends the request and reads the answer whole.
func (t *transport) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	r := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		_ = res.Body.Close() // not wanted
		return nil, errMoved
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	_ = res.Body.Close() // all of it was read, or no more is wanted
	if err == nil && len(body) > maxAnswer {
		err = errLong
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if sent, ok := req.Context().Value(countKey{}).(*count); ok && res.StatusCode == http.StatusOK {
		sent.body = body
	}
	return res, nil
}

// again tells whether the n-th try is worth another, and after what time.
func (t *transport) again(res *http.Response, err error, n int) (bool, time.Duration) {
	if n >= t.attempts {
		return false, 0
	}
	wait := min(firstWait<<(n-1), lastWait)
	wait = wait/2 + jitter(wait/2)
	switch {
	case errors.Is(err, errLong) || errors.Is(err, errOutside) || errors.Is(err, errMoved):
		return false, 0
	case err != nil:
		return true, wait
	case passes(res.StatusCode):
		asked := retryAfter(res.Header, t.now())
		return asked <= lastWait, max(wait, asked)
	}
	return false, 0
}

// passes tells which statuses may be others soon.
func passes(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// retryAfter reads how long an endpoint wants to be left alone: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 24*3600) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), 24*time.Hour)
	}
	return 0
}

func jitter(most time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(max(most, 1)))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// kind sorts what go-openai says into our errors.
func (c *Client) kind(ctx context.Context, err error, texts []string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	status, text := 0, ""
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		status, text = e.HTTPStatusCode, e.Message
	} else if e, ok := errors.AsType[*openai.RequestError](err); ok {
		status, text = e.HTTPStatusCode, string(e.Body)
	}
	if status == 0 {
		sent, ok := errors.AsType[*url.Error](err)
		switch {
		case errors.Is(err, errLong):
			return fmt.Errorf("%w: %w", ErrAnswer, errLong)
		case !ok: // it came, and can't be read
			return fmt.Errorf("%w: it is not the JSON of an answer with embeddings; see that the base URL is of an endpoint that speaks as OpenAI's", ErrAnswer)
		case errors.Is(err, errMoved) || errors.Is(err, errOutside):
			return fmt.Errorf("%w: %w", ErrRefused, sent.Err)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, c.plain(sent.Err))
	}
	said := fmt.Sprintf("status %d", status)
	if text = c.reason(text, texts); text != "" {
		said += ": " + text
	}
	switch {
	case passes(status):
		if sent, ok := ctx.Value(countKey{}).(*count); ok && sent.wait > 0 {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, said, &WaitError{For: sent.wait})
		}
		return fmt.Errorf("%w: %s", ErrUnavailable, said)
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s", ErrRequest, said)
	}
	return fmt.Errorf("%w: %s", ErrRefused, said)
}

// plain words what people would read as something of Go's.
func (c *Client) plain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it did not answer within %v", c.opt.Timeout)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it closed the connection before its answer was whole")
	}
	return err
}

// echo is how many bytes of a text, said back by an endpoint, give it away.
const echo = 24

// reason is what an endpoint says of an error, fit for logs: on one line, short,
// without our key, and nothing at all if it says back what it was sent.
func (c *Client) reason(said string, texts []string) string {
	if c.opt.Key != "" {
		said = strings.ReplaceAll(said, c.opt.Key, "[key]")
	}
	for _, t := range texts {
		if len(t) >= echo/2 && strings.Contains(said, t[:min(len(t), echo)]) {
			return ""
		}
	}
	said = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(said) > maxReason {
		said = strings.ToValidUTF8(said[:maxReason], "") + "…"
	}
	return said
}
