//go:build e2e

package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// bridge is an HTTP server before one that speaks on stdin and stdout: the
// suite knows HTTP only. Requests without a handshake share a process, every
// handshake gets its own.
type bridge struct {
	t    *testing.T
	argv []string
	env  string

	mu       sync.Mutex // guards the rest
	shared   *child
	sessions map[string]*child
	ids      int
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	switch r.Method {
	case http.MethodPost:
		var m map[string]any
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.post(w, r, session, m)
	case http.MethodDelete:
		b.mu.Lock()
		c := b.sessions[session]
		delete(b.sessions, session)
		b.mu.Unlock()
		if c == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		c.close()
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

const versionKey = "io.modelcontextprotocol/protocolVersion"

func metaOf(m map[string]any, part string) map[string]any {
	p, _ := m[part].(map[string]any)
	meta, _ := p["_meta"].(map[string]any)
	return meta
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request, session string, m map[string]any) {
	method, _ := m["method"].(string)
	_, modern := metaOf(m, "params")[versionKey]
	if header := r.Header.Get("Mcp-Protocol-Version"); modern && header != metaOf(m, "params")[versionKey] { // HTTP's alone
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m["id"], "error": map[string]any{"code": -32020, "message": "the header names another version"}})
		return
	}
	modern = modern || strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026")
	c := b.child(w, session, method, modern)
	if c == nil {
		code := http.StatusBadRequest
		if session != "" {
			code = http.StatusNotFound
		}
		w.WriteHeader(code)
		return
	}
	own, isCall := m["id"]
	if !isCall || method == "" {
		c.send(m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	key := own
	if modern { // many clients in one: their ids may be the same
		b.mu.Lock()
		b.ids++
		key = fmt.Sprintf("bridge %d", b.ids)
		b.mu.Unlock()
	}
	m["id"] = key
	answers := c.await(key, metaOf(m, "params")["progressToken"])
	defer c.forget(key)
	c.send(m)
	b.relay(w, r, c, answers, own, key, method, modern)
}

// relay gives an answer as one, and what comes before it as a stream.
func (b *bridge) relay(w http.ResponseWriter, r *http.Request, c *child, answers <-chan map[string]any, own, key any, method string, modern bool) {
	flush := http.NewResponseController(w)
	streaming := false
	for {
		select {
		case <-r.Context().Done():
			if modern {
				c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": key, "_meta": map[string]any{versionKey: "2026-07-28"}}})
			}
			return
		case a, ok := <-answers:
			if !ok {
				return
			}
			_, notice := a["method"]
			if a["id"] == key && !notice {
				a["id"] = own
			}
			for _, part := range []string{"params", "result"} {
				if meta := metaOf(a, part); meta[subscriptionKey] == key {
					meta[subscriptionKey] = own
				}
			}
			text, _ := json.Marshal(a)
			if !notice && !streaming {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status(a, method, modern))
				_, _ = w.Write(text)
				return
			}
			if !streaming {
				w.Header().Set("Content-Type", "text/event-stream")
				streaming = true
			}
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
			_ = flush.Flush()
			if !notice {
				return
			}
		}
	}
}

// status is how HTTP tells of an error of the protocol.
func status(a map[string]any, method string, modern bool) int {
	e, _ := a["error"].(map[string]any)
	code, failed := e["code"].(float64)
	switch {
	case !modern || !failed:
	case code == -32601:
		return http.StatusNotFound
	case code == -32022, code == -32021:
		return http.StatusBadRequest
	case method == "tools/call" || method == "resources/read" || method == "prompts/get":
	case code == -32602, code == -32600:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (b *bridge) child(w http.ResponseWriter, session, method string, modern bool) *child {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case modern && b.shared == nil:
		b.shared = b.start()
		return b.shared
	case modern:
		return b.shared
	case method == "initialize":
		b.ids++
		id := fmt.Sprintf("session-%d", b.ids)
		b.sessions[id] = b.start()
		w.Header().Set("Mcp-Session-Id", id)
		return b.sessions[id]
	}
	return b.sessions[session]
}

func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shared != nil {
		b.shared.close()
	}
	for _, c := range b.sessions {
		c.close()
	}
}

// child is a server process.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex // guards the rest, and writing to in
	waiting map[string]chan map[string]any
	tokens  map[string]string // of progress, and whose they are
	order   []string
}

func (b *bridge) start() *child {
	c := &child{cmd: exec.Command(b.argv[0], b.argv[1:]...), waiting: map[string]chan map[string]any{}, tokens: map[string]string{}}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), b.env), os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		b.t.Error(err)
		return nil
	}
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		b.t.Error(err)
		return nil
	}
	c.in = in
	go c.read(b.t, out)
	return c
}

func named(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func (c *child) await(key, token any) <-chan map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := named(key)
	c.waiting[k] = make(chan map[string]any, 100)
	c.order = append(c.order, k)
	if token != nil {
		c.tokens[named(token)] = k
	}
	return c.waiting[k]
}

func (c *child) forget(key any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, named(key))
}

func (c *child) send(m map[string]any) {
	text, _ := json.Marshal(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.in.Write(append(text, '\n')) // one that has ended answers nothing: the suite says so
}

func (c *child) read(t *testing.T, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Errorf("not a message: %.200q", line)
			continue
		}
		c.mu.Lock()
		if ch := c.waiting[c.whose(m)]; ch != nil {
			ch <- m
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.waiting {
		close(ch)
	}
}

// whose names the request that a message belongs to: the newest where nothing
// says.
func (c *child) whose(m map[string]any) string {
	if _, notice := m["method"]; !notice {
		return named(m["id"])
	}
	if id, ok := metaOf(m, "params")[subscriptionKey]; ok {
		return named(id)
	}
	params, _ := m["params"].(map[string]any)
	if k, ok := c.tokens[named(params["progressToken"])]; ok {
		return k
	}
	for i := len(c.order) - 1; i >= 0; i-- {
		if c.waiting[c.order[i]] != nil {
			return c.order[i]
		}
	}
	return ""
}

func (c *child) close() {
	_ = c.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait()
}
