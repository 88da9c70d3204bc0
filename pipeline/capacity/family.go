package capacity

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// counting is how text is counted for a family of models. The factors are
// tokens of the model per counted token over whole coding sessions: the median
// and the 99th percentile where they were measured, wider where the vocabulary
// is not public.
type counting struct {
	vendor      string
	encoding    tokens.Encoding
	exact       bool
	factor, top float64
}

func countedExactly(e tokens.Encoding) counting {
	return counting{vendor: "openai", encoding: e, exact: true, factor: 1, top: 1}
}

func estimated(vendor string, factor, top float64) counting {
	return counting{vendor: vendor, encoding: tokens.O200kBase, factor: factor, top: top}
}

// families are tried in order on a normalised id, so 4.1 reads 4-1; an entry
// also holds after a "-" inside the id ("databricks-claude-…").
var families = []struct {
	start string
	count counting
}{
	{"gpt-3", countedExactly(tokens.Cl100kBase)},
	{"gpt-35", countedExactly(tokens.Cl100kBase)},
	{"gpt-4o", countedExactly(tokens.O200kBase)},
	{"gpt-4-1", countedExactly(tokens.O200kBase)},
	{"gpt-4-5", countedExactly(tokens.O200kBase)},
	{"gpt-4", countedExactly(tokens.Cl100kBase)},
	{"gpt-5", countedExactly(tokens.O200kBase)},
	{"gpt-oss", countedExactly(tokens.O200kBase)},
	{"chatgpt-4o", countedExactly(tokens.O200kBase)},
	{"codex-mini", countedExactly(tokens.O200kBase)},
	{"o1", countedExactly(tokens.O200kBase)},
	{"o3", countedExactly(tokens.O200kBase)},
	{"o4-mini", countedExactly(tokens.O200kBase)},
	// Later names are in no public list; their vocabulary is inferred.
	{"gpt-", estimated("openai", 1, 1.05)},
	{"gemini", estimated("google", 1.16, 1.22)},
	{"gemma", estimated("google", 1.16, 1.22)},
	{"deepseek-r1-distill", estimated("deepseek", 1.07, 1.12)},
	{"deepseek", estimated("deepseek", 1.03, 1.05)},
	{"qwen", estimated("alibaba", 1.07, 1.12)},
	{"qwq", estimated("alibaba", 1.07, 1.12)},
	{"qvq", estimated("alibaba", 1.07, 1.12)},
	{"mimo", estimated("xiaomi", 1.07, 1.12)},
	{"hunyuan", estimated("tencent", 1.07, 1.15)},
	{"hy3", estimated("tencent", 1.07, 1.15)},
	{"hy4", estimated("tencent", 1.07, 1.15)},
	{"kimi", estimated("moonshot", 1.05, 1.15)},
	{"moonshot", estimated("moonshot", 1.05, 1.15)},
	{"glm", estimated("zhipu", 1.03, 1.10)},
	{"minimax", estimated("minimax", 1.05, 1.15)},
	{"llama-3", estimated("meta", 1, 1.02)},
	{"llama3", estimated("meta", 1, 1.02)},
	{"llama", estimated("meta", 1.10, 1.20)},
	{"doubao", estimated("bytedance", 1.10, 1.20)},
	{"grok", estimated("xai", 1.10, 1.20)},
	{"mistral", estimated("mistral", 1.10, 1.20)},
	{"codestral", estimated("mistral", 1.10, 1.20)},
	{"devstral", estimated("mistral", 1.10, 1.20)},
	{"magistral", estimated("mistral", 1.10, 1.20)},
	{"ministral", estimated("mistral", 1.10, 1.20)},
	{"command", estimated("cohere", 1.10, 1.20)},
	{"nova", estimated("amazon", 1.10, 1.20)},
}

// countingOf finds the family of a normalised id.
func countingOf(canon string) counting {
	if old, ok := claudeGeneration(canon); ok {
		if old {
			return estimated("anthropic", 1.20, 1.30)
		}
		return estimated("anthropic", 1.52, 1.60)
	}
	for _, f := range families {
		if strings.HasPrefix(canon, f.start) {
			return f.count
		}
	}
	for _, f := range families {
		if len(f.start) > 3 && strings.Contains(canon, "-"+f.start) {
			return f.count
		}
	}
	return estimated("", 1.10, 1.20)
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
