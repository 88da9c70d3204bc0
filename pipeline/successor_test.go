package pipeline_test

import (
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestSuccessor(t *testing.T) {
	for _, c := range []struct {
		name    string
		targets []string
		model   string
		tokens  int64 // of the thread
		shrunk  int64
		account bool
		want    string
	}{
		{"the first that takes it whole", []string{"gpt-4", "claude-opus-4-8", "gpt-4o"}, "gpt-5.5", 50_000, 50_000, false, "claude-opus-4-8"},
		{"not the one that runs out", []string{"codex/gpt-5.5", "gpt-5.5", "gpt-4o"}, "gpt-5.5", 1000, 1000, false, "gpt-4o"},
		{"another one of Codex", []string{"codex/gpt-5.6-sol", "gpt-4o"}, "gpt-5.5", 1000, 1000, false, "codex/gpt-5.6-sol"},
		{"none of Codex where the account runs out", []string{"codex/gpt-5.6-sol", "gpt-4o"}, "gpt-5.5", 1000, 1000, true, "gpt-4o"},
		{"none that nobody knows", []string{"no-such-model", "gpt-4o"}, "gpt-5.5", 1000, 1000, false, "gpt-4o"},
		{"one of the user's", []string{"mine"}, "gpt-5.5", 1000, 1000, false, "mine"},
		{"a window given with the name", []string{"no-such-model@400000"}, "gpt-5.5", 1000, 1000, false, "no-such-model@400000"},
		{"the best one", []string{"gpt-4", "gpt-4o", "mine"}, "gpt-5.5", 5_000_000, 4_900_000, false, "gpt-4o"},
		{"the dialogue whole", []string{"gpt-4", "claude-opus-4-8", "deepseek-chat"}, "gpt-5.5", 5_000_000, 50_000, false, "claude-opus-4-8"},
		{"none left", []string{"gpt-5.5", "no-such-model"}, "gpt-5.5", 1000, 1000, true, firstAPI(t)},
		{"a model that nobody knows runs out", []string{"codex/x", "gpt-4o"}, "x", 1000, 1000, false, "gpt-4o"},
	} {
		p, err := pipeline.New(t.Context(), nil, pipeline.Options{Targets: c.targets, Models: []capacity.Model{{ID: "mine", Window: 32_000}}})
		if err != nil {
			t.Fatal(err)
		}
		th := transcript.Thread{Model: c.model, Tokens: map[string]int64{"o200k_base": c.tokens, "cl100k_base": c.tokens}, ShrunkTokens: map[string]int64{"o200k_base": c.shrunk}}
		if got := p.Successor(th, c.account); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// firstAPI is the first built-in target that Codex doesn't run, the thread's own
// model left out.
func firstAPI(t *testing.T) string {
	for _, id := range capacity.DefaultTargets() {
		if m, err := capacity.Default().Lookup(id); err == nil && m.Surface != capacity.SurfaceCodex && m.ID != "gpt-5.5" {
			return id
		}
	}
	t.Fatal("no target but Codex's own")
	return ""
}
