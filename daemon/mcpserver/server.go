package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// server is what the tools share.
type server struct {
	deps      Deps
	log       *slog.Logger
	env       func(string) string
	workspace string // key of the only workspace to answer from; empty: all
	cache     *cache
	index     index
	pages     pages
	tools     []*tool
	now       func() time.Time
}

func newServer(d Deps) *server {
	s := &server{deps: d, log: d.Log, env: d.Env, now: time.Now}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.env == nil {
		s.env = func(string) string { return "" }
	}
	if d.Workspace != "" {
		s.workspace = transcript.WorkspaceKey(d.Workspace)
	}
	s.cache = newCache(d, s.log)
	s.index = index{path: d.SearchPath, log: s.log}
	s.pages = pages{now: time.Now}
	s.tools = tools(d.Spool != "")
	return s
}

func (s *server) close() {
	s.index.close()
	s.cache.close()
}

// tool is one question that agents ask.
type tool struct {
	name, title, description string
	input                    string // JSON schema: one flat object
	output                   string // JSON schema of the data; empty: text only
	search                   string // words a client may find it by
	writes                   bool   // it doesn't only read
	paged                    bool   // answers are pages that clients shouldn't cut
	params                   []param
	run                      func(context.Context, *server, call) (result, error)
}

// call is one request to a tool.
type call struct {
	tool   *tool
	args   args
	caller caller
}

// result is what goes back: text, and for tools with data the same as data.
type result struct {
	text   string
	data   json.RawMessage // an object; nil: text only
	failed bool            // text says what the model can do about it
}

// dataResult gives data in both forms.
func dataResult(v any) (result, error) {
	data, err := marshal(v)
	if err != nil {
		return result{}, err
	}
	return result{text: perLine(data), data: data}, nil
}

func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write an answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// perLine sets every element of the object's lists on its own line: still the
// same JSON, and readable.
func perLine(data []byte) string {
	var b bytes.Buffer
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\':
			b.WriteByte(c)
			i++
			c = data[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth == 2 {
				b.WriteByte('\n')
			}
			depth++
		case c == '}' || c == ']':
			depth--
		}
		b.WriteByte(c)
	}
	return b.String()
}

// busyTries and busyPause are how often and how far apart a busy cache is asked.
const (
	busyTries = 3
	busyPause = 100 * time.Millisecond
)

// call runs a tool. Whatever goes wrong becomes text that says what to do next.
func (s *server) call(ctx context.Context, t *tool, raw json.RawMessage, who caller) result {
	r, err := s.ask(ctx, t, raw, who)
	if err != nil {
		r = result{text: s.told(ctx, t.name, err), failed: true}
	}
	return s.dated(r)
}

// dated says in an answer that this process is not what is installed any more.
// Clients keep a server as long as they live, for days.
func (s *server) dated(r result) result {
	if s.deps.Updated == nil {
		return r
	}
	note := s.deps.Updated()
	if note == "" {
		return r
	}
	note += "; restart this MCP server or the agent to use it"
	field, err := marshal(note)
	if err != nil || r.data == nil {
		r.text = note + ".\n" + r.text
		return r
	}
	r.data = slices.Concat(bytes.TrimSuffix(r.data, []byte("}")), []byte(`,"update":`), field, []byte("}"))
	r.text = perLine(r.data)
	return r
}

// ask runs a tool, more than once if the cache is busy.
func (s *server) ask(ctx context.Context, t *tool, raw json.RawMessage, who caller) (result, error) {
	a, err := parseArgs(t, raw)
	if err != nil {
		return result{}, err
	}
	c := call{tool: t, args: a, caller: who}
	for try := 1; ; try++ {
		r, err := t.run(ctx, s, c)
		if !errors.Is(err, store.ErrBusy) || try == busyTries {
			return r, err
		}
		select {
		case <-ctx.Done():
			return result{}, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

// told gives the text of an error, and tells whom else it concerns.
func (s *server) told(ctx context.Context, what string, err error) string {
	if errors.Is(err, store.ErrDamaged) && s.deps.Damaged != nil {
		s.deps.Damaged(err)
	}
	text, ours := s.explain(ctx, err)
	if ours {
		s.log.Error("request failed", "method", what, "err", err)
	}
	return text
}

// tool finds a tool that there is.
func (s *server) tool(name string) *tool {
	for _, t := range s.tools {
		if t.name == name {
			return t
		}
	}
	panic("bug: no tool " + name)
}
