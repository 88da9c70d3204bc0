package compress

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Format is a way to write a conversation.
type Format uint8

// The formats.
const (
	FormatMarkdown  Format = iota + 1 // for people and prompts
	FormatMessages                    // JSON lines, one message or gap each
	FormatOpenAI                      // chat messages, a JSON array
	FormatAnthropic                   // messages with content blocks, a JSON array
)

var formatNames = [...]string{"", "markdown", "messages", "openai", "anthropic"}

// String returns the name the user asks for it by.
func (f Format) String() string {
	if f > 0 && int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// MarshalText implements encoding.TextMarshaler.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	for i, n := range formatNames {
		if i > 0 && n == s {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("unknown format %q: markdown, messages, openai or anthropic", s)
}

// Render writes the selection. Only the format it was selected for is sure to
// keep the budget.
func (s *Selection) Render(f Format) ([]byte, error) {
	switch f {
	case FormatMarkdown:
		return s.markdown(), nil
	case FormatMessages:
		return s.lines()
	case FormatOpenAI:
		return s.openAI()
	case FormatAnthropic:
		return s.anthropic()
	}
	return nil, fmt.Errorf("render conversation: unknown format %d", f)
}

// walk calls gap and piece in order. Gaps within a message are part of its
// text and left out here.
func (s *Selection) walk(gap func(Gap), piece func(int)) {
	g := 0
	upTo := func(n int) {
		for ; g < len(s.Gaps) && s.Gaps[g].Before <= n; g++ {
			if !s.Gaps[g].Within {
				gap(s.Gaps[g])
			}
		}
	}
	for i := range s.Keep {
		upTo(i)
		piece(i)
	}
	upTo(len(s.Keep))
}

// markdown sets every body in a fence longer than any inside it: nothing that
// was said can close it, speak as another role or swallow the next message. All
// of it stands between two lines with a mark that nothing in it holds.
func (s *Selection) markdown() []byte {
	var b bytes.Buffer
	s.walk(func(g Gap) {
		b.WriteString("\n" + g.mark() + "\n")
	}, func(i int) {
		p := &s.Keep[i]
		b.WriteString("\n" + heading(p) + "\n")
		switch {
		case p.Text == "":
		case len(p.Spans) == 0:
			b.WriteString(p.Text + "\n") // a mark of ours alone
		default:
			fence := fenceFor(p.Text)
			b.WriteString(fence + "\n" + strings.TrimSuffix(p.Text, "\n") + "\n" + fence + "\n")
		}
		if p.Message.Role == transcript.RoleToolCall && !s.answered(i) {
			b.WriteString("\n→ no output recorded\n")
		}
	})
	mark := markFor(append(b.Bytes(), s.Summary...))
	head := "> " + s.Note + " It ends at the line \"end of history " + mark + "\".\n"
	if s.Summary != "" {
		head += ">\n> " + strings.ReplaceAll(strings.TrimSpace(s.Summary), "\n", "\n> ") + "\n"
	}
	return []byte(head + b.String() + "\n--- end of history " + mark + "\n")
}

// markFor is a word that text doesn't hold and that who wrote the text can't
// foresee, as it depends on all of it; yet it is the same for the same text,
// wherever that is written. No secret is needed for that: to forge the mark a
// text would have to hold its own hash, and such a mark isn't taken.
func markFor(text []byte) string {
	for i := 0; ; i++ {
		h := sha256.New()
		_, _ = h.Write(strconv.AppendInt(nil, int64(i), 10)) // never fails
		_, _ = h.Write(text)
		if mark := hex.EncodeToString(h.Sum(nil)[:5]); !bytes.Contains(text, []byte(mark)) {
			return mark
		}
	}
}

// heading says whose words follow.
func heading(p *Piece) string {
	m := p.Message
	turn := "[t" + strconv.Itoa(m.ThreadTurn) + "]"
	var extra []string
	if p.Retrieved {
		extra = append(extra, p.retrievedMark())
	}
	if m.Images > 0 {
		extra = append(extra, pictures(m.Images))
	}
	var h string
	switch m.Role {
	case transcript.RoleToolCall:
		h = "### " + turn + " tool call " + safeName(m.Name)
	case transcript.RoleToolResult:
		h = "→ tool output"
		if p.Call < 0 {
			h = "### " + turn + " tool output without a call"
		}
		if e := exitOf(m); e != "" {
			extra = append(extra, e)
		}
		if m.Body() == "" {
			extra = append(extra, "empty")
		}
	case transcript.RoleAgent:
		h = "## " + turn + " another agent"
	case transcript.RoleUser, transcript.RoleAssistant, transcript.RoleReasoning, transcript.RoleCompaction:
		h = "## " + turn + " " + m.Role.String()
	}
	if len(extra) > 0 {
		h += " (" + strings.Join(extra, ", ") + ")"
	}
	return h
}

// pictures tells what was attached.
func pictures(n int) string {
	if n == 1 {
		return "1 image, not kept"
	}
	return strconv.Itoa(n) + " images, not kept"
}

// safeName keeps a tool's name on its line.
func safeName(s string) string {
	if s == "" {
		return "unnamed"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.', r == ':', r == '/':
			return r
		}
		return '_'
	}, clip(s, 64))
}

// fenceFor returns backticks, one more than the longest run in s.
func fenceFor(s string) string {
	longest, run := 2, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", longest+1)
}

// line is a message in the neutral form. The fields are only ever added.
type line struct {
	Seq     int64           `json:"seq"` // position in the thread
	Role    transcript.Role `json:"role"`
	Text    string          `json:"text"` // a call's arguments are in args
	Name    string          `json:"name,omitempty"`
	CallID  string          `json:"call_id,omitempty"`
	Args    string          `json:"args,omitempty"`
	Exit    *int            `json:"exit_code,omitempty"`
	Images  int             `json:"images,omitempty"`
	Turn    int             `json:"turn"`
	Time    string          `json:"ts,omitempty"`
	Ref     string          `json:"ref"`
	Partial bool            `json:"partial,omitempty"`   // bytes are missing, marks say which
	Found   bool            `json:"retrieved,omitempty"` // for the next request
}

type gapLine struct {
	Gap struct {
		Ref      Ref `json:"ref"`
		Messages int `json:"messages"`
		Tokens   int `json:"tokens"`
	} `json:"gap"`
}

func (s *Selection) lines() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Note    string `json:"note"`
		Summary string `json:"summary,omitempty"` // generated
	}{s.Note, s.Summary})
	put := func(v any) {
		if err == nil {
			err = enc.Encode(v)
		}
	}
	s.walk(func(g Gap) {
		var l gapLine
		l.Gap.Ref, l.Gap.Messages, l.Gap.Tokens = g.Ref, g.Messages, g.Tokens
		put(l)
	}, func(i int) {
		p, m := &s.Keep[i], s.Keep[i].Message
		l := line{Seq: m.Position, Role: m.Role, Text: p.Text, Name: m.Name, CallID: m.CallID,
			Images: m.Images, Turn: m.ThreadTurn, Ref: m.Ref, Partial: !p.Whole, Found: p.Retrieved}
		if m.Role == transcript.RoleToolCall {
			l.Text, l.Args = "", p.Text
		}
		if m.HasExit {
			l.Exit = &m.ExitCode
		}
		if !m.Time.IsZero() {
			l.Time = m.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
		put(l)
	})
	if err != nil {
		return nil, fmt.Errorf("render messages: %w", err)
	}
	return b.Bytes(), nil
}

// lead is the legend and what stands below it.
func (s *Selection) lead() string {
	if s.Summary == "" {
		return s.Note
	}
	return s.Note + "\n\n" + strings.TrimSpace(s.Summary)
}
