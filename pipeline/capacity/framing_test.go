package capacity_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
)

func TestFraming(t *testing.T) {
	// Two requests, two answers, one call with its result.
	for name, want := range map[string]int{
		"gpt-4o":                 3 + 2*4 + 2*4 + 8 + 8,
		"gpt-5.5":                5 + 2*4 + 2*6 + 14 + 11,
		"codex/gpt-6-sol":        5 + 2*4 + 2*6 + 14 + 11,
		"claude-sonnet-4-6":      9 + 2*2 + 2*2 + 4 + 4,
		"qwen3-max":              3 + 4*5 + 20,
		"llama-3.3-70b-instruct": 5 + 4*5 + 20,
		"deepseek-chat":          1 + 2*1 + 2*2 + 8,
		"gemini-2.5-pro":         4*5 + 20,
		"unknown-model-x":        11 + 4*8 + 28,
	} {
		m, _ := capacity.Default().Lookup(name)
		if got := m.Framing.Around(2, 2, 1, 1); got != want {
			t.Errorf("%s: %d tokens around, want %d", name, got, want)
		}
	}
}

func TestRatioHasBounds(t *testing.T) {
	for name, low := range map[string]float64{
		"gpt-5": 1, "claude-opus-4-6": 1.16, "claude-opus-4-8": 1.41, "gemini-2.5-pro": 0.98, "deepseek-chat": 0.97, "qwen3-max": 1.01,
	} {
		m, _ := capacity.Default().Lookup(name)
		if r := m.Ratio(); r.Low != low || r.Typical < r.Low || r.High < r.Typical {
			t.Errorf("%s: %+v, want from %v", name, r, low)
		}
	}
	m, _ := capacity.Default().With(capacity.Model{ID: "gpt-5", Factor: 0.9, FactorHigh: 1.1, FactorLow: 0.8}).Lookup("gpt-5")
	if r := m.Ratio(); r.Low != 0.8 || r.Typical != 0.9 || r.High != 1.1 {
		t.Errorf("given ratio reads as %+v", r)
	}
}
