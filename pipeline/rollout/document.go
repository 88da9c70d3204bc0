package rollout

import (
	"bytes"
	"errors"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// ErrRewritten says that a document no longer begins with the items that were
// read from it: what was taken from it before is void.
var ErrRewritten = errors.New("document was rewritten")

// ErrIncomplete says that a document is being written: wait for its next change.
var ErrIncomplete = errors.New("document is incomplete")

// Document reads a session of the TypeScript CLI (0.1.x), one JSON document
// that is written anew after every item. Only what was not read before goes
// into d; st is the state after the last reading, zero at first.
func Document(b []byte, st State, d *transcript.Delta) (State, error) {
	v, ok := whole(bytes.TrimPrefix(b, byteOrderMark))
	if !ok {
		return st, ErrIncomplete
	}
	session, items := v.get("session"), v.get("items")
	if !session.isObject() || !items.isArray() {
		return st, errors.New("read document: neither session nor items")
	}
	var fresh transcript.Delta
	p := NewParser(State{}, Options{})
	p.m.Bare = true
	p.sessionMeta(&record{kind: "session_meta", payload: session, place: place{line: 1, ordinal: -1}})
	fresh.Lines = 1
	var hash uint64
	known, n, done := st.m.Doc == 0, 0, int64(0)
	for w := items.elements(); ; {
		e, more := w.element()
		if !more {
			break
		}
		n++
		// Both slices share one array: the difference is where e begins.
		at := place{line: int64(n + 1), offset: int64(cap(b) - cap(e)), size: int64(len(e)), ordinal: -1}
		fresh.Lines++
		before := len(fresh.Items)
		if r, good := p.open(e, at); good {
			p.take(&r, &fresh)
			hash = hash64(hash, r.kind)
		} else {
			p.damage(at, "not-an-object", "", at.size, 0, &fresh)
		}
		for _, it := range fresh.Items[before:] {
			hash = (hash ^ it.Key) * 0x9E3779B97F4A7C15
		}
		if n == st.m.Doc {
			known, done = hash == st.m.DocHash, p.m.Seq
		}
	}
	if !known {
		return st, ErrRewritten
	}
	p.m.Doc, p.m.DocHash = n, hash
	addNew(&fresh, st.m.Doc, done, d)
	return p.State(), nil
}

// addNew adds to d what the first items of the document, read before, didn't.
func addNew(fresh *transcript.Delta, items int, done int64, d *transcript.Delta) {
	for _, it := range fresh.Items {
		if it.Seq > done {
			d.Items = append(d.Items, it)
			d.Bytes += int64(len(it.Text) + len(it.Args))
		}
	}
	for _, x := range fresh.Damage {
		if x.Line > int64(items)+1 || items == 0 {
			d.Damage = append(d.Damage, x)
		}
	}
	for _, x := range fresh.Unknown {
		if x.Line > int64(items)+1 || items == 0 {
			d.Unknown = append(d.Unknown, x)
		}
	}
	d.Turns = append(d.Turns, fresh.Turns...)
	d.Lines += fresh.Lines
	if items > 0 {
		d.Lines -= int64(items) + 1
	}
}
