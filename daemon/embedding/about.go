package embedding

import (
	"context"
	"errors"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

const (
	// mostAncestors bounds how far up it is looked for a denied folder.
	mostAncestors = 64
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
		case a.deny.has(folder):
			return aboutDenied
		case !whole(folder):
			return aboutUnknown
		}
	}
	for _, p := range append(about.Paths, about.Workspaces...) {
		if a.deny.maybe(p) {
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
		if no, err := a.deny.lineage(ctx, db, t); err != nil {
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
		if a.deny.thread(t) {
			return aboutDenied
		}
	}
	return ""
}

// maybe tells whether a path, which may be of a folder's last parts only, can
// mean one of them or something below it.
func (d denied) maybe(p string) bool {
	if whole(p) && d.has(p) {
		return true
	}
	parts := strings.Split(strings.Trim(key(strings.ReplaceAll(p, `\`, "/")), "/"), "/")
	for _, f := range d {
		if f == "" {
			return true // the root
		}
		for i := range parts {
			for j := i + 1; j <= len(parts) && !whole(p); j++ {
				if strings.HasSuffix("/"+f, "/"+strings.Join(parts[i:j], "/")) {
					return true
				}
			}
		}
	}
	return false
}

// lineage tells whether nothing of a thread may be sent: it, or one that it
// descends from, is in a denied folder.
func (d denied) lineage(ctx context.Context, db *store.DB, t transcript.Thread) (bool, error) {
	if len(d) == 0 {
		return false, nil
	}
	seen, next := map[string]bool{}, []transcript.Thread{t}
	for len(next) > 0 {
		t, next = next[0], next[1:]
		if d.thread(t) || len(seen) > mostAncestors {
			return true, nil
		}
		seen[t.ID] = true
		for _, id := range []string{t.Parent, t.ForkedFrom} {
			if id == "" || seen[id] {
				continue
			}
			up, err := db.Thread(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return false, err
			}
			next = append(next, up)
		}
	}
	return false, nil
}
