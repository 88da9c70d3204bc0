package tail

import "fmt"

const (
	classifyMax = 512 // bytes Classify is given; enough for every prefix that tells a line's type

	defaultMaxLine   = 64 << 20 // above the longest line that says anything new
	defaultHeadBytes = 64 << 10 // holds the summary text at the start of a compacted line
	defaultBuffer    = 256 << 10
	firstBuffer      = 16 << 10 // an append is a few lines: do not clear 256 KiB for it
	leastBuffer      = 8 << 10  // room for the head fingerprint, see startLong
)

// Want says how much of a line its reader has a use for.
type Want uint8

const (
	// WantAll asks for the whole line, up to Options.MaxLine.
	WantAll Want = iota + 1
	// WantHead asks for the first Options.HeadBytes bytes at least.
	WantHead
	// WantNone asks for the first 512 bytes at least: those that tell its kind.
	WantNone
)

// String gives the name used in logs.
func (w Want) String() string {
	switch w {
	case WantAll:
		return "all"
	case WantHead:
		return "head"
	case WantNone:
		return "none"
	}
	return fmt.Sprintf("want(%d)", uint8(w))
}

// MarshalText gives the same name as String.
func (w Want) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// Options tunes a Reader. The zero value works.
type Options struct {
	// MaxLine is the longest line, in bytes without its ending, that is
	// returned whole. 0 is 64 MiB.
	MaxLine int
	// HeadBytes is what WantHead returns of a line that does not fit the
	// buffer. 0 is 64 KiB.
	HeadBytes int
	// Classify is asked once for each line, with its first 512 bytes at most
	// (without byte order mark and line ending); whole says that head is the
	// whole line. It must depend on its arguments only and not keep head.
	// nil is WantAll for every line.
	Classify func(head []byte, whole bool) Want
	// Restart is what every record begins with and no record holds inside a
	// string. A line that holds it again behind its start is returned whole,
	// whatever is wanted: a crash may have torn the record it starts with and
	// glued the next one to it. Of a line above MaxLine, Line.Rest is what
	// stands from the last one on. Empty: no line is looked through.
	Restart []byte
	// Reserve is asked before a line that does not fit the buffer takes n bytes
	// of memory, so that not all readers need as much at once. It may wait; its
	// error ends the reading. nil: nobody is asked.
	Reserve func(n int64) error
	// BufferBytes is the size of the read buffer, at least 8 KiB and more than
	// HeadBytes. Lines that fit are returned whole, without a copy, whatever
	// is wanted. 0 is 256 KiB.
	BufferBytes int
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxLine < 0 || o.HeadBytes < 0 || o.BufferBytes < 0 {
		return o, fmt.Errorf("use options: negative size in MaxLine %d, HeadBytes %d, BufferBytes %d",
			o.MaxLine, o.HeadBytes, o.BufferBytes)
	}
	if o.MaxLine == 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.HeadBytes == 0 {
		o.HeadBytes = defaultHeadBytes
	}
	if o.BufferBytes == 0 {
		o.BufferBytes = defaultBuffer
	}
	// A line that outgrows the buffer must fill more of it than any head that
	// is cut from it, mark and ending included.
	o.BufferBytes = max(o.BufferBytes, leastBuffer, o.HeadBytes+classifyMax)
	if o.Classify == nil {
		o.Classify = func([]byte, bool) Want { return WantAll }
	}
	if o.Reserve == nil {
		o.Reserve = func(int64) error { return nil }
	}
	return o, nil
}
