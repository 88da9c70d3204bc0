package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const key = "sk-test-0123456789abcdefghijklmnopqrstuv"

// asked is what a request says.
type asked struct {
	Model    string `json:"model"`
	Messages []struct{ Role, Content string }
	Max      int            `json:"max_tokens"`
	MaxNew   int            `json:"max_completion_tokens"`
	Heat     *float64       `json:"temperature"`
	Tools    any            `json:"tools"`
	Format   map[string]any `json:"response_format"`
	Stream   bool           `json:"stream"`
}

func (a *asked) form() string { return fmt.Sprint(a.Format["type"]) }

// good is an answer.
func good(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` + string(b) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`
}

type step func(w http.ResponseWriter, a asked)

func says(body string) step {
	return func(w http.ResponseWriter, _ asked) { _, _ = io.WriteString(w, body) }
}

func fails(status int, body string, header ...string) step {
	return func(w http.ResponseWriter, _ asked) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func reset(w http.ResponseWriter, _ asked) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// script is a server that answers with one step after the other, and a client
// that notes its waits and doesn't keep them.
type script struct {
	*Client
	mu    sync.Mutex
	seen  []asked // read by the test when all is over
	waits []time.Duration
	usage []Usage
}

func (s *script) hooks() Hooks {
	return Hooks{After: func(u Usage, _ error) { s.usage = append(s.usage, u) }}
}

func (s *script) ask(t *testing.T) (string, error) {
	t.Helper()
	text, err := s.Ask(t.Context(), question(), s.hooks())
	s.mu.Lock()
	defer s.mu.Unlock()
	return text, err
}

func question() Question {
	return Question{Messages: []Message{{"system", "be brief, answer in JSON"}, {"user", "the words of the session that nobody may say back"}}, Output: 1000, Schema: json.RawMessage(`{"type":"object"}`), Name: "notes"}
}

func play(t *testing.T, e Endpoint, steps ...step) *script {
	t.Helper()
	s := &script{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a asked
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		s.mu.Lock() // a broken connection doesn't tell that one request follows another
		defer s.mu.Unlock()
		s.seen = append(s.seen, a)
		if len(s.seen) > len(steps) {
			t.Errorf("request %d, %d are scripted", len(s.seen), len(steps))
			w.WriteHeader(http.StatusTeapot)
			return
		}
		steps[len(s.seen)-1](w, a)
	}))
	t.Cleanup(srv.Close)
	e.BaseURL, e.Key = srv.URL+"/v1", key
	if e.Model == "" {
		e.Model = "m"
	}
	c, err := New(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.wait = func(ctx context.Context, d time.Duration) error { s.waits = append(s.waits, d); return ctx.Err() }
	s.Client = c
	return s
}

func TestAnAnswer(t *testing.T) {
	s := play(t, Endpoint{}, says(good(`{"a":1}`)))
	got, err := s.ask(t)
	if err != nil || got != `{"a":1}` || len(s.usage) != 1 || s.usage[0] != (Usage{11, 7, true}) {
		t.Fatalf("%q, %v, %+v", got, err, s.usage)
	}
	a := s.seen[0]
	if a.Model != "m" || a.Max != 1000 || a.MaxNew != 0 || a.Heat == nil || a.Tools != nil || a.Stream || len(a.Messages) != 2 || a.form() != "json_schema" {
		t.Errorf("asked %+v", a)
	}
}

// Every way to get no answer: its reason, how often it is asked for, and that
// the error names endpoint and model, and neither key nor text.
func TestReasons(t *testing.T) {
	times := func(n int, s step) (out []step) {
		for range n {
			out = append(out, s)
		}
		return out
	}
	for name, tt := range map[string]struct {
		steps []step
		want  Reason
		wait  time.Duration
		last  bool
	}{
		"no choices":          {times(3, says(`{"choices":[]}`)), NoChoices, 0, false},
		"blank":               {times(3, says(good(""))), Blank, 0, false},
		"spaces":              {times(3, says(good(" \n\n"))), Blank, 0, false},
		"refusal":             {times(1, says(`{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I cannot help"}}]}`)), Refusal, 0, false},
		"filter":              {times(1, says(`{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}`)), Refusal, 0, false},
		"cut":                 {times(1, says(`{"choices":[{"message":{"content":"Summary that stops in the mid"},"finish_reason":"length"}]}`)), Truncated, 0, false},
		"thoughts only":       {times(1, says(`{"choices":[{"message":{"content":"","reasoning_content":"hm"},"finish_reason":"length"}]}`)), Truncated, 0, false},
		"html":                {times(4, says("<html>gateway error</html>")), NotAnAnswer, 0, false},
		"half":                {times(4, says(good("x")[:40])), NotAnAnswer, 0, false},
		"error with 200":      {times(1, says(`{"error":{"message":"no","code":401}}`)), BadKey, 0, true},
		"overload with 200":   {times(4, says(`{"error":{"message":"busy","code":502}}`)), ServerError, 0, false},
		"401":                 {times(1, fails(401, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`)), BadKey, 0, true},
		"403":                 {times(1, fails(403, `no`)), BadKey, 0, true},
		"404":                 {times(1, fails(404, `{"error":{"message":"model 'm' not found"}}`)), NoSuchModel, 0, true},
		"402":                 {times(1, fails(402, `{"error":{"message":"Insufficient Balance"}}`)), NoCredit, 0, true},
		"arrears":             {times(1, fails(400, `{"error":{"message":"Access denied","code":"Arrearage"}}`)), NoCredit, 0, true},
		"400 for a key":       {times(1, fails(400, `{"error":{"message":"API key not valid. Please pass a valid API key."}}`)), BadKey, 0, true},
		"400 for a model":     {times(1, fails(400, `{"error":{"message":"Model Not Exist"}}`)), NoSuchModel, 0, true},
		"echo":                {times(1, fails(422, `{"detail":"input was: of the session that nobody may say back"}`)), BadRequest, 0, true},
		"no quota":            {times(1, fails(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)), NoCredit, 0, true},
		"400":                 {times(1, fails(400, `{"error":{"message":"you said: the words of the session that nobody may say back"}}`)), BadRequest, 0, true},
		"overflow":            {times(1, fails(400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`)), Overflow, 0, false},
		"overflow, llama.cpp": {times(1, fails(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`)), Overflow, 0, false},
		"413":                 {times(1, fails(413, ``)), Overflow, 0, false},
		"redirect":            {times(1, fails(307, ``, "Location", "http://192.0.2.1/v1/chat/completions")), Moved, 0, true},
		"429":                 {times(4, fails(429, `slow down`)), RateLimited, 0, false},
		"429, an hour":        {times(1, fails(429, `slow down`, "Retry-After", "3600")), RateLimited, time.Hour, false},
		"500":                 {times(4, fails(500, `oops`)), ServerError, 0, false},
		"503":                 {times(4, fails(503, `{"error":{"message":"loading model"}}`)), ServerError, 0, false},
		"504":                 {times(4, fails(504, ``)), Timeout, 0, false},
		"reset":               {times(4, reset), Unreachable, 0, false},
		"10 MB": {times(1, func(w http.ResponseWriter, _ asked) {
			begin, end, _ := strings.Cut(good("-"), "-")
			_, _ = io.WriteString(w, begin+strings.Repeat("x", 10_000_000)+end)
		}), TooLong, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, Endpoint{}, tt.steps...)
			text, err := s.ask(t)
			e, ok := errors.AsType[*Error](err)
			if !ok || text != "" {
				t.Fatalf("%.40q, %v", text, err)
			}
			if e.Reason != tt.want || len(s.seen) != len(tt.steps) || e.Wait != tt.wait || e.Reason.Lasting() != tt.last {
				t.Errorf("%v after %d requests, wait %v, lasting %t: %v", e.Reason, len(s.seen), e.Wait, e.Reason.Lasting(), err)
			}
			if len(s.usage) != len(s.seen) || len(s.waits) != len(s.seen)-1 {
				t.Errorf("%d usages, %d waits of %d requests", len(s.usage), len(s.waits), len(s.seen))
			}
			msg := err.Error()
			if !strings.Contains(msg, s.Host()) || !strings.Contains(msg, "by m:") || strings.Contains(msg, key) || strings.Contains(msg, "nobody may") || strings.Contains(msg, "\n") {
				t.Errorf("error %q", msg)
			}
			if e.Reason.Lasting() && e.Hint() == "" {
				t.Error("no next step is named")
			}
		})
	}
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	date := func(d time.Duration) step {
		return func(w http.ResponseWriter, a asked) {
			fails(429, "", "Retry-After", time.Now().Add(d).UTC().Format(http.TimeFormat))(w, a)
		}
	}
	for name, tt := range map[string]struct {
		steps []step
		least []time.Duration // of the waits
	}{
		"500 three times":    {[]step{fails(500, ""), fails(502, ""), fails(503, ""), says(good("x"))}, []time.Duration{firstWait / 2, firstWait, 2 * firstWait}},
		"429, seconds":       {[]step{fails(429, "", "Retry-After", "7"), says(good("x"))}, []time.Duration{7 * time.Second}},
		"429, date":          {[]step{date(20 * time.Second), says(good("x"))}, []time.Duration{15 * time.Second}},
		"blank":              {[]step{says(good("")), says(good("x"))}, []time.Duration{firstWait / 2}},
		"reset":              {[]step{reset, reset, says(good("x"))}, []time.Duration{firstWait / 2, firstWait}},
		"blank lines before": {[]step{says("\n\n\n\n" + good("x"))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, Endpoint{Provider: DeepSeek}, tt.steps...)
			if got, err := s.ask(t); err != nil || got != "x" {
				t.Fatalf("%q, %v", got, err)
			}
			if len(s.waits) != len(tt.least) {
				t.Fatalf("waits %v", s.waits)
			}
			for i, w := range s.waits {
				if w < tt.least[i] || w > lastWait {
					t.Errorf("wait %d is %v", i, w)
				}
			}
		})
	}
}

// What a server refuses and isn't needed is left out, and stays left out.
func TestTheLadder(t *testing.T) {
	for name, tt := range map[string]struct {
		e     Endpoint
		steps []step
		check func(a asked) bool // of the last requests
	}{
		"no schema": {Endpoint{}, []step{fails(400, `{"error":{"message":"response_format json_schema is not supported"}}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.form() == "json_object" }},
		"text only": {Endpoint{}, []step{fails(400, `{"error":"'response_format.type' must be 'text'"}`), fails(422, `response_format: extra fields`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.Format == nil }},
		"LM Studio": {Endpoint{Provider: LMStudio}, []step{fails(400, `{"error":"response_format is not supported"}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.Format == nil }},
		"no provider for it": {Endpoint{}, []step{fails(404, `{"error":{"message":"No endpoints found that support response_format json_schema","code":404}}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.form() == "json_object" }},
		"max_completion_tokens": {Endpoint{}, []step{fails(400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.Max == 0 && a.MaxNew == 1000 }},
		"fewer tokens": {Endpoint{}, []step{fails(400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 512]"}}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.Max == 512 }},
		"temperature": {Endpoint{}, []step{fails(400, `{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}`), says(good("x")), says(good("x"))},
			func(a asked) bool { return a.Heat == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, tt.e, tt.steps...)
			for range 2 {
				if got, err := s.ask(t); err != nil || got != "x" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			if len(s.waits) != 0 || len(s.usage) != len(tt.steps) {
				t.Errorf("waits %v, %d usages", s.waits, len(s.usage))
			}
			for _, a := range s.seen[len(s.seen)-2:] {
				if !tt.check(a) {
					t.Errorf("asked %+v", a)
				}
			}
		})
	}
}

// What a server refuses is understood also if the session speaks of the same.
func TestTheLadderOfASessionAboutIt(t *testing.T) {
	const refusal = "response_format json_schema is not supported by this server"
	s := play(t, Endpoint{}, fails(400, `{"error":{"message":"`+refusal+`"}}`), says(good("x")))
	q := question()
	q.Messages[1].Text = "I get: " + refusal
	if got, err := s.Ask(t.Context(), q, Hooks{}); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// A server that refuses everything is left after some tries.
func TestTheLadderEnds(t *testing.T) {
	no := fails(400, `{"error":{"message":"response_format is not supported"}}`)
	s := play(t, Endpoint{}, no, no, no)
	if _, err := s.ask(t); err == nil || len(s.seen) != 3 {
		t.Errorf("%v after %d", err, len(s.seen))
	}
}

func TestManners(t *testing.T) {
	for _, tt := range []struct {
		provider Provider
		model    string
		form     string
		newLimit bool
		warm     bool
	}{
		{DeepSeek, "deepseek-v4-flash", "json_object", false, false},
		{OpenAI, "gpt-4.1-mini", "json_schema", true, false},
		{OpenAI, "gpt-5.4-mini", "json_schema", true, true},
		{OpenAI, "gpt-6-luna", "json_schema", true, true},
		{OpenAI, "o4-mini", "json_schema", true, true},
		{OpenRouter, "openai/gpt-5-mini", "json_schema", true, true},
		{Ollama, "qwen3:8b", "json_schema", false, false},
		{LMStudio, "m", "json_schema", false, false},
		{VLLM, "m", "json_schema", false, false},
		{DashScope, "qwen-plus", "json_object", false, false},
		{Moonshot, "kimi-k2.6", "json_object", false, false},
		{Custom, "gpt-oss-20b", "json_schema", false, false},
	} {
		s := play(t, Endpoint{Provider: tt.provider, Model: tt.model}, says(good("x")))
		if _, err := s.ask(t); err != nil {
			t.Errorf("%s: %v", tt.model, err)
			continue
		}
		a := s.seen[0]
		if a.form() != tt.form || (a.MaxNew == 1000) != tt.newLimit || (a.Max == 1000) == tt.newLimit || (a.Heat == nil) != tt.warm {
			t.Errorf("%s: %+v", tt.model, a)
		}
	}
}

func TestBeforeRefuses(t *testing.T) {
	s := play(t, Endpoint{}, fails(500, ""))
	stop := errors.New("no more today")
	tries := 0
	_, err := s.Ask(t.Context(), question(), Hooks{Before: func(try int) error {
		if tries++; try == 2 {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || tries != 2 || len(s.seen) != 1 {
		t.Errorf("%v after %d tries, %d requests", err, tries, len(s.seen))
	}
}

func TestGivingUpBetweenTries(t *testing.T) {
	s := play(t, Endpoint{}, fails(500, ""))
	s.wait = func(context.Context, time.Duration) error { return context.Canceled }
	if _, err := s.ask(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
