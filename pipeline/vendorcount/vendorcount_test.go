package vendorcount_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/vendorcount"
)

const key, text = "sk-very-secret", "a text that nobody else is to see"

func client(t *testing.T, v vendorcount.Vendor, h http.HandlerFunc) *vendorcount.Client {
	t.Helper()
	return patient(t, v, h, 20*time.Second)
}

func patient(t *testing.T, v vendorcount.Vendor, h http.HandlerFunc, timeout time.Duration) *vendorcount.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := vendorcount.New(vendorcount.Options{Vendor: v, BaseURL: s.URL, Key: key, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestVendorsAreAskedTheirWay(t *testing.T) {
	for _, tt := range []struct {
		v                  vendorcount.Vendor
		path, header, want string
		body, answer       string
	}{
		{vendorcount.Anthropic, "/v1/messages/count_tokens", "X-Api-Key", key, `{"messages":[{"content":"` + text + `","role":"user"}],"model":"m/1"}`, `{"input_tokens":12}`},
		{vendorcount.OpenAI, "/v1/responses/input_tokens", "Authorization", "Bearer " + key, `{"input":[{"content":"` + text + `","role":"user"}],"model":"m/1"}`, `{"object":"response.input_tokens","input_tokens":12}`},
		{vendorcount.Google, "/v1beta/models/m%2F1:countTokens", "X-Goog-Api-Key", key, `{"contents":[{"parts":[{"text":"` + text + `"}],"role":"user"}]}`, `{"totalTokens":12}`},
		{vendorcount.Volcengine, "/api/v3/tokenization", "Authorization", "Bearer " + key, `{"model":"m/1","text":["` + text + `"]}`, `{"data":[{"total_tokens":12}]}`},
		{vendorcount.XAI, "/v1/tokenize-text", "Authorization", "Bearer " + key, `{"model":"m/1","text":"` + text + `"}`, `{"token_ids":[` + strings.Repeat(`{"token_id":1},`, 11) + `{"token_id":2}]}`},
	} {
		t.Run(tt.v.String(), func(t *testing.T) {
			c := client(t, tt.v, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.Method != http.MethodPost || r.URL.EscapedPath() != tt.path || r.Header.Get(tt.header) != tt.want || string(body) != tt.body {
					t.Errorf("%s %s, %s %q, %s, %v", r.Method, r.URL.EscapedPath(), tt.header, r.Header.Get(tt.header), body, err)
				}
				_, _ = io.WriteString(w, tt.answer)
			})
			if n, err := c.Count(t.Context(), "m/1", text); n != 12 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	var asked atomic.Int32 // the answer that hangs tells nobody when it was asked
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
		says   string
		wait   time.Duration
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"no key `+key+` here"}`)
		}, vendorcount.ErrRefused, "status 401: {\"error\":\"no key [key] here\"}", 0},
		{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, vendorcount.ErrRefused, "404", 0},
		{"said back", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, "can't take "+text)
		}, vendorcount.ErrRefused, "status 400", 0},
		{"429", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "17"); w.WriteHeader(429) }, vendorcount.ErrUnavailable, "429", 17 * time.Second},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, vendorcount.ErrUnavailable, "500", 0},
		{"hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, vendorcount.ErrUnavailable, "did not answer within 100ms", 0},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, vendorcount.ErrAnswer, "no count", 0},
		{"other JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"input_tokens":"12"}`) }, vendorcount.ErrAnswer, "no count", 0},
		{"none", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"input_tokens":0}`) }, vendorcount.ErrAnswer, "can't be", 0},
		{"too many", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"input_tokens":99999}`) }, vendorcount.ErrAnswer, "can't be", 0},
		{"endless", func(w http.ResponseWriter, _ *http.Request) {
			for range 9 << 4 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, vendorcount.ErrAnswer, "longer", 0},
		{"moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, vendorcount.ErrRefused, "not followed", 0},
		{"reset", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				panic(err)
			}
		}, vendorcount.ErrUnavailable, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked.Store(0)
			timeout := 20 * time.Second
			if tt.name == "hang" {
				timeout = 100 * time.Millisecond
			}
			c := patient(t, vendorcount.Anthropic, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection goes unseen
				tt.answer(w, r)
			}, timeout)
			n, err := c.Count(t.Context(), "m", text)
			if n != 0 || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%d, %v", n, err)
			}
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "nobody else") {
				t.Errorf("it tells: %v", err)
			}
			wait, _ := errors.AsType[*vendorcount.WaitError](err)
			if tt.wait > 0 && (wait == nil || wait.For != tt.wait) || tt.wait == 0 && wait != nil {
				t.Errorf("asked to wait %v", wait)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestEndOfContext(t *testing.T) {
	c := client(t, vendorcount.XAI, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Count(ctx, "m", text); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, opt := range []vendorcount.Options{
		{}, {Vendor: 99, Key: key}, {Vendor: vendorcount.OpenAI}, {Vendor: vendorcount.OpenAI, Key: key, BaseURL: "http://example.com"},
		{Vendor: vendorcount.OpenAI, Key: key, BaseURL: "https://u:p@example.com"}, {Vendor: vendorcount.OpenAI, Key: key, BaseURL: "ftp://127.0.0.1"},
	} {
		if _, err := vendorcount.New(opt); !errors.Is(err, vendorcount.ErrOptions) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	c, err := vendorcount.New(vendorcount.Options{Vendor: vendorcount.OpenAI, Key: key})
	if err != nil || c.Host() != "api.openai.com" {
		t.Errorf("%v, %v", c, err)
	}
}
