package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

const key = "sk-test-0123456789abcdefghijklmnopqrstuv"

// asked is what a request says.
type asked struct {
	Input      []string `json:"input"`
	Model      string   `json:"model"`
	Dimensions int      `json:"dimensions"`
}

func read(t *testing.T, r *http.Request) (a asked) {
	t.Helper()
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		t.Errorf("request: %v", err)
	}
	return a
}

// give writes n vectors of dims dimensions, as OpenAI does.
func give(w io.Writer, n, dims int, value func(i, j int) any) {
	var data []map[string]any
	for i := range n {
		v := make([]any, dims)
		for j := range v {
			v[j] = value(i, j)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 3 * n, "total_tokens": 3 * n}})
}

func good(i, j int) any { return float64(i+1) * float64(j%3+1) }

// serve starts an endpoint that answers the n-th request, from 1 on, with h.
func serve(t *testing.T, h func(n int, w http.ResponseWriter, r *http.Request)) (opt Options, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(int(requests.Add(1)), w, r) }))
	t.Cleanup(s.Close)
	return Options{BaseURL: s.URL + "/v1", Model: "m", Key: key, Timeout: 500 * time.Millisecond}, requests
}

// open gives a client that notes its waits and doesn't keep them.
func open(t *testing.T, opt Options) (*Client, *[]time.Duration) {
	t.Helper()
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var waits []time.Duration
	c.wire.wait = func(ctx context.Context, d time.Duration) error { waits = append(waits, d); return ctx.Err() }
	return c, &waits
}

func TestTextsBecomeVectors(t *testing.T) {
	opt, n := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		a := read(t, r)
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+key || a.Model != "m" || a.Dimensions != UsualDims || len(a.Input) != 2 || a.Input[1] != "second" {
			t.Errorf("%s %s, key %t, %+v", r.Method, r.URL.Path, r.Header.Get("Authorization") != "", a)
		}
		give(w, len(a.Input), a.Dimensions, good)
	})
	c, _ := open(t, opt)
	a, err := c.Embed(t.Context(), []string{"first", "second"})
	if err != nil || n.Load() != 1 {
		t.Fatalf("%v after %d requests", err, n.Load())
	}
	if len(a.Vectors) != 2 || a.Spent != (Spent{Calls: 1, Tokens: 6, Told: true}) {
		t.Errorf("%d vectors, spent %+v", len(a.Vectors), a.Spent)
	}
	for _, v := range a.Vectors {
		sum := 0.0
		for _, f := range v {
			sum += float64(f) * float64(f)
		}
		if len(v) != UsualDims || math.Abs(sum-1) > 1e-5 {
			t.Errorf("a vector of %d dimensions and length %v", len(v), math.Sqrt(sum))
		}
	}
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		bad   func(n int, w http.ResponseWriter) // answers the first two
		least time.Duration                      // of the first wait
	}{
		"500": {func(_ int, w http.ResponseWriter) { http.Error(w, "oops", 500) }, firstWait / 2},
		"503": {func(_ int, w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"loading"}}`, http.StatusServiceUnavailable)
		}, firstWait / 2},
		"429": {func(_ int, w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, 7 * time.Second},
		"429 by date": {func(_ int, w http.ResponseWriter) {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(429)
		}, 15 * time.Second},
		"reset": {func(_ int, w http.ResponseWriter) { reset(w, "") }, firstWait / 2},
		"reset within the answer": {func(_ int, w http.ResponseWriter) {
			reset(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"object\":")
		}, firstWait / 2},
		"hang": {func(int, http.ResponseWriter) { time.Sleep(700 * time.Millisecond) }, firstWait / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt, n := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
				a := read(t, r) // the body is there each time
				if n <= 2 {
					tt.bad(n, w)
					return
				}
				give(w, len(a.Input), 8, good)
			})
			c, waits := open(t, opt)
			a, err := c.Embed(t.Context(), []string{"x"})
			if err != nil || n.Load() != 3 || a.Spent.Calls != 3 {
				t.Fatalf("%v after %d requests, %+v", err, n.Load(), a.Spent)
			}
			if w := *waits; len(w) != 2 || w[0] < tt.least || w[1] < firstWait/2 {
				t.Errorf("waited %v", w)
			}
		})
	}
}

// reset sends raw bytes and resets the connection.
func reset(w http.ResponseWriter, raw string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, raw)
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func TestErrorsSayWhatTheyAre(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   func(w http.ResponseWriter, a asked)
		want     error
		says     string
		requests int64
	}{
		"401": {func(w http.ResponseWriter, _ asked) {
			http.Error(w, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`, http.StatusUnauthorized)
		}, ErrRefused, "[key]", 1},
		"403": {func(w http.ResponseWriter, _ asked) { http.Error(w, "no", http.StatusForbidden) }, ErrRefused, "403", 1},
		"error is a string": {func(w http.ResponseWriter, _ asked) {
			http.Error(w, `{"error":"model \"m\" not found, try pulling it first"}`, 404)
		}, ErrRefused, "try pulling", 1},
		"404": {func(w http.ResponseWriter, _ asked) {
			http.Error(w, `{"error":{"message":"model \"m\" not found, try pulling it first"}}`, 404)
		}, ErrRefused, "try pulling it first", 1},
		"moved": {func(w http.ResponseWriter, _ asked) {
			w.Header().Set("Location", "http://example.com/")
			w.WriteHeader(307)
		}, ErrRefused, "not followed", 1},
		"400": {func(w http.ResponseWriter, _ asked) { http.Error(w, `{"error":{"message":"input too long"}}`, 400) }, ErrRequest, "input too long", 2}, // once more without dimensions
		"echo": {func(w http.ResponseWriter, a asked) {
			http.Error(w, `{"error":{"message":"can't take: `+a.Input[0]+`"}}`, 400)
		}, ErrRequest, "", 2},
		"500 on and on":   {func(w http.ResponseWriter, _ asked) { http.Error(w, "oops", 500) }, ErrUnavailable, "500", 4},
		"429 for an hour": {func(w http.ResponseWriter, _ asked) { w.Header().Set("Retry-After", "3600"); w.WriteHeader(429) }, ErrUnavailable, "1h0m0s", 1},
		"hang":            {func(http.ResponseWriter, asked) { time.Sleep(700 * time.Millisecond) }, ErrUnavailable, "did not answer within 500ms", 4},
		"drip":            {drip, ErrUnavailable, "did not answer within 500ms", 4},
		"wrong count":     {func(w http.ResponseWriter, _ asked) { give(w, 2, 8, good) }, ErrAnswer, "2 vectors came for 3", 1},
		"no vectors":      {func(w http.ResponseWriter, _ asked) { _, _ = io.WriteString(w, "{}") }, ErrAnswer, "0 vectors", 1},
		"page":            {func(w http.ResponseWriter, _ asked) { _, _ = io.WriteString(w, "<html>log in</html>") }, ErrAnswer, "not the JSON", 1},
		"nothing":         {func(http.ResponseWriter, asked) {}, ErrAnswer, "", 1},
		"NaN": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"embedding":[NaN]},{"embedding":[1]},{"embedding":[1]}]}`)
		}, ErrAnswer, "", 1},
		"too large a float": {func(w http.ResponseWriter, _ asked) { give(w, 3, 8, func(int, int) any { return 1e300 }) }, ErrAnswer, "", 1},
		"null":              {func(w http.ResponseWriter, _ asked) { give(w, 3, 8, func(int, int) any { return nil }) }, ErrAnswer, "zero", 1},
		"zero":              {func(w http.ResponseWriter, _ asked) { give(w, 3, 8, func(int, int) any { return 0 }) }, ErrAnswer, "zero", 1},
		"uneven": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1,2]}]}`)
		}, ErrAnswer, "dimensions", 1},
		"numbered wrongly": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,3]},{"index":2,"embedding":[1,2]}]}`)
		}, ErrAnswer, "numbered", 1},
		"numbered from 1": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"index":1,"embedding":[1,2]},{"index":2,"embedding":[1,3]},{"index":3,"embedding":[1,2]}]}`)
		}, ErrAnswer, "numbered", 1},
		"all numbered alike": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,3]},{"index":0,"embedding":[1,2]}]}`)
		}, ErrAnswer, "numbered", 1},
		"all out of range": {func(w http.ResponseWriter, _ asked) {
			_, _ = io.WriteString(w, `{"data":[{"index":9,"embedding":[1,2]},{"index":9,"embedding":[1,3]},{"index":9,"embedding":[1,2]}]}`)
		}, ErrAnswer, "numbered", 1},
		"other JSON": {func(w http.ResponseWriter, _ asked) { _, _ = io.WriteString(w, `{"data":{"index":0}}`) }, ErrAnswer, "not the JSON", 1},
		"cut off":    {func(w http.ResponseWriter, _ asked) { panic(http.ErrAbortHandler) }, ErrUnavailable, "closed the connection", 4},
		"50 MB":      {endless, ErrAnswer, "longer than any answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt, n := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { tt.answer(w, read(t, r)) })
			if name == "50 MB" {
				opt.Timeout = 30 * time.Second
			}
			c, _ := open(t, opt)
			a, err := c.Embed(t.Context(), []string{"a text that nobody else must see", "b", "c"})
			if !errors.Is(err, tt.want) || n.Load() != tt.requests || a.Spent.Calls != int(tt.requests) {
				t.Fatalf("got %v after %d requests (told %d), want %v after %d", err, n.Load(), a.Spent.Calls, tt.want, tt.requests)
			}
			if s := err.Error(); strings.Contains(s, key) || strings.Contains(s, "nobody else") || !strings.Contains(s, tt.says) {
				t.Errorf("says %q, want %q in it", s, tt.says)
			}
			for _, raw := range []string{"json:", "Go ", "EOF", "RoundTrip", "context "} {
				if strings.Contains(err.Error(), raw) {
					t.Errorf("says %q, in Go's words", err)
				}
			}
			if w, ok := errors.AsType[*WaitError](err); ok != (name == "429 for an hour") || ok && w.For != time.Hour {
				t.Errorf("wait %v, %t", w, ok)
			}
		})
	}
}

// drip gives a byte now and then.
func drip(w http.ResponseWriter, _ asked) {
	for range 70 {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

func endless(w http.ResponseWriter, _ asked) {
	_, _ = io.WriteString(w, `{"data":[{"embedding":[`)
	chunk := strings.Repeat("0.123456789,", 1<<12)
	for range 50 << 20 / len(chunk) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

func TestAModelThatCantShortenItsVectorsGivesItsOwn(t *testing.T) {
	opt, n := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		a := read(t, r)
		if a.Dimensions > 0 {
			http.Error(w, `{"error":{"message":"this model does not support specifying dimensions"}}`, 400)
			return
		}
		give(w, len(a.Input), 12, good)
	})
	c, _ := open(t, opt)
	for i, want := range []int64{2, 3} { // it is asked once only
		a, err := c.Embed(t.Context(), []string{"x"})
		if err != nil || len(a.Vectors[0]) != 12 || n.Load() != want {
			t.Fatalf("%d: %v, %d requests", i, err, n.Load())
		}
	}
	opt.Dims = 100
	c, _ = open(t, opt)
	if _, err := c.Embed(t.Context(), []string{"x"}); !errors.Is(err, ErrRequest) {
		t.Errorf("dimensions that the user wants are not had, and that is no error: %v", err)
	}
}

func TestNoMoreRequestsThanAllowed(t *testing.T) {
	for _, status := range []int{400, 500} {
		opt, n := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) })
		c, _ := open(t, opt)
		if a, err := c.Embed(AtMost(t.Context(), 1), []string{"x"}); err == nil || n.Load() != 1 || a.Spent.Calls != 1 {
			t.Errorf("%d: %v after %d requests", status, err, n.Load())
		}
	}
}

func TestVectorsOfAnotherLengthAreNoAnswer(t *testing.T) {
	opt, _ := serve(t, func(n int, w http.ResponseWriter, r *http.Request) { give(w, len(read(t, r).Input), 6+n, good) })
	c, _ := open(t, opt)
	if _, err := c.Embed(t.Context(), []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Embed(t.Context(), []string{"x"}); !errors.Is(err, ErrAnswer) {
		t.Errorf("got %v", err)
	}
	opt.Dims = 100
	c, _ = open(t, opt)
	if _, err := c.Embed(t.Context(), []string{"x"}); !errors.Is(err, ErrAnswer) {
		t.Errorf("got %v", err)
	}
}

func TestAnEndedContextEndsAtOnce(t *testing.T) {
	opt, n := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) { read(t, r); <-r.Context().Done() })
	opt.Timeout = time.Minute
	c, _ := open(t, opt)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := c.Embed(ctx, []string{"x"})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) || n.Load() != 1 || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %d requests and %v", err, n.Load(), time.Since(begun))
	}
}

func TestOptionsThatDontFitAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		opt  Options
		says string
	}{
		"remote":        {Options{BaseURL: "https://api.example.com/v1", Model: "m"}, "not on this machine"},
		"name like one": {Options{BaseURL: "http://localhost.example.com/v1", Model: "m"}, "not on this machine"},
		"any address":   {Options{BaseURL: "http://0.0.0.0:1/v1", Model: "m"}, "not on this machine"},
		"key in clear":  {Options{BaseURL: "http://192.168.1.2/v1", Model: "m", AllowRemote: true, Key: key}, "unencrypted"},
		"no model":      {Options{BaseURL: "http://127.0.0.1/v1"}, "no model"},
		"no URL":        {Options{BaseURL: "127.0.0.1:1", Model: "m"}, "not one of http"},
		"file":          {Options{BaseURL: "file:///etc", Model: "m"}, "not one of http"},
		"password":      {Options{BaseURL: "https://u:" + key + "@127.0.0.1/v1", Model: "m"}, "more than a host"},
		"query":         {Options{BaseURL: "https://127.0.0.1/v1?api_key=" + key, Model: "m"}, "more than a host"},
		"dims":          {Options{BaseURL: "http://127.0.0.1/v1", Model: "m", Dims: 9000}, "9000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.opt)
			if !errors.Is(err, ErrOptions) || !strings.Contains(fmt.Sprint(err), tt.says) || strings.Contains(fmt.Sprint(err), key) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, base := range []string{"http://127.0.0.1:11434/v1", "http://localhost/v1", "http://[::1]:8/v1", "http://127.8.8.8/v1"} {
		if c, err := New(Options{BaseURL: base, Model: "m", Key: key}); err != nil || !c.Local() {
			t.Errorf("%s: %v", base, err)
		}
	}
	if c, err := New(Options{BaseURL: "https://api.example.com/v1", Model: "m", AllowRemote: true}); err != nil || c.Local() || c.Host() != "api.example.com" {
		t.Error(err)
	}
}

func TestALocalEndpointIsNeverDialledElsewhere(t *testing.T) {
	c, _ := open(t, Options{BaseURL: "http://localhost:1/v1", Model: "m"})
	// The dialler is asked: as after a name that a hosts file leads astray.
	if _, err := c.wire.wire.Base.DialContext(t.Context(), "tcp", "192.0.2.1:9"); !errors.Is(err, wire.ErrOutside) {
		t.Errorf("got %v", err)
	}
	if c.wire.wire.Base.Proxy != nil {
		t.Error("a proxy may come between")
	}
}

func TestProviders(t *testing.T) {
	for _, name := range []string{"ollama", "openai", "dashscope", "custom", "model2vec"} {
		p, err := ParseProvider(name)
		if err != nil || p.String() != name {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := ParseProvider("azure"); !errors.Is(err, ErrOptions) {
		t.Errorf("got %v", err)
	}
	opt := DashScope.Fill(Options{Model: "text-embedding-v3"})
	if c, err := New(opt); err == nil {
		t.Errorf("%s is spoken to without leave", c.Host())
	}
	opt.AllowRemote = true
	if c, err := New(opt); err != nil || c.Batch() != 10 || c.Model() != "text-embedding-v3" || c.Host() != "dashscope.aliyuncs.com" {
		t.Error(err)
	}
}

// Who doesn't number vectors gives them in the order asked.
func TestVectorsWithoutNumbersAreInOrder(t *testing.T) {
	opt, _ := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}`)
	})
	c, _ := open(t, opt)
	a, err := c.Embed(t.Context(), []string{"a", "b"})
	if err != nil || a.Vectors[0][0] != 1 || a.Vectors[1][1] != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A count that no text of that length can have is none.
func TestCountsOfTokensAreBounded(t *testing.T) {
	for tokens, told := range map[string]bool{"7": true, "1000000000000000": false, "9000": false, "-5": false} {
		opt, _ := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":`+tokens+`}}`)
		})
		c, _ := open(t, opt)
		a, err := c.Embed(t.Context(), []string{"some words"})
		if err != nil || a.Spent.Told != told || !told && a.Spent.Tokens != 0 {
			t.Errorf("%s: %+v, %v", tokens, a.Spent, err)
		}
	}
}

// Who gives up between tries gives no response along.
func TestGivingUpBetweenTriesGivesAnErrorAlone(t *testing.T) {
	opt, _ := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	c, _ := open(t, opt)
	c.wire.wait = func(context.Context, time.Duration) error { return context.Canceled }
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, opt.BaseURL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.wire.RoundTrip(req); res != nil || !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
		t.Errorf("got %v, %v", res, err)
	}
}
