package mcpserver

import (
	"context"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
)

func modelContextWindow() *tool {
	return &tool{
		name: "model_context_window", title: "Model context window",
		description: "Get a model's context window and longest answer in tokens, with source and date.",
		search:      "how large is the context window of a model, maximum output tokens",
		params:      []param{{name: "model", required: true, other: []string{"target_model", "name", "id"}}},
		input:       `{"type":"object","properties":{"model":{"type":"string"}},"required":["model"],"additionalProperties":false}`,
		output:      modelSchema,
		run:         runModelContextWindow,
	}
}

func listKnownModels() *tool {
	return &tool{
		name: "list_known_models", title: "List known models",
		description: "List known models with their context windows in tokens: find a model by name, or those of at least a size. Best match of query first.",
		search:      "which models are known, have a context window over so many tokens",
		params:      []param{{name: "query", other: []string{"name", "model", "search"}}, {name: "min_window"}, limitParam, cursorParam},
		input: `{"type":"object","properties":{"query":{"type":"string"},"min_window":{"type":"integer","minimum":0},` +
			`"limit":{"type":"integer","minimum":1,"maximum":200,"default":50},"cursor":{"type":"string"}},"additionalProperties":false}`,
		output: `{"type":"object","properties":{"models":{"type":"array","items":` + modelSchema + `},"next_cursor":{"type":"string"}},"required":["models"]}`,
		run:    runListKnownModels,
	}
}

const modelSchema = `{"type":"object","properties":{"model":{"type":"string"},"surface":{"type":"string"},"context_window":{"type":"integer"},` +
	`"input_limit":{"type":"integer"},"max_output":{"type":"integer"},"provider":{"type":"string"},"encoding":{"type":"string"},` +
	`"token_count":{"type":"string","enum":["exact","estimate"]},"source":{"type":"string"},"as_of":{"type":"string"},"matched_by":{"type":"string"},` +
	`"confidence":{"type":"string"},"note":{"type":"string"}},"required":["model","surface","context_window","source"]}`

// modelRow is what is known of a model, in its own tokens.
type modelRow struct {
	Model      string `json:"model"`
	Surface    string `json:"surface"`
	Window     int    `json:"context_window"`
	Input      int    `json:"input_limit,omitempty"`
	MaxOutput  int    `json:"max_output,omitempty"`
	Provider   string `json:"provider,omitempty"`
	Encoding   string `json:"encoding"`
	Count      string `json:"token_count"`
	Source     string `json:"source"`
	AsOf       string `json:"as_of,omitempty"`
	MatchedBy  string `json:"matched_by"`
	Confidence string `json:"confidence"`
	Note       string `json:"note,omitempty"`
}

// rowOf gives what is known of a model. Its encoding is the one that was imported
// for it, if one was.
func rowOf(p *pipeline.Pipeline, m capacity.Model) modelRow {
	r := modelRow{Model: m.ID, Surface: m.Surface, Window: m.Window, Input: m.Input, MaxOutput: m.MaxOutput, Provider: m.Host,
		Encoding: m.Encoding.String(), Count: "estimate", Source: m.Source.String(), AsOf: m.Date,
		MatchedBy: m.MatchedBy.String(), Confidence: m.Confidence.String(), Note: m.Note}
	if r.Provider == "" {
		r.Provider = m.Vendor
	}
	if m.CountExact {
		r.Count = "exact"
	}
	if e, ok := p.Imported(m.ID); ok {
		r.Encoding, r.Count = e.Name, "exact"
	}
	return r
}

func runModelContextWindow(ctx context.Context, s *server, c call) (result, error) {
	p, release, err := s.cache.models(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	name, err := c.args.text("model")
	if err != nil {
		return result{}, err
	}
	if name == "" {
		return result{}, c.args.missing("model")
	}
	m, err := lookUp(p, name)
	if err != nil {
		return result{}, err
	}
	return dataResult(rowOf(p, m))
}

type modelList struct {
	Models []modelRow `json:"models"`
	Next   string     `json:"next_cursor,omitempty"`
}

type modelCursor struct {
	Tool      string `json:"t"`
	Query     string `json:"q,omitempty"`
	MinWindow int    `json:"w,omitempty"`
	Offset    int    `json:"o"`
}

// maxModels bounds how far a search can be paged.
const maxModels = 10_000

func runListKnownModels(ctx context.Context, s *server, c call) (result, error) {
	p, release, err := s.cache.models(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	limit, err := c.args.within("limit", 50, 1, 200)
	if err != nil {
		return result{}, err
	}
	text, err := c.args.text("cursor")
	if err != nil {
		return result{}, err
	}
	cur := modelCursor{Tool: c.tool.name}
	if text != "" {
		if err := decodeCursor(text, &cur); err != nil {
			return result{}, err
		}
		if cur.Tool != c.tool.name || cur.Offset < 0 || cur.Offset > maxModels {
			return result{}, errCursor
		}
	} else {
		if cur.Query, err = c.args.text("query"); err != nil {
			return result{}, err
		}
		if cur.MinWindow, err = c.args.number("min_window", 0); err != nil {
			return result{}, err
		}
	}
	found := p.Table().Search(cur.Query, cur.MinWindow, cur.Offset+limit+1)
	found = found[min(cur.Offset, len(found)):]
	out := modelList{Models: []modelRow{}}
	if len(found) > limit {
		found = found[:limit]
		cur.Offset += limit
		out.Next = encodeCursor(cur)
	}
	for _, m := range found {
		out.Models = append(out.Models, rowOf(p, m))
	}
	return dataResult(out)
}
