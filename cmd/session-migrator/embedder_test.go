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

// cmdEmbedder starts an endpoint for embeddings until the script ends, and
// writes a file with settings for it: embedder FILE. To it berths and moorings
// are one thing and all else another. What it is sent stands in FILE.sent.
func cmdEmbedder(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: embedder FILE")
	}
	file := ts.MkAbs(args[0])
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var ask struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f, err := os.OpenFile(file+".sent", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer f.Close()
		var data []map[string]any
		for i, text := range ask.Input {
			fmt.Fprintln(f, text)
			text = strings.ToLower(text)
			harbour := strings.Count(text, "berth") + strings.Count(text, "mooring")
			data = append(data, map[string]any{"index": i, "embedding": []float64{float64(harbour), 0.5}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": 7 * len(ask.Input)}})
	}))
	ts.Defer(s.Close)
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, "[embeddings]\nprovider = \"custom\"\nbase_url = %q\nmodel = \"harbour\"\nusd_per_million_tokens = 10\n", s.URL+"/v1"), 0o600))
}
