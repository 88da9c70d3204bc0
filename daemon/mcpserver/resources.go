package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// resource is something to read as clients list it: an address, or a template
// of addresses.
type resource struct {
	uri, name, title, description, mime string
}

const (
	mimeMarkdown = "text/markdown"
	mimeText     = "text/plain" // JSON lines between the lines that quote them
	mimeJSON     = "application/json"
)

// fixedResources are there whatever the cache has.
func fixedResources() []resource {
	return []resource{
		{statusURI, "status", "Session migrator status", "As migrator_status tells it", mimeJSON},
		{sessionsURI, "sessions", "Codex sessions, newest first", "As list_sessions tells them, from all workspaces", mimeJSON},
		{modelsURI, "models", "Known models and their context windows", "As list_known_models tells them", mimeJSON},
	}
}

// resourceTemplates are the addresses that aren't listed.
func resourceTemplates() []resource {
	return []resource{
		{sessionURI + "{id}/memory.md", "memory", "Memory of a session", "What matters of a Codex session, short; id: as the session argument of the tools", mimeMarkdown},
		{sessionURI + "{id}/messages.jsonl", "messages", "Messages of a session", "Every message of a Codex session, as JSON lines", mimeText},
		{sessionURI + "{id}/summary.md", "summary", "Summary of a session", "The shortest form of a Codex session's memory", mimeMarkdown},
		{omittedURI + "{+ref}", "omitted", "Original text behind a ref", "What a memory or hand-off left out: om_7f3a91c2.412", mimeMarkdown},
	}
}

const (
	// listedSessions is how many memories are listed: some clients reach only
	// what is.
	listedSessions = 20
	// listWithin bounds the wait for a cache that takes new sessions in first:
	// clients ask for lists while they start.
	listWithin = 2 * time.Second
	// titleShown bounds a title in a list, in characters.
	titleShown = 60
)

// resources lists what can be read: the fixed ones, and the memories of the
// newest sessions if the cache is at hand.
func (s *server) resources(ctx context.Context) []resource {
	out := fixedResources()
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return out // the fixed ones say what is wrong with it
	}
	defer release()
	newest, err := s.newestMemories(ctx, h)
	if err != nil {
		s.log.Warn("list the newest sessions", "err", err)
	}
	return append(out, newest...)
}

func (s *server) newestMemories(ctx context.Context, h *handle) ([]resource, error) {
	threads, _, err := h.db.Threads(ctx, store.Filter{Workspace: s.workspace, Limit: listedSessions})
	if err != nil {
		return nil, err
	}
	var out []resource
	for i := range threads {
		t := &threads[i]
		title := clip(titleOf(t.Title), titleShown)
		out = append(out, resource{memoryURI(t.ID), strings.TrimSpace(t.ID[:min(8, len(t.ID))] + " " + title), title,
			"Memory of a Codex session in " + oneLine(pipeline.RedactText(t.Cwd)), mimeMarkdown})
	}
	return out, nil
}

// formats are the files of a session, by the format that they have.
var formats = map[string]resource{
	"memory.md":      {name: "memory", mime: mimeMarkdown},
	"messages.jsonl": {name: "messages", mime: mimeText},
	"summary.md":     {name: "summary", mime: mimeMarkdown},
}

// readResource gives what a tool says of what the address names, on one page of
// at most maxPageBytes; its last line names the tool that reads on. An *advice
// means that there is no such resource.
func (s *server) readResource(ctx context.Context, uri string, who caller) (mime, text string, err error) {
	asked := map[string]any{}
	var t *tool
	switch uri {
	case statusURI:
		mime, t = mimeJSON, s.tool("migrator_status")
	case sessionsURI:
		mime, t = mimeJSON, s.tool("list_sessions")
		asked["workspace"], asked["limit"] = "all", 100
	case modelsURI:
		mime, t = mimeJSON, s.tool("list_known_models")
		asked["limit"] = 200
	default:
		if ref, ok := refOfURI(uri); ok {
			mime, t = mimeMarkdown, s.tool("get_omitted_original")
			asked["ref"] = ref
			break
		}
		session, file, ok := splitSessionURI(uri)
		f, known := formats[file]
		if !ok || !known {
			return "", "", noResource(uri)
		}
		mime, t = f.mime, s.tool("get_session_context")
		asked["session"], asked["format"] = session, f.name
	}
	args, err := json.Marshal(asked)
	if err != nil {
		return "", "", fmt.Errorf("write the arguments: %w", err)
	}
	who.whole = true
	r, err := s.ask(ctx, t, args, who)
	return mime, r.text, err
}

func noResource(uri string) error {
	return advise("No such resource: %q. There are %s, %s, %s, %sID/memory.md, /messages.jsonl and /summary.md, and %sREF.",
		echoed(uri, 80), statusURI, sessionsURI, modelsURI, sessionURI, omittedURI)
}

// state is a word that changes with the resource, as far as commits tell. It is
// an *advice if there is no such resource.
func (s *server) state(ctx context.Context, h *handle, uri string, version int64) (string, error) {
	switch uri {
	case modelsURI:
		return "", nil // never within a process
	case statusURI, sessionsURI:
		return fmt.Sprint(version), nil
	}
	if ref, ok := refOfURI(uri); ok {
		_, err := parseOriginal(ref)
		return "", err // an original never changes
	}
	session, file, ok := splitSessionURI(uri)
	if _, known := formats[file]; !ok || !known {
		return "", noResource(uri)
	}
	arg, err := marshal(session)
	if err != nil {
		return "", err
	}
	id, err := s.named(ctx, h, call{args: args{tool: s.tool("get_session_context"), values: map[string]json.RawMessage{"session": arg}}})
	if err != nil {
		return "", err
	}
	rev, err := h.db.Rev(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", noResource(uri)
	}
	return fmt.Sprintf("%s %d", id, rev), err
}

// matches tells whether every word of asked stands in the thread's title, or it
// begins the thread's id.
func matches(t *transcript.Thread, asked string) bool {
	asked = strings.ToLower(strings.TrimSpace(asked))
	if strings.HasPrefix(strings.ToLower(t.ID), asked) {
		return true
	}
	title := strings.ToLower(titleOf(t.Title))
	for _, w := range strings.Fields(asked) {
		if !strings.Contains(title, w) {
			return false
		}
	}
	return true
}
