package embed

import "fmt"

// Provider is who makes the vectors.
type Provider uint8

// The providers.
const (
	Ollama    Provider = iota + 1 // on this machine
	OpenAI                        // and its own defaults
	DashScope                     // Alibaba's Model Studio, in OpenAI's manner
	Custom                        // any other endpoint that speaks so
	Model2Vec                     // a folder; nothing is sent
)

var providers = [...]struct {
	name, base, model string
	batch             int
}{
	Ollama:    {"ollama", "http://127.0.0.1:11434/v1", "embeddinggemma", Batch},
	OpenAI:    {"openai", "https://api.openai.com/v1", "text-embedding-3-small", Batch},
	DashScope: {"dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "text-embedding-v4", 10}, // it takes no more
	Custom:    {"custom", "", "", Batch},
	Model2Vec: {"model2vec", "", "", Batch},
}

// ParseProvider reads a name from the settings. ErrOptions.
func ParseProvider(name string) (Provider, error) {
	for i, p := range providers {
		if i > 0 && p.name == name {
			return Provider(i), nil
		}
	}
	return 0, fmt.Errorf("%w: no provider %q", ErrOptions, name)
}

// String is its name in the settings.
func (p Provider) String() string {
	if int(p) < len(providers) && p > 0 {
		return providers[p].name
	}
	return fmt.Sprintf("provider(%d)", uint8(p))
}

// Fill adds what the provider is known by where opt leaves it open.
func (p Provider) Fill(opt Options) Options {
	if int(p) >= len(providers) {
		return opt
	}
	if opt.BaseURL == "" {
		opt.BaseURL = providers[p].base
	}
	if opt.Model == "" {
		opt.Model = providers[p].model
	}
	if opt.Batch == 0 {
		opt.Batch = providers[p].batch
	}
	return opt
}
