package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSummarizer answers as a model does, on this machine, until the script ends,
// and writes settings that name it: summarizer FILE. What it is sent is added to
// FILE.sent; while there is a FILE.says its text is the answer.
func cmdSummarizer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: summarizer FILE")
	}
	file := ts.MkAbs(args[0])
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var ask struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Messages) == 0 {
			http.Error(w, "no question", http.StatusNotFound) // windows are asked for, too
			return
		}
		f, err := os.OpenFile(file+".sent", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		for _, m := range ask.Messages {
			fmt.Fprintf(f, "--- %s\n%s\n", m.Role, m.Content)
		}
		says := `{"title":"Berths","state":"in_progress","goal":"No berth is booked twice","decisions":[{"what":"Bookings are locked","why":"two clerks","turn":1}],"next":[{"step":"Book berth 12","turn":1}]}`
		if text, err := os.ReadFile(file + ".says"); err == nil {
			says = string(text)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []map[string]any{{"message": map[string]string{"role": "assistant", "content": says}, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 900, "completion_tokens": 80},
		})
	}))
	ts.Defer(s.Close)
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, "[summaries]\nendpoint = %q\nmodel = \"harbour\"\nmin_turns = 1\nquiet = \"0s\"\nwindow = 32000\nusd_per_million_input = 1\nusd_per_million_output = 10\n", s.URL+"/v1"), 0o600))
}
