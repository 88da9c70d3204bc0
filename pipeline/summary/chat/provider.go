package chat

import (
	"fmt"
	"strings"
)

// Provider is who answers.
type Provider uint8

// The providers.
const (
	DeepSeek Provider = iota + 1
	OpenAI
	Ollama    // on this machine
	LMStudio  // on this machine
	VLLM      // on this machine
	DashScope // Alibaba's Model Studio, in OpenAI's manner
	Moonshot
	OpenRouter
	Custom // any other endpoint that speaks so
)

// form is how an answer is asked to be JSON. The zero value is none.
type form uint8

const (
	asText   form = iota + 1 // by the words alone
	asObject                 // response_format json_object
	asSchema                 // response_format json_schema
)

var providers = [...]struct {
	name, base, model, env string
	forms                  []form // best first
}{
	DeepSeek:   {"deepseek", "https://api.deepseek.com", "deepseek-v4-flash", "DEEPSEEK_API_KEY", []form{asObject, asText}},
	OpenAI:     {"openai", "https://api.openai.com/v1", "gpt-5.4-mini", "OPENAI_API_KEY", []form{asSchema, asObject, asText}},
	Ollama:     {"ollama", "http://127.0.0.1:11434/v1", "", "", []form{asSchema, asObject, asText}},
	LMStudio:   {"lmstudio", "http://127.0.0.1:1234/v1", "", "", []form{asSchema, asText}}, // it refuses json_object
	VLLM:       {"vllm", "http://127.0.0.1:8000/v1", "", "", []form{asSchema, asObject, asText}},
	DashScope:  {"dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus", "DASHSCOPE_API_KEY", []form{asObject, asText}},
	Moonshot:   {"moonshot", "https://api.moonshot.cn/v1", "kimi-k2.6", "MOONSHOT_API_KEY", []form{asObject, asText}},
	OpenRouter: {"openrouter", "https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY", []form{asSchema, asObject, asText}},
	Custom:     {"custom", "", "", "", []form{asSchema, asObject, asText}},
}

// ParseProvider reads a name from the settings: deepseek, openai, ollama,
// lmstudio, vllm, dashscope, moonshot, openrouter, custom. ErrOptions.
func ParseProvider(name string) (Provider, error) {
	var names []string
	for i, p := range providers {
		if i == 0 {
			continue
		}
		if p.name == name {
			return Provider(i), nil
		}
		names = append(names, p.name)
	}
	return 0, fmt.Errorf("%w: no provider %q; there are %s", ErrOptions, name, strings.Join(names, ", "))
}

// String is its name in the settings.
func (p Provider) String() string {
	if int(p) < len(providers) && p > 0 {
		return providers[p].name
	}
	return fmt.Sprintf("provider(%d)", uint8(p))
}

// KeyEnv is the environment variable in which people keep its key; empty: it
// takes none, or it isn't known who it is. A key is never sent to another
// provider than it is for.
func (p Provider) KeyEnv() string {
	if int(p) < len(providers) {
		return providers[p].env
	}
	return ""
}

// Fill adds what the provider is known by where e leaves it open.
func (e Endpoint) Fill() Endpoint {
	if e.Provider == 0 {
		e.Provider = Custom
	}
	if int(e.Provider) >= len(providers) {
		return e
	}
	p := providers[e.Provider]
	if e.BaseURL == "" {
		e.BaseURL = p.base
	}
	if e.Model == "" {
		e.Model = p.model
	}
	if e.Timeout == 0 {
		e.Timeout = CallFor
	}
	if e.Tries == 0 {
		e.Tries = Tries
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	return e
}

// reasons tells OpenAI's models that think before they answer: they take no
// temperature, and max_completion_tokens only.
func reasons(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	if len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9' {
		return true
	}
	n, ok := strings.CutPrefix(model, "gpt-")
	return ok && n != "" && n[0] >= '5' && n[0] <= '9'
}

// limit is how the length of an answer is bounded. The zero value is none.
type limit uint8

const (
	maxTokens limit = iota + 1
	maxCompletion
	noLimit
)

// limits are the ways to try, best first.
func limits(e Endpoint) []limit {
	switch {
	case reasons(e.Model):
		return []limit{maxCompletion, noLimit}
	case e.Provider == OpenAI:
		return []limit{maxCompletion, maxTokens, noLimit}
	}
	return []limit{maxTokens, maxCompletion, noLimit}
}
