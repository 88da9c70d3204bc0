package sink

import (
	"fmt"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// The file is given to every session of WorkBuddy, cut at 4,000 UTF-16 units.
var workbuddyGlobal = Consumer{
	Name:  "workbuddy-global",
	About: "lines in WorkBuddy's MEMORY.md for all projects",
	Mode:  ModeAsked,
	Open: func(e Env, c Choice) (Sink, error) {
		for _, home := range (buddy{e}).homes() {
			if !isFolder(home) {
				continue
			}
			at := place{root: home, dir: ".", need: "."}
			return open(spec{
				name: "workbuddy-global", all: true,
				find: func(string, string) (place, bool) { return at, true },
				at:   func(dir string) (place, bool) { return at, dir == home },
				keep: []keeper{blockFile{name: "MEMORY.md", limits: block.Limits{Units: 3600}, units: 400, row: rowProject}},
			}, e, c), nil
		}
		return nil, fmt.Errorf("workbuddy-global: no data folder of WorkBuddy: %w", ErrNoPlace)
	},
}
