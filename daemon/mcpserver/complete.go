package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// completed is what an argument may become: at most maxCompleted of them, of
// how many there are.
type completed struct {
	values []string
	total  int
}

const (
	maxCompleted = 100
	// maxCompletedOf is how many of the newest sessions are looked through.
	maxCompletedOf = 2_000
)

// complete gives what the argument may become: of a prompt, or of a template of
// addresses. What has no completion has none; a prompt or template that there
// isn't is an *advice.
func (s *server) complete(ctx context.Context, prompt, template, argument, value string) (completed, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	kind := ""
	switch {
	case prompt != "":
		p, ok := s.prompt(prompt)
		if !ok {
			return completed{}, advise("unknown prompt %q", echoed(prompt, 40))
		}
		if argument == p.argument {
			kind = argument
		}
	case slices.ContainsFunc(resourceTemplates(), func(r resource) bool { return r.uri == template }):
		if argument == "id" {
			kind = "session"
		}
	default:
		return completed{}, noResource(template)
	}
	switch kind {
	case "session":
		return s.completeSession(ctx, value)
	case "target_model":
		return s.completeModel(ctx, value)
	case "workspace":
		return s.completeWorkspace(ctx, value)
	}
	return completed{}, nil
}

func bounded(values []string) completed {
	return completed{values[:min(len(values), maxCompleted)], len(values)}
}

// completeSession gives ids, newest first, by their beginning or by words of
// the title. Without a cache there are none, and no error: nobody sees it.
func (s *server) completeSession(ctx context.Context, value string) (completed, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return completed{}, nil //nolint:nilerr // a completion that isn't there is just none
	}
	defer release()
	threads, _, err := h.db.Threads(ctx, store.Filter{Workspace: s.workspace, Archived: true, Limit: maxCompletedOf})
	if err != nil {
		return completed{}, err
	}
	var out []string
	for i := range threads {
		if matches(&threads[i], value) {
			out = append(out, threads[i].ID)
		}
	}
	return bounded(out), nil
}

func (s *server) completeModel(ctx context.Context, value string) (completed, error) {
	p, release, err := s.cache.models(ctx)
	if err != nil {
		return completed{}, nil //nolint:nilerr // as above
	}
	defer release()
	var out []string
	for _, m := range p.Table().Search(value, 0, maxModels) {
		if !slices.Contains(out, m.ID) {
			out = append(out, m.ID)
		}
	}
	return bounded(out), nil
}

// completeWorkspace gives folders of sessions. One whose name holds a secret is
// none that could be given.
func (s *server) completeWorkspace(ctx context.Context, value string) (completed, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return completed{}, nil //nolint:nilerr // as above
	}
	defer release()
	folders, err := h.db.Workspaces(ctx)
	if err != nil {
		return completed{}, err
	}
	var out []string
	for key, folder := range folders {
		if s.workspace != "" && key != s.workspace || pipeline.RedactText(folder) != folder {
			continue
		}
		if strings.Contains(strings.ToLower(folder), strings.ToLower(value)) {
			out = append(out, folder)
		}
	}
	slices.Sort(out)
	return bounded(out), nil
}
