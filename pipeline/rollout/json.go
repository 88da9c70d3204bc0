package rollout

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// raw is one JSON value, without white space around it. Its grammar was
// checked by skipValue, so the walkers below may assume it; they stop early,
// and never panic, on anything else (the head of a line that was cut off).
type raw []byte

// maxDepth is the nesting that encoding/json accepts, too.
const maxDepth = 10000

// skipValue checks the grammar of the value that starts at b[i] and gives the
// index behind it, or -1.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		if depth > maxDepth {
			return -1
		}
		if c == '{' {
			return skipObject(b, i, depth)
		}
		return skipArray(b, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return -1
}

func skipObject(b []byte, i, depth int) int {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = skipString(b, i); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = skipValue(b, skipSpace(b, i+1), depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func skipArray(b []byte, i, depth int) int {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skipValue(b, i, depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that end a plain run of a JSON string: a quote,
// a backslash or a control character. The lowest mark is exact.
func special(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// skipString gives the index behind the string that starts at b[i], or -1.
func skipString(b []byte, i int) int {
	i++
	for {
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) || b[i] < 0x20 {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i+1 >= len(b) {
			return -1
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if _, ok := hex4(b, i+2); !ok {
				return -1
			}
			i += 6
		default:
			return -1
		}
	}
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}

func skipWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// whole gives b as one value if it is one and nothing else but white space.
func whole(b []byte) (raw, bool) {
	i := skipSpace(b, 0)
	end := skipValue(b, i, 1)
	if end < 0 || skipSpace(b, end) != len(b) {
		return nil, false
	}
	return b[i:end], true
}

// walker steps through the members of an object or the elements of an array,
// checking their grammar on the way.
type walker struct {
	b     []byte
	i     int
	begun bool
}

// members begins a walk over v if it is an object; else the walk is empty.
func (v raw) members() walker {
	if len(v) == 0 || v[0] != '{' {
		return walker{}
	}
	return walker{b: v, i: 1}
}

// elements begins a walk over v if it is an array; else the walk is empty.
func (v raw) elements() walker {
	if len(v) == 0 || v[0] != '[' {
		return walker{}
	}
	return walker{b: v, i: 1}
}

// member gives the next key and value of an object.
func (w *walker) member() (key []byte, v raw, ok bool) {
	key, ok = w.key()
	if !ok {
		return nil, nil, false
	}
	v, ok = w.value(w.i)
	return key, v, ok
}

// key gives the next key and stops before its value.
func (w *walker) key() ([]byte, bool) {
	i, ok := w.next()
	if !ok || i >= len(w.b) || w.b[i] != '"' {
		return nil, false
	}
	end := skipString(w.b, i)
	if end < 0 {
		return nil, false
	}
	key := w.b[i+1 : end-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(unquote(w.b[i:end]))
	}
	if i = skipSpace(w.b, end); i >= len(w.b) || w.b[i] != ':' {
		return nil, false
	}
	w.i = skipSpace(w.b, i+1)
	return key, true
}

// element gives the next value of an array.
func (w *walker) element() (raw, bool) {
	i, ok := w.next()
	if !ok || i < len(w.b) && w.b[i] == ']' {
		return nil, false
	}
	return w.value(i)
}

// next goes over the comma, where there has to be one.
func (w *walker) next() (int, bool) {
	i := skipSpace(w.b, w.i)
	if w.begun {
		if i >= len(w.b) || w.b[i] != ',' {
			return i, false
		}
		i = skipSpace(w.b, i+1)
	}
	w.begun = true
	return i, true
}

func (w *walker) value(i int) (raw, bool) {
	end := skipValue(w.b, i, 2)
	if end < 0 {
		w.i = len(w.b) // never closed
		return nil, false
	}
	w.i = end
	return w.b[i:end], true
}

// closed gives the index behind an object whose last member was read, -1 if
// the walk ended at anything but its end.
func (w *walker) closed() int {
	i := skipSpace(w.b, w.i)
	if i >= len(w.b) || w.b[i] != '}' {
		return -1
	}
	return i + 1
}

func (v raw) isString() bool { return len(v) >= 2 && v[0] == '"' }
func (v raw) isObject() bool { return len(v) >= 2 && v[0] == '{' }
func (v raw) isArray() bool  { return len(v) >= 2 && v[0] == '[' }

// str gives the text of a string; empty for any other value.
func (v raw) str() string {
	if !v.isString() {
		return ""
	}
	return unquote(v)
}

// integer gives a number as it would be counted; 0 for any other value.
func (v raw) integer() int64 {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	f := v.float()
	if f < -1<<53 || f > 1<<53 {
		return 0
	}
	return int64(f)
}

// float gives a number; 0 for any other value.
func (v raw) float() float64 {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0
	}
	return f
}

// get gives the value of a key of an object; nil if there is none.
func (v raw) get(name string) raw {
	var found raw
	for w := v.members(); ; {
		k, m, ok := w.member()
		if !ok {
			return found
		}
		if string(k) == name {
			found = m
		}
	}
}
