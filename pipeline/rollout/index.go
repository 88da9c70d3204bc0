package rollout

import (
	"bytes"
	"time"
)

// Name is what a line of session_index.jsonl says of a thread. The last line
// of a thread holds.
type Name struct {
	ThreadID string
	Name     string // may be empty: the name was taken away
	Updated  time.Time
}

// ParseIndexLine reads a line of session_index.jsonl; false if it is none.
func ParseIndexLine(b []byte) (Name, bool) {
	v, ok := whole(bytes.TrimPrefix(b, byteOrderMark))
	if !ok || !v.isObject() {
		return Name{}, false
	}
	n := Name{
		ThreadID: ident(v.get("id")),
		Name:     v.get("thread_name").str(),
		Updated:  parseTime(v.get("updated_at")),
	}
	return n, n.ThreadID != ""
}
