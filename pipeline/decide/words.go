package decide

import (
	"encoding/json"
	"fmt"
)

// Verdict says what is to be done with a thread before the target takes it.
type Verdict uint8

const (
	// Direct hands over the whole conversation of the current branch.
	Direct Verdict = iota + 1
	// Compress hands over what fits the budget, the rest by reference.
	Compress
)

// Fit says how much of the room a thread takes as it is.
type Fit uint8

const (
	// Comfortable leaves the target enough room to work.
	Comfortable Fit = iota + 1
	// Tight fits, but the target will soon compact what it was given.
	Tight
	// Over does not fit.
	Over
)

// Strategy says how a thread is compressed. The zero value means not at all
// and is null in JSON.
type Strategy uint8

const (
	// Shrunk keeps every user and assistant word; tool outputs and stale
	// file reads are replaced by references.
	Shrunk Strategy = iota + 1
	// Selected keeps pins, the tail and the passages that cover most of
	// what the rest refers to.
	Selected
	// Latest keeps the newest messages. It is never decided here, only asked
	// for by a user.
	Latest
)

// Policy says which limit a direct verdict must keep to.
type Policy uint8

const (
	// PolicyFits is the default, as is the zero value: direct if the thread
	// fits the room.
	PolicyFits Policy = iota + 1
	// PolicyComfortable is direct only if the thread fits comfortably.
	PolicyComfortable
)

// OverheadSource says whose word the overhead of a decision is.
type OverheadSource uint8

const (
	// OverheadAssumed is what programs of the target's kind put there usually.
	OverheadAssumed OverheadSource = iota + 1
	// OverheadMeasured is what the vendor counted beside the messages in the
	// first request of the thread.
	OverheadMeasured
)

// The name tables are read only.
var (
	overheadNames = [...]string{OverheadAssumed: "assumed", OverheadMeasured: "measured"}
	verdictNames  = [...]string{Direct: "direct", Compress: "compress"}
	fitNames      = [...]string{Comfortable: "comfortable", Tight: "tight", Over: "over"}
	strategyNames = [...]string{Shrunk: "shrunk", Selected: "selected", Latest: "latest"}
	policyNames   = [...]string{PolicyFits: "fits", PolicyComfortable: "comfortable"}
	ceilingNames  = [...]string{
		CeilingShare: "share", CeilingCodex: "codex",
		CeilingClaudeCode: "claude-code", CeilingGeminiCLI: "gemini-cli",
	}
)

// String returns "direct" or "compress".
func (v Verdict) String() string { return nameOf("verdict", verdictNames[:], uint8(v)) }

// MarshalText writes the name; it fails for a value outside the set.
func (v Verdict) MarshalText() ([]byte, error) {
	return textOf("verdict", verdictNames[:], uint8(v))
}

// UnmarshalText reads the name.
func (v *Verdict) UnmarshalText(text []byte) error {
	return parse("verdict", verdictNames[:], text, (*uint8)(v))
}

// String returns "comfortable", "tight" or "over".
func (f Fit) String() string { return nameOf("fit", fitNames[:], uint8(f)) }

// MarshalText writes the name; it fails for a value outside the set.
func (f Fit) MarshalText() ([]byte, error) { return textOf("fit", fitNames[:], uint8(f)) }

// UnmarshalText reads the name.
func (f *Fit) UnmarshalText(text []byte) error {
	return parse("fit", fitNames[:], text, (*uint8)(f))
}

// String returns "shrunk", "selected" or "latest", and "" for none.
func (s Strategy) String() string {
	if s == 0 {
		return ""
	}
	return nameOf("strategy", strategyNames[:], uint8(s))
}

// MarshalText writes the name, nothing for none.
func (s Strategy) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return textOf("strategy", strategyNames[:], uint8(s))
}

// MarshalJSON writes the name, null for none.
func (s Strategy) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte("null"), nil
	}
	text, err := s.MarshalText()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

// UnmarshalText reads the name; an empty text means none.
func (s *Strategy) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = 0
		return nil
	}
	return parse("strategy", strategyNames[:], text, (*uint8)(s))
}

// String returns "assumed" or "measured"; the zero value is "assumed".
func (s OverheadSource) String() string {
	return nameOf("overhead source", overheadNames[:], max(uint8(s), 1))
}

// MarshalText writes the name; it fails for a value outside the set.
func (s OverheadSource) MarshalText() ([]byte, error) {
	return textOf("overhead source", overheadNames[:], max(uint8(s), 1))
}

// UnmarshalText reads the name.
func (s *OverheadSource) UnmarshalText(text []byte) error {
	return parse("overhead source", overheadNames[:], text, (*uint8)(s))
}

// String returns "fits" or "comfortable"; the zero value is "fits".
func (p Policy) String() string { return nameOf("policy", policyNames[:], max(uint8(p), 1)) }

// MarshalText writes the name; it fails for a value outside the set.
func (p Policy) MarshalText() ([]byte, error) {
	return textOf("policy", policyNames[:], max(uint8(p), 1))
}

// UnmarshalText reads the name.
func (p *Policy) UnmarshalText(text []byte) error {
	return parse("policy", policyNames[:], text, (*uint8)(p))
}

// String returns "share", "codex", "claude-code" or "gemini-cli".
func (c CeilingRule) String() string { return nameOf("ceiling rule", ceilingNames[:], uint8(c)) }

// MarshalText writes the name; it fails for a value outside the set.
func (c CeilingRule) MarshalText() ([]byte, error) {
	return textOf("ceiling rule", ceilingNames[:], uint8(c))
}

func nameOf(kind string, names []string, v uint8) string {
	if v == 0 || int(v) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, v)
	}
	return names[v]
}

func textOf(kind string, names []string, v uint8) ([]byte, error) {
	if v == 0 || int(v) >= len(names) {
		return nil, fmt.Errorf("write %s: unknown value %d", kind, v)
	}
	return []byte(names[v]), nil
}

func parse(kind string, names []string, text []byte, into *uint8) error {
	for v := 1; v < len(names); v++ {
		if names[v] == string(text) {
			*into = uint8(v)
			return nil
		}
	}
	return fmt.Errorf("read %s: unknown name %q", kind, text)
}
