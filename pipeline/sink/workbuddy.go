package sink

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// WorkBuddy gives its model MEMORY.md of the folder it runs in, cut at 8,000
// UTF-16 units (later builds: 10,000). Above that it orders the model to
// rewrite the file first, so we stay well below. Other files of the folder,
// daily logs too, are opened by the model itself.
var workbuddy = Consumer{
	Name:  "workbuddy",
	About: "documents in .workbuddy/memory/codex of the workspace, lines in its MEMORY.md, entries in the daily log",
	Mode:  ModeFound,
	Open: func(e Env, c Choice) (Sink, error) {
		w := buddy{e}
		return open(spec{
			name: "workbuddy", find: w.find, at: w.at,
			file: func(name string) string { return name }, sub: "codex", list: true,
			keep: []keeper{
				blockFile{
					name: "MEMORY.md", limits: block.Limits{Units: 7500}, units: maxBlockUnits, row: rowPath, link: docsIn("codex"),
					title: func(w *words, project string) string { return project + w.notes },
					warn:  func(at place) string { return at.dir + "/codex/" + indexName },
				},
				dailyLog{link: docsIn("codex")},
			},
		}, e, c), nil
	},
}

// buddy knows where WorkBuddy keeps things.
type buddy struct{ env Env }

// folders are the names of the folder in a workspace: the second is that of
// the overseas edition.
func (w buddy) folders() []string {
	if name := w.env.Vars["WORKBUDDY_DATA_FOLDER_NAME"]; name != "" && filepath.IsLocal(name) && filepath.Base(name) == name && name != "." {
		return []string{name}
	}
	return []string{".workbuddy", ".workbuddy-ai"}
}

// homes are the data folders of the user: no workspace's, though they may have
// the same name.
func (w buddy) homes() []string {
	if dir := w.env.Vars["WORKBUDDY_CONFIG_DIR"]; filepath.IsAbs(dir) {
		return []string{filepath.Clean(dir)}
	}
	var out []string
	for _, name := range w.folders() {
		out = append(out, filepath.Join(w.env.User, name))
	}
	return out
}

func (w buddy) find(workspace, cwd string) (place, bool) {
	for _, dir := range slices.Concat(upward(cwd), upward(workspace)) {
		for _, name := range w.folders() {
			full := filepath.Join(dir, name)
			if info, err := os.Stat(full); err == nil && info.IsDir() && !w.home(full) {
				return place{root: dir, dir: name + "/memory", need: name}, true
			}
		}
	}
	return place{}, false
}

func (w buddy) at(dir string) (place, bool) {
	folder := filepath.Dir(dir)
	name := filepath.Base(folder)
	if filepath.Base(dir) != "memory" || w.home(folder) || !slices.Contains(append(w.folders(), ".workbuddy", ".workbuddy-ai"), name) {
		return place{}, false
	}
	return place{root: filepath.Dir(folder), dir: name + "/memory", need: name}, true
}

// home tells whether the folder is the user's own, by whatever path: its memory
// folder is WorkBuddy's alone.
func (w buddy) home(folder string) bool {
	info, err := os.Stat(folder)
	return slices.ContainsFunc(append(w.homes(), filepath.Join(w.env.User, ".workbuddy"), filepath.Join(w.env.User, ".workbuddy-ai")), func(home string) bool {
		if filepath.Clean(folder) == home {
			return true
		}
		is, err2 := os.Stat(home)
		return err == nil && err2 == nil && os.SameFile(info, is)
	})
}
