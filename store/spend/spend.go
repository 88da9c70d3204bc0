// Package spend is the account of what was sent to models: what a call cost,
// and how much may still be spent.
package spend

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind says what a call was for.
type Kind uint8

// The kinds of calls.
const (
	Embedding Kind = iota + 1
	Summary
	Counting
)

// String is the name in the ledger's listing.
func (k Kind) String() string {
	switch k {
	case Embedding:
		return "embedding"
	case Summary:
		return "summary"
	case Counting:
		return "counting"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText gives String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Outcome says how a call ended.
type Outcome uint8

// The outcomes.
const (
	Done        Outcome = iota + 1
	Refused             // by the endpoint, for good
	Unavailable         // no answer; it may have been charged all the same
	Unusable            // an answer that isn't one
	Pending             // sent, and nobody has told how it ended: the program may have been killed
)

// String is the name in the ledger's listing.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Refused:
		return "refused"
	case Unavailable:
		return "unavailable"
	case Unusable:
		return "unusable"
	case Pending:
		return "pending"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// MarshalText gives String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Entry is one question to an endpoint.
type Entry struct {
	ID       int64     `json:"-"` // in the ledger; 0: not entered yet
	At       time.Time `json:"at"`
	Kind     Kind      `json:"kind"`
	Host     string    `json:"host"`
	Model    string    `json:"model"`
	Calls    int       `json:"calls"` // requests sent for it, tries included
	Input    int64     `json:"input_tokens"`
	Output   int64     `json:"output_tokens"`
	Exact    bool      `json:"exact"` // the endpoint counted the tokens; else they are estimated
	MicroUSD int64     `json:"micro_usd"`
	Unpriced bool      `json:"unpriced"`  // nobody tells the price: MicroUSD is 0 and means nothing
	Thread   string    `json:"thread_id"` // empty: several, or none
	Outcome  Outcome   `json:"outcome"`
}

// Sum is what several entries come to.
type Sum struct {
	Calls    int64 `json:"calls"`
	Input    int64 `json:"input_tokens"`
	Output   int64 `json:"output_tokens"`
	MicroUSD int64 `json:"micro_usd"`
	Unpriced int64 `json:"unpriced_calls"` // whose cost isn't in MicroUSD, because nobody tells it
}

// NoCap lets as much be spent as is wanted.
const NoCap = -1

// Period is how long caps hold.
type Period uint8

// The periods. The zero value means a day.
const (
	Daily Period = iota + 1
	Monthly
)

// String names it.
func (p Period) String() string {
	if p == Monthly {
		return "month"
	}
	return "day"
}

// Began is when the period of now did, by its own clock.
func (p Period) Began(now time.Time) time.Time {
	if p == Monthly {
		return Today(now).AddDate(0, 0, 1-now.Day())
	}
	return Today(now)
}

// Ends is when the period of now does.
func (p Period) Ends(now time.Time) time.Time {
	if p == Monthly {
		return p.Began(now).AddDate(0, 1, 0)
	}
	return Today(now).AddDate(0, 0, 1)
}

// Caps is how much may be spent in a period, or NoCap. 0 lets nothing be sent,
// also what costs nothing.
type Caps struct {
	Period   Period
	Calls    int64
	Tokens   int64 // in and out
	MicroUSD int64
}

// ErrCap means that a cap is reached. What comes is a *CapError.
var ErrCap = errors.New("the cap is reached")

const microUSD = "micro-USD"

// CapError says which cap.
type CapError struct {
	What   string // calls, tokens, micro-USD
	Limit  int64
	Period Period
}

// Error names the cap.
func (e *CapError) Error() string {
	limit := fmt.Sprintf("%d %s", e.Limit, e.What)
	if e.What == microUSD {
		limit = strconv.FormatFloat(float64(e.Limit)/1e6, 'f', -1, 64) + " USD"
	}
	if e.Limit == 0 {
		return fmt.Sprintf("nothing is sent: the %s's cap is %s in the settings", e.Period, limit)
	}
	return fmt.Sprintf("the %s's cap is reached: %s", e.Period, limit)
}

// Is tells that e is an ErrCap.
func (e *CapError) Is(target error) bool { return target == ErrCap }

// Allow is pure: whether what spent is, and next still to come, is within the
// caps. *CapError if not.
func (c Caps) Allow(spent, next Sum) error {
	for _, cap := range []struct {
		what        string
		limit, want int64
	}{
		{"calls", c.Calls, spent.Calls + next.Calls},
		{"tokens", c.Tokens, spent.Input + spent.Output + next.Input + next.Output},
		{microUSD, c.MicroUSD, spent.MicroUSD + next.MicroUSD},
	} {
		if cap.limit != NoCap && (cap.limit == 0 || cap.want > cap.limit) {
			return &CapError{What: cap.what, Limit: cap.limit, Period: c.Period}
		}
	}
	return nil
}

// Cost is what tokens cost at a price per million of them, rounded up.
func Cost(tokens int64, usdPerMillion float64) int64 {
	return int64(math.Ceil(float64(tokens) * usdPerMillion))
}

// Estimate guesses the tokens of a text, rather too many than too few: a
// third of the ASCII characters, and one for each other.
func Estimate(text string) int64 {
	ascii, other := 0, 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return int64((ascii+2)/3 + other)
}

// Today is when the day of now began, by its own clock.
func Today(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, now.Location())
}
