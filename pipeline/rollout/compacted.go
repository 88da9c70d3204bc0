package rollout

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// summaryIntro begins the line that newer versions put before a summary.
const summaryIntro = "Another language model started to solve this problem"

// compacted reads the mark of a compaction. It replaced the model's context,
// not the transcript; the history it repeats is left alone.
func (p *Parser) compacted(r *record, d *transcript.Delta) {
	p.carriedOver(r, d)
	text := r.payload.get("message").str()
	if text == "" && r.head {
		text = cutString(r.payload, `"message":"`)
	}
	// 0.129 to 0.15x store the summary as an ordinary answer first.
	if last := p.m.Last; last.Len > 0 && last.Len <= len(text) {
		intro := text[:len(text)-last.Len]
		if hash64(0, text[len(intro):]) == last.Hash && (intro == "" || wholeIntro(intro)) {
			p.dead(last.Seq, last.Seq, r, d)
		}
	}
	p.m.Last = lastItem{}
	p.facts.Compactions++
	key := itemKey(transcript.RoleCompaction, text, "", "", "")
	id := p.openTask()
	p.emit(transcript.Item{
		Role: transcript.RoleCompaction, Text: text, Turn: p.turnOf(id), TurnID: id, Key: key,
		Inherited: p.inherit(transcript.RoleCompaction, key, id, r),
	}, r, d)
}

// carriedOver takes the dialogue that a compaction kept, where nothing of it
// stands in the file: an app that rewrites its rollouts begins them so. Else
// the history only repeats what was read before. What a cut-off line doesn't
// hold whole is lost with the rest of it.
func (p *Parser) carriedOver(r *record, d *transcript.Delta) {
	if p.m.Seq > 0 || p.facts.Base != nil {
		return
	}
	const key = `"replacement_history":`
	i := strings.Index(string(r.payload), key)
	if i < 0 {
		return
	}
	seen := p.m.Responses
	for w := r.payload[i+len(key):].elements(); ; {
		v, ok := w.element()
		if !ok {
			break
		}
		mw := v.members()
		if it := openItem(&mw); it.kind == "message" {
			p.takeItem(&it, r, d)
		}
	}
	p.m.Responses = seen // these tell nothing of how the lines that follow are written
}

// wholeIntro tells whether the text before a summary is the one line that
// stands there, and no part of the summary.
func wholeIntro(s string) bool {
	return strings.HasPrefix(s, summaryIntro) && strings.IndexByte(s, '\n') == len(s)-1
}

// cutString reads a string near the start of a cut-off payload, as far as it
// is there.
func cutString(v raw, key string) string {
	i := strings.Index(string(v[:min(len(v), 512)]), key)
	if i < 0 {
		return ""
	}
	b := v[i+len(key)-1:]
	if end := skipString(b, 0); end > 0 {
		return unquote(b[:end])
	}
	// The cut may have gone through an escape.
	closed := append([]byte(nil), b...)
	closed = append(closed, '"')
	for n := len(b); n >= max(1, len(b)-6); n-- {
		closed[n] = '"'
		if skipString(closed[:n+1], 0) == n+1 {
			return strings.TrimRight(unquote(closed[:n+1]), "\uFFFD")
		}
	}
	return ""
}
