// Package summary is what somebody wrote of a session: no rollout gives it. An
// agent that is asked to writes one over MCP; it goes through a file to the
// daemon, which checks it again and keeps it in the cache. Or a model does that
// the settings name.
package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Source is who wrote a summary. A thread has one of each at most.
type Source uint8

// The sources.
const (
	ByCaller Source = iota + 1 // an agent that asked about the thread
	ByModel                    // the model of the settings
)

// String names it.
func (s Source) String() string {
	switch s {
	case ByCaller:
		return "caller"
	case ByModel:
		return "model"
	}
	return fmt.Sprintf("source %d", uint8(s))
}

// Summary is one summary of a thread.
type Summary struct {
	ThreadID string
	Source   Source
	Model    string // that wrote it; empty: not told
	Client   string // program it came from; empty: not told
	Text     string // of an agent
	Through  int64  // thread position of the newest message it covers, from 1
	Created  time.Time
	Made     *Made // of a model; else nil
}

// Made is a summary in parts, and how it was come by.
type Made struct {
	Prior    json.RawMessage `json:"prior"`   // the parts, with what the next update needs; who made it reads it
	Key      string          `json:"key"`     // equal keys: the same question to the same model
	Basis    string          `json:"basis"`   // of the messages it rests on: while theirs is that, it holds
	Mark     string          `json:"mark"`    // of the thread then, to tell cheaply that nothing came since; empty: there was more
	Host     string          `json:"host"`    // that was asked
	Updates  int             `json:"updates"` // since it was made from the messages themselves
	Input    int64           `json:"input_tokens"`
	Output   int64           `json:"output_tokens"`
	Exact    bool            `json:"exact"` // the endpoint counted the tokens
	MicroUSD int64           `json:"micro_usd"`
}

// Try is how the newest attempt went to have a summary made.
type Try struct {
	ThreadID string
	At       time.Time
	Basis    string // of all messages then
	Failures int    // in a row, about these messages; of what was sent, not of what could not be
	Reason   string // why there is no summary of them, in a few words; empty: there is
}

// Newer tells whether s is to be shown rather than than: the one that covers more,
// of two that cover as much the one written last.
func (s *Summary) Newer(than *Summary) bool {
	if s.Through != than.Through {
		return s.Through > than.Through
	}
	return s.Created.After(than.Created)
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
