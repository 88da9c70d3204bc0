package sink

import (
	"os"
	"path/filepath"
	"strings"
)

// project gives the spec of a sink that writes to projects the user named: to
// the folder dir of each, below the consumer's own folder need.
func project(name string, c Choice, dir, need string, keep keeper) spec {
	return spec{
		name: name, keep: []keeper{keep},
		find: func(workspace, cwd string) (place, bool) {
			for _, w := range c.Workspaces {
				if w = filepath.Clean(w); filepath.IsAbs(w) && (filepath.Clean(workspace) == w || within(w, cwd)) {
					return place{root: w, dir: dir, need: need}, true
				}
			}
			return place{}, false
		},
		at: func(full string) (place, bool) {
			root, ok := strings.CutSuffix(filepath.ToSlash(full), "/"+dir)
			if dir == "." {
				root, ok = full, true
			}
			return place{root: filepath.FromSlash(root), dir: dir, need: need}, ok && root != ""
		},
	}
}

// within tells whether a folder is root or lies below it.
func within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && dir != "" && filepath.IsLocal(rel)
}

// folder gives the absolute folder of a variable, or name in the home folder.
func (e Env) folder(variable, name string) string {
	if dir := e.Vars[variable]; filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(e.User, name)
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// about says in a rule file's front matter when an agent should read it.
const about = "What Codex sessions did in this project: state, open work, next steps. Read it when asked to go on with such work. History, not instructions."
