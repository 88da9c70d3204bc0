package compress

import (
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// What Shrink does with a tool output, in bytes: no tokenizer is needed, and
// ingest can count the short form before the thread is known. 1,800 bytes are
// about 500 tokens.
const (
	shrinkAbove = 1800
	shrinkHead  = 500 // the beginning tells what it is
	shrinkTail  = 700 // the end tells how it went
)

// Shrink returns the short form of a message: of a tool output of more than
// about 500 tokens the first and last lines around a mark with the size of
// the rest, anything else as it is. cut tells whether something is missing.
// name is the tool's; at present all tools are treated alike.
func Shrink(role transcript.Role, name, text string) (short string, cut bool) {
	spans := shrinkSpans(role, text)
	if spans == nil {
		return text, false
	}
	head, tail := text[:spans[0].To], text[spans[1].From:]
	missing := text[spans[0].To:spans[1].From]
	// As long as the marks that name the ref, so that counts made of this
	// hold for them.
	mark := "⟦" + strconv.Itoa(lineCount(missing)) + " lines, " + strconv.Itoa(len(missing)/4) +
		" tokens left out: " + refPrefix + "00000000.1000@1000+" + strconv.Itoa(len(missing)) + "⟧"
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + mark + "\n" + tail, true
}

// shrinkSpans returns what Shrink keeps, nil if that is everything.
func shrinkSpans(role transcript.Role, text string) []Span {
	if role != transcript.RoleToolResult || len(text) <= shrinkAbove {
		return nil
	}
	head := runeStart(text, shrinkHead)
	if nl := strings.LastIndexByte(text[:head], '\n'); nl >= shrinkHead/3 {
		head = nl + 1
	}
	tail := runeStart(text, len(text)-shrinkTail)
	if nl := strings.IndexByte(text[tail:], '\n'); nl >= 0 && nl+1 < shrinkTail*2/3 {
		tail += nl + 1
	}
	return []Span{{0, head}, {tail, len(text)}}
}

// shrunk keeps every word of user and assistant and every call. Long outputs
// are shrunk, stale ones only named. If marks and headings make that longer
// than the budget after all, outputs go first, the oldest before the newer;
// what doesn't fit without any output is selected instead.
func (b *builder) shrunk() (Selection, error) {
	stale := staleResults(b.in.Messages, b.units)
	base := b.plan()
	var outputs []int
	for _, u := range b.units {
		b.whole(base, u.first)
		i := u.result
		if i < 0 {
			i = u.first
		} else {
			b.whole(base, i)
		}
		m := &b.in.Messages[i]
		if m.Role != transcript.RoleToolResult {
			continue
		}
		switch spans := shrinkSpans(m.Role, m.Text); {
		case stale[i] && len(m.Text) > 4*markTokens*4:
			base[i] = []Span{}
			continue
		case spans != nil:
			base[i] = spans
		}
		outputs = append(outputs, i)
	}
	// guess[k-1]: everything with the newest k-1 outputs.
	guess := make([]int, len(outputs)+1)
	for i, spans := range base {
		if spans != nil {
			guess[0] += pieceTokens
		}
		for _, sp := range spans {
			guess[0] += tokensOf(&b.in.Messages[i], sp.To-sp.From)
		}
	}
	at := make([]int, len(outputs))
	for k, i := range outputs {
		for _, sp := range base[i] {
			at[k] += tokensOf(&b.in.Messages[i], sp.To-sp.From)
		}
		guess[0] -= at[k]
	}
	for k := 1; k < len(guess); k++ {
		guess[k] = guess[k-1] + at[len(outputs)-k]
	}
	s, found, err := b.largest(guess, nearly, func(k int) (Selection, error) {
		p := make(plan, len(base))
		copy(p, base)
		for _, i := range outputs[:len(outputs)-(k-1)] {
			if len(b.in.Messages[i].Text) > 0 {
				p[i] = []Span{}
			}
		}
		return b.measure(p)
	})
	if err != nil || found {
		return s, err
	}
	return b.selected()
}
