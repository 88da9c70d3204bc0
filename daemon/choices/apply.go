package choices

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Env gives what the places of consumers depend on.
func Env(c config.Config) sink.Env {
	return sink.Env{User: c.User, Data: c.Home, Vars: c.Vars, Zone: time.Local, Drop: c.MemoryDir}
}

// Open opens the sink of a consumer by a choice. Without a home folder of the user
// only those have a place that need none: nothing is looked for beside wherever
// the program was started. A folder that the user names must be apart from ours.
func Open(k sink.Consumer, c config.Config, said sink.Choice) (sink.Sink, error) {
	if c.User == "" && (k.Mode == sink.ModeFound || k.Mode == sink.ModeAsked) {
		return nil, fmt.Errorf("%s: HOME is not set: %w", k.Name, sink.ErrNoPlace)
	}
	if k.Mode == sink.ModeAsked && said.Dir != "" {
		if err := Apart(c, said.Dir); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", k.Name, err, sink.ErrNoPlace)
		}
	}
	return k.Open(Env(c), said)
}

// On tells whether a sink is on.
func (c Choice) On(m sink.Mode) bool {
	if m == sink.ModeAlways {
		return true
	}
	if c.Enabled != nil && !*c.Enabled {
		return false
	}
	switch m {
	case sink.ModeAlways, sink.ModeFound:
		return true
	case sink.ModeAsked:
		return c.Enabled != nil
	case sink.ModeProject:
		return c.Enabled != nil && len(c.Workspaces) > 0
	}
	return false
}

// Leaves tells whether anything that a sink wrote is to be taken away.
func (c Choice) Leaves(m sink.Mode) bool {
	return m != sink.ModeAlways && !c.Keep && (c.disabled() || len(c.Off) > 0)
}

func (c Choice) disabled() bool { return c.Enabled != nil && !*c.Enabled }

// Gone tells whether what was written for a thread that worked in a folder is
// to be taken away.
func (c Choice) Gone(folder string) bool { return c.disabled() || Within(c.Off, folder) }

// Former is the choice by which a sink finds all that it ever wrote.
func (c Choice) Former() sink.Choice {
	former, yes := c.Choice, true
	former.Enabled = &yes
	for _, dir := range c.Off {
		if !slices.Contains(former.Workspaces, dir) {
			former.Workspaces = append(slices.Clone(former.Workspaces), dir)
		}
	}
	return former
}

// Within tells whether a folder is one of dirs or lies in one.
func Within(dirs []string, folder string) bool {
	key := slashes(folder)
	return slices.ContainsFunc(dirs, func(dir string) bool {
		d := strings.TrimSuffix(slashes(dir), "/")
		return key == d || strings.HasPrefix(key, d+"/")
	})
}

// slashes is a folder's key, written alike on all systems.
func slashes(dir string) string { return strings.ReplaceAll(transcript.WorkspaceKey(dir), `\`, "/") }
