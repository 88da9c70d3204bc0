package capacity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// name is a model's name taken apart.
type name struct {
	asked   string // as given, trimmed
	surface string // named by a prefix, "" if none
	host    string // in the words of models.dev, "" if none
	id      string // the id within the host as written, lower case
	canon   string // the id normalised
	window  int    // a window given in the name itself, 0 if none
	wrong   string // what stands behind a model's name like a window but is none: "@0"
	long    bool   // marked [1m]
	local   bool   // a local runner's tag: its window is set there
	foreign bool   // "somebody/model" of somebody who is in no table
}

// Sanity bounds of a window in tokens: the smallest that ever held a question,
// and ten times the largest there is.
const (
	minWindow = 256
	maxWindow = 100_000_000
)

var (
	surfacePrefixes = map[string]string{
		"api": SurfaceAPI, "codex": SurfaceCodex, "claude-code": SurfaceClaudeCode,
		"copilot": SurfaceCopilot, "github-copilot": SurfaceCopilot, "github_copilot": SurfaceCopilot,
		"gemini-cli": SurfaceGeminiCLI,
	}
	// Names of hosts and organisations as other programs write them.
	hostAliases = map[string]string{
		"azure_ai": "azure", "bedrock": "amazon-bedrock", "bedrock_converse": "amazon-bedrock", "bedrock_mantle": "amazon-bedrock",
		"vertex_ai": "google-vertex", "vertex": "google-vertex", "gemini": "google", "dashscope": "alibaba", "qwen": "alibaba",
		"moonshot": "moonshotai", "together_ai": "togetherai", "together": "togetherai", "fireworks_ai": "fireworks-ai", "fireworks": "fireworks-ai",
		"vercel_ai_gateway": "vercel", "novita": "novita-ai", "cloudflare": "cloudflare-workers-ai", "gmi": "gmicloud",
		"x-ai": "xai", "z-ai": "zai", "zai-org": "zai", "thudm": "zai", "bigmodel": "zhipuai", "deepseek-ai": "deepseek",
		"mistralai": "mistral", "meta-llama": "llama", "meta_llama": "llama", "minimaxai": "minimax", "tencent": "tencent-tokenhub",
		"bytedance": "volcengine", "bytedance-seed": "volcengine", "xiaomimimo": "xiaomi", "snowflake": "snowflake-cortex",
		"nvidia_nim": "nvidia", "cohere_chat": "cohere", "huggingface_hub": "huggingface", "lm_studio": "lmstudio", "ollama_chat": "ollama",
	}
	// localHosts allot the window themselves, whatever the model could do.
	localHosts = map[string]bool{"ollama": true, "llamacpp": true, "lemonade": true}
	// regions stand between a host and an id.
	regions = pattern.Lazy(`^(us|eu|global|global-standard|[a-z]{2}(-gov)?-[a-z]+-\d)$`)

	explicitAt      = pattern.Lazy(`@(\d+|\d+(?:\.\d+)?[km])$`)
	explicitBracket = pattern.Lazy(`\[(\d+(?:\.\d+)?[km])\]$`)
	explicitBedrock = pattern.Lazy(`(-v\d+:\d+):(\d+k)$`)

	// versionAt is what hosts themselves write behind "@": a snapshot's day,
	// Vertex's numbers and words, a region; a variant may follow.
	versionAt = pattern.Lazy(`^(20\d\d-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])|00[1-9]|0[1-9]\d|default|latest|` +
		`us|eu|uk|jp|au|ca|sa|in|ap|apac|asia|global|[a-z]{2}(-gov)?-[a-z]+-?\d)(:[a-z]+)?$`)

	// What Bedrock writes before a model's name: a region, and whose it is.
	bedrockRegions = []string{"us", "eu", "apac", "jp", "au", "ca", "sa", "in", "global", "us-gov"}
	bedrockVendors = []string{
		"anthropic", "amazon", "meta", "mistral", "cohere", "openai", "qwen", "deepseek",
		"google", "nvidia", "minimax", "moonshotai", "moonshot", "xai", "zai", "writer", "ai21",
	}
	// variants are how a host runs a model, behind ":".
	variants = []string{"free", "nitro", "floor", "online", "extended", "thinking", "exacto", "beta", "batch", "flex"}

	localTag = pattern.Lazy(`:(latest|.*\d+(\.\d+)?[bm](-.*)?|.*q\d.*|\d+x\d+b.*)$`)
	sizeMark = pattern.Lazy(`-(\d+k)(?:-|$)`)
	// Suffixes that say how a host runs a model, not which.
	runSuffixes = []string{
		"-fp8", "-fp16", "-bf16", "-fp4", "-nvfp4", "-mxfp4", "-int4", "-int8", "-4bit", "-8bit",
		"-awq", "-gptq", "-gguf", "-mlx", "-maas", "-tee",
	}
	modelsMarker = pattern.Lazy(`^(?:accounts/[^/]+/|projects/.*?publishers/[^/]+/|publishers/[^/]+/)?models/`)
)

// parseName takes a name apart. isHost knows the hosts of the table.
func parseName(asked string, isHost func(string) bool) name {
	n := name{asked: strings.TrimSpace(asked)}
	s := n.explicitWindow(strings.ToLower(n.asked))

	if strings.HasPrefix(s, "arn:") {
		n.host, s = "amazon-bedrock", s[strings.LastIndexAny(s, "/")+1:]
		s = strings.TrimPrefix(s[strings.LastIndex(s, "::")+1:], ":")
	}
	if rest, ok := strings.CutPrefix(s, "ft:"); ok {
		// A fine-tune of OpenAI: ft:model:organisation:name:id.
		n.host = "openai"
		s, _, _ = strings.Cut(rest, ":")
	}
	if first, rest, ok := strings.Cut(s, "/"); ok && surfacePrefixes[first] != "" {
		n.surface, s = surfacePrefixes[first], rest
	}
	s = n.takeHost(s, isHost)
	n.id, n.foreign = s, n.host == "" && strings.Contains(s, "/")
	n.canon = n.canonical(s)
	last := s[strings.LastIndexByte(s, '/')+1:]
	if i := strings.IndexByte(last, '@'); i > 0 && !versionAt().MatchString(last[i+1:]) {
		n.wrong = last[i:]
	}
	if localHosts[n.host] {
		n.local = true
	}
	return n
}

// explicitWindow takes a window off the end: "@400000", "@400k", "[1m]",
// Bedrock's ":200k". What a host may have written after "@", a day or a number
// that begins with 0, is no window.
func (n *name) explicitWindow(s string) string {
	take := func(text string) bool {
		w := parseWindow(text)
		if w == 0 {
			return false
		}
		n.window = w
		return true
	}
	if m := explicitAt().FindStringSubmatchIndex(s); m != nil && !versionAt().MatchString(s[m[2]:m[3]]) && take(s[m[2]:m[3]]) {
		s = s[:m[0]]
	}
	if m := explicitBracket().FindStringSubmatchIndex(s); m != nil && take(s[m[2]:m[3]]) {
		n.long = s[m[2]:m[3]] == "1m"
		s = s[:m[0]]
	}
	if m := explicitBedrock().FindStringSubmatchIndex(s); m != nil && take(s[m[4]:m[5]]) {
		s = s[:m[3]]
	}
	return s
}

// parseWindow reads 400000, 400k or 1.05m; 0 if it is no sane window.
func parseWindow(s string) int {
	unit := 1.0
	switch s[len(s)-1] {
	case 'k':
		unit, s = 1_000, s[:len(s)-1]
	case 'm':
		unit, s = 1_000_000, s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f*unit < minWindow || f*unit > maxWindow {
		return 0
	}
	return int(f * unit)
}

// takeHost splits the host off and returns the id within it.
func (n *name) takeHost(s string, isHost func(string) bool) string {
	if first, rest, ok := strings.Cut(s, "/"); ok && n.host == "" {
		if alias := hostAliases[first]; alias != "" {
			first = alias
		}
		if isHost(first) || localHosts[first] {
			n.host, s = first, rest
		}
	}
	if first, rest, ok := strings.Cut(s, "/"); ok && n.host != "" && regions().MatchString(first) {
		s = rest
	}
	if marker := modelsMarker().FindString(s); marker != "" {
		s = s[len(marker):]
		if n.host == "" {
			switch {
			case strings.HasPrefix(marker, "models/"):
				n.host = "google"
			case strings.HasPrefix(marker, "accounts/"):
				n.host = "fireworks-ai"
			default:
				n.host = "google-vertex"
			}
		}
	}
	return s
}

// canonical normalises an id. It may find out that the host is Bedrock, or a
// local runner. Nothing that the ids of hosts have needs a pattern here: the large
// table has thousands of them to go through.
func (n *name) canonical(id string) string {
	s := id[strings.LastIndexByte(id, '/')+1:]
	if strings.IndexByte(s, '.') > 0 {
		s = withoutRegion(s)
		if vendor, rest, ok := strings.Cut(s, "."); ok && slices.Contains(bedrockVendors, vendor) {
			s = strings.TrimSuffix(rest, "-v1")
			if n.host == "" {
				n.host = "amazon-bedrock"
			}
		}
	}
	if i := strings.IndexByte(s, '@'); i > 0 {
		// Vertex: a snapshot's date, "default", "001".
		s, at := s[:i], s[i+1:]
		if dashed := s + "-" + at; snapshot(dashed) {
			s = dashed
		}
		return n.canonical(s)
	}
	if strings.IndexByte(s, ':') > 0 {
		s = withoutRevision(s)
		for i := strings.LastIndexByte(s, ':'); i >= 0 && slices.Contains(variants, s[i+1:]); i = strings.LastIndexByte(s, ':') {
			s = s[:i]
		}
		// A host that is named means its own servers.
		n.local = n.local || n.host == "" && localTag().MatchString(s)
	}
	for i := 0; i < len(runSuffixes); i++ {
		if rest, ok := strings.CutSuffix(s, runSuffixes[i]); ok {
			s, i = rest, -1
		}
	}
	b := []byte(s)
	for i, c := range b {
		switch {
		case c == ':', c == '_', c == ' ':
			b[i] = '-'
		case (c == '.' || c == 'p') && i > 0 && i+1 < len(b) && digit(b[i-1]) && digit(b[i+1]):
			b[i] = '-' // 4.5 is 4-5, and 4p5 where dots are not allowed
		}
	}
	return string(b)
}

// withoutRegion takes Bedrock's region off, which a vendor in small letters and
// digits follows: "eu.anthropic.claude…".
func withoutRegion(s string) string {
	region, rest, _ := strings.Cut(s, ".")
	vendor, _, ok := strings.Cut(rest, ".")
	if !ok || vendor == "" || !slices.Contains(bedrockRegions, region) {
		return s
	}
	for i := range len(vendor) {
		if !digit(vendor[i]) && (vendor[i] < 'a' || vendor[i] > 'z') {
			return s
		}
	}
	return rest
}

// withoutRevision takes Bedrock's revision off: "-v1:0".
func withoutRevision(s string) string {
	i := strings.LastIndex(s, "-v")
	if i < 0 {
		return s
	}
	version, revision, _ := strings.Cut(s[i+len("-v"):], ":")
	if !digits(version) || !digits(revision) {
		return s
	}
	return s[:i]
}

// digits tells whether s is a number: a digit at least, and nothing else.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// undated takes a snapshot's date off, or "-latest".
func undated(canon string) string {
	if s, ok := strings.CutSuffix(canon, latest); ok {
		return s
	}
	for _, shape := range [...]string{"-dddd-dd-dd", "-dddddddd", "-dddddd", "-dddd"} {
		if i := len(canon) - len(shape); i > 0 && shaped(canon[i:], shape) {
			return canon[:i]
		}
	}
	return canon
}

const latest = "-latest"

// snapshot says whether an id names one snapshot. Such a name may mean the
// model without a date, but never a snapshot of another day: 2402 and 2512 of
// one model have had windows that differ by a factor of eight.
func snapshot(canon string) bool {
	return undated(canon) != canon && !strings.HasSuffix(canon, latest)
}

func shaped(s, shape string) bool {
	for i := range len(shape) {
		if shape[i] == 'd' && !digit(s[i]) || shape[i] == '-' && s[i] != '-' {
			return false
		}
	}
	return true
}

// discriminators make another model of a known one's name.
var discriminators = pattern.Lazy(`(^|[-.:@])(mini|nano|micro|lite|flash|codex|pro|max|plus|air|turbo|ultra|spark|chat|audio|realtime|live|tts|vision|vl|omni|image|video|embed|embedding|small|medium|large|fast|coder|code|search|transcribe|guard|distill|base|\d[^-.:@]*b|[a-z]\d+b)([-.:@]|$)`)

// follows says whether rest, what comes after a known id, can still mean the
// same model.
func follows(rest string) bool {
	return len(rest) > 1 && strings.ContainsRune("-:@.", rune(rest[0])) &&
		(rest[1] < '0' || rest[1] > '9') && !discriminators().MatchString(rest)
}
