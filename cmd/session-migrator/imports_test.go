package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/session-migrator/session-migrator/"

// allowed is who may import whom: the way of the data, one way. A new line
// here is argued in its commit.
var allowed = map[string][]string{
	"pipeline/transcript":          {},
	"pipeline/decide":              {"pipeline/tokens"},
	"pipeline/tokens":              {},
	"pipeline/tokens/corpus":       {},
	"pipeline/vocabs":              {"pipeline/pattern", "pipeline/tokens", "store/atomicfile"},
	"pipeline/vendorcount":         {"pipeline/wire"},
	"pipeline/calibration":         {"pipeline/tokens", "store/atomicfile"},
	"pipeline/redact":              {},
	"pipeline/defuse":              {},
	"pipeline/embed":               {"pipeline/wire"},
	"pipeline/wire":                {},
	"pipeline/lang":                {},
	"pipeline/pattern":             {},
	"pipeline/meaning":             {"pipeline/embed", "pipeline/redact"},
	"pipeline/summary":             {"pipeline/transcript", "pipeline/loop", "pipeline/redact", "pipeline/defuse", "pipeline/lang", "pipeline/summary/chat", "pipeline/pattern"},
	"pipeline/summary/chat":        {"pipeline/pattern", "pipeline/wire"},
	"pipeline/loop":                {"pipeline/pattern", "pipeline/transcript"},
	"pipeline/redact/redacttest":   {},
	"pipeline/rollout/rollouttest": {},
	"store/failpoint":              {},
	"store/atomicfile":             {"store/failpoint"},
	"store/disk":                   {},
	"store/spend":                  {"pipeline/pattern"},
	"store/sqlite":                 {},
	"store/summary":                {},
	"watch/tail":                   {},
	"watch":                        {},
	"daemon/config":                {"pipeline/pattern"},
	"daemon/exe":                   {"pipeline/pattern"},
	"pipeline/capacity":            {"pipeline/pattern", "pipeline/tokens"},
	"pipeline/rollout":             {"pipeline/transcript", "pipeline/loop", "pipeline/pattern"},
	"pipeline/compress":            {"pipeline/transcript", "pipeline/decide"},
	"pipeline/sink":                {"pipeline/sink/block", "pipeline/redact", "pipeline/defuse", "pipeline/transcript", "store/atomicfile", "store/failpoint", "pipeline/pattern"},
	"pipeline/sink/block":          {},
	"install/connect":              {"install/edit", "install/plan", "install/plugin"},
	"install/edit":                 {},
	"install/plan":                 {"pipeline/pattern", "store/atomicfile"},
	"store":                        {"pipeline/decide", "pipeline/transcript", "store/failpoint", "store/spend", "store/sqlite", "store/summary"},
	"store/search":                 {"pipeline/transcript", "store", "store/failpoint", "store/sqlite"},
	"pipeline/memory":              {"pipeline/compress", "pipeline/decide", "pipeline/defuse", "pipeline/lang", "pipeline/pattern", "pipeline/redact", "pipeline/transcript"},
	"pipeline": {
		"pipeline/calibration", "pipeline/capacity", "pipeline/compress", "pipeline/decide", "pipeline/defuse", "pipeline/loop",
		"pipeline/memory", "pipeline/redact", "pipeline/rollout", "pipeline/summary", "pipeline/tokens", "pipeline/transcript",
		"pipeline/vocabs", "store", "store/failpoint", "store/search", "store/summary", "watch/tail",
	},
	"daemon/mcpserver": {
		"daemon/spool", "pipeline", "pipeline/capacity", "pipeline/decide", "pipeline/memory", "pipeline/pattern", "pipeline/transcript",
		"store", "store/search", "store/summary",
	},
	"daemon/choices":   {"daemon/config", "pipeline/sink", "pipeline/transcript", "store/atomicfile"},
	"daemon/life":      {},
	"daemon/notify":    {},
	"daemon/spool":     {"store/atomicfile", "store/summary"},
	"daemon/deny":      {"pipeline/transcript", "store"},
	"daemon/embedding": {"daemon/config", "daemon/deny", "pipeline/embed", "pipeline/meaning", "pipeline/transcript", "store", "store/search", "store/spend"},
	"daemon/summarizing": {
		"daemon/config", "daemon/deny", "pipeline", "pipeline/summary", "pipeline/summary/chat", "pipeline/transcript",
		"store", "store/atomicfile", "store/spend", "store/summary",
	},
	"daemon/handoff": {"pipeline", "pipeline/pattern", "pipeline/transcript", "store"},
	"daemon": {
		"daemon/choices", "daemon/config", "daemon/deny", "daemon/embedding", "daemon/exe", "daemon/handoff",
		"daemon/life", "daemon/notify", "daemon/spool", "daemon/summarizing", "pipeline", "pipeline/calibration",
		"pipeline/capacity", "pipeline/decide", "pipeline/sink", "pipeline/transcript", "pipeline/vocabs", "store",
		"store/atomicfile", "store/disk", "store/failpoint", "store/search", "store/summary", "watch",
	},
	"cmd/session-migrator": {
		"daemon", "daemon/choices", "daemon/config", "daemon/counting", "daemon/deny", "daemon/embedding",
		"daemon/exe", "daemon/handoff", "daemon/life", "daemon/logfile", "daemon/mcpserver", "daemon/sdnotify",
		"daemon/summarizing", "install/connect", "install/edit", "install/plan", "install/service", "pipeline",
		"pipeline/calibration", "pipeline/capacity", "pipeline/decide", "pipeline/memory", "pipeline/pattern", "pipeline/sink", "pipeline/summary",
		"pipeline/tokens", "pipeline/tokens/corpus", "pipeline/transcript", "pipeline/vendorcount", "pipeline/vocabs", "store",
		"store/disk", "store/search", "store/spend", "store/sqlite",
	},
	"install/service": {"install/plan"},
	"daemon/sdnotify": {},
	"daemon/logfile":  {},
	"daemon/counting": {"daemon/config", "pipeline/calibration", "pipeline/vendorcount", "store/spend"},
	// contract suites and generators: beside the package they serve
	"pipeline/sink/sinktest": {"pipeline/sink", "pipeline/transcript"},
	"pipeline/tokens/gen":    {},
	"pipeline/capacity/gen":  {},
	"daemon/reliability":     {},
	"daemon/reliability/gen": {"daemon/reliability"},
	"install/plugin":         {},
	"install/plugin/gen":     {},
	"install/packaging/gen":  {},
}

// confined is which packages alone may use an outside module.
var confined = map[string][]string{
	"database/sql":                           {"store"},
	"net/http":                               {"pipeline/embed", "pipeline/summary/chat", "pipeline/vendorcount", "pipeline/wire"},
	"github.com/mattn/go-sqlite3":            {"store/sqlite"},
	"modernc.org/sqlite":                     {"store/sqlite"},
	"github.com/fsnotify/fsnotify":           {"watch"},
	"github.com/pkoukk/tiktoken-go":          {"pipeline/tokens"},
	"golang.org/x/text":                      {"pipeline/embed", "pipeline/tokens"},
	"github.com/sashabaranov/go-openai":      {"pipeline/embed", "pipeline/summary"},
	"github.com/kardianos/service":           {"install"},
	"github.com/modelcontextprotocol/go-sdk": {"daemon/mcpserver"},
	"github.com/spf13/cobra":                 {"cmd/session-migrator"},
	"github.com/klauspost/compress":          {"watch/tail"},
	"github.com/BurntSushi/toml":             {"daemon/config", "install/edit"},
	"github.com/gofrs/flock":                 {"daemon"},
	"go.yaml.in/yaml/v3":                     {"pipeline/memory"},
}

func TestImportsFollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		seen[pkg] = true
		may, ok := allowed[pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table", file, pkg)
			continue
		}
		for _, imp := range imports {
			if ours, ok := strings.CutPrefix(imp, module); ok {
				if !slices.Contains(may, ours) {
					t.Errorf("%s imports %s, which the table doesn't allow for %s", file, ours, pkg)
				}
				continue
			}
			for _, outside := range slices.Sorted(maps.Keys(confined)) {
				homes := confined[outside]
				home := func(h string) bool { return pkg == h || strings.HasPrefix(pkg, h+"/") }
				if (imp == outside || strings.HasPrefix(imp, outside+"/")) && !slices.ContainsFunc(homes, home) {
					t.Errorf("%s imports %s, which only %s may", file, imp, strings.Join(homes, " and "))
				}
			}
		}
	}
	for pkg := range allowed {
		if !seen[pkg] {
			t.Errorf("the table names %s, which has no source", pkg)
		}
	}
}

// sources gives the imports of every Go file that is not a test.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[rel] = []string{}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out[rel] = append(out[rel], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
