package sink

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// CodeBuddy loads 200 lines and 40,000 characters of MEMORY.md, and finds the
// files beside it by their front matter.
var codebuddy = Consumer{
	Name:  "codebuddy",
	About: "documents and lines in MEMORY.md, in CodeBuddy's memory folder of the project",
	Mode:  ModeFound,
	Open: func(e Env, c Choice) (Sink, error) {
		home := e.folder("CODEBUDDY_CONFIG_DIR", ".codebuddy")
		if !isFolder(home) {
			return nil, fmt.Errorf("codebuddy: no folder %s: %w", home, ErrNoPlace)
		}
		return open(spec{
			name: "codebuddy",
			find: func(workspace, cwd string) (place, bool) { return codebuddyPlace(home, workspace, cwd) },
			at:   func(dir string) (place, bool) { return slugPlace(home, dir, "projects/*/memory", "memories/*") },
			file: func(name string) string { return "codex-" + name }, mark: "codex-",
			keep: []keeper{blockFile{
				name: "MEMORY.md", limits: block.Limits{Lines: 190, Units: 38_000}, units: maxBlockUnits, row: rowLink, link: docsBeside,
			}},
		}, e, c), nil
	},
}

func codebuddyPlace(home, workspace, cwd string) (place, bool) {
	for _, dir := range slices.Concat(upward(cwd), upward(workspace)) {
		slug := codebuddySlug(dir)
		if slug == "" {
			continue
		}
		for _, below := range []string{"projects/" + slug + "/memory", "memories/" + slug, "projects/-" + slug + "/memory", "memories/-" + slug} {
			if isFolder(filepath.Join(home, filepath.FromSlash(below))) {
				return place{root: home, dir: below, need: below}, true
			}
		}
	}
	return place{}, false
}

var slugRuns = pattern.Lazy(`[/\\:-]+`)

// codebuddySlug is the name that CodeBuddy gives to a folder's memory. Other
// builds leave a dash in front; those are found too, and none is made.
func codebuddySlug(dir string) string {
	return strings.Trim(slugRuns().ReplaceAllString(dir, "-"), "-")
}

// slugPlace takes a folder below home apart that matches one of the patterns,
// in which a star stands for the name of a project.
func slugPlace(home, dir string, patterns ...string) (place, bool) {
	rel, err := filepath.Rel(home, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return place{}, false
	}
	rel = filepath.ToSlash(rel)
	for _, p := range patterns {
		before, after, _ := strings.Cut(p, "*")
		slug, ok := strings.CutPrefix(rel, before)
		if slug, ok2 := strings.CutSuffix(slug, after); ok && ok2 && slug != "" && !strings.Contains(slug, "/") {
			return place{root: home, dir: rel, need: rel}, true
		}
	}
	return place{}, false
}
