// Package wire carries requests to a model's endpoint: it dials nothing that
// isn't allowed, follows nowhere, and reads no answer without end. What the
// requests say is the business of those who use it.
//
//	[1] Check looks a base URL over: where it leads, and whether that is allowed
//	[2] Wire.RoundTrip sends a request once and reads the answer whole
//	[3] what went wrong is sorted (Final, Passes, RetryAfter) and said in plain
//	    words without the key (Plain, Said); who uses it waits (Backoff, Sleep)
//	    and sends again
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const dialFor = 10 * time.Second

var (
	// ErrURL means that a base URL can't be worked with.
	ErrURL = errors.New("the base URL can't be used")
	// ErrRemote means that the endpoint is not on this machine and nobody allowed
	// for that.
	ErrRemote = errors.New("remote endpoints are not allowed")
	// ErrLong means that an answer was longer than allowed; the rest wasn't read.
	ErrLong = errors.New("it is longer than any answer should be")
	// ErrOutside means that the name of a local endpoint leads elsewhere.
	ErrOutside = errors.New("the endpoint's name leads off this machine")
	// ErrMoved means that a redirect came.
	ErrMoved = errors.New("it sends on to another address, which is not followed: give that as base URL")
)

// Check looks a base URL over: http or https, a host, a path, nothing else; not
// remote unless allowed, and with a key only encrypted. It gives the host and
// whether that is this machine. ErrURL, ErrRemote. It is pure.
func Check(base string, key, remote bool) (host string, local bool, err error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, fmt.Errorf("%w: base URL %q is not one of http or https", ErrURL, shown(base))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false, fmt.Errorf("%w: that of %s has more than a host and a path; a key is given by its environment variable", ErrURL, u.Host)
	}
	local = loopback(u.Hostname())
	if !local && !remote {
		return u.Host, false, fmt.Errorf("%s is not on this machine, and %w", u.Host, ErrRemote)
	}
	if !local && u.Scheme == "http" && key {
		return u.Host, false, fmt.Errorf("%w: the key would go to %s unencrypted; give an https URL, or no key", ErrURL, u.Host)
	}
	return u.Host, local, nil
}

// shown is a URL without what may be a secret.
func shown(raw string) string {
	if _, rest, ok := strings.Cut(raw, "@"); ok {
		raw = rest
	}
	raw, _, _ = strings.Cut(raw, "?")
	return raw
}

// loopback tells whether a host name is this machine's own, without asking
// anybody.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Wire is an http.RoundTripper. Whoever uses it tries again.
type Wire struct {
	Base *http.Transport // that sends
	For  time.Duration   // one request has, its answer included
	Most int64           // bytes of an answer
}

// New makes a wire. To this machine nothing goes by a proxy, and nothing else
// is dialled whatever a hosts file says; to others the proxy of the environment
// is used.
func New(local bool, within time.Duration, most int64) *Wire {
	d := &net.Dialer{Timeout: dialFor}
	base := &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialFor, ForceAttemptHTTP2: true,
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	if local {
		d.Control = insideOnly
	} else {
		base.Proxy = http.ProxyFromEnvironment
	}
	return &Wire{Base: base, For: within, Most: most}
}

// insideOnly refuses to dial what isn't this machine.
func insideOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("dial %s: %w", address, ErrOutside)
	}
	return nil
}

// RoundTrip sends the request once and reads the answer whole, within the time
// and the size that there is. The response's body is a *Body.
func (w *Wire) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), w.For)
	defer cancel()
	r := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	res, err := w.Base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		_ = res.Body.Close() // not wanted
		return nil, ErrMoved
	}
	var body []byte
	if err = ErrLong; res.ContentLength <= w.Most {
		body, err = io.ReadAll(io.LimitReader(res.Body, w.Most+1))
	}
	_ = res.Body.Close() // all of it was read, or no more is wanted
	if err == nil && int64(len(body)) > w.Most {
		err = ErrLong
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	res.Body = &Body{Reader: bytes.NewReader(body), Bytes: body}
	return res, nil
}

// Body is an answer that was read whole.
type Body struct {
	*bytes.Reader
	Bytes []byte
}

// Close does nothing.
func (*Body) Close() error { return nil }
