package main

import (
	"context"
	"errors"
	"os"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

// indexJSON says how the search index is.
type indexJSON struct {
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	Items   int64   `json:"items"`   // that it holds
	Behind  int64   `json:"behind"`  // that the cache holds and it doesn't: they are looked through without it
	Problem *string `json:"problem"` // why it can't be asked, null if it can or isn't there yet

	none   bool
	folder bool // a folder is in its place
}

// indexOf looks into the index beside an open cache.
func indexOf(ctx context.Context, c config.Config, db *store.DB) indexJSON {
	i := indexJSON{Path: c.Search()}
	for _, suffix := range []string{"", "-wal"} {
		if st, err := os.Stat(i.Path + suffix); err == nil {
			i.Bytes += st.Size()
		}
	}
	x, err := search.OpenReader(ctx, i.Path)
	if err == nil {
		i.Items, i.Behind, err = counted(ctx, x, db)
		err = errors.Join(err, x.Close())
	}
	switch {
	case errors.Is(err, search.ErrNone) && !exists(i.Path):
		i.none = true
	case err != nil:
		if st, err := os.Stat(i.Path); err == nil {
			i.folder = st.IsDir()
		}
		i.Problem = orNull(shown(i.why(err)))
	}
	return i
}

// why says what is wrong with the index. Its errors are named for the cache.
func (i *indexJSON) why(err error) string {
	switch {
	case i.folder:
		return "a folder is in its place"
	case errors.Is(err, store.ErrDamaged):
		return "the search index is damaged"
	case errors.Is(err, store.ErrForeign):
		return "the file is no search index of this program"
	}
	return err.Error()
}

func counted(ctx context.Context, x *search.Index, db *store.DB) (items, behind int64, err error) {
	if items, err = x.Items(ctx); err != nil {
		return 0, 0, err
	}
	behind, err = x.Behind(ctx, db)
	return items, behind, err
}

// print tells it in a line.
func (i *indexJSON) print(line func(key, format string, args ...any)) {
	switch {
	case i.Problem != nil:
		line("search", "%s can't be asked: %s", i.Path, clean(*i.Problem, false))
	case i.none:
		line("search", "no index yet at %s: searches look through the newest messages only", i.Path)
	case i.Behind > 0:
		line("search", "%s, %s; %s not in it yet", plural(i.Items, "message"), size(i.Bytes), number(i.Behind))
	default:
		line("search", "%s, %s", plural(i.Items, "message"), size(i.Bytes))
	}
}

// search looks at the search index. It holds nothing that the cache doesn't, so
// nothing about it is broken.
func (d *doctor) search(ctx context.Context, c config.Config, db *store.DB, info daemon.Info) {
	fix := "session-migrator run --once"
	if info.Running {
		fix = "wait: the daemon makes it; what it lacks is looked through without it"
	}
	switch i := indexOf(ctx, c, db); {
	case i.folder:
		d.warn("search", "move "+shellWord(i.Path)+" away, then: session-migrator run", "the search index can't be asked, searches look through the newest messages only: %s", *i.Problem)
	case i.Problem != nil && info.Running:
		d.warn("search", "delete it: the daemon makes it anew ("+shellWord(i.Path)+")", "the search index can't be asked, searches look through the newest messages only: %s", *i.Problem)
	case i.Problem != nil:
		d.warn("search", fix, "the search index can't be asked, searches look through the newest messages only: %s", *i.Problem)
	case i.none:
		d.warn("search", fix, "there is no search index yet: searches look through the newest messages only")
	case i.Behind > 0:
		d.warn("search", fix, "the search index lacks %s", plural(i.Behind, "message"))
	default:
		d.ok("search", "%s in %s, %s", plural(i.Items, "message"), i.Path, size(i.Bytes))
	}
}
