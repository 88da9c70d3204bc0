package mcpserver

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is the prompt as clients see it.
func (p *prompt) wire() *mcp.Prompt {
	return &mcp.Prompt{Name: p.name, Title: p.title, Description: p.description,
		Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about}}}
}

func (s *server) promptHandler(p prompt) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := s.promptText(ctx, p, req.Params.Arguments[p.argument], callerOf(req.Params.Meta))
		if err != nil {
			return nil, s.paramsError(ctx, "prompts/get", err)
		}
		return &mcp.GetPromptResult{Description: p.description,
			Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	}
}

// paramsError tells of what the caller can mend, or of what it can't.
func (s *server) paramsError(ctx context.Context, method string, err error) error {
	code := int64(jsonrpc.CodeInternalError)
	if _, ok := errors.AsType[*advice](err); ok {
		code = jsonrpc.CodeInvalidParams
	}
	return errWire(code, s.told(ctx, method, err), nil)
}

// completion carries a wish for completion from the protocol and back.
func (s *server) completion(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	c, err := s.complete(ctx, p.Ref.Name, p.Ref.URI, p.Argument.Name, p.Argument.Value)
	if err != nil {
		return nil, s.paramsError(ctx, "completion/complete", err)
	}
	if c.values == nil {
		c.values = []string{}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: c.values, Total: c.total, HasMore: c.total > len(c.values)}}, nil
}
