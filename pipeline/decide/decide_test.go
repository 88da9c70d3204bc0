package decide_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

func TestForFigures(t *testing.T) {
	tests := []struct {
		name                             string
		w                                decide.Window
		p                                decide.Options
		reserve, ceiling, overhead, room int
	}{
		{"api, input limit below window less reserve",
			decide.Window{Surface: "api", WindowTokens: 400_000, InputLimit: 272_000, MaxOutput: 128_000},
			decide.Options{}, 20_000, 244_800, 15_000, 229_800},
		{"api without input limit",
			decide.Window{Surface: "api", WindowTokens: 400_000, MaxOutput: 128_000},
			decide.Options{}, 20_000, 342_000, 15_000, 327_000},
		{"codex compacts at 90 % of 272,000",
			decide.Window{Surface: "codex", WindowTokens: 272_000, MaxOutput: 128_000, EffectivePercent: 95},
			decide.Options{}, 20_000, 244_800, 10_000, 234_800},
		{"claude code compacts 200,000 at 167,000",
			decide.Window{Surface: "claude-code", WindowTokens: 200_000, MaxOutput: 64_000},
			decide.Options{}, 20_000, 167_000, 35_000, 132_000},
		{"claude code compacts 1,000,000 at 967,000",
			decide.Window{Surface: "claude-code", WindowTokens: 1_000_000, MaxOutput: 128_000},
			decide.Options{}, 20_000, 967_000, 35_000, 932_000},
		{"gemini cli compacts at half",
			decide.Window{Surface: "gemini-cli", WindowTokens: 1_048_576, MaxOutput: 65_536},
			decide.Options{}, 20_000, 524_288, 15_000, 509_288},
		{"short answers reserve less",
			decide.Window{WindowTokens: 128_000, MaxOutput: 4_096},
			decide.Options{}, 4_096, 111_513, 15_000, 96_513},
		{"unknown output reserves the default",
			decide.Window{WindowTokens: 128_000},
			decide.Options{}, 20_000, 97_200, 15_000, 82_200},
		{"tiny window keeps room",
			decide.Window{WindowTokens: 8_192},
			decide.Options{}, 4_096, 3_686, 921, 2_765},
		{"tiny claude code window keeps room",
			decide.Window{Surface: "claude-code", WindowTokens: 8_192},
			decide.Options{}, 4_096, 3_072, 768, 2_304},
		{"a reserve asked for is kept",
			decide.Window{WindowTokens: 128_000}, decide.Options{Reserve: 100_000},
			100_000, 25_200, 6_300, 18_900},
		{"no reserve",
			decide.Window{WindowTokens: 100_000}, decide.Options{Reserve: -1},
			0, 90_000, 15_000, 75_000},
		{"a reserve beyond the window",
			decide.Window{WindowTokens: 100_000}, decide.Options{Reserve: 200_000},
			100_000, 0, 0, 0},
		{"overhead given", decide.Window{WindowTokens: 100_000, OverheadTokens: 5_000},
			decide.Options{}, 20_000, 72_000, 5_000, 67_000},
		{"no overhead", decide.Window{WindowTokens: 100_000, OverheadTokens: -1},
			decide.Options{}, 20_000, 72_000, 0, 72_000},
		{"rule given", decide.Window{WindowTokens: 100_000, Ceiling: decide.CeilingGeminiCLI},
			decide.Options{}, 20_000, 50_000, 12_500, 37_500},
		{"nothing known", decide.Window{}, decide.Options{}, 0, 0, 0, 0},
		{"nonsense", decide.Window{WindowTokens: -5, MaxOutput: -1, InputLimit: -3, EffectivePercent: 900},
			decide.Options{}, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decide.For(tt.w, 1, 1, true, tt.p)
			got := [4]int{d.Reserve, d.Ceiling, d.Overhead, d.Room}
			if want := [4]int{tt.reserve, tt.ceiling, tt.overhead, tt.room}; got != want {
				t.Errorf("reserve, ceiling, overhead, room = %v, want %v", got, want)
			}
		})
	}
}

func TestForVerdicts(t *testing.T) {
	w := decide.Window{WindowTokens: 128_000, MaxOutput: 4_096, Factor: 1} // room 96,513
	limit := 57_907                                                        // 0.6 × room
	none := 0
	tests := []struct {
		name           string
		factor         float64
		policy         decide.Policy
		tokens, shrunk int
		verdict        decide.Verdict
		strategy       decide.Strategy
		fit            decide.Fit
		budget         int
	}{
		{"empty", 1, 0, 0, 0, decide.Direct, 0, decide.Comfortable, none},
		{"last comfortable", 1, 0, limit, 0, decide.Direct, 0, decide.Comfortable, none},
		{"first tight", 1, 0, limit + 1, 0, decide.Direct, 0, decide.Tight, none},
		{"exactly the room", 1, 0, 96_513, 0, decide.Direct, 0, decide.Tight, none},
		{"one more", 1, 0, 96_514, 96_513, decide.Compress, decide.Shrunk, decide.Over, 96_513},
		{"shrunk does not fit either", 1, 0, 96_514, 96_514, decide.Compress, decide.Selected, decide.Over, 24_128},
		{"cannot be shrunk", 1, 0, 96_514, -1, decide.Compress, decide.Selected, decide.Over, 24_128},
		{"comfortable at the limit", 1, decide.PolicyComfortable, limit, 0, decide.Direct, 0, decide.Comfortable, none},
		{"comfortable one more", 1, decide.PolicyComfortable, limit + 1, limit, decide.Compress, decide.Shrunk, decide.Tight, limit},
		{"comfortable selected", 1, decide.PolicyComfortable, limit + 1, limit + 1, decide.Compress, decide.Selected, decide.Tight, 24_128},
		{"factor, last that fits", 1.6, 0, 60_320, 0, decide.Direct, 0, decide.Tight, none},
		{"factor, first that does not", 1.6, 0, 60_321, 60_320, decide.Compress, decide.Shrunk, decide.Over, 60_320},
		{"factor without rounding noise", 1.1, 0, 87_739, 0, decide.Direct, 0, decide.Tight, none},
		{"factor below one counts as one", 0.5, 0, 96_514, 0, decide.Compress, decide.Shrunk, decide.Over, 96_513},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.Factor = tt.factor
			d := decide.For(w, tt.tokens, tt.shrunk, true, decide.Options{Policy: tt.policy})
			if d.Verdict != tt.verdict || d.Strategy != tt.strategy || d.Fit != tt.fit {
				t.Errorf("got %v %q %v, want %v %q %v", d.Verdict, d.Strategy, d.Fit, tt.verdict, tt.strategy, tt.fit)
			}
			switch {
			case (d.Budget == nil) != (tt.verdict == decide.Direct):
				t.Errorf("budget is nil: %v", d.Budget == nil)
			case d.Budget != nil && *d.Budget != tt.budget:
				t.Errorf("budget = %d, want %d", *d.Budget, tt.budget)
			}
		})
	}
}

func TestBudgetBounds(t *testing.T) {
	tests := []struct {
		name           string
		window, budget int
		factor         float64
	}{
		{"large windows are capped", 1_000_000, 32_000, 1.6},
		{"a quarter between", 128_000, 20_550, 1},
		{"at least the least", 40_000, 4_000, 1},
		{"never above the room", 8_192, 2_765, 1},
		{"never above the room in the target's tokens", 8_192, 1_728, 1.6},
		{"no room", 0, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decide.For(decide.Window{WindowTokens: tt.window, Factor: tt.factor}, 1<<40, -1, true, decide.Options{})
			if d.Budget == nil || *d.Budget != tt.budget {
				t.Errorf("budget = %v of room %d, want %d", d.Budget, d.Room, tt.budget)
			}
		})
	}
}

func TestHugeFiguresDoNotOverflow(t *testing.T) {
	for _, window := range []int{0, 1, math.MaxInt} {
		for _, tokens := range []int{math.MinInt, 0, math.MaxInt} {
			for _, factor := range []float64{math.NaN(), math.Inf(-1), 1, 1.6, math.Inf(1)} {
				w := decide.Window{WindowTokens: window, Factor: factor, MaxOutput: math.MaxInt}
				d := decide.For(w, tokens, tokens, true, decide.Options{Comfort: math.NaN()})
				if d.Room < 0 || d.Room > window || d.TargetTokens < 0 || d.Factor < 1 {
					t.Errorf("window %d tokens %d factor %v: %+v", window, tokens, factor, d)
				}
				if tokens == math.MaxInt && d.Verdict != decide.Compress {
					t.Errorf("window %d factor %v: %v for the largest thread", window, factor, d.Verdict)
				}
				if tokens <= 0 && d.Verdict != decide.Direct {
					t.Errorf("window %d factor %v: %v for an empty thread", window, factor, d.Verdict)
				}
			}
		}
	}
}

func TestExactNeedsBoth(t *testing.T) {
	for _, tt := range []struct{ counted, own, want bool }{
		{true, true, true}, {true, false, false}, {false, true, false},
	} {
		if d := decide.For(decide.Window{Exact: tt.own}, 1, 1, tt.counted, decide.Options{}); d.Exact != tt.want {
			t.Errorf("counted %v, own vocabulary %v: exact = %v", tt.counted, tt.own, d.Exact)
		}
	}
}

// TestCountHasBounds: the verdict is taken on the upper bound and what stands
// around messages; what is kept of a decision is enough to give both again.
func TestCountHasBounds(t *testing.T) {
	w := decide.Window{
		Surface: "api", WindowTokens: 200_000, Encoding: "o200k_base",
		Factor: 1.6, FactorTypical: 1.52, FactorLow: 1.41, FramingTokens: 300,
	}
	room := decide.For(w, 0, 0, true, decide.Options{}).Room
	most := (room - 300) * 10 / 16
	d := decide.For(w, most, most, true, decide.Options{})
	if d.Verdict != decide.Direct || d.TargetTokens > room {
		t.Fatalf("%d tokens of %d: %v", d.TargetTokens, room, d.Verdict)
	}
	want := tokens.Result{
		Tokens: int64(math.Round(float64(most) * 1.52)), Method: tokens.Estimated, Lo: int64(float64(most) * 1.41),
		Hi: int64(math.Ceil(float64(most) * 1.6)), Encoding: "o200k_base",
	}
	if d.Count != want || d.MessageOverhead != 300 || d.TargetTokens != int(want.Hi)+300 {
		t.Errorf("count %+v and %d, %d compared, want %+v and 300", d.Count, d.MessageOverhead, d.TargetTokens, want)
	}
	if d := decide.For(w, most+1, most+1, true, decide.Options{}); d.Verdict != decide.Compress {
		t.Errorf("one more: %v", d.Verdict)
	}
	kept := d
	kept.Count, kept.MessageOverhead = tokens.Result{}, 0
	if kept.Recount(); !reflect.DeepEqual(kept, d) {
		t.Errorf("counted again %+v, want %+v", kept, d)
	}
	shrunk := decide.For(w, room, most, true, decide.Options{})
	if shrunk.Strategy != decide.Shrunk || float64(*shrunk.Budget)*1.6 > float64(room-300) {
		t.Errorf("shrunk to %d of %d: %v", *shrunk.Budget, room, shrunk.Strategy)
	}
}

func TestMeasuredOverheadSaysSo(t *testing.T) {
	w := decide.Window{Model: "gpt-x", Surface: "codex", WindowTokens: 200_000, Encoding: "o200k_base", Factor: 1, Exact: true}
	usual := decide.For(w, 100, 100, true, decide.Options{})
	w.OverheadTokens, w.Measured = 6_613, true
	d := decide.For(w, 100, 100, true, decide.Options{})
	if d.Overhead != 6_613 || d.Room != d.Ceiling-6_613 || d.OverheadSource != decide.OverheadMeasured || d.OverheadAssumed != 10_000 {
		t.Errorf("%+v", d)
	}
	if usual.OverheadSource != decide.OverheadAssumed || usual.Room != d.Room-10_000+6_613 {
		t.Errorf("assumed %+v", usual)
	}
	// Whatever was measured, a tiny window keeps room.
	w.WindowTokens = 8_000
	if d := decide.For(w, 100, 100, true, decide.Options{}); d.Overhead != d.Ceiling/4 || d.OverheadAssumed != d.Ceiling/4 {
		t.Errorf("tiny %+v", d)
	}
	d.Stand(usual.Overhead, decide.OverheadAssumed)
	if d.Room != usual.Room || d.Overhead != usual.Overhead {
		t.Errorf("back to what is assumed: %+v", d)
	}
}

func TestDecisionJSON(t *testing.T) {
	w := decide.Window{
		Model: "gpt-x", Surface: "codex", WindowTokens: 272_000, MaxOutput: 128_000, EffectivePercent: 95,
		Encoding: "o200k_base", Factor: 1, Exact: true,
		Source: "table", Date: "2026-11-20", MatchedBy: "exact", Confidence: "high",
	}
	direct := marshal(t, decide.For(w, 1234, 1000, true, decide.Options{}))
	want := `{"target_model":"gpt-x","surface":"codex","verdict":"direct","strategy":null,"fit":"comfortable",` +
		`"session_tokens":1234,"target_tokens":1234,"encoding":"o200k_base","exact":true,"factor":1,` +
		`"factor_typical":0,"factor_low":0,"count":{"tokens":1234,"method":"exact","lo":1234,"hi":1234,"encoding":"o200k_base"},"message_overhead":0,` +
		`"window":272000,"effective_percent":95,"reserve":20000,"overhead":10000,"overhead_source":"assumed","overhead_assumed":10000,"ceiling":244800,"room":234800,` +
		`"budget":null,"kept_tokens":0,"kept_messages":0,"omitted_messages":0,` +
		`"window_source":"table","window_date":"2026-11-20","matched_by":"exact","confidence":"high",` +
		`"computed_at":"0001-01-01T00:00:00Z","through_seq":0}`
	if direct != want {
		t.Errorf("got  %s\nwant %s", direct, want)
	}

	d := decide.For(w, 300_000, 299_000, true, decide.Options{})
	text := marshal(t, d)
	for _, part := range []string{`"verdict":"compress","strategy":"selected","fit":"over"`, `"budget":32000`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s not in %s", part, text)
		}
	}
	for _, d := range []decide.Decision{d, decide.For(w, 1, 1, true, decide.Options{})} {
		var back decide.Decision
		if err := json.Unmarshal([]byte(marshal(t, d)), &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, d) {
			t.Errorf("read back %+v, wrote %+v", back, d)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNames(t *testing.T) {
	type named interface {
		String() string
		MarshalText() ([]byte, error)
	}
	sets := map[string][]named{
		"direct compress":                    {decide.Direct, decide.Compress},
		"comfortable tight over":             {decide.Comfortable, decide.Tight, decide.Over},
		"shrunk selected latest":             {decide.Shrunk, decide.Selected, decide.Latest},
		"fits comfortable":                   {decide.PolicyFits, decide.PolicyComfortable},
		"share codex claude-code gemini-cli": {decide.CeilingShare, decide.CeilingCodex, decide.CeilingClaudeCode, decide.CeilingGeminiCLI},
	}
	for names, set := range sets {
		var got []string
		for _, v := range set {
			text, err := v.MarshalText()
			if err != nil || string(text) != v.String() {
				t.Errorf("%v: text %q, %v", v, text, err)
			}
			got = append(got, v.String())
		}
		if want := strings.Fields(names); !slices.Equal(got, want) {
			t.Errorf("names %v, want %v", got, want)
		}
	}
	for _, v := range []named{decide.Verdict(0), decide.Verdict(9), decide.Fit(9), decide.Strategy(9), decide.Policy(9), decide.CeilingRule(9)} {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("%v wrote %q", v, text)
		}
	}
	var p decide.Policy
	if err := p.UnmarshalText([]byte("comfortable")); err != nil || p != decide.PolicyComfortable {
		t.Errorf("policy = %v, %v", p, err)
	}
	if err := p.UnmarshalText([]byte("loose")); err == nil || p != decide.PolicyComfortable {
		t.Errorf("unknown policy read as %v, %v", p, err)
	}
	s := decide.Shrunk
	if err := s.UnmarshalText(nil); err != nil || s != 0 {
		t.Errorf("strategy none = %v, %v", s, err)
	}
}
