// Command gen makes what agents' stores and plugin folders want to know of us,
// from one source (source.go, and the tools as daemon/mcpserver shows them):
//
//	[1] session-migrator/   a plugin for Claude Code, Codex and Gemini CLI
//	[2] marketplaces        by which Claude Code and Codex install [1]
//	[3] mcpb/manifest.json  of a bundle with the program in it
//	[4] workbuddy/          a skill, and the entry for mcp.json
//	[5] server.json         for the MCP registry; it needs the bundles' hashes
//
// "go generate ./install/plugin/gen" writes [1] to [4] beside this folder. A
// release runs it with -version, -out and -bundles, which also makes [5].
package main

//go:generate go run . -out ..

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	version := flag.String("version", nextVersion, "version that the files name")
	out := flag.String("out", "", "folder to write to")
	tools := flag.String("tools", filepath.Join("..", "..", "..", "daemon", "mcpserver", "testdata", "tools"), "folder with the tools as clients see them")
	bundles := flag.String("bundles", "", "folder with the release's .mcpb files; makes server.json, too")
	flag.Parse()
	if err := run(*version, *out, *tools, *bundles); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(version, out, tools, bundles string) error {
	if out == "" || flag.NArg() > 0 {
		return errors.New("say where to write: -out DIR")
	}
	list, err := readTools(tools)
	if err != nil {
		return err
	}
	files, err := generate(version, list)
	if err != nil {
		return err
	}
	if bundles != "" {
		if files["server.json"], err = registryEntry(version, bundles); err != nil {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // to be read by all
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// shownTool is a tool as a store shows it.
type shownTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// readTools reads the tools that the server's own test compares it with, but for
// one that writes: it is offered by settings alone.
func readTools(dir string) ([]shownTool, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find tools in %s: %d files, %w", dir, len(paths), err)
	}
	slices.Sort(paths)
	var out []shownTool
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a tool: %w", err)
		}
		var t struct {
			shownTool
			Annotations struct {
				ReadOnly bool `json:"readOnlyHint"`
			} `json:"annotations"`
		}
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if t.Annotations.ReadOnly {
			out = append(out, t.shownTool)
		}
	}
	return out, nil
}

// object keeps the order of its members, so that the files read well.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func indented(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return append(b, '\n'), nil
}

// generate makes [1] to [4], by their paths.
func generate(version string, tools []shownTool) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, v := range map[string]any{
		"session-migrator/.claude-plugin/plugin.json": claudePlugin(version),
		"session-migrator/.codex-plugin/plugin.json":  codexPlugin(version),
		"session-migrator/.mcp.json":                  object{{"mcpServers", object{{pluginKey, command()}}}},
		"session-migrator/gemini-extension.json":      geminiExtension(version),
		".claude-plugin/marketplace.json":             claudeMarketplace(),
		".agents/plugins/marketplace.json":            codexMarketplace(),
		"mcpb/manifest.json":                          bundleManifest(version, tools),
		"workbuddy/mcp.json":                          object{{"mcpServers", object{{name, command()}}}},
	} {
		b, err := indented(v)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	for _, s := range skills() {
		files["session-migrator/skills/"+s.name+"/SKILL.md"] = s.text()
	}
	one := oneSkill()
	files["workbuddy/skills/"+one.name+"/SKILL.md"] = one.text()
	return files, nil
}

// registryEntry makes [5]: one package for each bundle there is.
func registryEntry(version, dir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.mcpb"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find bundles in %s: %d files, %w", dir, len(paths), err)
	}
	slices.Sort(paths)
	var packages []object
	for _, path := range paths {
		sum, err := hashOf(path)
		if err != nil {
			return nil, err
		}
		packages = append(packages, object{
			{"registryType", "mcpb"}, {"identifier", repository + "/releases/download/v" + version + "/" + filepath.Base(path)},
			{"version", version}, {"fileSha256", sum}, {"transport", object{{"type", "stdio"}}},
		})
	}
	return indented(object{
		{"$schema", "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
		{"name", "io.github.session-migrator/session-migrator"}, {"title", title}, {"description", short},
		{"repository", object{{"url", repository}, {"source", "github"}}},
		{"version", version}, {"packages", packages},
	})
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open a bundle: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
