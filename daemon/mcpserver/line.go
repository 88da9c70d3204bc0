package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// peek is how much of a line that is too long is kept at either end to find
// its id in.
const peek = 4 << 10

// rawLine is one line as it came. Of one that is too long only the ends are kept.
type rawLine struct {
	bytes []byte // without the end of line
	size  int64  // with it; 0: nothing came
	tail  []byte // of a line that is too long
	long  bool
}

// readLine reads up to the next end of line or of the input. Beyond max bytes
// nothing more is held.
func readLine(r *bufio.Reader, max int) (rawLine, error) {
	var l rawLine
	for {
		part, err := r.ReadSlice('\n')
		l.size += int64(len(part))
		switch {
		case l.long:
			l.tail = keepTail(l.tail, part)
		case len(l.bytes)+len(part) > max+1:
			l.long = true
			l.tail = keepTail(keepTail(nil, l.bytes), part)
			head := append(l.bytes, part[:min(len(part), peek)]...)
			l.bytes = bytes.Clone(head[:min(len(head), peek)])
		default:
			l.bytes = append(l.bytes, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return l, err
	}
}

func keepTail(tail, more []byte) []byte {
	if len(more) >= peek {
		return append(tail[:0], more[len(more)-peek:]...)
	}
	tail = append(tail, more...)
	if n := len(tail) - peek; n > 0 {
		tail = append(tail[:0], tail[n:]...)
	}
	return tail
}

// refusal is an answer that the SDK doesn't give.
type refusal struct {
	id      json.RawMessage // nil: null
	code    int
	message string
	data    any
}

func (r *refusal) line() []byte {
	type wireError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, wireError{r.code, r.message, r.data}})
	if err != nil {
		panic(fmt.Sprintf("bug: refusal: %v", err))
	}
	return line
}

func invalid(id json.RawMessage, format string, args ...any) *refusal {
	return &refusal{id: id, code: jsonrpc.CodeInvalidRequest, message: fmt.Sprintf(format, args...)}
}

// envelope is the outside of a message.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// decode makes a message of a line, or says how to refuse it; neither for what
// gets no answer: a blank line, a broken notification.
func decode(l rawLine, initialized bool) (jsonrpc.Message, *refusal) {
	if l.long {
		return nil, invalid(idOf(l), "the message has %d bytes, the limit is %d", l.size, maxLine)
	}
	b := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimLeft(l.bytes, " \t\r\n"), []byte("\xef\xbb\xbf")))
	switch {
	case len(b) == 0:
		return nil, nil
	case !json.Valid(b): // also what is nested deeper than the SDK survives
		return nil, &refusal{code: jsonrpc.CodeParseError, message: "not JSON: send one message a line"}
	case b[0] == '[':
		return nil, invalid(nil, "batches are not supported: send one message a line")
	case b[0] != '{':
		return nil, invalid(nil, "not a message: want an object with jsonrpc, method and id")
	}
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, invalid(nil, "not a message: %v", err)
	}
	if refused, ok := e.check(initialized); !ok {
		return nil, refused
	}
	msg, err := jsonrpc.DecodeMessage(b)
	if err != nil {
		return nil, invalid(e.usableID(), "not a message: %v", err)
	}
	return msg, nil
}

// check tells whether the SDK can be trusted with the message.
func (e *envelope) check(initialized bool) (*refusal, bool) {
	id := e.usableID()
	switch {
	case string(e.Version) != `"2.0"`:
		return invalid(id, `jsonrpc must be "2.0"`), false
	case e.Method == nil && (id == nil || e.Result == nil && e.Error == nil):
		return invalid(id, "neither a request nor an answer: method is missing"), false
	case e.Method == nil:
		return nil, true
	case e.Method[0] != '"':
		return invalid(id, "method must be a string"), false
	case e.ID != nil && id == nil:
		return invalid(e.echoID(), "id must be a string or an integer"), false
	}
	badParams := e.Params != nil && e.Params[0] != '{' && string(e.Params) != "null"
	if e.ID == nil {
		return nil, !badParams // a notification gets no answer, whatever it is
	}
	if badParams {
		return &refusal{id: id, code: jsonrpc.CodeInvalidParams, message: "params must be an object"}, false
	}
	return e.checkVersion(id, initialized)
}

// maxID is the largest integer that survives a float, which is what the SDK
// holds an id in.
const maxID = 1 << 53

// usableID is the id if it can be answered to, else nil.
func (e *envelope) usableID() json.RawMessage {
	if len(e.ID) == 0 {
		return nil
	}
	if e.ID[0] == '"' {
		return e.ID
	}
	if n, err := strconv.ParseInt(string(e.ID), 10, 64); err == nil && n <= maxID && n >= -maxID {
		return e.ID
	}
	return nil
}

// echoID is an id that can't be used but shown to whom it may help: a number
// that a client can read.
func (e *envelope) echoID() json.RawMessage {
	if c := e.ID[0]; c != '-' && (c < '0' || c > '9') {
		return nil
	}
	if _, err := strconv.ParseFloat(string(e.ID), 64); err != nil || len(e.ID) > maxEchoed {
		return nil
	}
	return e.ID
}

// maxEchoed is the length of the longest number that is shown again.
const maxEchoed = 40

// firstModern is the first revision without a handshake.
const firstModern = "2026-07-28"

// checkVersion refuses a version that the request names and nobody agreed on:
// the SDK would take it for a request of the old era.
func (e *envelope) checkVersion(id json.RawMessage, initialized bool) (*refusal, bool) {
	var method string
	var p struct {
		Meta struct {
			Version any `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(e.Method, &method) // a string, as was checked
	_ = json.Unmarshal(e.Params, &p)      // what doesn't fit names no version
	if method == "initialize" || method == "ping" {
		return nil, true
	}
	version, named := p.Meta.Version.(string)
	switch {
	case !named && p.Meta.Version == nil && !initialized:
		return &refusal{id: id, code: jsonrpc.CodeInvalidParams, message: method + ": send initialize first, or name the protocol version in _meta"}, false
	case !named && p.Meta.Version == nil, version >= firstModern, initialized && supported(version):
		return nil, true // the SDK answers what is newer than it knows
	}
	return &refusal{id: id, code: mcp.CodeUnsupportedProtocolVersion, message: "unsupported protocol version",
		data: mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: version}}, false
}

func supported(version string) bool {
	for _, v := range mcp.SupportedProtocolVersions() {
		if v == version {
			return true
		}
	}
	return false
}

// tailID finds an id among the last members of the outermost object. Inside a
// string its quotes would be escaped, inside another object more than one brace
// would follow.
var tailID = pattern.Lazy(`,\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// idOf finds the id of a line that is too long to be parsed.
func idOf(l rawLine) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(l.bytes, []byte("\xef\xbb\xbf"))))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	for {
		key, err := dec.Token()
		if err != nil {
			break // the head ends here
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			break
		}
		if key == "id" {
			e := envelope{ID: v}
			return e.usableID()
		}
	}
	if m := tailID().FindSubmatch(l.tail); m != nil {
		e := envelope{ID: m[1]}
		return e.usableID()
	}
	return nil
}
