package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message. An array of messages to migrate may be 8 MB, and
// escapes may double it.
const maxLine = 16 << 20

// transport reads messages, one a line, and writes answers. What is no message
// is answered with an error and costs nothing else: most clients never start a
// server again that ended.
type transport struct {
	in    io.Reader
	lines chan rawLine

	halting sync.Once
	stop    chan struct{} // closed by halt
	closing sync.Once
	closed  chan struct{} // closed by Close
	drained chan struct{} // closed when reading is over

	writing sync.Mutex // guards out
	out     io.Writer
	log     *slog.Logger

	mu          sync.Mutex // guards the fields below
	initialized bool
	pending     map[any]struct{} // ids of calls without an answer
	idle        chan struct{}    // not nil while someone waits for no pending
}

func newTransport(in io.Reader, out io.Writer, log *slog.Logger) *transport {
	return &transport{
		in: in, out: out, log: log, lines: make(chan rawLine),
		stop: make(chan struct{}), closed: make(chan struct{}), drained: make(chan struct{}),
		pending: map[any]struct{}{},
	}
}

// Connect implements mcp.Transport.
func (t *transport) Connect(context.Context) (mcp.Connection, error) {
	go t.readLines()
	return t, nil
}

// SessionID implements mcp.Connection: stdio has one session without a name.
func (t *transport) SessionID() string { return "" }

// Close implements mcp.Connection.
func (t *transport) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}

// halt ends reading; calls under way get their grace.
func (t *transport) halt() { t.halting.Do(func() { close(t.stop) }) }

// readLines owns lines.
func (t *transport) readLines() {
	defer close(t.lines)
	r := bufio.NewReaderSize(t.in, 64<<10)
	for {
		l, err := readLine(r, maxLine)
		if l.size > 0 {
			select {
			case t.lines <- l:
			case <-t.closed:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.log.Warn("input ended", "err", err)
			}
			return
		}
	}
}

// Read implements mcp.Connection.
func (t *transport) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l, ok := <-t.lines:
			if !ok {
				return nil, t.end(EndGrace)
			}
			msg, refusal := t.accept(l)
			if refusal != nil {
				_ = t.put(refusal) // put halts where the client is gone: the next round ends
			}
			if msg != nil {
				return msg, nil
			}
		case <-t.stop:
			return nil, t.end(stopGrace)
		case <-t.closed:
			return nil, t.end(0)
		}
	}
}

// accept makes a message of a line, or the line that refuses it, or neither.
func (t *transport) accept(l rawLine) (jsonrpc.Message, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	msg, refused := decode(l, t.initialized)
	if refused != nil {
		return nil, refused.line()
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return msg, nil
	}
	switch req.Method {
	case "initialize":
		t.initialized = true
	case "subscriptions/listen": // stays open for as long as the client does
		req.Params = withListenID(req.Params, req.ID)
		return msg, nil
	}
	t.pending[req.ID.Raw()] = struct{}{}
	return msg, nil
}

// withListenID puts the id of a request among what it says of itself: the SDK
// hands on no id, and notices must name it.
func withListenID(params json.RawMessage, id jsonrpc.ID) json.RawMessage {
	var all, meta map[string]any
	if json.Unmarshal(params, &all) != nil || all == nil {
		return params // the SDK refuses it
	}
	if meta, _ = all["_meta"].(map[string]any); meta == nil {
		return params
	}
	meta[listenID] = id.Raw()
	out, err := json.Marshal(all)
	if err != nil {
		return params
	}
	return out
}

// notify writes a notice.
func (t *transport) notify(n notice) {
	line, err := n.line()
	if err != nil {
		t.log.Error("write a notice", "err", err)
		return
	}
	_ = t.put(line) // put halts where the client is gone
}

// end waits until every call has its answer or the grace is over.
func (t *transport) end(grace time.Duration) error {
	t.mu.Lock()
	idle := make(chan struct{})
	if len(t.pending) == 0 {
		close(idle)
	} else {
		t.idle = idle
	}
	t.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-t.stop:
		// A signal after the end of input, or the reason to be here.
		select {
		case <-idle:
		case <-timer.C:
		case <-time.After(stopGrace):
		}
	}
	select {
	case <-t.drained:
	default:
		close(t.drained)
	}
	return io.EOF
}

// Write implements mcp.Connection.
func (t *transport) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, isResponse := msg.(*jsonrpc.Response)
	if isResponse && resp.Error != nil {
		resp.Error = coded(resp.Error)
	}
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	err = t.put(line)
	if isResponse {
		t.mu.Lock()
		delete(t.pending, resp.ID.Raw())
		if len(t.pending) == 0 && t.idle != nil {
			close(t.idle)
			t.idle = nil
		}
		t.mu.Unlock()
	}
	return err
}

// put writes one line. A reader that is gone ends the server.
func (t *transport) put(line []byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if _, err := t.out.Write(append(line, '\n')); err != nil {
		t.halt()
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// coded gives an error of the SDK that has no code the one of a bad request:
// ours have one.
func coded(err error) error {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	}
	if wire.Code == 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error(), Data: wire.Data}
	}
	return err
}
