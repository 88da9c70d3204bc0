package mcpserver

import (
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// messageLine is a message as a JSON line. A text longer than a page is given
// in parts, numbered from 1.
type messageLine struct {
	Seq       int64  `json:"seq"` // position in the thread
	Role      string `json:"role"`
	Name      string `json:"name,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Turn      int    `json:"turn"`
	Time      string `json:"ts,omitempty"`
	Tokens    int    `json:"tokens"`
	Images    int    `json:"images,omitempty"`
	Exit      *int   `json:"exit_code,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Inherited bool   `json:"inherited,omitempty"`
	Part      int    `json:"part,omitempty"`
	Parts     int    `json:"parts,omitempty"`
	Text      string `json:"text,omitempty"`
	Args      string `json:"args,omitempty"`
}

// lineOverhead is what a message's line has beside its text, at most: names and
// ids are clipped to keep it.
const lineOverhead = 700

// messageLines writes messages as JSON, one a line and none longer than most
// bytes.
func messageLines(ms []transcript.Message, most int) ([]byte, error) {
	var out []byte
	for i := range ms {
		m := &ms[i]
		l := messageLine{Seq: m.Position, Role: m.Role.String(), Name: clip(pipeline.RedactText(m.Name), 100), CallID: clip(pipeline.RedactText(m.CallID), 100),
			Turn: m.ThreadTurn, Time: stamp(m.Time), Tokens: m.Tokens, Images: m.Images, Ref: m.Ref, Inherited: m.Inherited}
		if m.HasExit {
			l.Exit = &m.ExitCode
		}
		parts := encodedParts(m.Body(), max(most-lineOverhead, minPageBytes/4))
		for n, part := range parts {
			if len(parts) > 1 {
				l.Part, l.Parts = n+1, len(parts)
			}
			l.Text, l.Args = part, ""
			if m.Role == transcript.RoleToolCall {
				l.Text, l.Args = "", part
			}
			line, err := marshal(l)
			if err != nil {
				return nil, err
			}
			out = append(append(out, line...), '\n')
		}
	}
	return out, nil
}

// encodedParts splits a text so that each part takes at most most bytes inside
// a JSON string; at least one part, which may be empty.
func encodedParts(s string, most int) []string {
	var parts []string
	from, size := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		wide := n
		switch {
		case r == '"', r == '\\', r == '\n', r == '\t', r == '\r':
			wide = 2
		case r < 0x20, r == 0x2028, r == 0x2029, r == utf8.RuneError && n == 1:
			wide = 6
		}
		if size+wide > most {
			parts, from, size = append(parts, s[from:i]), i, 0
		}
		size += wide
		i += n
	}
	return append(parts, s[from:])
}
