package sink

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// Claude Code loads 200 lines and 25,000 UTF-16 units of MEMORY.md, HTML
// comments not counted, and cuts the rest: bytes, as others say, are the
// narrower limit. It finds the files beside it by their first 30 lines. All
// work trees of a repository share one folder.
var claude = Consumer{
	Name:  "claude",
	About: "documents and lines in MEMORY.md, in Claude Code's memory folder of the project",
	Mode:  ModeAsked,
	Open: func(e Env, c Choice) (Sink, error) {
		home := e.folder("CLAUDE_CONFIG_DIR", ".claude")
		if !isFolder(home) {
			return nil, fmt.Errorf("claude: no folder %s: %w", home, ErrNoPlace)
		}
		if settings := filepath.Join(home, "settings.json"); movedMemory(settings) {
			return nil, fmt.Errorf("claude: autoMemoryDirectory in %s moves the memory elsewhere, which is not supported: %w", settings, ErrNoPlace)
		}
		return open(spec{
			name: "claude",
			find: func(workspace, cwd string) (place, bool) { return claudePlace(home, workspace, cwd) },
			at: func(dir string) (place, bool) {
				at, ok := slugPlace(home, dir, "projects/*/memory")
				at.need = "."
				return at, ok
			},
			file: func(name string) string { return "codex-" + name }, mark: "codex-",
			keep: []keeper{blockFile{
				name: "MEMORY.md", limits: block.Limits{Lines: 190, Bytes: 24_000}, units: maxBlockUnits, row: rowLink, link: docsBeside,
			}},
		}, e, c), nil
	},
}

func claudePlace(home, workspace, cwd string) (place, bool) {
	for _, dir := range []string{cwd, workspace} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(real) && isFolder(real) {
			return place{root: home, dir: "projects/" + claudeSlug(mainRoot(real)) + "/memory", need: "."}, true
		}
	}
	return place{}, false
}

const maxClaudeSlug = 200

// claudeSlug is the name that Claude Code gives to a project's folder: each
// UTF-16 unit that is no ASCII letter or digit becomes a dash. Of a long one
// the first 200 stay, and a hash in base 36 follows.
func claudeSlug(dir string) string {
	var b strings.Builder
	var hash int32
	for _, u := range utf16.Encode([]rune(dir)) {
		hash = hash<<5 - hash + int32(u)
		if u < 0x80 && (u >= '0' && u <= '9' || u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	if b.Len() <= maxClaudeSlug {
		return b.String()
	}
	return b.String()[:maxClaudeSlug] + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// movedMemory tells whether the user's settings keep the memory elsewhere.
func movedMemory(settings string) bool {
	data, err := os.ReadFile(settings)
	if err != nil || len(data) > maxShared {
		return false
	}
	var s struct {
		Dir string `json:"autoMemoryDirectory"`
	}
	return json.Unmarshal(data, &s) == nil && s.Dir != ""
}
