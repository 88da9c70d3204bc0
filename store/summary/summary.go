// Package summary is what somebody wrote of a session: no rollout gives it. An
// agent that is asked to writes one over MCP; it goes through a file to the
// daemon, which checks it again and keeps it in the cache.
package summary

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Source is who wrote a summary. A thread has one of each at most.
type Source uint8

// ByCaller is an agent that asked about the thread.
const ByCaller Source = 1

// String names it.
func (s Source) String() string {
	if s == ByCaller {
		return "caller"
	}
	return fmt.Sprintf("source %d", uint8(s))
}

// Summary is one summary of a thread.
type Summary struct {
	ThreadID string
	Source   Source
	Model    string // that wrote it; empty: not told
	Client   string // program it came from; empty: not told
	Text     string
	Through  int64 // thread position of the newest message it covers, from 1
	Created  time.Time
}

// MaxBytes is how long a text may be.
const MaxBytes = 8_000

// ErrCoversLess means that a summary ends before the one that is stored.
var ErrCoversLess = errors.New("covers less than the stored summary")

// What can be wrong with a text.
var (
	ErrBlank   = errors.New("blank")
	ErrTooLong = fmt.Errorf("longer than %d bytes", MaxBytes)
	ErrNotText = errors.New("not UTF-8")
)

// Checked gives a text without blanks around it; ErrNotText, ErrBlank or
// ErrTooLong if it can't be kept.
func Checked(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text):
		return "", ErrNotText
	case text == "":
		return "", ErrBlank
	case len(text) > MaxBytes:
		return "", ErrTooLong
	}
	return text, nil
}
