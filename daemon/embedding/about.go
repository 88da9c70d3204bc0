package embedding

import (
	"context"

	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

const (
	// mostNamed is how many rollouts of a folder that a question names are looked
	// at. One with more is named too vaguely.
	mostNamed = 2000

	aboutDenied  = "the question is about a folder of embeddings.deny_workspaces"
	aboutUnknown = "the question names a folder or session that can't be told from those of embeddings.deny_workspaces"
)

// denies says why a question must not be sent, by its scope and the filters in
// it; empty if it may be. What can't be found might be denied.
func (a *Asker) denies(ctx context.Context, db *store.DB, r *search.Request) string {
	if len(a.deny) == 0 {
		return ""
	}
	about := search.Read(r.Query, r.Now)
	for _, folder := range []string{r.Workspace, r.Within} {
		switch {
		case folder == "":
		case a.deny.Has(folder):
			return aboutDenied
		case !deny.Whole(folder):
			return aboutUnknown
		}
	}
	for _, p := range append(about.Paths, about.Workspaces...) {
		if a.deny.Maybe(p) {
			return aboutDenied
		}
	}
	for _, name := range about.Workspaces {
		if why := a.deniesNamed(ctx, db, name); why != "" {
			return why
		}
	}
	ids := []string{r.Thread}
	scope := r.Within
	if scope == "" {
		scope = r.Workspace
	}
	for _, s := range about.Sessions {
		id, err := db.Resolve(ctx, s, scope, "")
		if err != nil {
			return aboutUnknown
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		t, err := db.Thread(ctx, id)
		if err != nil {
			return aboutUnknown
		}
		if no, err := a.deny.Lineage(ctx, db, t); err != nil {
			return aboutUnknown
		} else if no {
			return aboutDenied
		}
	}
	return ""
}

// deniesNamed is denies for the sessions of a workspace by the end of its name.
func (a *Asker) deniesNamed(ctx context.Context, db *store.DB, name string) string {
	rows, err := db.Rollouts(ctx, store.Scope{Named: []string{name}}, mostNamed)
	if err != nil || len(rows) == 0 || len(rows) >= mostNamed {
		return aboutUnknown
	}
	for _, row := range rows {
		t, err := db.ThreadOf(ctx, row.Row)
		if err != nil {
			return aboutUnknown
		}
		if a.deny.Thread(t) {
			return aboutDenied
		}
	}
	return ""
}
