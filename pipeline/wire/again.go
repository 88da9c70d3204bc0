package wire

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Final tells errors of RoundTrip after which trying again doesn't help.
func Final(err error) bool {
	return errors.Is(err, ErrLong) || errors.Is(err, ErrOutside) || errors.Is(err, ErrMoved)
}

// Passes tells which statuses may be others soon.
func Passes(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// RetryAfter reads how long an endpoint wants to be left alone: seconds or a
// date; a day at most.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 24*3600) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), 24*time.Hour)
	}
	return 0
}

// Backoff is how long to wait after the n-th try, from 1 on: first doubled each
// time, last at most, and of that half or more by chance.
func Backoff(n int, first, last time.Duration) time.Duration {
	wait := last
	if n < 16 {
		wait = min(first<<(n-1), last)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return wait/2 + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(max(wait/2, 1)))
}

// Sleep waits, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Plain words errors of RoundTrip that people would read as something of Go's.
func (w *Wire) Plain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it did not answer within %v", w.For)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it closed the connection before its answer was whole")
	}
	return err
}

const (
	echo    = 24  // bytes of a text, said back by an endpoint, give it away
	saidMax = 300 // bytes of what an endpoint says of an error
)

// Said is what an endpoint says of an error, fit for logs: on one line, short,
// without the key, and nothing at all if it says back the beginning of what it
// was sent.
func Said(said, key string, sent ...string) string {
	if key != "" {
		said = strings.ReplaceAll(said, key, "[key]")
	}
	for _, t := range sent {
		if len(t) >= echo/2 && strings.Contains(said, t[:min(len(t), echo)]) {
			return ""
		}
	}
	said = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(said) > saidMax {
		said = strings.ToValidUTF8(said[:saidMax], "") + "…"
	}
	return said
}
