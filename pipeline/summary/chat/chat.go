// Package chat asks models through any endpoint that speaks as OpenAI's
// /chat/completions.
package chat

import (
	"errors"
	"time"
)

var (
	// ErrOptions means that the settings can't be worked with.
	ErrOptions = errors.New("the summary settings don't fit together")
	// ErrRemote means that the endpoint is not on this machine and nobody allowed
	// for that. It comes with ErrOptions.
	ErrRemote = errors.New("remote endpoints are not allowed")
)

// Times and tries.
const (
	CallFor = 120 * time.Second // of one request, its answer included
	JobFor  = 10 * time.Minute  // of all calls of a plan
	Tries   = 4                 // of a call that may pass
)

// Provider is who answers.
type Provider uint8

// The providers.
const (
	DeepSeek Provider = iota + 1
	OpenAI
	Ollama
	LMStudio
	VLLM
	DashScope
	Moonshot
	OpenRouter
	Custom
)

// ParseProvider reads a name from the settings: deepseek, openai, ollama,
// lmstudio, vllm, dashscope, moonshot, openrouter, custom. ErrOptions.
func ParseProvider(name string) (Provider, error) { return 0, ErrOptions }

// String is its name in the settings.
func (p Provider) String() string { return "" }

// KeyEnv is the environment variable in which people keep its key; empty: it
// takes none.
func (p Provider) KeyEnv() string { return "" }

// Endpoint says who is asked.
type Endpoint struct {
	Provider    Provider      // 0: Custom
	BaseURL     string        // up to and without /chat/completions; empty: the provider's
	Model       string        // as the endpoint calls it; empty: the provider's
	Key         string        // sent as bearer token; empty: none
	AllowRemote bool          // else only this machine is spoken to
	Timeout     time.Duration // of one request; 0: CallFor
	Tries       int           // 0: Tries
}

// Fill adds what the provider is known by where e leaves it open.
func (e Endpoint) Fill() Endpoint { return e }

// Check looks e over without sending anything: ErrOptions with what is wrong,
// ErrRemote with it where the endpoint is remote and not allowed. It is pure.
func (e Endpoint) Check() (host string, local bool, err error) { return "", false, nil }

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

// String is the reason in one word or two, for status and ledgers.
func (r Reason) String() string { return "" }

// Lasting tells that trying again won't help before somebody changes something:
// settings, key, account.
func (r Reason) Lasting() bool { return false }

// Error is why a call gave nothing. Its text names endpoint, model and reason,
// never the key and nothing of what was sent.
type Error struct {
	Reason Reason
	Host   string
	Model  string
	Status int           // of HTTP; 0: none came
	Wait   time.Duration // the endpoint asked to be left alone for so long; 0: it didn't
	Said   string        // by the endpoint, short, on one line
	Err    error
}

// Error names endpoint, model, what is wrong and what to do.
func (e *Error) Error() string { return "" }

// Unwrap gives what was below.
func (e *Error) Unwrap() error { return e.Err }

// Hint is the next step for the user; empty: none but to wait.
func (e *Error) Hint() string { return "" }

// Client asks an endpoint. It is safe for concurrent use.
type Client struct{}
