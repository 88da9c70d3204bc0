package capacity

import "fmt"

// Origin says where figures are from.
type Origin uint8

const (
	// OriginTable is the table that ships with the program.
	OriginTable Origin = iota + 1
	// OriginOverride is the user's word, in the settings or in the name.
	OriginOverride
	// OriginObserved is what a session reported.
	OriginObserved
	// OriginVendor is an answer of the vendor or a local server.
	OriginVendor
	// OriginDefault is no knowledge at all.
	OriginDefault
)

// Match says how a name led to its row.
type Match uint8

const (
	// MatchExact found the id as written.
	MatchExact Match = iota + 1
	// MatchNormalized found it after normalising the name.
	MatchNormalized
	// MatchPrefix found a shorter id the name begins with.
	MatchPrefix
	// MatchHost found the normalised id at the host named.
	MatchHost
	// MatchPercentile took the low end over all hosts.
	MatchPercentile
	// MatchOverride found the user's own figure.
	MatchOverride
	// MatchObserved found what a session reported.
	MatchObserved
	// MatchNone found nothing.
	MatchNone
)

// Confidence says how far to trust figures.
type Confidence uint8

const (
	// ConfidenceNone is for defaults.
	ConfidenceNone Confidence = iota + 1
	// ConfidenceLow is for figures that depend on a plan, a host or a guess
	// about the name.
	ConfidenceLow
	// ConfidenceMedium is one source, or several that differ.
	ConfidenceMedium
	// ConfidenceHigh is several sources that agree, or the program's own.
	ConfidenceHigh
)

// The name tables are read only.
var (
	originNames = [...]string{
		OriginTable: "table", OriginOverride: "override", OriginObserved: "observed",
		OriginVendor: "vendor", OriginDefault: "default",
	}
	matchNames = [...]string{
		MatchExact: "exact", MatchNormalized: "normalized", MatchPrefix: "prefix", MatchHost: "host",
		MatchPercentile: "percentile", MatchOverride: "override", MatchObserved: "observed", MatchNone: "none",
	}
	confidenceNames = [...]string{
		ConfidenceNone: "none", ConfidenceLow: "low", ConfidenceMedium: "medium", ConfidenceHigh: "high",
	}
)

// String returns the name, such as "table".
func (o Origin) String() string { return nameOf("origin", originNames[:], uint8(o)) }

// MarshalText writes the name; it fails for a value outside the set.
func (o Origin) MarshalText() ([]byte, error) { return textOf("origin", originNames[:], uint8(o)) }

// UnmarshalText reads the name.
func (o *Origin) UnmarshalText(text []byte) error {
	return parse("origin", originNames[:], text, (*uint8)(o))
}

// String returns the name, such as "exact".
func (m Match) String() string { return nameOf("match", matchNames[:], uint8(m)) }

// MarshalText writes the name; it fails for a value outside the set.
func (m Match) MarshalText() ([]byte, error) { return textOf("match", matchNames[:], uint8(m)) }

// UnmarshalText reads the name.
func (m *Match) UnmarshalText(text []byte) error {
	return parse("match", matchNames[:], text, (*uint8)(m))
}

// String returns the name, such as "high".
func (c Confidence) String() string { return nameOf("confidence", confidenceNames[:], uint8(c)) }

// MarshalText writes the name; it fails for a value outside the set.
func (c Confidence) MarshalText() ([]byte, error) {
	return textOf("confidence", confidenceNames[:], uint8(c))
}

// UnmarshalText reads the name.
func (c *Confidence) UnmarshalText(text []byte) error {
	return parse("confidence", confidenceNames[:], text, (*uint8)(c))
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
