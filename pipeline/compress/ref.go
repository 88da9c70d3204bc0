package compress

import (
	"fmt"
	"strconv"
	"strings"
)

// RefKind says what a Ref points at.
type RefKind uint8

// The kinds of refs.
const (
	RefItem  RefKind = iota + 1 // one item of a rollout, or bytes of it
	RefTurns                    // turns of a thread
)

// Ref names an original. Its text form is om_7f3a91c2.412 for an item,
// om_7f3a91c2.412@1800+5200 for 5,200 bytes of its body from byte 1,800 on,
// t17 for a turn and t17-t30 for several, both ends included; t0 is what
// stands before the first request. Turn refs mean a thread that is told
// apart from them.
type Ref struct {
	Kind    RefKind
	Rollout string // items: last 8 hex digits of the rollout id
	Seq     int64  // items: 1-based within the rollout
	Offset  int64  // items: first byte
	Len     int64  // items: bytes; 0 means the whole body, whatever Offset is
	From    int    // turns: first
	To      int    // turns: last
}

const (
	refPrefix = "om_"
	idLen     = 8
)

// String writes the ref in the only form ParseRef reads.
func (r Ref) String() string {
	switch r.Kind {
	case RefItem:
		s := refPrefix + r.Rollout + "." + strconv.FormatInt(r.Seq, 10)
		if r.Len > 0 {
			s += "@" + strconv.FormatInt(r.Offset, 10) + "+" + strconv.FormatInt(r.Len, 10)
		}
		return s
	case RefTurns:
		s := "t" + strconv.Itoa(r.From)
		if r.To != r.From {
			s += "-t" + strconv.Itoa(r.To)
		}
		return s
	}
	return fmt.Sprintf("ref(%d)", r.Kind)
}

// MarshalText implements encoding.TextMarshaler.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ParseRef reads a ref. It takes just what String writes: no spaces, no
// leading zeros, no signs.
func ParseRef(s string) (Ref, error) {
	r, ok := Ref{}, false
	switch {
	case strings.HasPrefix(s, refPrefix):
		r, ok = parseItem(s[len(refPrefix):])
	case strings.HasPrefix(s, "t"):
		r, ok = parseTurns(s)
	}
	if !ok {
		return Ref{}, fmt.Errorf("unknown ref %q: want om_7f3a91c2.412, om_7f3a91c2.412@1800+5200, t17 or t17-t30", clip(s, 60))
	}
	return r, nil
}

func parseItem(s string) (Ref, bool) {
	if len(s) < idLen+2 || s[idLen] != '.' || strings.Trim(s[:idLen], "0123456789abcdef") != "" {
		return Ref{}, false
	}
	r := Ref{Kind: RefItem, Rollout: s[:idLen]}
	item, part, hasPart := strings.Cut(s[idLen+1:], "@")
	var ok bool
	if r.Seq, ok = number(item); !ok || r.Seq == 0 {
		return Ref{}, false
	}
	if !hasPart {
		return r, true
	}
	off, length, found := strings.Cut(part, "+")
	if !found {
		return Ref{}, false
	}
	if r.Offset, ok = number(off); !ok {
		return Ref{}, false
	}
	r.Len, ok = number(length)
	return r, ok && r.Len > 0
}

func parseTurns(s string) (Ref, bool) {
	from, to, several := strings.Cut(s[1:], "-t")
	a, ok := number(from)
	if !ok {
		return Ref{}, false
	}
	b := a
	if several {
		if b, ok = number(to); !ok || b <= a {
			return Ref{}, false
		}
	}
	const most = 1 << 31 // the same on all systems
	if b >= most {
		return Ref{}, false
	}
	return Ref{Kind: RefTurns, From: int(a), To: int(b)}, true
}

// number reads a decimal as strconv writes it.
func number(s string) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
