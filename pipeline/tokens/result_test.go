package tokens_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

func TestRatioGivesBounds(t *testing.T) {
	tests := []struct {
		name  string
		ratio tokens.Ratio
		n     int64
		own   bool
		want  tokens.Result
	}{
		{"own vocabulary", tokens.One(), 100, true, tokens.Result{Tokens: 100, Method: tokens.Exact, Lo: 100, Hi: 100}},
		{"no ratio, own vocabulary", tokens.Ratio{}, 7, true, tokens.Result{Tokens: 7, Method: tokens.Exact, Lo: 7, Hi: 7}},
		{"another's, ratio one", tokens.One(), 100, false, tokens.Result{Tokens: 100, Method: tokens.Estimated, Lo: 100, Hi: 100}},
		{"no ratio", tokens.Ratio{}, 9, false, tokens.Result{Tokens: 9, Method: tokens.Estimated, Lo: 9, Hi: 9}},
		{"bounds round outwards", tokens.Ratio{1.16, 1.20, 1.30}, 101, false, tokens.Result{Tokens: 121, Method: tokens.Estimated, Lo: 117, Hi: 132}},
		{"no float noise", tokens.Ratio{1, 1.1, 1.1}, 100, false, tokens.Result{Tokens: 110, Method: tokens.Estimated, Lo: 100, Hi: 110}},
		{"own vocabulary with a margin", tokens.Ratio{1, 1, 1.02}, 100, true, tokens.Result{Tokens: 100, Method: tokens.Estimated, Lo: 100, Hi: 102}},
		{"negative", tokens.One(), -5, false, tokens.Result{Method: tokens.Estimated}},
		{"no overflow", tokens.Ratio{1, 2, 3}, math.MaxInt64 / 2, false, tokens.Result{Tokens: math.MaxInt64, Method: tokens.Estimated, Lo: math.MaxInt64, Hi: math.MaxInt64}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Encoding = "o200k_base"
			if got := tt.ratio.Apply(tt.n, "o200k_base", tt.own); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestBoundsHoldTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(0.5, 3)
		r := tokens.Ratio{Low: f.Draw(t, "low"), Typical: f.Draw(t, "typical"), High: f.Draw(t, "high")}
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n")
		a, b := r.Apply(n, "x", false), r.Apply(n+1, "x", false)
		if a.Lo > a.Tokens || a.Tokens > a.Hi || b.Hi < a.Hi || b.Lo < a.Lo {
			t.Fatalf("%+v of %d: %+v, of one more %+v", r, n, a, b)
		}
	})
}

func TestResultAsJSON(t *testing.T) {
	text, err := json.Marshal(tokens.Ratio{1.41, 1.52, 1.6}.Apply(1000, "o200k_base", false))
	if want := `{"tokens":1520,"method":"estimated","lo":1410,"hi":1600,"encoding":"o200k_base"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	for _, name := range []string{"exact", "estimated", "vendor"} {
		var m tokens.Method
		if err := m.UnmarshalText([]byte(name)); err != nil || m.String() != name {
			t.Errorf("%s reads as %v, %v", name, m, err)
		}
	}
	var m tokens.Method
	if err := m.UnmarshalText([]byte("guessed")); err == nil {
		t.Error("an unknown method was read")
	}
	if _, err := m.MarshalText(); err == nil {
		t.Error("no method was written")
	}
}
