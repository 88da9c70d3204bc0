package rollout

import (
	"bytes"
	"fmt"
)

// Need says how much of a line Parser.Line has to see.
type Need uint8

// The needs.
const (
	NeedAll  Need = iota + 1
	NeedHead      // the first HeadSize bytes
	NeedNone      // nothing but the first bytes that Classify saw
)

var needNames = [...]string{"", "all", "head", "none"}

// String gives the name used in logs and tests.
func (n Need) String() string {
	if int(n) < len(needNames) && n > 0 {
		return needNames[n]
	}
	return fmt.Sprintf("need(%d)", uint8(n))
}

// MarshalText implements encoding.TextMarshaler.
func (n Need) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// HeadSize is how much of a line NeedHead asks for, in bytes.
const HeadSize = 64 << 10

// recordStart begins every record of the enveloped eras. Inside a string its
// quotes would be escaped.
var recordStart = []byte(`{"timestamp":"`)

// Restart gives what every record of the enveloped eras begins with. A line
// that holds it behind its start must be given to Parser.Line whole.
func Restart() []byte { return bytes.Clone(recordStart) }

// head is what the first bytes of a line tell, as all versions order them:
//
//	{"timestamp":"…",["ordinal":N,]"type":"T","payload":{["type":"S",]…
type head struct {
	stamp   []byte // between its quotes
	ordinal int64  // -1 where there is none
	kind    string // line type
	sub     string // payload type; empty for the line types that have none
	rest    int    // where the payload goes on
}

// name says what kind of line it is the head of.
func (h *head) name() string {
	if h.sub == "" {
		return h.kind
	}
	return h.kind + "/" + h.sub
}

// parseHead reads the head; false if the line doesn't begin like one.
func parseHead(b []byte) (h head, ok bool) {
	h.ordinal = -1
	if !bytes.HasPrefix(b, recordStart) {
		return h, false
	}
	i := len(recordStart)
	end := bytes.IndexByte(b[i:min(len(b), i+64)], '"')
	if end < 0 {
		return h, false
	}
	h.stamp = b[i : i+end]
	if bytes.IndexByte(h.stamp, '\\') >= 0 {
		return h, false
	}
	i += end + 1
	if j, found := literal(b, i, `,"ordinal":`); found {
		from := j
		for j < len(b) && j-from < 15 && b[j] >= '0' && b[j] <= '9' {
			j++
		}
		n, good := digits(b[from:j])
		if !good || j == from || b[from] == '0' && j-from > 1 {
			return h, false
		}
		h.ordinal, i = int64(n), j
	}
	if i, ok = literal(b, i, `,"type":"`); !ok {
		return h, false
	}
	if h.kind, i, ok = name(b, i); !ok {
		return h, false
	}
	if i, ok = literal(b, i, `,"payload":{`); !ok {
		return h, false
	}
	if j, found := literal(b, i, `"type":"`); found {
		if h.sub, i, ok = name(b, j); !ok {
			return h, false
		}
	}
	h.rest = i
	return h, true
}

func literal(b []byte, i int, s string) (int, bool) {
	if len(b)-i < len(s) || string(b[i:i+len(s)]) != s {
		return i, false
	}
	return i + len(s), true
}

// name reads [a-z_]+ and the closing quote.
func name(b []byte, i int) (string, int, bool) {
	from := i
	for i < len(b) && (b[i] >= 'a' && b[i] <= 'z' || b[i] == '_') {
		i++
	}
	if i == from || i >= len(b) || b[i] != '"' {
		return "", i, false
	}
	return known(b[from:i]), i + 1, true
}

// Classify tells from the first bytes of a line (512 are enough, fewer only
// for a shorter line) how much of it Parser.Line needs. Nothing is decoded.
// Whatever doesn't look exactly like a line of a known kind needs all.
// allThere says that head is the line as a whole.
func Classify(head []byte, allThere bool) Need {
	h, ok := parseHead(head)
	if !ok || bytes.Contains(head[1:], recordStart) {
		return NeedAll // a torn line may hide a whole record behind its own start
	}
	need, isKnown := h.need(head)
	if !isKnown && !allThere {
		return NeedNone // its name is all there is to know
	}
	return need
}

// need looks the kind up; false for a kind that no version is known to write.
func (h *head) need(b []byte) (Need, bool) {
	switch h.kind {
	case "event_msg":
		need, ok := eventNeeds[h.sub]
		if !ok {
			return NeedAll, false
		}
		return need, true
	case "response_item":
		need, ok := itemNeeds[h.sub]
		if !ok {
			return NeedAll, false
		}
		if h.sub == "message" && developerMessage(b[h.rest:]) {
			return NeedNone, true
		}
		return need, true
	}
	need, ok := lineNeeds[h.kind]
	if !ok {
		return NeedAll, false
	}
	return need, true
}

// developerMessage tells whether the payload of a message goes on with the
// role of the program itself: never part of the conversation.
func developerMessage(rest []byte) bool {
	rest = rest[:min(len(rest), 160)]
	if i, ok := literal(rest, 0, `,"id":"`); ok {
		end := bytes.IndexByte(rest[i:], '"')
		if end < 0 {
			return false
		}
		rest = rest[i+end+1:]
	}
	return bytes.HasPrefix(rest, []byte(`,"role":"developer",`)) || bytes.HasPrefix(rest, []byte(`,"role":"system",`))
}
