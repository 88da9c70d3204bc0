package watch

import (
	"fmt"
	"strings"
)

// Form is how a rollout lies on disk.
type Form uint8

const (
	// Plain is .jsonl, a line for each record, only appended to.
	Plain Form = iota + 1
	// Zstd is .jsonl.zst, the same content compressed, never appended to.
	Zstd
	// Document is the .json of the first, TypeScript CLI: one JSON value,
	// rewritten whole each time.
	Document
)

// String gives the name used in logs.
func (f Form) String() string {
	switch f {
	case Plain:
		return "plain"
	case Zstd:
		return "zstd"
	case Document:
		return "document"
	}
	return fmt.Sprintf("form(%d)", uint8(f))
}

// MarshalText gives the same name as String.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Name is what the base name of a rollout file says.
type Name struct {
	// Stamp is when the rollout was begun, in the local time of its writer:
	// 2026-08-20T09-00-00, for a Document 2025-05-17. Sorts by time.
	Stamp     string
	ThreadID  string
	RolloutID string // ThreadID, unless the name has a second id
	Form      Form
}

const idLen = 36

// ParseName takes the base name of a rollout file apart. It answers false for
// all else, the temporary files beside rollouts included.
func ParseName(base string) (Name, bool) {
	rest, ok := strings.CutPrefix(base, "rollout-")
	if !ok {
		return Name{}, false
	}
	n := Name{Form: Plain}
	layout := "dddd-dd-ddTdd-dd-dd"
	switch {
	case strings.HasSuffix(rest, ".jsonl"):
		rest = strings.TrimSuffix(rest, ".jsonl")
	case strings.HasSuffix(rest, ".jsonl.zst"):
		rest, n.Form = strings.TrimSuffix(rest, ".jsonl.zst"), Zstd
	case strings.HasSuffix(rest, ".json"):
		rest, n.Form = strings.TrimSuffix(rest, ".json"), Document
		layout = "dddd-dd-dd"
	default:
		return Name{}, false
	}
	if len(rest) < len(layout) || !isStamp(rest[:len(layout)], layout) {
		return Name{}, false
	}
	n.Stamp, rest = rest[:len(layout)], rest[len(layout):]
	if n.ThreadID, rest, ok = cutID(rest, '-'); !ok {
		return Name{}, false
	}
	n.RolloutID = n.ThreadID
	if rest != "" && n.Form != Document {
		if n.RolloutID, rest, ok = cutID(rest, '_'); !ok {
			return Name{}, false
		}
	}
	return n, rest == ""
}

func isStamp(s, layout string) bool {
	for i := range len(layout) {
		if digit := s[i] >= '0' && s[i] <= '9'; layout[i] == 'd' && !digit || layout[i] != 'd' && s[i] != layout[i] {
			return false
		}
	}
	return true
}

// cutID takes sep and an id off the front of s.
func cutID(s string, sep byte) (id, rest string, ok bool) {
	if len(s) < 1+idLen || s[0] != sep {
		return "", s, false
	}
	id, rest = s[1:1+idLen], s[1+idLen:]
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return "", s, false
		}
	}
	return id, rest, true
}
