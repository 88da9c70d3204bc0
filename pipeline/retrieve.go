package pipeline

import (
	"github.com/session-migrator/session-migrator/pipeline/compress"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/search"
)

// Passages are smaller where there is less room for them.
const (
	mostPassage  = 900 // bytes
	leastPassage = 200
	quotePassage = 380 // in a document
)

// about finds the passages of messages that say most about what is to be asked
// next. The messages are redacted: a passage is a cut, which must not leave half
// of a secret.
func about(next string, size int, ms []transcript.Message) []search.Passage {
	if next == "" {
		return nil
	}
	return search.Best(next, size, len(ms), func(i int) string {
		if !ms[i].Role.Migrates() {
			return ""
		}
		return ms[i].Body()
	})
}

// retrieved gives them as a selection of so many tokens takes them.
func retrieved(next string, budget int, ms []transcript.Message) (out []compress.Passage) {
	for _, p := range about(next, min(mostPassage, max(leastPassage, budget/5)), ms) {
		out = append(out, compress.Passage{Message: p.Text, Span: compress.Span{From: p.From, To: p.To}})
	}
	return out
}

// found gives them as a document quotes them.
func found(next string, ms []transcript.Message) (out []memory.Found) {
	for _, p := range about(next, quotePassage, ms) {
		m := &ms[p.Text]
		out = append(out, memory.Found{Quote: memory.Quote{Text: m.Body()[p.From:p.To], Turn: m.ThreadTurn}, Ref: m.Ref})
	}
	return out
}
