package sink

import (
	"fmt"
	"path/filepath"
	"time"
)

// OpenClaw loads the dated files of today and yesterday from memory/ of its
// workspace, 20,000 characters of each and 60,000 in all, and searches all of
// them. With files of our own nothing is shared.
var openclaw = Consumer{
	Name:  "openclaw",
	About: "a dated document a session in memory/ of OpenClaw's workspace",
	Mode:  ModeAsked,
	Open: func(e Env, c Choice) (Sink, error) {
		dir := filepath.Join(e.User, ".openclaw", "workspace")
		if c.Dir != "" {
			dir = filepath.Clean(c.Dir)
		}
		if !filepath.IsAbs(dir) || !isFolder(dir) {
			return nil, fmt.Errorf("openclaw: no folder %s: %w", dir, ErrNoPlace)
		}
		at := place{root: dir, dir: "memory", need: "."}
		return open(spec{
			name: "openclaw", limits: Limits{Units: 5_000, Bare: true},
			find: func(string, string) (place, bool) { return at, true },
			at:   func(d string) (place, bool) { return at, d == filepath.Join(dir, "memory") },
			file: openclawName, mark: "codex-",
		}, e, c), nil
	},
}

// openclawName makes YYYY-MM-DD-codex-<id8>.md of a document's name.
func openclawName(name string) string {
	day := name[:min(len(time.DateOnly), len(name))]
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "codex-" + nameEnd(name)
	}
	return day + "-codex-" + nameEnd(name)
}
