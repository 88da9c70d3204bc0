package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

const (
	windowFor = 10 * time.Second
	// hintOllama is what its users can do for longer texts.
	hintOllama = "Ollama doesn't say how much text it loads the model for, and cuts what is longer without a word; it may be 4,096 tokens. Start it with OLLAMA_CONTEXT_LENGTH=32768 or set num_ctx in the model's Modelfile"
)

// Window asks a server of this machine how many tokens the model takes in as it
// is loaded (Ollama, LM Studio, vLLM). 0: it doesn't tell, or isn't asked; then
// hint says what the user can do about it, if anything. No text is sent.
func (c *Client) Window(ctx context.Context) (tokens int, hint string) {
	ctx, cancel := context.WithTimeout(ctx, windowFor)
	defer cancel()
	switch c.e.Provider {
	case Ollama:
		if n := c.ollama(ctx); n > 0 {
			return n, ""
		}
		return 0, hintOllama
	case LMStudio:
		return c.listed(ctx, "/api/v0/models"), ""
	case VLLM:
		return c.listed(ctx, "/v1/models"), ""
	case DeepSeek, OpenAI, DashScope, Moonshot, OpenRouter, Custom:
	}
	return 0, ""
}

// numCtx is a line of what a Modelfile sets.
var numCtx = pattern.Lazy(`(?m)^num_ctx\s+(\d+)`)

// ollama asks what is loaded, else what the Modelfile sets. What the model could
// take (model_info) says nothing of what it is loaded with.
func (c *Client) ollama(ctx context.Context) int {
	var ps struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if c.get(ctx, http.MethodGet, "/api/ps", nil, &ps) == nil {
		for _, m := range ps.Models {
			if sameModel(m.Name, c.e.Model) || sameModel(m.Model, c.e.Model) {
				if m.Context > 0 {
					return m.Context
				}
			}
		}
	}
	var show struct {
		Parameters string `json:"parameters"`
	}
	if c.get(ctx, http.MethodPost, "/api/show", map[string]string{"model": c.e.Model}, &show) == nil {
		if m := numCtx().FindStringSubmatch(show.Parameters); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// sameModel knows that a name without a tag is the latest.
func sameModel(a, b string) bool {
	return strings.TrimSuffix(a, ":latest") == strings.TrimSuffix(b, ":latest")
}

// listed looks the model up in a list.
func (c *Client) listed(ctx context.Context, path string) int {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Loaded int    `json:"loaded_context_length"` // LM Studio
			Most   int    `json:"max_model_len"`         // vLLM
		} `json:"data"`
	}
	if c.get(ctx, http.MethodGet, path, nil, &list) != nil {
		return 0
	}
	for _, m := range list.Data {
		if m.ID == c.e.Model {
			return max(m.Loaded, m.Most)
		}
	}
	return 0
}

// get asks the server for something other than a summary.
func (c *Client) get(ctx context.Context, method, path string, ask, into any) error {
	var body []byte
	if ask != nil {
		var err error
		if body, err = json.Marshal(ask); err != nil {
			return err
		}
	}
	root := strings.TrimSuffix(c.e.BaseURL, "/v1")
	req, err := http.NewRequestWithContext(ctx, method, root+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.e.Key)
	}
	res, err := c.wire.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // nothing to lose
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}
