package capacity

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// counting is how text is counted for a family of models. The ratios are
// tokens of the model per counted token over whole coding sessions: the first
// percentile (or what text in Chinese has, if that is less), the median and the
// 99th percentile where they were measured, wider where they were not because
// the vocabulary is not public.
type counting struct {
	family   string
	vendor   string
	encoding tokens.Encoding
	exact    bool
	ratio    tokens.Ratio
	format   format
}

func exactly(e tokens.Encoding, f format) counting {
	return counting{vendor: "openai", encoding: e, exact: true, ratio: tokens.One(), format: f}
}

func estimated(vendor string, f format, low, typical, high float64) counting {
	return counting{vendor: vendor, encoding: tokens.O200kBase, ratio: tokens.Ratio{Low: low, Typical: typical, High: high}, format: f}
}

// families are tried in order on a normalised id, so 4.1 reads 4-1; an entry
// also holds after a "-" inside the id ("databricks-claude-…").
var families = []struct {
	start string
	count counting
}{
	{"gpt-3", exactly(tokens.Cl100kBase, formatChat)},
	{"gpt-35", exactly(tokens.Cl100kBase, formatChat)},
	{"gpt-4o", exactly(tokens.O200kBase, formatChat)},
	{"gpt-4-1", exactly(tokens.O200kBase, formatChat)},
	{"gpt-4-5", exactly(tokens.O200kBase, formatChat)},
	{"gpt-4", exactly(tokens.Cl100kBase, formatChat)},
	{"gpt-5", exactly(tokens.O200kBase, formatHarmony)},
	{"gpt-oss", exactly(tokens.O200kBase, formatHarmony)},
	{"chatgpt-4o", exactly(tokens.O200kBase, formatChat)},
	{"codex-mini", exactly(tokens.O200kBase, formatHarmony)},
	{"o1", exactly(tokens.O200kBase, formatHarmony)},
	{"o3", exactly(tokens.O200kBase, formatHarmony)},
	{"o4-mini", exactly(tokens.O200kBase, formatHarmony)},
	// Later names are in no public list; their vocabulary is inferred.
	{"gpt-", estimated("openai", formatHarmony, 1, 1, 1.05)},
	// Each generation of Gemini has the vocabulary of a Gemma: 2, 3, and from
	// 3.1 on 4, which was not measured.
	{"gemini-1", estimated("google", formatGemini, 0.97, 1.16, 1.22)},
	{"gemini-2", estimated("google", formatGemini, 0.98, 1.16, 1.22)},
	{"gemini-3-pro", estimated("google", formatGemini, 0.98, 1.16, 1.22)},
	{"gemini-3-flash", estimated("google", formatGemini, 0.98, 1.16, 1.22)},
	{"gemini", estimated("google", formatGemini, 0.95, 1.16, 1.30)},
	{"gemma-4", estimated("google", formatGemini, 0.95, 1.16, 1.30)},
	{"gemma", estimated("google", formatGemini, 0.97, 1.16, 1.22)},
	{"deepseek-r1-distill", estimated("deepseek", formatDeepSeek, 0.99, 1.07, 1.12)}, // of Qwen and of Llama
	{"deepseek", estimated("deepseek", formatDeepSeek, 0.97, 1.03, 1.05)},
	{"qwen3-5", qwen248k()},
	{"qwen3-6", qwen248k()},
	{"qwen3-7", qwen248k()},
	{"qwen3-8", qwen248k()},
	{"qwen3-9", qwen248k()},
	{"qwen4", qwen248k()},
	{"qwen", estimated("alibaba", formatChatML, 1.01, 1.07, 1.12)},
	{"qwq", estimated("alibaba", formatChatML, 1.01, 1.07, 1.12)},
	{"qvq", estimated("alibaba", formatChatML, 1.01, 1.07, 1.12)},
	{"mimo", estimated("xiaomi", formatChatML, 1.01, 1.07, 1.12)},
	{"hunyuan", estimated("tencent", formatOther, 1, 1.07, 1.15)},
	{"hy3", estimated("tencent", formatOther, 1, 1.07, 1.15)},
	{"hy4", estimated("tencent", formatOther, 1, 1.07, 1.15)},
	{"kimi", estimated("moonshot", formatOther, 0.90, 1.05, 1.15)},
	{"moonshot", estimated("moonshot", formatOther, 0.90, 1.05, 1.15)},
	{"glm", estimated("zhipu", formatOther, 0.95, 1.03, 1.10)},
	{"minimax", estimated("minimax", formatOther, 0.95, 1.05, 1.15)},
	{"llama-3", estimated("meta", formatLlama3, 0.99, 1, 1.02)},
	{"llama3", estimated("meta", formatLlama3, 0.99, 1, 1.02)},
	{"llama", estimated("meta", formatLlama3, 0.95, 1.10, 1.20)},
	{"doubao", estimated("bytedance", formatOther, 0.90, 1.10, 1.20)},
	{"grok", estimated("xai", formatOther, 0.95, 1.10, 1.20)},
	{"mistral", estimated("mistral", formatOther, 0.95, 1.10, 1.20)},
	{"codestral", estimated("mistral", formatOther, 0.95, 1.10, 1.20)},
	{"devstral", estimated("mistral", formatOther, 0.95, 1.10, 1.20)},
	{"magistral", estimated("mistral", formatOther, 0.95, 1.10, 1.20)},
	{"ministral", estimated("mistral", formatOther, 0.95, 1.10, 1.20)},
	{"command", estimated("cohere", formatOther, 0.90, 1.10, 1.20)},
	{"nova", estimated("amazon", formatOther, 0.90, 1.10, 1.20)},
}

// qwen248k is Qwen from 3.5 on: a larger vocabulary, not measured. Taken for
// no better than the one before.
func qwen248k() counting { return estimated("alibaba", formatChatML, 0.95, 1.05, 1.12) }

// countingOf finds the family of a normalised id.
func countingOf(canon string) counting {
	if old, ok := claudeGeneration(canon); ok {
		if old {
			return estimated("anthropic", formatClaude, 1.16, 1.20, 1.30).of("claude-4-6")
		}
		return estimated("anthropic", formatClaude, 1.41, 1.52, 1.60).of("claude")
	}
	for _, f := range families {
		if strings.HasPrefix(canon, f.start) {
			return f.count.of(f.start)
		}
	}
	for _, f := range families {
		if len(f.start) > 3 && strings.Contains(canon, "-"+f.start) {
			return f.count.of(f.start)
		}
	}
	return estimated("", formatOther, 0.90, 1.10, 1.20)
}

func (c counting) of(family string) counting {
	c.family = family
	return c
}

// claudeGeneration tells the two vocabularies of Claude apart: up to 4.6, and
// 4.7 and later, which makes a quarter more tokens of the same text. A name
// without a version counts as the later one.
func claudeGeneration(canon string) (old, ok bool) {
	i := strings.Index(canon, "claude")
	if i < 0 {
		return false, false
	}
	var version []int
	for _, part := range strings.Split(canon[i:], "-") {
		n := 0
		for _, c := range part {
			if c < '0' || c > '9' {
				n = -1
				break
			}
			n = n*10 + int(c-'0')
		}
		// A longer number is a date.
		if part == "" || n < 0 || len(part) > 2 {
			if len(version) > 0 {
				break
			}
			continue
		}
		version = append(version, n)
	}
	switch {
	case strings.Contains(canon, "claude-instant"), strings.Contains(canon, "claude-v"):
		return true, true
	case len(version) == 0:
		return false, true
	case len(version) == 1:
		return version[0] <= 4, true
	}
	return version[0] < 4 || version[0] == 4 && version[1] <= 6, true
}
