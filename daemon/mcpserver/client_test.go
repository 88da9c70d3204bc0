package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modernMeta is what a client without a handshake sends with every request.
var modernMeta = map[string]any{
	"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
	"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
	"io.modelcontextprotocol/clientCapabilities": map[string]any{},
}

// answer is a message from the server.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

// client speaks to a server over pipes, line by line.
type client struct {
	t      testing.TB
	in     *io.PipeWriter
	lines  *bufio.Reader
	done   chan error
	meta   map[string]any
	nextID int
}

// connect starts a server; the test's end stops it and checks that it ended well.
func connect(t testing.TB, d mcpserver.Deps) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{t: t, in: toServer, lines: bufio.NewReaderSize(fromServer, 1<<20), done: make(chan error, 1)}
	go func() {
		err := mcpserver.Serve(ctx, d, in, out)
		out.Close()
		c.done <- err
	}()
	t.Cleanup(func() {
		toServer.Close()
		fromServer.Close()
		if err := <-c.done; err != nil {
			t.Errorf("serve: %v", err)
		}
		stop()
	})
	return c
}

// legacy connects and shakes hands.
func legacy(t testing.TB, d mcpserver.Deps) *client {
	t.Helper()
	c := connect(t, d)
	a := c.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "0"}})
	if a.Error != nil {
		t.Fatalf("initialize: %+v", a.Error)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// modern connects without a handshake.
func modern(t testing.TB, d mcpserver.Deps) *client {
	t.Helper()
	c := connect(t, d)
	c.meta = modernMeta
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// receive gives the next message; every line must be one.
func (c *client) receive() answer {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil || a.Version != "2.0" {
		c.t.Fatalf("not a message: %q (%v)", line, err)
	}
	return a
}

func (c *client) request(method string, params map[string]any) answer {
	c.t.Helper()
	c.nextID++
	if c.meta != nil {
		if params == nil {
			params = map[string]any{}
		}
		if _, own := params["_meta"]; !own {
			params["_meta"] = c.meta
		}
	}
	m := map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": method}
	if params != nil {
		m["params"] = params
	}
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(b))
	a := c.receive()
	if a.ID != float64(c.nextID) {
		c.t.Fatalf("answer to %v, want %d", a.ID, c.nextID)
	}
	if _, modern := c.meta["io.modelcontextprotocol/protocolVersion"]; modern && a.Error == nil && !bytes.Contains(a.Result, []byte(`"resultType":"complete"`)) {
		c.t.Errorf("%s: not said to be complete, which this era requires: %s", method, a.Result)
	}
	return a
}

// toolResult is the answer of a tool.
type toolResult struct {
	Content []struct {
		Type, Text string
	}
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r toolResult) text() string { return r.Content[0].Text }

// tool calls a tool; args is JSON.
func (c *client) tool(name, args string) toolResult {
	c.t.Helper()
	a := c.request("tools/call", map[string]any{"name": name, "arguments": json.RawMessage(args)})
	if a.Error != nil {
		c.t.Fatalf("%s: %+v", name, a.Error)
	}
	var r toolResult
	if err := json.Unmarshal(a.Result, &r); err != nil {
		c.t.Fatal(err)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		c.t.Fatalf("%s: content %+v", name, r.Content)
	}
	return r
}

// good is tool for a call that must succeed.
func (c *client) good(name, args string) toolResult {
	c.t.Helper()
	r := c.tool(name, args)
	if r.IsError {
		c.t.Fatalf("%s %s: %s", name, args, r.text())
	}
	return r
}

// data is good for tools with data; it goes into v.
func (c *client) data(name, args string, v any) {
	c.t.Helper()
	r := c.good(name, args)
	if err := json.Unmarshal(r.Structured, v); err != nil {
		c.t.Fatalf("%s: %v in %s", name, err, r.Structured)
	}
}

// refused calls a tool that must fail with all of the words.
func (c *client) refused(name, args string, words ...string) {
	c.t.Helper()
	r := c.tool(name, args)
	if !r.IsError {
		c.t.Errorf("%s %s succeeded: %s", name, args, r.text())
		return
	}
	for _, w := range words {
		if !strings.Contains(r.text(), w) {
			c.t.Errorf("%s %s: %q lacks %q", name, args, r.text(), w)
		}
	}
}

// world is a home of Codex and the cache made of it.
type world struct {
	t    testing.TB
	home string
	db   string
}

func newWorld(t testing.TB, rollouts ...*rollouttest.Rollout) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), db: filepath.Join(t.TempDir(), "cache.db")}
	for _, r := range rollouts {
		w.write(r)
	}
	w.ingest()
	return w
}

func (w *world) write(r *rollouttest.Rollout) {
	w.t.Helper()
	path := filepath.Join(w.home, r.Path())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, r.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// ingest does what the daemon does.
func (w *world) ingest() {
	w.t.Helper()
	ctx := w.t.Context()
	db, err := store.Open(ctx, w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	p, err := pipeline.New(ctx, db, pipeline.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	files, _, err := watch.List(ctx, w.home) // that there is no archive is no matter
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range files {
		_, err := p.Ingest(ctx, store.File{RolloutID: f.Name.RolloutID, ThreadID: f.Name.ThreadID, Stamp: f.Name.Stamp, Home: w.home, Path: f.Path,
			Form: store.Form(f.Name.Form), Archived: f.Archived, Size: f.Size, ModTimeNs: f.ModTime.UnixNano()})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// deps serve from the world's cache, started in the folder of its sessions.
func (w *world) deps() mcpserver.Deps {
	return mcpserver.Deps{
		OpenStore: func(ctx context.Context) (*store.DB, error) { return store.OpenReader(ctx, w.db) },
		Version:   "1.2.3", Cwd: "/home/dana/proj",
	}
}
