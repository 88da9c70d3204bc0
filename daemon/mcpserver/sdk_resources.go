package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// What is read may be another text a moment later, and so may the list of
	// the newest sessions, by half a minute.
	readsLast     = 2 * time.Second
	resourcesLast = listEvery
	// legacyNotFound is how a missing resource was told before 2026-07-28.
	legacyNotFound = -32002
)

func cacheable(d time.Duration) mcp.Cacheable {
	return mcp.Cacheable{TTLMs: int(d.Milliseconds()), CacheScope: "private"}
}

// modern tells whether a request is of the era without a handshake.
func modern(req mcp.Request) bool {
	r, ok := req.(interface{ ProtocolVersion() string })
	return ok && r.ProtocolVersion() >= firstModern
}

// answered answers the methods of resources: which there are depends on the
// cache, and streams are held by us, so that one that ends takes nothing from
// another.
func (s *server) answered(w *watcher) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "resources/list":
				p, ok := req.GetParams().(*mcp.ListResourcesParams)
				if ok && p != nil && p.Cursor != "" {
					return nil, errWire(jsonrpc.CodeInvalidParams, "the list has one page: leave cursor out", nil)
				}
				return s.wireResources(ctx, w, modern(req)), nil
			case "resources/templates/list":
				out := &mcp.ListResourceTemplatesResult{Cacheable: cacheable(listsLast)}
				for _, r := range resourceTemplates() {
					out.ResourceTemplates = append(out.ResourceTemplates, &mcp.ResourceTemplate{URITemplate: r.uri, Name: r.name, Title: r.title, Description: r.description, MIMEType: r.mime})
				}
				return out, nil
			case "resources/read":
				if p, ok := req.GetParams().(*mcp.ReadResourceParams); ok && p != nil {
					return s.wireRead(ctx, p, modern(req))
				}
			case "subscriptions/listen":
				if p, ok := req.GetParams().(*mcp.SubscriptionsListenParams); ok && p != nil {
					return s.wireListen(ctx, w, p)
				}
			}
			return next(ctx, method, req)
		}
	}
}

func (s *server) wireResources(ctx context.Context, w *watcher, modern bool) *mcp.ListResourcesResult {
	list := s.resources(ctx)
	if !modern {
		w.follow(legacyStream, nil, list) // the old era tells whoever knows the list
	}
	out := &mcp.ListResourcesResult{Cacheable: cacheable(resourcesLast)}
	for _, r := range list {
		out.Resources = append(out.Resources, &mcp.Resource{URI: r.uri, Name: r.name, Title: r.title, Description: r.description, MIMEType: r.mime})
	}
	return out
}

func (s *server) wireRead(ctx context.Context, p *mcp.ReadResourceParams, modern bool) (mcp.Result, error) {
	mime, text, err := s.readResource(ctx, p.URI, callerOf(p.Meta))
	if err != nil {
		return nil, s.wireError(ctx, "resources/read", err, p.URI, modern)
	}
	return &mcp.ReadResourceResult{Cacheable: cacheable(readsLast), Contents: []*mcp.ResourceContents{{URI: p.URI, MIMEType: mime, Text: text}}}, nil
}

// wireError tells of what went wrong with a resource: that it isn't there, or
// that we can't tell.
func (s *server) wireError(ctx context.Context, method string, err error, uri string, modern bool) error {
	code := int64(jsonrpc.CodeInternalError)
	if _, ok := errors.AsType[*advice](err); ok {
		code = jsonrpc.CodeInvalidParams
		if !modern {
			code = legacyNotFound
		}
	}
	return errWire(code, s.told(ctx, method, err), map[string]string{"uri": uri})
}

func errWire(code int64, text string, data any) error {
	e := &jsonrpc.Error{Code: code, Message: text}
	if data != nil {
		if b, err := json.Marshal(data); err == nil {
			e.Data = b
		}
	}
	return e
}

// listenID is where the transport puts the id of a request to listen: notices
// name it, and the SDK doesn't hand it on.
const listenID = "session-migrator/listen"

// wireListen holds a stream of the new era until the client or the server ends
// it. What can't be followed isn't acknowledged.
func (s *server) wireListen(ctx context.Context, w *watcher, p *mcp.SubscriptionsListenParams) (mcp.Result, error) {
	id, ok := p.Meta[listenID]
	if !ok || p.Notifications == nil {
		return nil, errWire(jsonrpc.CodeInvalidParams, "notifications is missing", nil)
	}
	key, err := json.Marshal(id)
	if err != nil {
		return nil, fmt.Errorf("read the id: %w", err)
	}
	stream := string(key)
	var agreed mcp.NotificationSubscriptions
	var wishes []wish
	for _, uri := range p.Notifications.ResourceSubscriptions {
		x, err := w.wish(ctx, uri)
		if err != nil || len(wishes) == maxSubscribed {
			continue
		}
		wishes = append(wishes, x)
		agreed.ResourceSubscriptions = append(agreed.ResourceSubscriptions, uri)
	}
	var list []resource
	if p.Notifications.ResourcesListChanged {
		list, agreed.ResourcesListChanged = s.resources(ctx), true
	}
	w.tell(notice{method: "notifications/subscriptions/acknowledged", subscription: key, agreed: agreed})
	defer w.end(stream)
	w.follow(stream, wishes, list)
	if agreed.ResourcesListChanged || len(agreed.ResourceSubscriptions) > 0 {
		<-ctx.Done()
	}
	return &mcp.SubscriptionsListenResult{Meta: mcp.Meta{mcp.MetaKeySubscriptionID: id}}, nil
}

// subscribe is the old era's way to follow a resource.
func (s *server) subscribe(w *watcher) func(context.Context, *mcp.SubscribeRequest) error {
	return func(ctx context.Context, req *mcp.SubscribeRequest) error {
		x, err := w.wish(ctx, req.Params.URI)
		if err != nil {
			return s.wireError(ctx, "resources/subscribe", err, req.Params.URI, false)
		}
		w.follow(legacyStream, []wish{x}, nil)
		return nil
	}
}

func unsubscribe(w *watcher) func(context.Context, *mcp.UnsubscribeRequest) error {
	return func(_ context.Context, req *mcp.UnsubscribeRequest) error {
		w.unsubscribe(req.Params.URI)
		return nil
	}
}
