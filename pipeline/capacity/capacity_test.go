package capacity_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

func TestLookup(t *testing.T) {
	tests := []struct {
		name                  string
		surface, host         string
		window, input, output int
		match                 capacity.Match
		confidence            capacity.Confidence
	}{
		{"gpt-5", "api", "openai", 400_000, 272_000, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"GPT-5", "api", "openai", 400_000, 272_000, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"gpt-5-codex", "api", "openai", 400_000, 272_000, 128_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"gpt-5-2025-08-07", "api", "openai", 400_000, 272_000, 128_000, capacity.MatchNormalized, capacity.ConfidenceHigh},
		{"gpt-5-nano", "api", "openai", 400_000, 272_000, 128_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"claude-sonnet-4-5-20250929", "api", "anthropic", 200_000, 0, 64_000, capacity.MatchNormalized, capacity.ConfidenceMedium},
		{"claude-haiku-4.5", "api", "anthropic", 200_000, 0, 64_000, capacity.MatchNormalized, capacity.ConfidenceHigh},
		{"anthropic/claude-opus-4.6", "api", "anthropic", 1_000_000, 0, 128_000, capacity.MatchHost, capacity.ConfidenceMedium},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "api", "amazon-bedrock", 200_000, 0, 64_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"bedrock/us-east-1/anthropic.claude-opus-4-5-20251101-v1:0", "api", "amazon-bedrock", 200_000, 0, 64_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0", "api", "amazon-bedrock", 200_000, 0, 64_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"vertex_ai/claude-sonnet-4-5@20250929", "api", "google-vertex", 200_000, 0, 64_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"models/gemini-2.5-pro", "api", "google", 1_048_576, 0, 65_536, capacity.MatchExact, capacity.ConfidenceHigh},
		{"deepseek-chat", "api", "deepseek", 128_000, 0, 8_192, capacity.MatchExact, capacity.ConfidenceMedium},
		{"openrouter/z-ai/glm-5:free", "api", "openrouter", 204_800, 0, 128_000, capacity.MatchHost, capacity.ConfidenceMedium},
		{"meta-llama/Llama-3.3-70B-Instruct", "api", "llama", 128_000, 0, 4_096, capacity.MatchExact, capacity.ConfidenceHigh},
		{"Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "api", "alibaba", 262_144, 0, 65_536, capacity.MatchHost, capacity.ConfidenceMedium},
		{"ft:gpt-4o-2024-11-20:acme::x1", "api", "openai", 128_000, 0, 16_384, capacity.MatchHost, capacity.ConfidenceHigh},
		{"gemini-2.5-pro-preview-06-05", "api", "google", 1_048_576, 0, 65_536, capacity.MatchPrefix, capacity.ConfidenceLow},
		{"azure/gpt-5", "api", "azure", 400_000, 272_000, 128_000, capacity.MatchExact, capacity.ConfidenceLow},
		// A reseller in no table: the smaller of the vendor's word and the hosts'.
		{"acme/qwen3-32b", "api", "", 32_768, 0, 8_192, capacity.MatchPercentile, capacity.ConfidenceLow},

		{"codex/gpt-5.5", "codex", "openai", 272_000, 0, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"gpt-5.5", "api", "openai", 1_000_000, 922_000, 128_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"api/gpt-5.5", "api", "openai", 1_000_000, 922_000, 128_000, capacity.MatchExact, capacity.ConfidenceMedium},
		{"gpt-6.2-sol", "codex", "openai", 500_000, 0, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"codex/gpt-5.4", "codex", "openai", 272_000, 0, 128_000, capacity.MatchExact, capacity.ConfidenceLow},
		{"codex/gpt-4o", "codex", "openai", 128_000, 0, 16_384, capacity.MatchExact, capacity.ConfidenceLow},
		{"claude-code/claude-opus-4-6", "claude-code", "anthropic", 200_000, 0, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"claude-code/claude-opus-4-6[1m]", "claude-code", "anthropic", 1_000_000, 0, 128_000, capacity.MatchExact, capacity.ConfidenceHigh},
		{"claude-code/claude-opus-4-1", "claude-code", "anthropic", 200_000, 0, 32_000, capacity.MatchExact, capacity.ConfidenceLow},
		{"copilot/gpt-5.6-sol", "copilot", "github-copilot", 400_000, 0, 0, capacity.MatchExact, capacity.ConfidenceLow},
		{"github-copilot/claude-opus-4.7", "copilot", "github-copilot", 200_000, 168_000, 32_000, capacity.MatchExact, capacity.ConfidenceLow},
		{"gemini-cli/gemini-2.5-pro", "gemini-cli", "google", 1_048_576, 0, 65_536, capacity.MatchExact, capacity.ConfidenceHigh},

		{"gpt-9@400000", "api", "", 400_000, 0, 8_192, capacity.MatchOverride, capacity.ConfidenceHigh},
		{"codex/gpt-5.5@400k", "codex", "openai", 400_000, 0, 128_000, capacity.MatchOverride, capacity.ConfidenceHigh},
		{"claude-sonnet-4-5[1m]", "api", "anthropic", 1_000_000, 0, 64_000, capacity.MatchOverride, capacity.ConfidenceHigh},
		{"anthropic.claude-3-haiku-20240307-v1:0:200k", "api", "", 200_000, 0, 4_096, capacity.MatchOverride, capacity.ConfidenceHigh},
		{"claude-sonnet-4-5@20250929", "api", "anthropic", 200_000, 0, 64_000, capacity.MatchNormalized, capacity.ConfidenceMedium},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := capacity.Default().Lookup(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if m.Surface != tt.surface || m.Host != tt.host {
				t.Errorf("found %s at %q on %s, want %q on %s", m.ID, m.Host, m.Surface, tt.host, tt.surface)
			}
			if got, want := [3]int{m.Window, m.Input, m.MaxOutput}, [3]int{tt.window, tt.input, tt.output}; got != want {
				t.Errorf("window, input, output = %v, want %v (%s, %s)", got, want, m.MatchedBy, m.Note)
			}
			if m.MatchedBy != tt.match || m.Confidence != tt.confidence {
				t.Errorf("matched by %v with confidence %v, want %v, %v", m.MatchedBy, m.Confidence, tt.match, tt.confidence)
			}
			if !m.Known() || m.Source == capacity.OriginTable && (m.Date == "" || m.Basis == "") {
				t.Errorf("no provenance: %+v", m)
			}
		})
	}
}

// A name must not get the window of another model it looks like.
func TestLookupUnknown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
	}{
		{"unknown-model-x", 128_000},
		{"", 128_000},
		{"gpt-6.9-zeta", 128_000},
		{"gpt-5-zeta-mini", 128_000},
		{"gpt-5.9", 128_000},
		{"claude-opus-6", 128_000},
		{"gemini-2.5-pro-embedding-9", 128_000},
		{"codex/unknown-model-x", 128_000},
		{"azure/my-deployment", 128_000},
		{"azure/gpt-5-for-claims", 128_000},
		{"qwen3:8b", 128_000},
		{"llama3.3:70b-instruct-q4_K_M", 128_000},
		{"ollama/gpt-oss", 128_000},
		{"gpt-4-32k", 32_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := capacity.Default().Lookup(tt.name)
			if !errors.Is(err, capacity.ErrUnknown) {
				t.Errorf("found %q at %q by %v: %v", m.ID, m.Host, m.MatchedBy, err)
			}
			if m.Known() || m.Window != tt.window || m.MaxOutput != capacity.UnknownMaxOutput ||
				m.Source != capacity.OriginDefault || m.MatchedBy != capacity.MatchNone || m.Confidence != capacity.ConfidenceNone {
				t.Errorf("default figures are %+v", m)
			}
			if m.Factor < 1 || m.FactorHigh < m.Factor || m.Encoding == 0 || m.EffectivePercent != 100 {
				t.Errorf("unknown models must be countable: %+v", m)
			}
		})
	}
}

func TestCounting(t *testing.T) {
	tests := []struct {
		name        string
		encoding    tokens.Encoding
		exact       bool
		factor, top float64
	}{
		{"gpt-5.6-sol", tokens.O200kBase, true, 1, 1},
		{"codex/gpt-5.5", tokens.O200kBase, true, 1, 1},
		{"gpt-4o-2024-05-13", tokens.O200kBase, true, 1, 1},
		{"gpt-4.1", tokens.O200kBase, true, 1, 1},
		{"o3", tokens.O200kBase, true, 1, 1},
		{"o4-mini", tokens.O200kBase, true, 1, 1},
		{"gpt-oss-120b", tokens.O200kBase, true, 1, 1},
		{"gpt-4", tokens.Cl100kBase, true, 1, 1},
		{"gpt-4-turbo", tokens.Cl100kBase, true, 1, 1},
		{"gpt-3.5-turbo", tokens.Cl100kBase, true, 1, 1},
		{"gpt-6-sol", tokens.O200kBase, false, 1, 1.05},
		{"gpt-6.2-sol", tokens.O200kBase, false, 1, 1.05},
		{"claude-3-5-sonnet", tokens.O200kBase, false, 1.20, 1.30},
		{"claude-sonnet-4", tokens.O200kBase, false, 1.20, 1.30},
		{"claude-sonnet-4-20250514", tokens.O200kBase, false, 1.20, 1.30},
		{"claude-opus-4.6", tokens.O200kBase, false, 1.20, 1.30},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", tokens.O200kBase, false, 1.20, 1.30},
		{"claude-opus-4-7", tokens.O200kBase, false, 1.52, 1.60},
		{"claude-sonnet-5", tokens.O200kBase, false, 1.52, 1.60},
		{"claude-haiku-5-5", tokens.O200kBase, false, 1.52, 1.60},
		{"claude-fable-5-1", tokens.O200kBase, false, 1.52, 1.60},
		{"claude-next", tokens.O200kBase, false, 1.52, 1.60},
		{"gemini-1.5-pro", tokens.O200kBase, false, 1.16, 1.22},
		{"gemini-2.5-pro", tokens.O200kBase, false, 1.16, 1.22},
		{"gemini-3-pro-preview", tokens.O200kBase, false, 1.16, 1.22},
		{"gemini-3.1-pro-preview", tokens.O200kBase, false, 1.16, 1.30},
		{"gemini-4-argon", tokens.O200kBase, false, 1.16, 1.30},
		{"qwen3.7-max", tokens.O200kBase, false, 1.05, 1.12},
		{"qwen3-max", tokens.O200kBase, false, 1.07, 1.12},
		{"deepseek-v4-pro", tokens.O200kBase, false, 1.03, 1.05},
		{"llama-3.3-70b-instruct", tokens.O200kBase, false, 1, 1.02},
		{"glm-4.6", tokens.O200kBase, false, 1.03, 1.10},
		{"kimi-k3", tokens.O200kBase, false, 1.05, 1.15},
		{"hy3", tokens.O200kBase, false, 1.07, 1.15},
		{"grok-4.5", tokens.O200kBase, false, 1.10, 1.20},
		{"unknown-model-x", tokens.O200kBase, false, 1.10, 1.20},
		{"databricks-claude-sonnet-4", tokens.O200kBase, false, 1.20, 1.30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := capacity.Default().Lookup(tt.name) // unknown names are countable too
			if m.Encoding != tt.encoding || m.CountExact != tt.exact || m.Factor != tt.factor || m.FactorHigh != tt.top {
				t.Errorf("%v exact %v × %v to %v, want %v exact %v × %v to %v", m.Encoding, m.CountExact, m.Factor, m.FactorHigh,
					tt.encoding, tt.exact, tt.factor, tt.top)
			}
		})
	}
}

func TestWith(t *testing.T) {
	base := capacity.Default()
	table := base.With(
		capacity.Observed("gpt-5.6-sol", 353_400, "2026-11-01"),
		capacity.Observed("gpt-5.6-sol", 258_400, "2026-11-20"),
		capacity.Observed("gpt-5.6-sol", 0, "2026-11-21"),
		capacity.Model{ID: "gpt-9", Window: 600_000},
		capacity.Model{ID: "deepseek-chat", Window: 64_000},
		capacity.Model{ID: "openrouter/glm-5", Window: 100_000},
		capacity.Model{ID: "kimi-k3", Window: 500_000, Source: capacity.OriginVendor, Date: "2026-11-28"},
		capacity.Model{ID: "gpt-5", FactorHigh: 1.1},
		capacity.Model{ID: "gpt-5.4", Window: 200_000},
	)
	tests := []struct {
		name    string
		window  int
		percent int
		source  capacity.Origin
		match   capacity.Match
	}{
		{"codex/gpt-5.6-sol", 258_400, 100, capacity.OriginObserved, capacity.MatchObserved}, // the later one
		{"gpt-5.6-sol", 1_050_000, 100, capacity.OriginTable, capacity.MatchExact},           // Codex says nothing of the API
		{"codex/gpt-5.5", 272_000, 95, capacity.OriginTable, capacity.MatchExact},
		{"gpt-9", 600_000, 100, capacity.OriginOverride, capacity.MatchOverride},
		{"codex/gpt-9", 600_000, 100, capacity.OriginOverride, capacity.MatchOverride},
		{"deepseek/deepseek-chat", 64_000, 100, capacity.OriginOverride, capacity.MatchOverride},
		{"openrouter/z-ai/glm-5", 100_000, 100, capacity.OriginOverride, capacity.MatchOverride},
		{"zai/glm-5", 204_800, 100, capacity.OriginTable, capacity.MatchExact},
		{"kimi-k3", 500_000, 100, capacity.OriginVendor, capacity.MatchExact},
		{"gpt-5", 400_000, 100, capacity.OriginOverride, capacity.MatchOverride},
		{"gpt-9@300000", 300_000, 100, capacity.OriginOverride, capacity.MatchOverride},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := table.Lookup(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if m.Window != tt.window || m.EffectivePercent != tt.percent || m.Source != tt.source || m.MatchedBy != tt.match {
				t.Errorf("window %d at %d %% from %v by %v, want %d at %d %% from %v by %v", m.Window, m.EffectivePercent, m.Source, m.MatchedBy,
					tt.window, tt.percent, tt.source, tt.match)
			}
		})
	}

	t.Run("figures not given are the table's", func(t *testing.T) {
		m, _ := table.Lookup("codex/gpt-5.6-sol")
		if m.MaxOutput != 128_000 || !m.CountExact || m.Date != "2026-11-20" {
			t.Errorf("observed row is %+v", m)
		}
		if m, _ = table.Lookup("gpt-5.4"); m.Input != 0 || m.MaxOutput != 128_000 {
			t.Errorf("an input limit above the window given is kept: %+v", m)
		}
		if m, _ = table.Lookup("gpt-5"); m.Input != 272_000 || m.FactorHigh != 1.1 || m.Factor != 1.1 {
			t.Errorf("row with a factor is %+v", m)
		}
	})
	t.Run("an override goes before what was observed", func(t *testing.T) {
		m, _ := table.With(capacity.Model{ID: "codex/gpt-5.6-sol", Window: 872_000}).Lookup("codex/gpt-5.6-sol")
		if m.Window != 872_000 || m.Source != capacity.OriginOverride {
			t.Errorf("window %d from %v", m.Window, m.Source)
		}
	})
	t.Run("the table it is made from stays as it was", func(t *testing.T) {
		if _, err := base.Lookup("gpt-9"); !errors.Is(err, capacity.ErrUnknown) {
			t.Errorf("gpt-9 in the default table: %v", err)
		}
	})
}

func TestDefaultTargets(t *testing.T) {
	targets := capacity.DefaultTargets()
	if len(targets) < 35 || len(targets) > 60 {
		t.Errorf("%d targets", len(targets))
	}
	seen := map[string]bool{}
	for _, id := range targets {
		m, err := capacity.Default().Lookup(id)
		if err != nil || m.MatchedBy != capacity.MatchExact || m.Date < "2026" || seen[id] {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
		seen[id] = true
	}
}

func TestSearch(t *testing.T) {
	table := capacity.Default().With(capacity.Model{ID: "acme-large", Window: 300_000})
	tests := []struct {
		query            string
		minWindow, limit int
		first            []string // surface/id of the first ones
	}{
		{"gpt-5.5", 0, 3, []string{"api/gpt-5.5", "codex/gpt-5.5", "copilot/gpt-5.5"}},
		{"codex/gpt-5.5", 0, 3, []string{"codex/gpt-5.5"}},
		{"codex", 300_000, 2, []string{"api/gpt-5.3-codex", "api/gpt-5.2-codex"}},
		{"acme", 0, 5, []string{"api/acme-large"}},
		{"gemini flash", 1_000_000, 3, nil},
		{"no-such-model", 0, 5, nil},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			var got []string
			found := table.Search(tt.query, tt.minWindow, tt.limit)
			for _, m := range found {
				got = append(got, m.Surface+"/"+m.ID)
				if m.Window < tt.minWindow {
					t.Errorf("%s has a window of %d", m.ID, m.Window)
				}
			}
			if len(found) > tt.limit {
				t.Errorf("%d rows, limit %d", len(found), tt.limit)
			}
			if tt.first != nil && !slices.Equal(got[:min(len(got), len(tt.first))], tt.first) {
				t.Errorf("found %v, want %v first", got, tt.first)
			}
			if tt.query == "no-such-model" && len(found) > 0 {
				t.Errorf("found %v", got)
			}
			if tt.query == "gemini flash" {
				for _, m := range found {
					if !strings.Contains(m.ID, "gemini") || !strings.Contains(m.ID, "flash") {
						t.Errorf("found %s", m.ID)
					}
				}
			}
		})
	}
	if all := table.Search("", 0, 10_000); len(all) < 350 {
		t.Errorf("an empty query gives %d rows", len(all))
	}
}

func TestClosest(t *testing.T) {
	for asked, want := range map[string]string{
		"gtp-5.5": "gpt-5.5", "claude-sonet-4-5": "claude-sonnet-4-5", "gemini-2.5-prp": "gemini-2.5-pro", "deepseek-caht": "deepseek-chat",
	} {
		if got := capacity.Default().Closest(asked, 3); len(got) == 0 || len(got) > 3 || got[0] != want {
			t.Errorf("closest to %s are %v, want %s first", asked, got, want)
		}
	}
	if got := capacity.Default().Closest("something quite different", 3); len(got) > 0 {
		t.Errorf("closest to nothing are %v", got)
	}
}

func TestModelJSON(t *testing.T) {
	m, err := capacity.Default().Lookup("hy3")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"hy3","surface":"api","host":"tencent-tokenhub","vendor":"tencent","family":"hy3","window":256000,"input":192000,"max_output":128000,` +
		`"effective_percent":100,"encoding":"o200k_base","count_exact":false,"factor":1.07,"factor_high":1.15,"factor_low":1,` +
		`"framing":{"fixed":11,"user":8,"assistant":8,"tool_call":14,"tool_result":14},` +
		`"source":"table","date":"2026-10-28","basis":"models.dev, OpenRouter","matched_by":"exact","confidence":"medium"}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
