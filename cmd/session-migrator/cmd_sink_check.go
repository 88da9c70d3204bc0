package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// given refuses a folder that is the empty text, as of a variable that isn't
// set.
func (f sinkFlags) given(cmd *cobra.Command) error {
	for name, dir := range map[string]string{"workspace": f.workspace, "dir": f.dir} {
		if fl := cmd.Flags().Lookup(name); fl != nil && fl.Changed && dir == "" {
			return usagef("--%s is empty: name a folder", name)
		}
	}
	return nil
}

// takesDir tells whether --dir says where a sink writes.
func takesDir(name string) bool { return name == "obsidian" || name == "openclaw" }

// checkEnable refuses what a sink doesn't use, and folders that can't be meant.
func checkEnable(c config.Config, k sink.Consumer, said choices.Choice, f sinkFlags) error {
	switch {
	case k.Mode == sink.ModeProject && f.workspace == "":
		return hinted(usagef("%s is for single projects: --workspace is missing", k.Name), "session-migrator sink enable "+k.Name+" --workspace DIR")
	case f.dir != "" && !takesDir(k.Name):
		return usagef("--dir: %s finds its folder itself", k.Name)
	}
	if f.workspace != "" {
		if err := checkFolder(c, "--workspace", f.workspace, false); err != nil {
			return err
		}
		if k.Mode != sink.ModeProject && !choices.Within(said.Off, f.workspace) {
			return hinted(usagef("--workspace: %s is not switched on for single projects, and it was not switched off in %s", k.Name, f.workspace), "session-migrator sink enable "+k.Name)
		}
	}
	if f.dir != "" {
		return checkFolder(c, "--dir", f.dir, true)
	}
	return nil
}

// checkFolder refuses what is no folder, and folders that hold everything; fresh
// says that the folder may be one to be made.
func checkFolder(c config.Config, flag, dir string, fresh bool) error {
	info, err := os.Stat(dir)
	if err != nil && fresh {
		if up, upErr := os.Stat(filepath.Dir(dir)); upErr == nil && up.IsDir() && os.IsNotExist(err) {
			return nil
		}
		return hinted(usagef("%s %s: there is no folder %s to make it in", flag, dir, filepath.Dir(dir)), "make it first")
	}
	home, homeErr := os.Stat(c.User)
	switch {
	case err != nil:
		return usagef("%s %s: there is no such folder", flag, dir)
	case !info.IsDir():
		return usagef("%s %s is a file: name a folder", flag, dir)
	case filepath.Dir(dir) == dir:
		return usagef("%s %s holds everything: name a folder in it", flag, dir)
	case homeErr == nil && c.User != "" && os.SameFile(info, home):
		return usagef("%s %s is your home folder: name a folder in it", flag, dir)
	}
	return nil
}

// hindered says what would keep a project's file from being written.
func hindered(ctx context.Context, a *app, c config.Config, k sink.Consumer, said choices.Choice, workspace string) (out []string) {
	s, err := choices.Open(k, c, said.Choice)
	if err != nil {
		return nil
	}
	if cl, ok := s.(interface{ Close() error }); ok {
		defer func() { _ = cl.Close() }() // nothing was written
	}
	sh, ok := s.(sink.Sharer)
	if !ok || workspace == "" {
		return nil
	}
	now := a.now()
	files, err := sh.Share(ctx, sink.Sharing{Workspace: workspace, Now: now, Look: true, Sessions: []sink.Session{{
		ThreadID: "00000000-0000-7000-8000-000000000000", Workspace: workspace, Cwd: workspace, Title: "-", State: transcript.StateAnswered, Created: now, Updated: now, Turns: 1,
		Document: func(int, bool) ([]byte, error) { return []byte{}, nil },
	}}})
	if err != nil {
		return []string{err.Error()}
	}
	for _, f := range files {
		if what := problemOf(f); what != "" {
			out = append(out, fmt.Sprintf("%s is not written yet: %s", f.Path, what))
		}
	}
	return out
}

// checkDisable refuses a workspace that nobody knows of: it is a slip.
func checkDisable(ctx context.Context, c config.Config, k sink.Consumer, said choices.Choice, workspace string) error {
	if info, err := os.Stat(workspace); workspace == "" || err == nil && info.IsDir() {
		return nil
	}
	in := func(dir string) bool { return choices.Within([]string{workspace}, dir) }
	if slices.ContainsFunc(slices.Concat(said.Workspaces, said.Off), in) {
		return nil
	}
	if db, err := store.OpenReader(ctx, c.DB()); err == nil {
		defer func() { _ = db.Close() }() // only read
		folders, err := db.Workspaces(ctx)
		if err != nil {
			return err
		}
		for _, dir := range folders {
			if in(dir) {
				return nil
			}
		}
	}
	return usagef("--workspace %s: there is no such folder, and %s was never on in it", workspace, k.Name)
}

// changeJSON is a sink after its choice was changed.
type changeJSON struct {
	Schema     int      `json:"schema"`
	Name       string   `json:"name"`
	Enabled    bool     `json:"enabled"`
	Dir        string   `json:"dir,omitempty"`
	Workspaces []string `json:"workspaces"` // that it is enabled for
	Off        []string `json:"off"`        // workspaces that it is disabled for
	Warnings   []string `json:"warnings"`

	Taken   int      `json:"files_taken"` // of ours, taken away
	Lines   int      `json:"lines_taken"` // files of others that our lines were taken out of
	Edited  []string `json:"edited"`      // files that somebody edited: they stay
	Waiting []string `json:"waiting"`     // files that could not be taken away yet
}

func changed(k sink.Consumer, said choices.Choice, l left, warnings []string) changeJSON {
	return changeJSON{Schema: 1, Name: k.Name, Enabled: said.On(k.Mode), Dir: said.Dir, Workspaces: list(said.Workspaces), Off: list(said.Off),
		Warnings: list(warnings), Taken: l.taken, Lines: l.lines, Edited: list(l.edited), Waiting: list(l.waiting)}
}

// String says what was taken away.
func (l left) String() string {
	switch {
	case l.taken == 0 && l.lines == 0:
		return "there was nothing to take away"
	case l.lines == 0:
		return plural(l.taken, "file") + " taken away"
	case l.taken == 0:
		return "lines taken out of " + plural(l.lines, "file")
	}
	return plural(l.taken, "file") + " taken away, lines taken out of " + plural(l.lines, "file")
}
