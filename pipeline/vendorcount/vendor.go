package vendorcount

import (
	"encoding/json"
	"fmt"
	"net/url"
)

// Vendor is who counts.
type Vendor uint8

// The vendors that have an endpoint for counting.
const (
	Anthropic Vendor = iota + 1
	OpenAI
	Google
	Volcengine
	XAI
)

// vendor is how one of them is asked.
type vendor struct {
	name, base string
	makes      string // vendor of models, in the words of the capacity table
	path       func(model string) string
	header     func(key string) map[string]string
	body       func(model, text string) any
	tokens     func(answer []byte) (int64, bool)
}

func fixed(path string) func(string) string { return func(string) string { return path } }

func bearer(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

type object map[string]any

// message is a text as one message of a person.
func message(text string) []object { return []object{{"role": "user", "content": text}} }

// vendors is read only. What stands in it is from the vendors' own pages, read in
// November 2026.
var vendors = [...]vendor{
	Anthropic: {
		name: "anthropic", base: "https://api.anthropic.com", makes: "anthropic", path: fixed("v1/messages/count_tokens"),
		header: func(key string) map[string]string {
			return map[string]string{"x-api-key": key, "anthropic-version": "2023-06-01"}
		},
		body:   func(model, text string) any { return object{"model": model, "messages": message(text)} },
		tokens: field("input_tokens"),
	},
	OpenAI: {
		name: "openai", base: "https://api.openai.com", makes: "openai", path: fixed("v1/responses/input_tokens"), header: bearer,
		body:   func(model, text string) any { return object{"model": model, "input": message(text)} },
		tokens: field("input_tokens"),
	},
	Google: {
		name: "google", base: "https://generativelanguage.googleapis.com", makes: "google",
		path:   func(model string) string { return "v1beta/models/" + url.PathEscape(model) + ":countTokens" },
		header: func(key string) map[string]string { return map[string]string{"x-goog-api-key": key} },
		body: func(_, text string) any {
			return object{"contents": []object{{"role": "user", "parts": []object{{"text": text}}}}}
		},
		tokens: field("totalTokens"),
	},
	Volcengine: {
		name: "volcengine", base: "https://ark.cn-beijing.volces.com", makes: "bytedance", path: fixed("api/v3/tokenization"), header: bearer,
		body: func(model, text string) any { return object{"model": model, "text": []string{text}} },
		tokens: func(answer []byte) (int64, bool) {
			var a struct {
				Data []struct {
					Tokens *int64 `json:"total_tokens"`
				} `json:"data"`
			}
			if json.Unmarshal(answer, &a) != nil || len(a.Data) != 1 || a.Data[0].Tokens == nil {
				return 0, false
			}
			return *a.Data[0].Tokens, true
		},
	},
	XAI: {
		name: "xai", base: "https://api.x.ai", makes: "xai", path: fixed("v1/tokenize-text"), header: bearer,
		body: func(model, text string) any { return object{"model": model, "text": text} },
		tokens: func(answer []byte) (int64, bool) {
			var a struct {
				IDs []json.RawMessage `json:"token_ids"`
			}
			if json.Unmarshal(answer, &a) != nil || a.IDs == nil {
				return 0, false
			}
			return int64(len(a.IDs)), true
		},
	},
}

// field reads a number by its name.
func field(name string) func([]byte) (int64, bool) {
	return func(answer []byte) (int64, bool) {
		var a map[string]json.RawMessage
		var n int64
		if json.Unmarshal(answer, &a) != nil || json.Unmarshal(a[name], &n) != nil {
			return 0, false
		}
		return n, true
	}
}

// Of gives the vendor that counts for the models of a maker, in the words of the
// capacity table.
func Of(maker string) (Vendor, bool) {
	for i := range vendors {
		if i > 0 && vendors[i].makes == maker {
			return Vendor(i), true
		}
	}
	return 0, false
}

// String is its name in the settings.
func (v Vendor) String() string {
	if v > 0 && int(v) < len(vendors) {
		return vendors[v].name
	}
	return fmt.Sprintf("vendor(%d)", uint8(v))
}
