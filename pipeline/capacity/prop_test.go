package capacity_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
)

// Names come from agents and settings: whatever they are, the answer is whole.
func TestAnyNameHasAWholeAnswer(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"codex", "copilot", "openrouter", "azure", "ollama", "arn:aws:bedrock:", "models", "accounts", "ft:", "us.", "anthropic.",
		"gpt-5", "claude-opus-4.6", "qwen3", "-", "/", ":", "@", "[1m]", "@400k", "@0", "@default", ":free", ":8b", "-v1:0", ":200k", "-20250929", "-latest", "-fp8", "é", " ", "",
	})
	rapid.Check(t, func(t *rapid.T) {
		asked := ""
		for range rapid.IntRange(0, 7).Draw(t, "parts") {
			asked += rapid.OneOf(part, rapid.StringN(0, 6, -1)).Draw(t, "part")
		}
		m, err := capacity.Default().Lookup(asked)
		if (err == nil) != m.Known() {
			t.Fatalf("%q: known %v, %v", asked, m.Known(), err)
		}
		if m.Window < 256 || m.Input < 0 || m.Input > m.Window || m.MaxOutput < 0 || m.MaxOutput > m.Window ||
			m.EffectivePercent < 1 || m.EffectivePercent > 100 || m.Factor < 1 || m.FactorHigh < m.Factor ||
			m.Surface == "" || m.Encoding == 0 || m.Source == 0 || m.MatchedBy == 0 || m.Confidence == 0 {
			t.Fatalf("%q: %+v", asked, m)
		}
		if again, _ := capacity.Default().Lookup(asked); again != m {
			t.Fatalf("%q: %+v, then %+v", asked, m, again)
		}
		capacity.Default().Search(asked, 0, 3)
		capacity.Default().Closest(asked, 3)
	})
}
