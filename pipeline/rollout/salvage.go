package rollout

import (
	"bytes"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// bareStarts begin the records of the era without envelopes, in the order of
// keys it wrote. They are looked for only in rollouts of that era, as parts of
// a message could look like them.
var bareStarts = [...]string{
	`{"record_type":`, `{"type":"message",`, `{"type":"reasoning",`, `{"type":"function_call",`,
	`{"type":"function_call_output",`, `{"type":"local_shell_call",`,
}

// salvage reads the whole records inside a line that is none itself: the next
// record glued to one that a crash tore off, records whose newline was lost,
// records around a run of NUL bytes. What is left over is reported as damage.
func (p *Parser) salvage(b []byte, at place, start int, d *transcript.Delta) {
	var saved, found int
	// Each try costs at most the rest of the line: the budget keeps a line made
	// of nothing but starts from taking quadratic time.
	budget := 8*len(b) + 1<<16
	for i := 0; i < len(b) && budget > 0; {
		from := p.nextStart(b, i)
		if from < 0 {
			break
		}
		end := skipValue(b, from, 1)
		if end < 0 {
			budget -= len(b) - from
			i = from + 1
			continue
		}
		budget -= end - from
		inner := at
		inner.offset, inner.size = at.offset+int64(start+from), int64(end-from)
		r, ok := p.open(b[from:end], inner)
		if !ok {
			i = from + 1
			continue
		}
		p.take(&r, d)
		found, saved, i = found+1, saved+end-from, end
	}
	lost := int64(len(b) - saved)
	detail := ""
	if h, ok := parseHead(b); ok {
		detail = h.name()
	}
	p.damage(at, damageCause(b, found), detail, lost, found, d)
}

func damageCause(b []byte, found int) string {
	switch {
	case bytes.IndexByte(b, 0) >= 0:
		return "nul"
	case found > 0 || b[0] == '{':
		return "torn"
	}
	return "not-json"
}

// nextStart finds where the next record may begin.
func (p *Parser) nextStart(b []byte, from int) int {
	best := bytes.Index(b[from:], recordStart)
	if p.m.Bare {
		for _, s := range bareStarts {
			limit := b[from:]
			if best >= 0 {
				limit = b[from:min(from+best+len(s), len(b))]
			}
			if i := bytes.Index(limit, []byte(s)); i >= 0 && (best < 0 || i < best) {
				best = i
			}
		}
	}
	if best < 0 {
		return -1
	}
	return from + best
}
