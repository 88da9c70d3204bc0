package sink

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// The folder is laid out like the drop folder; the lists link as Obsidian does,
// which finds a note by its name alone. It is made when the sink is enabled and
// not later: a vault may be on a disk that isn't there just now.
var obsidian = Consumer{
	Name:  "obsidian",
	About: "all documents in a folder of a vault, with lists that link them",
	Mode:  ModeAsked,
	Open: func(_ Env, c Choice) (Sink, error) {
		dir := filepath.Clean(c.Dir)
		switch {
		case c.Dir == "" || !filepath.IsAbs(dir):
			return nil, fmt.Errorf("obsidian: say which folder of the vault, with --dir: %w", ErrNoPlace)
		case !isFolder(dir):
			return nil, fmt.Errorf("obsidian: no folder %s: %w", dir, ErrNoPlace)
		}
		return asSink(openTree("obsidian", dir, wikiLink))
	},
}

func wikiLink(p string) string { return "[[" + strings.TrimSuffix(path.Base(p), ".md") + "]]" }
