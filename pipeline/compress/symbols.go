package compress

// A symbol is what the next agent may need to write again: a path, an
// identifier, an error name, a number, a version, a hash. Plain words of what
// was said, and pairs of characters of scripts without spaces, count less and
// only while they are rare.

// symbol is what is known of one over all chunks.
type symbol struct {
	last   int // position of the newest mention, in tokens from the start
	agent  int // mentions by the agent: its texts, its calls
	chunks int // number of chunks that mention it
	chunk  int // newest chunk that mentions it, to count each once
	inUser bool
	plain  bool // a word
	weight float32
}

// index gives symbols their numbers.
type index struct {
	ids  map[uint64]int32
	syms []symbol
	refs []int32 // symbols of all chunks, one chunk after the other
}

func newIndex(sizeHint int) *index {
	return &index{ids: make(map[uint64]int32, sizeHint/40), refs: make([]int32, 0, sizeHint/16)}
}

// speaker says whose bytes a chunk holds.
type speaker uint8

const (
	speakerUser speaker = iota + 1
	speakerAgent
	speakerTool
)

// scan adds the symbols of one chunk and returns where they begin in refs.
// pos is the chunk's position in tokens.
func (x *index) scan(text string, chunk, pos int, by speaker) (begin int) {
	begin = len(x.refs)
	for i := 0; i < len(text); {
		class := classes[text[i]]
		if class == 0 {
			i++
			continue
		}
		if class == classWide {
			i = x.wide(text, i, chunk, pos, by)
			continue
		}
		start := i
		var shape byte
		slash := -1
		for i < len(text) {
			c := classes[text[i]]
			if c == 0 || c == classWide {
				break
			}
			if c == classUpper && i > start && classes[text[i-1]] == classLower {
				shape |= 1 << classCamel
			}
			if text[i] == '/' || text[i] == '\\' {
				slash = i
			}
			shape |= 1 << c
			i++
		}
		end := i
		for end > start && (text[end-1] == '.' || text[end-1] == ':' || text[end-1] == '/' || text[end-1] == '-') {
			end--
		}
		word := text[start:end]
		if !telling(word, shape) {
			if by != speakerTool && len(word) >= 4 && shape&^(1<<classLower|1<<classUpper) == 0 {
				x.mention(hash(word)|1, chunk, pos, by, true)
			}
			continue
		}
		x.mention(hash(word)&^1, chunk, pos, by, false)
		if slash > start && end-slash > 3 {
			// A path is often spoken of by its last element.
			x.mention(hash(text[slash+1:end])&^1, chunk, pos, by, false)
		}
	}
	return begin
}

// wide takes a run of non-ASCII characters as pairs.
func (x *index) wide(text string, i, chunk, pos int, by speaker) int {
	prev := ""
	for i < len(text) && classes[text[i]] == classWide {
		n := i + 1
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		if prev != "" && by != speakerTool {
			x.mention((hash(prev)*31+hash(text[i:n]))|1, chunk, pos, by, true)
		}
		prev = text[i:n]
		i = n
	}
	return i
}

// mention counts one mention of the symbol with hash h.
func (x *index) mention(h uint64, chunk, pos int, by speaker, plain bool) {
	id, ok := x.ids[h]
	if !ok {
		id = int32(len(x.syms))
		x.ids[h] = id
		x.syms = append(x.syms, symbol{chunk: -1, plain: plain})
	}
	s := &x.syms[id]
	s.last = pos
	switch by {
	case speakerAgent:
		s.agent++
	case speakerUser:
		s.inUser = true
	case speakerTool:
	}
	if s.chunk != chunk {
		s.chunk = chunk
		s.chunks++
		x.refs = append(x.refs, id)
	}
}

// weigh sets the weights when all is read. What the agent wrote often and
// lately it writes again; a word that is everywhere tells nothing.
func (x *index) weigh(total, chunks int) {
	common := max(4, chunks/20)
	for i := range x.syms {
		s := &x.syms[i]
		far := 1 + float32(total-s.last)/4000
		switch {
		case s.plain && s.chunks > common:
			s.weight = 0
		case s.plain:
			s.weight = 0.25 / far
		default:
			a := float32(0.25)
			if s.agent > 0 {
				a = 1 + 0.5*float32(min(s.agent, 6))
			}
			if s.inUser {
				a *= 1.5
			}
			s.weight = a / far
		}
	}
}

// Classes of bytes within a symbol; 0 is none.
const (
	classLower byte = iota + 1
	classUpper
	classDigit
	classJoin // _
	classPath // / \ . : @ - +
	classWide // not ASCII
	classCamel
)

// classes is read only.
var classes = classTable()

func classTable() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case b >= 'a' && b <= 'z':
			t[c] = classLower
		case b >= 'A' && b <= 'Z':
			t[c] = classUpper
		case b >= '0' && b <= '9':
			t[c] = classDigit
		case b == '_':
			t[c] = classJoin
		case b == '/' || b == '.' || b == ':' || b == '@' || b == '-' || b == '+':
			t[c] = classPath
		case b >= 0x80:
			t[c] = classWide
		}
	}
	return t
}

// telling tells a symbol from a plain word.
func telling(word string, shape byte) bool {
	if len(word) < 3 || len(word) > 200 {
		return false
	}
	letters := shape&(1<<classLower|1<<classUpper) != 0
	switch {
	case shape&(1<<classCamel|1<<classJoin) != 0:
		return letters
	case shape&(1<<classPath) != 0:
		return letters || shape&(1<<classDigit) != 0
	case shape&(1<<classDigit) != 0:
		return true
	}
	return shape&(1<<classLower) == 0 && letters // ALL CAPS
}

// hash is FNV-1a with a final mix; the same on all systems and runs.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}
