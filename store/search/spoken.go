package search

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// What is taken in of one item.
const (
	maxText  = 256 << 10 // bytes of what was said, and of a call's arguments
	endBytes = 1 << 10   // of each end of a tool's output
	errBytes = 1 << 10   // of lines between that tell of errors
)

// Words that no text can give: the first byte of their first character ends a
// word there.
const (
	private  = "\u0080"
	roleWord = private + "r" // and a digit: the role
	toolWord = private + "t" // and the folded name of the tool, as one word
)

// item cuts an item into words and gives how many bytes of text that were; -1
// if nothing is taken in of its kind.
func (s *segmenter) item(m *transcript.Message) (n int) {
	s.reset()
	switch m.Role {
	case transcript.RoleUser, transcript.RoleAssistant, transcript.RoleAgent, transcript.RoleCompaction:
		n = s.text(m.Text)
	case transcript.RoleToolCall:
		n = s.text(m.Name) + s.arguments(m.Args)
		s.put(toolName(m.Name))
	case transcript.RoleToolResult:
		n = s.output(m.Text)
	case transcript.RoleReasoning:
		return -1
	default: // of a cache of a newer program
		return -1
	}
	s.put(roleName(m.Role))
	return n
}

func roleName(r transcript.Role) string { return roleWord + string('0'+rune(r)) }

// toolName is the same however its parts are joined.
func toolName(name string) string {
	b := []byte(toolWord)
	for _, r := range name {
		if k := classOf(r); k == lower || k == upper || k == digit || k == dense {
			b = fold(b, r)
		}
	}
	return string(b)
}

func (s *segmenter) text(t string) int {
	t = head(t, maxText)
	s.add(t)
	return len(t)
}

// head and tail give at most n bytes of whole characters.
func head(t string, n int) string {
	if len(t) <= n {
		return t
	}
	for n > 0 && !utf8.RuneStart(t[n]) {
		n--
	}
	return t[:n]
}

func tail(t string, n int) string {
	if len(t) <= n {
		return t
	}
	i := len(t) - n
	for i < len(t) && !utf8.RuneStart(t[i]) {
		i++
	}
	return t[i:]
}

// output takes the ends of a tool's output, and between them the lines that tell
// of errors.
func (s *segmenter) output(t string) int {
	if len(t) <= 2*endBytes+errBytes {
		return s.text(t)
	}
	a, b := head(t, endBytes), tail(t, endBytes)
	if i := strings.LastIndexByte(a, '\n'); i > endBytes/2 {
		a = a[:i+1]
	}
	if i := strings.IndexByte(b, '\n'); i >= 0 && i < endBytes/2 {
		b = b[i:]
	}
	n := s.text(a) + s.text(b)
	return n + s.errors(t[len(a):min(len(t)-len(b), maxText)])
}

// troubles are what lines hold that tell of errors, without what may be a
// capital.
var troubles = [...]string{"rror", "ERROR", "fail", "Fail", "FAIL", "panic", "xception", "atal", "错误", "失败", "エラー", "失敗", "오류"}

// beforeTrouble is how much of a long line is taken that stands before.
const beforeTrouble = 200

// errors takes the first lines that tell of errors.
func (s *segmenter) errors(t string) int {
	var next [len(troubles)]int // where each of them is next
	for i := range next {
		next[i] = -1
	}
	left := errBytes
	for from := 0; left > 0; {
		at := len(t)
		for i, w := range troubles {
			if next[i] < from {
				next[i] = len(t)
				if k := strings.Index(t[from:], w); k >= 0 {
					next[i] = from + k
				}
			}
			at = min(at, next[i])
		}
		if at == len(t) {
			break
		}
		line := t[from:]
		if i := strings.LastIndexByte(t[from:at], '\n'); i >= 0 {
			line = t[from+i+1:]
		}
		if i := at - beforeTrouble; i > len(t)-len(line) {
			line = tail(line, len(t)-i)
		}
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		line = head(line, left)
		s.add(line)
		left -= len(line) + 1
		end := strings.IndexByte(t[at:], '\n')
		if end < 0 {
			break
		}
		from = at + end
	}
	return errBytes - left
}

// arguments takes those of a call: most are JSON, whose escapes would stick to
// the words behind them.
func (s *segmenter) arguments(t string) int {
	t = head(t, maxText)
	if t == "" || t[0] != '{' && t[0] != '[' || strings.IndexByte(t, '\\') < 0 {
		s.add(t)
		return len(t)
	}
	s.plain = unescape(s.plain[:0], t)
	s.add(view(s.plain))
	return len(t)
}

// unescape appends t with the escapes of JSON resolved, inside and outside of
// its strings. What isn't a valid escape stays.
func unescape(b []byte, t string) []byte {
	for {
		i := strings.IndexByte(t, '\\')
		if i < 0 || i+1 == len(t) {
			return append(b, t...)
		}
		b, t = append(b, t[:i]...), t[i+1:]
		switch t[0] {
		case 'n', 't', 'r', 'b', 'f':
			b, t = append(b, '\n'), t[1:]
		case 'u':
			r, n := escaped(t)
			b, t = utf8.AppendRune(b, r), t[n:]
		default: // a quote, a slash or a backslash, itself
			b, t = append(b, t[0]), t[1:]
		}
	}
}

// escaped reads "uXXXX", or two of them with a backslash between that are one
// character, and how long that is. What isn't one is a space.
func escaped(t string) (r rune, n int) {
	hex := func(t string) rune {
		if len(t) < 5 || t[0] != 'u' {
			return -1
		}
		v, err := strconv.ParseUint(t[1:5], 16, 16)
		if err != nil {
			return -1
		}
		return rune(v)
	}
	r = hex(t)
	if r < 0 {
		return ' ', 1
	}
	if utf16.IsSurrogate(r) && len(t) > 5 && t[5] == '\\' {
		if both := utf16.DecodeRune(r, hex(t[6:])); both != utf8.RuneError {
			return both, 11
		}
	}
	return r, 5
}
