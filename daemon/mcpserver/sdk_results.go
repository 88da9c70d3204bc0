package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// saysComplete says of every result of the new era that it is complete, as that era
// requires. The SDK does for what it makes itself, by the era of the process;
// what comes from middleware it takes as it is.
func saysComplete(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil || !modern(req) {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.CallToolResult:
			if r.InputRequests == nil {
				out := mcp.CallToolResult{}
				err = setComplete(&out)
				out.Meta, out.Content, out.StructuredContent, out.IsError = r.Meta, r.Content, r.StructuredContent, r.IsError
				res = &out
			}
		case *mcp.GetPromptResult:
			if r.InputRequests == nil {
				out := mcp.GetPromptResult{}
				err = setComplete(&out)
				out.Meta, out.Description, out.Messages = r.Meta, r.Description, r.Messages
				res = &out
			}
		case *mcp.ReadResourceResult:
			if r.InputRequests == nil {
				out := mcp.ReadResourceResult{}
				err = setComplete(&out)
				out.Meta, out.Cacheable, out.Contents = r.Meta, r.Cacheable, r.Contents
				res = &out
			}
		}
		return res, err
	}
}

// setComplete sets what the SDK lets nobody set but the wire.
func setComplete(res json.Unmarshaler) error {
	if err := res.UnmarshalJSON([]byte(`{"resultType":"complete"}`)); err != nil {
		return fmt.Errorf("mark a result: %w", err)
	}
	return nil
}
