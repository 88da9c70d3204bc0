package capacity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
)

// A window given with a name holds, however small or large it is.
func TestWindowInTheName(t *testing.T) {
	tests := map[string]int{
		"gpt-4o@256": 256, "gpt-4o@4000": 4_000, "gpt-4o@8192": 8_192, "gpt-4o@9999": 9_999, "gpt-4o@8k": 8_000, "gpt-4o@0.5k": 500,
		"gpt-4o@1M": 1_000_000, "gpt-4o@1.05m": 1_050_000, "gpt-4o@10000001": 10_000_001, "gpt-4o@100000000": 100_000_000,
		"codex/gpt-5.5@4000": 4_000, "openrouter/openai/gpt-4o@4000": 4_000, "vertex_ai/claude-sonnet-4-5@20250929@4000": 4_000,
		"gpt-nosuch@300": 300, "gpt-4o@20259999": 20_259_999, "@cf/nobody/nothing@4000": 4_000,
	}
	for name, window := range tests {
		m, err := capacity.Default().Lookup(name)
		if err != nil || m.Window != window || m.Source != capacity.OriginOverride || m.MatchedBy != capacity.MatchOverride {
			t.Errorf("%s: window %d from %v by %v, %v; want %d", name, m.Window, m.Source, m.MatchedBy, err, window)
		}
	}
}

// What stands like a window but is none must not be taken for the plain model.
func TestWindowThatIsNone(t *testing.T) {
	for _, tail := range []string{
		"@", "@0", "@-5", "@abc", "@255", "@0.2k", "@100000001", "@101m", "@99999999999999999999", "@400_000", "@4e5", "@8k ok",
		"@abc@4000", "@400000:free", "@20251301x", "@1k@",
	} {
		for _, model := range []string{"gpt-4o", "codex/gpt-5.5", "openrouter/openai/gpt-4o", "gpt-nosuch"} {
			m, err := capacity.Default().Lookup(model + tail)
			if !errors.Is(err, capacity.ErrWindow) || !errors.Is(err, capacity.ErrUnknown) {
				t.Errorf("%s: %v", model+tail, err)
				continue
			}
			if m.Known() || m.Window != capacity.UnknownWindow || m.MatchedBy != capacity.MatchNone || m.Confidence != capacity.ConfidenceNone {
				t.Errorf("%s: %+v", model+tail, m)
			}
			if !strings.Contains(err.Error(), `"@`) || !strings.Contains(err.Error(), "is no window: want 256 to 100000000 tokens") || m.Note == "" {
				t.Errorf("%s: error %q, note %q", model+tail, err, m.Note)
			}
		}
	}
	if _, err := capacity.Default().Lookup("gpt-nosuch"); errors.Is(err, capacity.ErrWindow) {
		t.Errorf("an unknown name: %v", err)
	}
}

// Hosts write "@" themselves.
func TestNamesWithAnAt(t *testing.T) {
	for name, plain := range map[string]string{
		"claude-sonnet-4-5@20250929": "claude-sonnet-4-5-20250929", "vertex_ai/claude-fable-5@default": "", "claude-sonnet-4-5@latest": "claude-sonnet-4-5",
		"claude-sonnet-4-5@2025-09-29": "", "databricks/databricks-gpt-oss-120b@eu": "", "amazon/amazon.nova-lite-v1:0@us": "",
		"cloudflare/@cf/qwen/qwen3-30b-a3b-fp8": "", "@cf/qwen/qwen3-30b-a3b-fp8": "", "gemini-2.5-pro@001": "gemini-2.5-pro",
	} {
		m, err := capacity.Default().Lookup(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if plain == "" {
			continue
		}
		if want, _ := capacity.Default().Lookup(plain); m.Window != want.Window {
			t.Errorf("%s: window %d, %s has %d", name, m.Window, plain, want.Window)
		}
	}
}

func TestOverridesHaveTheSameLimits(t *testing.T) {
	table := capacity.Default().With(
		capacity.Model{ID: "tiny", Window: 256}, capacity.Model{ID: "vast", Window: 100_000_000},
		capacity.Model{ID: "gpt-4o", Window: 255}, capacity.Model{ID: "gpt-4.1", Window: 100_000_001}, capacity.Model{ID: "gpt-5", Window: -1},
		capacity.Model{ID: "gpt-5.4", MaxOutput: 1_000}, capacity.Model{ID: "gpt-5.5@home", Window: 9_000},
	)
	for name, window := range map[string]int{"tiny": 256, "vast": 100_000_000, "gpt-5.5@home": 9_000, "gpt-5.5@HOME": 9_000} {
		if m, err := table.Lookup(name); err != nil || m.Window != window || m.Source != capacity.OriginOverride {
			t.Errorf("%s: %d from %v, %v", name, m.Window, m.Source, err)
		}
	}
	for _, name := range []string{"gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.5"} {
		m, err := table.Lookup(name)
		if want, _ := capacity.Default().Lookup(name); err != nil || m != want {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	if m, err := table.Lookup("gpt-5.4"); err != nil || m.MaxOutput != 1_000 || m.Source != capacity.OriginOverride {
		t.Errorf("a row without a window: %+v, %v", m, err)
	}
	if _, err := table.Lookup("gpt-5.5@away"); !errors.Is(err, capacity.ErrWindow) {
		t.Errorf("another name with an @: %v", err)
	}
}
