//go:build e2e

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/session-migrator/session-migrator/store"
)

// fixture serves on stdin and stdout as the program does, by the same transport
// with the same options, and has beside our tools those that the official suite
// calls.
func fixture(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "fixture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "cache.db") // an empty one: resources can be followed
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	s := newServer(Deps{Version: "0", OpenStore: func(ctx context.Context) (*store.DB, error) { return store.OpenReader(ctx, path) }})
	defer s.close()
	t := newTransport(os.Stdin, os.Stdout, s.log)
	w := newWatcher(s, t.notify)
	sdk := newSDK(s, w)
	for name, run := range fixtureTools {
		schema := `{"type":"object"}`
		if name == "json_schema_2020_12_tool" {
			schema = fixtureSchema
		}
		sdk.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(schema)}, run)
	}
	for name, p := range fixturePrompts {
		prompt := &mcp.Prompt{Name: name, Description: name}
		for _, a := range p.arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a, Description: a, Required: true})
		}
		sdk.AddPrompt(prompt, p.run)
	}
	sdk.AddReceivingMiddleware(saysComplete, fixtureResources)
	session, err := sdk.Connect(ctx, t, nil)
	if err != nil {
		return err
	}
	defer w.start(ctx)()
	return session.Wait()
}

// The red dot and the silence that the suite wants to see.
const (
	fixturePNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\xdac\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xf7\x03AC\x00\x00\x00\x00IEND\xaeB`\x82"
	fixtureWAV = "RIFF&\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
)

const fixtureSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func says(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

func text(format string, a ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, a...)}
}

func fixed(c ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(c...), nil }
}

var (
	image    = &mcp.ImageContent{Data: []byte(fixturePNG), MIMEType: "image/png"}
	embedded = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource"}}
)

var fixtureTools = map[string]mcp.ToolHandler{
	"test_simple_text":            fixed(text("This is a simple text response for testing.")),
	"test_image_content":          fixed(image),
	"test_audio_content":          fixed(&mcp.AudioContent{Data: []byte(fixtureWAV), MIMEType: "audio/wav"}),
	"test_embedded_resource":      fixed(embedded),
	"test_multiple_content_types": fixed(text("This is text content"), image, embedded),
	"json_schema_2020_12_tool":    fixed(text("called")),
	"test_streaming_elicitation":  fixed(text("answered")),
	"test_error_handling": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("this tool intentionally returns an error for testing")}}, nil
	},
	"test_tool_with_logging": logging,
	"test_logging_tool":      logging,
	"test_tool_with_progress": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, at := range []float64{0, 50, 100} {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: at, Total: 100, Message: "under way"}); err != nil {
				return nil, err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return says(text("%v", token)), nil
	},
	"test_sampling": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := req.Session.CreateMessage(ctx, asks(argument(req, "prompt")))
		if err != nil {
			return nil, err
		}
		return says(text("LLM response: "), r.Content), nil
	},
	"test_elicitation": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, req, argument(req, "message"), `{"username":{"type":"string"}}`)
	},
	"test_elicitation_sep1034_defaults": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, req, "defaults", `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`)
	},
	"test_elicitation_sep1330_enums": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, req, "enums", `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`)
	},
	"test_missing_capability": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return says(text("it can")), nil
		}
		return nil, errWire(mcp.CodeMissingRequiredClientCapabilities, "sampling is not declared",
			mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
	},
	"test_input_required_result_elicitation":     asking(map[string]mcp.InputRequest{"user_name": form("name")}, ""),
	"test_input_required_result_sampling":        asking(map[string]mcp.InputRequest{"capital_question": asks("What is the capital of France?")}, ""),
	"test_input_required_result_list_roots":      asking(map[string]mcp.InputRequest{"client_roots": &mcp.ListRootsParams{}}, ""),
	"test_input_required_result_request_state":   asking(map[string]mcp.InputRequest{"confirm": form("ok")}, "request_state"),
	"test_input_required_result_tampered_state":  asking(map[string]mcp.InputRequest{"confirm": form("ok")}, "tampered_state"),
	"test_input_required_result_multiple_inputs": asking(map[string]mcp.InputRequest{"user_name": form("name"), "greeting": asks("Greet."), "client_roots": &mcp.ListRootsParams{}}, "multiple_inputs"),
	"test_input_required_result_multi_round": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch req.Params.RequestState {
		case "":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"step1": form("name")}, RequestState: "round 1"}, nil
		case "round 1":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"step2": form("color")}, RequestState: "round 2"}, nil
		}
		return says(text("complete")), nil
	},
	"test_input_required_result_capabilities": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ask := mcp.InputRequestMap{}
		if caps := req.ClientCapabilities(); caps != nil && len(req.Params.InputResponses) == 0 {
			if caps.Elicitation != nil {
				ask["user_name"] = form("name")
			}
			if caps.Sampling != nil {
				ask["greeting"] = asks("Greet.")
			}
		}
		if len(ask) == 0 {
			return says(text("nothing to ask")), nil
		}
		return &mcp.CallToolResult{InputRequests: ask}, nil
	},
}

func logging(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, line := range []string{"started", "under way", "done"} {
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return says(text("logged")), nil
}

func argument(req *mcp.CallToolRequest, name string) string {
	var all map[string]any
	_ = json.Unmarshal(req.Params.Arguments, &all)
	s, _ := all[name].(string)
	return s
}

func asks(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}}
}

func form(field string) *mcp.ElicitParams {
	kind := "string"
	if field == "ok" {
		kind = "boolean"
	}
	return &mcp.ElicitParams{Message: field + "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}`)}
}

func elicit(ctx context.Context, req *mcp.CallToolRequest, message, properties string) (*mcp.CallToolResult, error) {
	r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`)})
	if err != nil {
		return nil, err
	}
	return says(text("Elicitation result: action=%s, content=%v", r.Action, r.Content)), nil
}

// answers tells whether all that was asked has an answer that was meant as one.
func answers(asked map[string]mcp.InputRequest, got mcp.InputResponseMap) bool {
	for key, q := range asked {
		r, ok := got[key]
		if !ok {
			return false
		}
		if _, isForm := q.(*mcp.ElicitParams); isForm {
			if e, ok := r.(*mcp.ElicitResult); !ok || e == nil || e.Action != "accept" || len(e.Content) == 0 {
				return false
			}
		}
	}
	return true
}

// asking asks the client in the result, until it has answered all.
func asking(asked map[string]mcp.InputRequest, state string) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if back := req.Params.RequestState; back != "" && back != state {
			return nil, errWire(jsonrpc.CodeInvalidParams, "another state than the one given out", nil)
		}
		if answers(asked, req.Params.InputResponses) {
			return says(text("answered, state-ok: %s", state)), nil
		}
		return &mcp.CallToolResult{InputRequests: maps.Clone(asked), RequestState: state}, nil
	}
}

type fixturePrompt struct {
	arguments []string
	run       mcp.PromptHandler
}

func told(c ...mcp.Content) *mcp.GetPromptResult {
	r := &mcp.GetPromptResult{}
	for _, each := range c {
		r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: each})
	}
	return r
}

var fixturePrompts = map[string]fixturePrompt{
	"test_simple_prompt": {run: func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return told(text("This is a simple prompt for testing.")), nil
	}},
	"test_prompt_with_arguments": {[]string{"arg1", "arg2"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return told(text("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"])), nil
	}},
	"test_prompt_with_embedded_resource": {[]string{"resourceUri"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return told(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}}, text("Read it.")), nil
	}},
	"test_prompt_with_image": {run: func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return told(image, text("Look at it.")), nil
	}},
	"test_input_required_result_prompt": {run: func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		asked := map[string]mcp.InputRequest{"user_context": form("context")}
		if answers(asked, req.Params.InputResponses) {
			return told(text("Context given.")), nil
		}
		return &mcp.GetPromptResult{InputRequests: asked}, nil
	}},
}

// fixtureResources answers for the addresses of the suite, and lets it follow
// and complete by its names what is ours.
func fixtureResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch p := req.GetParams().(type) {
		case *mcp.ReadResourceParams:
			c := &mcp.ResourceContents{URI: p.URI, MIMEType: "text/plain"}
			switch id, isTemplate := strings.CutPrefix(p.URI, "test://template/"); {
			case p.URI == "test://static-text":
				c.Text = "This is the content of the static text resource."
			case p.URI == "test://static-binary":
				c.MIMEType, c.Blob = "image/png", []byte(fixturePNG)
			case isTemplate:
				c.MIMEType, c.Text = "application/json", fmt.Sprintf(`{"id":%q}`, strings.TrimSuffix(id, "/data"))
			default:
				return next(ctx, method, req)
			}
			return &mcp.ReadResourceResult{Cacheable: cacheable(readsLast), Contents: []*mcp.ResourceContents{c}}, nil
		case *mcp.SubscribeParams:
			p.URI = strings.Replace(p.URI, "test://watched-resource", "migrator://status", 1)
		case *mcp.UnsubscribeParams:
			p.URI = strings.Replace(p.URI, "test://watched-resource", "migrator://status", 1)
		case *mcp.CompleteParams:
			if p.Ref == nil {
				return nil, errors.New("no ref")
			}
			p.Ref.Name = strings.Replace(p.Ref.Name, "test_prompt_with_arguments", "resume", 1)
		}
		return next(ctx, method, req)
	}
}
