package tokens

import (
	"fmt"
	"math"
)

// Method says how the number of a model's tokens was come by.
type Method uint8

const (
	// Exact is counted with the model's own vocabulary.
	Exact Method = iota + 1
	// Estimated is counted with another one, times a measured ratio.
	Estimated
	// Vendor is what the vendor itself answered or reported.
	Vendor
)

// methods names the values; it is read only.
var methods = [...]string{Exact: "exact", Estimated: "estimated", Vendor: "vendor"}

// String returns "exact", "estimated" or "vendor".
func (m Method) String() string {
	if m == 0 || int(m) >= len(methods) {
		return fmt.Sprintf("method(%d)", uint8(m))
	}
	return methods[m]
}

// MarshalText writes the name; it fails for a value outside the set.
func (m Method) MarshalText() ([]byte, error) {
	if m == 0 || int(m) >= len(methods) {
		return nil, fmt.Errorf("write counting method: unknown value %d", m)
	}
	return []byte(methods[m]), nil
}

// UnmarshalText reads the name.
func (m *Method) UnmarshalText(text []byte) error {
	for v := 1; v < len(methods); v++ {
		if methods[v] == string(text) {
			*m = Method(v)
			return nil
		}
	}
	return fmt.Errorf("read counting method: unknown name %q", text)
}

// Result is how many tokens a model makes of a text.
type Result struct {
	// Tokens is the number, or the likeliest one; Lo and Hi bound it. Decide on
	// Hi whether a text fits.
	Tokens int64  `json:"tokens"`
	Method Method `json:"method"`
	Lo     int64  `json:"lo"`
	Hi     int64  `json:"hi"`
	// Encoding is what was counted with.
	Encoding string `json:"encoding"`
	// Source says who the number or its bounds are from, where that isn't the
	// program: a vendor, or a calibration and its date.
	Source string `json:"source,omitempty"`
}

// Ratio converts a count in one vocabulary to that of another: tokens of the
// other per token counted. The zero value is 1 throughout. The bounds hold for
// whole sessions (first to 99th percentile); a single short text can be further
// off.
type Ratio struct {
	Low, Typical, High float64
}

// One is the ratio of a vocabulary to itself.
func One() Ratio { return Ratio{1, 1, 1} }

// exact says whether the ratio changes nothing.
func (r Ratio) exact() bool { return r == Ratio{} || r == One() }

// ratioParts: ratios are whole numbers of ten-thousandths, as products of
// floats would put 100 × 1.1 at 111.
const ratioParts = 10_000

// Apply gives the result of a count of n tokens in the encoding: exact if own
// says that it is the model's own vocabulary, else an estimate. Bounds round
// outwards.
func (r Ratio) Apply(n int64, encoding string, own bool) Result {
	n = max(n, 0)
	if own && r.exact() {
		return Result{Tokens: n, Method: Exact, Lo: n, Hi: n, Encoding: encoding}
	}
	if (r == Ratio{}) {
		r = One()
	}
	scale := func(f float64, plus int64) int64 {
		parts := int64(math.Round(f * ratioParts))
		if n > (math.MaxInt64-ratioParts)/max(parts, 1) {
			return math.MaxInt64
		}
		return (n*parts + plus) / ratioParts
	}
	out := Result{
		Tokens: scale(r.Typical, ratioParts/2), Method: Estimated,
		Lo: scale(r.Low, 0), Hi: scale(r.High, ratioParts-1), Encoding: encoding,
	}
	out.Lo, out.Hi = min(out.Lo, out.Tokens), max(out.Hi, out.Tokens)
	return out
}
