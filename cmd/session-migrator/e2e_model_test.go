//go:build e2e

package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// listener is a model that answers every request with the same words and keeps
// what it was shown. It speaks OpenAI Responses, OpenAI chat completions, Anthropic
// Messages and Gemini generateContent.
type listener struct {
	url   string
	mu    sync.Mutex // guards the rest
	n     int
	say   string
	shown []string // the texts of each request, one below the other
	other []string // requests that are none of these, as METHOD PATH
}

const said = "done"

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{say: said}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

// says sets the answer from now on.
func (l *listener) says(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say = text
}

// texts gives what each request showed.
func (l *listener) texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.shown...)
}

// asides gives the requests that were none to a model.
func (l *listener) asides() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.other...)
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var answer func(http.ResponseWriter, bool)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/responses"):
		answer = l.responses
	case strings.HasSuffix(path, "/chat/completions"):
		answer = l.chat
	case strings.HasSuffix(path, "/messages"):
		answer = l.messages
	case strings.Contains(strings.ToLower(path), "generatecontent"):
		answer = l.gemini
	}
	if r.Method != http.MethodPost || answer == nil {
		l.other = append(l.other, r.Method+" "+r.URL.Path)
		l.aside(w, r.URL.Path)
		return
	}
	var body any
	if err := decode(r, &body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.n++
	l.shown = append(l.shown, strings.Join(stringsIn(nil, body), "\n"))
	stream := strings.Contains(strings.ToLower(r.URL.Path), "stream")
	if m, ok := body.(map[string]any); ok && m["stream"] == true {
		stream = true
	}
	answer(w, stream)
}

// aside answers what clients ask beside the dialogue.
func (l *listener) aside(w http.ResponseWriter, path string) {
	switch {
	case strings.HasSuffix(path, "/models"):
		reply(w, map[string]any{"object": "list", "data": []any{}, "models": []any{}, "has_more": false})
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, map[string]any{"input_tokens": 10})
	case strings.Contains(path, "countTokens"):
		reply(w, map[string]any{"totalTokens": 10})
	default:
		http.Error(w, "not here", http.StatusNotFound)
	}
}

func (l *listener) responses(w http.ResponseWriter, _ bool) {
	s := &script{n: l.n}
	s.answer(w, s.item(step{say: l.say}, nil))
}

func (l *listener) chat(w http.ResponseWriter, stream bool) {
	base := func(object string, choice map[string]any) map[string]any {
		choice["index"] = 0
		return map[string]any{"id": fmt.Sprintf("c%d", l.n), "object": object, "created": 1, "model": "scripted", "choices": []any{choice},
			"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	}
	msg := map[string]any{"role": "assistant", "content": l.say}
	if !stream {
		reply(w, base("chat.completion", map[string]any{"message": msg, "finish_reason": "stop"}))
		return
	}
	events(w, base("chat.completion.chunk", map[string]any{"delta": msg, "finish_reason": nil}),
		base("chat.completion.chunk", map[string]any{"delta": map[string]any{}, "finish_reason": "stop"}))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (l *listener) messages(w http.ResponseWriter, stream bool) {
	msg := map[string]any{"id": fmt.Sprintf("msg_%d", l.n), "type": "message", "role": "assistant", "model": "scripted", "stop_sequence": nil,
		"content": []any{map[string]any{"type": "text", "text": l.say}}, "stop_reason": "end_turn", "usage": map[string]any{"input_tokens": 10, "output_tokens": 5}}
	if !stream {
		reply(w, msg)
		return
	}
	msg["content"], msg["stop_reason"] = []any{}, nil
	events(w, map[string]any{"type": "message_start", "message": msg},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": l.say}},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 5}},
		map[string]any{"type": "message_stop"})
}

func (l *listener) gemini(w http.ResponseWriter, stream bool) {
	part := map[string]any{"role": "model", "parts": []any{map[string]any{"text": l.say}}}
	out := map[string]any{"candidates": []any{map[string]any{"content": part, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "scripted"}
	if stream {
		events(w, out)
		return
	}
	reply(w, out)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events writes a stream of server-sent events; those with a type are named by
// it.
func events(w http.ResponseWriter, list ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		if name, ok := e["type"]; ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		text, _ := json.Marshal(e)
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

func decode(r *http.Request, v any) error {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = z
	}
	return json.NewDecoder(in).Decode(v)
}

// stringsIn collects the texts of a JSON value.
func stringsIn(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, e := range v {
			list = stringsIn(list, e)
		}
	case map[string]any:
		for _, e := range v {
			list = stringsIn(list, e)
		}
	}
	return list
}
