package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		base        string
		key, remote bool
		host        string
		local       bool
		err         error
	}{
		{"http://127.0.0.1:11434/v1", false, false, "127.0.0.1:11434", true, nil},
		{"http://localhost:1234/v1", true, false, "localhost:1234", true, nil},
		{"http://[::1]/v1", true, false, "[::1]", true, nil},
		{"https://api.example.com/v1", true, true, "api.example.com", false, nil},
		{"https://api.example.com/v1", true, false, "api.example.com", false, ErrRemote},
		{"http://127.0.0.1.example.com/v1", false, false, "127.0.0.1.example.com", false, ErrRemote},
		{"http://api.example.com/v1", true, true, "api.example.com", false, ErrURL},
		{"http://10.0.0.7:8000/v1", false, true, "10.0.0.7:8000", false, nil},
		{"https://user:secret@api.example.com/v1", false, true, "", false, ErrURL},
		{"https://api.example.com/v1?key=secret", false, true, "", false, ErrURL},
		{"ftp://secret@api.example.com", false, true, "", false, ErrURL},
		{"api.example.com/v1", false, true, "", false, ErrURL},
		{"", false, true, "", false, ErrURL},
	} {
		host, local, err := Check(tt.base, tt.key, tt.remote)
		if host != tt.host || local != tt.local || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %t, %v", tt.base, host, local, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the secret is told: %v", tt.base, err)
		}
	}
}

func TestALocalWireDialsNothingElse(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "192.0.2.1:80": false, "[2001:db8::1]:80": false, "0.0.0.0:80": false} {
		if err := insideOnly("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	// The dialler is asked: as after a name that a hosts file leads astray.
	if _, err := New(true, time.Second, 1).Base.DialContext(t.Context(), "tcp", "192.0.2.1:9"); !errors.Is(err, ErrOutside) {
		t.Errorf("got %v", err)
	}
	if New(true, time.Second, 1).Base.Proxy != nil || New(false, time.Second, 1).Base.Proxy == nil {
		t.Error("a proxy stands before this machine, or none before others")
	}
}

// An answer that is too long isn't read to its end, said or not.
func TestALongAnswerIsNotRead(t *testing.T) {
	for name, length := range map[string]bool{"length told": true, "not told": false} {
		sent := 0
		done := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			defer close(done)
			if length {
				w.Header().Set("Content-Length", "10000000")
			}
			for range 10_000_000 / 1000 {
				n, err := io.WriteString(w, strings.Repeat("x", 1000))
				if sent += n; err != nil {
					return
				}
			}
		}))
		w := New(true, 10*time.Second, 1000)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := w.RoundTrip(req); res != nil || !errors.Is(err, ErrLong) || !Final(err) { //nolint:bodyclose // there is none
			t.Errorf("%s: %v, %v", name, res, err)
		}
		<-done
		w.Base.CloseIdleConnections()
		s.Close()
		if sent >= 10_000_000 {
			t.Errorf("%s: all of it was taken", name)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "soon": 0, "1e300": 24 * time.Hour, "NaN": 0,
		"Tue, 01 Sep 2026 08:00:20 GMT": 20 * time.Second, "Tue, 01 Sep 2026 07:00:00 GMT": 0, "Tue, 01 Sep 2037 08:00:20 GMT": 24 * time.Hour,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestBackoffGrowsToItsEnd(t *testing.T) {
	for n, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 7: time.Minute, 40: time.Minute, 400: time.Minute} {
		for range 50 {
			if got := Backoff(n, time.Second, time.Minute); got < most/2 || got > most {
				t.Fatalf("after %d: %v", n, got)
			}
		}
	}
}

func TestSaidKeepsKeyAndTextBack(t *testing.T) {
	for said, want := range map[string]string{
		"bad key sk-1234567890\n": "bad key [key]", "you wrote: the text that was sent to it, whole": "", "a\x1b[31m\tb": "a [31m b", strings.Repeat("é", 400): strings.Repeat("é", 150) + "…",
	} {
		if got := Said(said, "sk-1234567890", "the text that was sent to it"); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

func TestPlainWords(t *testing.T) {
	w := New(true, 5*time.Second, 1)
	if got := w.Plain(fmt.Errorf("x: %w", io.ErrUnexpectedEOF)).Error(); !strings.Contains(got, "closed the connection") {
		t.Error(got)
	}
}
