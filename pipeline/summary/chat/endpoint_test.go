package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEndpoints(t *testing.T) {
	for name, tt := range map[string]struct {
		e     Endpoint
		host  string
		local bool
		err   error
	}{
		"local":          {Endpoint{Provider: Ollama, Model: "m"}, "127.0.0.1:11434", true, nil},
		"no model":       {Endpoint{Provider: Ollama}, "127.0.0.1:11434", true, ErrOptions},
		"remote":         {Endpoint{Provider: DeepSeek, Key: key}, "api.deepseek.com", false, ErrRemote},
		"remote allowed": {Endpoint{Provider: DeepSeek, Key: key, AllowRemote: true}, "api.deepseek.com", false, nil},
		"custom":         {Endpoint{BaseURL: "http://localhost:9/v1/", Model: "m"}, "localhost:9", true, nil},
		"no URL":         {Endpoint{Model: "m"}, "", false, ErrOptions},
		"key in the URL": {Endpoint{BaseURL: "https://u:p@api.example.com/v1", Model: "m", AllowRemote: true}, "", false, ErrOptions},
		"not encrypted":  {Endpoint{BaseURL: "http://api.example.com/v1", Model: "m", Key: key, AllowRemote: true}, "api.example.com", false, ErrOptions},
	} {
		host, local, err := tt.e.Check()
		if host != tt.host || local != tt.local || !errors.Is(err, tt.err) || err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %q, %t, %v", name, host, local, err)
		}
		if c, nerr := New(tt.e); (nerr == nil) != (err == nil) || c != nil && (c.Host() != host || c.Local() != local) {
			t.Errorf("%s: New says %v", name, nerr)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: the key is told", name)
		}
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	e := Endpoint{Provider: DeepSeek, Key: key, Model: "m"}.Fill()
	for _, f := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(f, struct{ E Endpoint }{e}); strings.Contains(got, key) || !strings.Contains(got, "api.deepseek.com") {
			t.Errorf("%s: %s", f, got)
		}
	}
}

func TestProviders(t *testing.T) {
	for name, env := range map[string]string{"deepseek": "DEEPSEEK_API_KEY", "openai": "OPENAI_API_KEY", "ollama": "", "lmstudio": "", "vllm": "",
		"dashscope": "DASHSCOPE_API_KEY", "moonshot": "MOONSHOT_API_KEY", "openrouter": "OPENROUTER_API_KEY", "custom": ""} {
		p, err := ParseProvider(name)
		if err != nil || p.String() != name || p.KeyEnv() != env {
			t.Errorf("%s: %v, %v, %s", name, p, err, p.KeyEnv())
		}
	}
	if _, err := ParseProvider("azure"); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "deepseek") {
		t.Errorf("got %v", err)
	}
}

// Every reason has its words.
func TestWords(t *testing.T) {
	for r := NoChoices; r <= Unreachable; r++ {
		if words[r].name == "" || words[r].what == "" || r.Lasting() && (r.passes() || words[r].hint == "") {
			t.Errorf("%d: %+v", r, words[r])
		}
	}
}

func TestWindow(t *testing.T) {
	for name, tt := range map[string]struct {
		provider Provider
		model    string
		answers  map[string]string // by path
		want     int
		hint     string
	}{
		"Ollama, loaded":      {Ollama, "qwen3", map[string]string{"/api/ps": `{"models":[{"name":"other","context_length":9},{"name":"qwen3:latest","model":"qwen3:latest","context_length":32768}]}`}, 32768, ""},
		"Ollama, Modelfile":   {Ollama, "qwen3", map[string]string{"/api/ps": `{"models":[]}`, "/api/show": `{"parameters":"stop \"x\"\nnum_ctx                        16384\n","model_info":{"qwen3.context_length":262144}}`}, 16384, ""},
		"Ollama, not told":    {Ollama, "qwen3", map[string]string{"/api/ps": `{"models":[]}`, "/api/show": `{"model_info":{"qwen3.context_length":262144}}`}, 0, "OLLAMA_CONTEXT_LENGTH"},
		"Ollama, not there":   {Ollama, "qwen3", nil, 0, "OLLAMA_CONTEXT_LENGTH"},
		"LM Studio":           {LMStudio, "q", map[string]string{"/api/v0/models": `{"data":[{"id":"q","loaded_context_length":8192,"max_context_length":262144}]}`}, 8192, ""},
		"vLLM":                {VLLM, "q", map[string]string{"/v1/models": `{"data":[{"id":"q","max_model_len":40960}]}`}, 40960, ""},
		"others aren't asked": {Custom, "q", map[string]string{"/v1/models": `{"data":[{"id":"q","max_model_len":40960}]}`}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := tt.answers[r.URL.Path]
				if !ok {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, body)
			}))
			defer s.Close()
			c, err := New(Endpoint{Provider: tt.provider, BaseURL: s.URL + "/v1", Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if n, hint := c.Window(t.Context()); n != tt.want || (hint == "") != (tt.hint == "") || !strings.Contains(hint, tt.hint) {
				t.Errorf("%d, %q", n, hint)
			}
		})
	}
}

// pipes is a network within the bubble of a synctest.
type pipes struct {
	net.Listener
	conns chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A server that says nothing, or one byte a second, has CallFor, and no more.
func TestSilenceEnds(t *testing.T) {
	for name, serve := range map[string]func(w http.ResponseWriter, r *http.Request){
		"hang": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then is it seen that the client left
			<-r.Context().Done()
		},
		"drip": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second): // by the bubble's clock
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Endpoint{BaseURL: "http://127.0.0.1:1/v1", Model: "m", Tries: 2})
				if err != nil {
					t.Fatal(err)
				}
				p := pipes{conns: make(chan net.Conn)}
				srv := &http.Server{Handler: http.HandlerFunc(serve)}
				done := make(chan error, 1)
				go func() { done <- srv.Serve(p) }()
				c.wire.Base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					a, b := net.Pipe()
					select {
					case p.conns <- b:
						return a, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				began := time.Now()
				_, err = c.Ask(t.Context(), question(), Hooks{})
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Reason != Timeout {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took < 2*CallFor+firstWait/2 || took > 2*CallFor+2*firstWait {
					t.Errorf("took %v", took)
				}
				c.Close()
				close(p.conns)
				_ = srv.Close()
				<-done
			})
		})
	}
}
