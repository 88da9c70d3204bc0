package chat

import (
	"fmt"
	"net/http"
	"time"
)

// Reason says why a call gave nothing.
type Reason uint8

// The reasons.
const (
	NoChoices   Reason = iota + 1 // a 200 without an answer in it
	Blank                         // an answer without text
	Refusal                       // the model won't, or a filter didn't let it
	Truncated                     // cut at the length allowed
	NotJSON                       // prose
	WrongShape                    // JSON, but not what was asked for
	TooLong                       // longer than any answer should be
	NotAnAnswer                   // a 200 that isn't of such an endpoint
	Overflow                      // the input is longer than the model's window
	BadKey                        // 401, 403
	NoSuchModel                   // 404: model or path
	NoCredit                      // 402, or a quota that is used up
	BadRequest                    // other 4xx
	Moved                         // sends on to another address
	RateLimited                   // 429, after all tries
	ServerError                   // 5xx, after all tries
	Timeout                       // no whole answer in time, after all tries
	Unreachable                   // no connection, or it broke, after all tries
)

// reasons in words: for status and ledgers, and the next step for the user.
var words = [...]struct{ name, what, hint string }{
	NoChoices:   {"no choices", "it answered without an answer in it", ""},
	Blank:       {"empty", "it answered with an empty text", ""},
	Refusal:     {"refusal", "the model refused, or a filter did", "try another model for this session"},
	Truncated:   {"cut off", "its answer was cut off at the length allowed", "choose a model that writes longer answers, or a smaller target_chars"},
	NotJSON:     {"not JSON", "its answer is not JSON", "choose a model that follows instructions better"},
	WrongShape:  {"wrong shape", "its answer doesn't have the shape that was asked for", "choose a model that follows instructions better"},
	TooLong:     {"too long", "its answer is longer than any should be, and was not read", "see that the base URL is of an endpoint that speaks as OpenAI's"},
	NotAnAnswer: {"not an answer", "what came is not an answer to /chat/completions", "see that the base URL is of an endpoint that speaks as OpenAI's; most end in /v1"},
	Overflow:    {"too much text", "the text doesn't fit the model's window", "set the window of the model in the settings, or choose one with a larger window"},
	BadKey:      {"key refused", "it refuses the key, or wants one", "set the API key in the environment of the daemon, then start it again"},
	NoSuchModel: {"no such model", "it knows no such model or path", "see the name of the model and the base URL in the settings; Ollama: pull the model first"},
	NoCredit:    {"no credit", "the account has no credit or quota left", "top the account up, or choose another provider"},
	BadRequest:  {"request refused", "it doesn't take the request", "see model and base URL in the settings"},
	Moved:       {"moved", "it sends on to another address, which is not followed", "give the address it sends to as base URL"},
	RateLimited: {"rate limit", "it allows no more calls for now", ""},
	ServerError: {"server error", "it has a fault of its own", ""},
	Timeout:     {"timeout", "it did not answer in time", ""},
	Unreachable: {"unreachable", "it can't be reached, or breaks the connection", "see that it is running, and the base URL in the settings"},
}

// String is the reason in a few words, for status and ledgers.
func (r Reason) String() string {
	if r > 0 && int(r) < len(words) {
		return words[r].name
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// MarshalText gives String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Lasting tells that trying again won't help before somebody changes something:
// settings, key, account.
func (r Reason) Lasting() bool {
	switch r {
	case BadKey, NoSuchModel, NoCredit, BadRequest, Moved, TooLong:
		return true
	case NoChoices, Blank, Refusal, Truncated, NotJSON, WrongShape, NotAnAnswer, Overflow, RateLimited, ServerError, Timeout, Unreachable:
	}
	return false
}

// passes tells which of them another try may mend.
func (r Reason) passes() bool {
	switch r {
	case NoChoices, Blank, NotAnAnswer, RateLimited, ServerError, Timeout, Unreachable:
		return true
	case Refusal, Truncated, NotJSON, WrongShape, TooLong, Overflow, BadKey, NoSuchModel, NoCredit, BadRequest, Moved:
	}
	return false
}

// Error is why a call gave nothing. Its text names endpoint, model and reason,
// never the key and nothing of what was sent.
type Error struct {
	Reason Reason
	Host   string
	Model  string
	Status int           // of HTTP, if it was no success; else 0
	Wait   time.Duration // the endpoint asked to be left alone for so long; 0: it didn't
	Said   string        // by the endpoint or of its answer, short, on one line
	Err    error         // what was below, if anything

	raw string // Said as it came, in lower case
}

// Error names endpoint, model, what is wrong and what to do.
func (e *Error) Error() string {
	what := "it failed"
	if e.Reason > 0 && int(e.Reason) < len(words) {
		what = words[e.Reason].what
	}
	s := fmt.Sprintf("ask %s for a summary by %s: %s", e.Host, e.Model, what)
	if e.Status > 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Said != "" {
		s += ": " + e.Said
	}
	if h := e.Hint(); h != "" {
		s += "; " + h
	}
	return s
}

// Unwrap gives what was below.
func (e *Error) Unwrap() error { return e.Err }

// Hint is the next step for the user; empty: none but to wait.
func (e *Error) Hint() string {
	switch {
	case e.Wait > 0:
		return "it asks to be left alone for " + e.Wait.Round(time.Second).String()
	case e.Reason == 0 || int(e.Reason) >= len(words):
		return ""
	case e.Reason == BadKey && e.Status == http.StatusForbidden:
		return "see what the key is allowed to use, and whether the provider serves your country"
	}
	return words[e.Reason].hint
}
