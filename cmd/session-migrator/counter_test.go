package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCounter starts an endpoint that counts as Anthropic's does, three tokens for
// eight bytes and eight around, and writes a file with settings for it: counter
// FILE [SETTING…]. What it is sent stands in FILE.sent. While FILE.status is there it answers
// with the status in it.
func cmdCounter(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: counter FILE [SETTING…]")
	}
	file := ts.MkAbs(args[0])
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var ask struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Messages) != 1 || r.Header.Get("X-Api-Key") != "sk-test" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		f, err := os.OpenFile(file+".sent", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		fmt.Fprintf(f, "%s: %s\n", ask.Model, ask.Messages[0].Content)
		if status, err := os.ReadFile(file + ".status"); err == nil {
			var code int
			_, _ = fmt.Sscan(string(status), &code)
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(code)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]int{"input_tokens": len(ask.Messages[0].Content)*3/8 + 8})
	}))
	ts.Defer(s.Close)
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, "[counting]\nvendors = [\"anthropic\"]\nbase_url = { anthropic = %q }\n%s\n", s.URL, strings.Join(args[1:], "\n")), 0o600))
}
