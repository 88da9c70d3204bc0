//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	asked    = "Round the invoice totals as @totals.md says"
	answered = "The totals are rounded to cents.\n\nNext step: update the price list."
	unasked  = "text of a file that nobody asked for"
)

// worked lets a real Codex work in the place, yesterday.
func (p *place) worked() {
	p.t.Helper()
	p.write("code/shop_api/totals.md", unasked+"\n")
	p.model.says(answered)
	argv, env := codex.setUp(p, os.Getenv(codex.env))
	argv[len(argv)-1] = asked
	p.run(p.work, env, argv...)
	p.model.says(said)
	files, err := filepath.Glob(filepath.Join(p.home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("Codex wrote %q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	text = timestamp.ReplaceAllFunc(text, func(at []byte) []byte {
		was, err := time.Parse(time.RFC3339, string(at))
		if err != nil {
			return at
		}
		return []byte(was.Add(-24 * time.Hour).UTC().Format("2006-01-02T15:04:05.000Z"))
	})
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chtimes(files[0], yesterday, yesterday); err != nil {
		p.t.Fatal(err)
	}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// migrator runs our program.
func (p *place) migrator(args ...string) string {
	p.t.Helper()
	binary := os.Getenv("E2E_BINARY")
	if binary == "" {
		p.t.Fatal("set E2E_BINARY; make e2e does")
	}
	return p.run(p.work, nil, append([]string{binary}, args...)...)
}

func (p *place) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.home, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// A real Codex works, our program writes, and what it wrote reaches the model
// of each client, beside what the user has there. A path in what was asked is
// not taken for an import. Taken away again, the files are as they were.
func TestSinksAreRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.worked()
	claudeMemory := filepath.Join(".claude", "projects", claudeSlug(p.work), "memory")
	codebuddyMemory := filepath.Join(".codebuddy", "projects", codebuddySlug(p.work), "memory")
	users := "# Notes\n\n- mine: ask before a release\n"
	files := []string{filepath.Join(claudeMemory, "MEMORY.md"), filepath.Join(codebuddyMemory, "MEMORY.md"), "code/shop_api/AGENTS.md", "code/shop_api/GEMINI.md"}
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range files {
		p.write(name, users)
		if err := os.Chtimes(filepath.Join(p.home, name), hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	p.migrator("sink", "enable", "claude")
	p.migrator("sink", "enable", "agents-md", "--workspace", p.work)
	p.migrator("sink", "enable", "gemini", "--workspace", p.work)
	p.migrator("run", "--once")

	for _, c := range []struct {
		client client
		file   string
		beside bool // the document lies beside the file
	}{
		{claude, files[0], true},
		{codebuddy, files[1], true},
		{codex, files[2], false},
		{gemini, files[3], false},
	} {
		t.Run(c.client.name, func(t *testing.T) {
			p := p.in(t)
			text := p.read(c.file)
			got := c.client.shown(p, p.work)
			for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
				if !strings.HasPrefix(line, "<!--") && !strings.Contains(got, line) {
					t.Errorf("the model was not shown %q", line)
				}
			}
			parts := []string{"Round the invoice totals", "answered", "ask before a release"}
			if !c.beside { // an index has no room for it
				parts = append(parts, "update the price list")
			}
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s lacks %q:\n%s", c.file, part, text)
				}
			}
			if strings.Contains(got, unasked) {
				t.Errorf("a path in the text was imported:\n%s", text)
			}
			if c.beside {
				p.follows(text, filepath.Dir(c.file))
			}
		})
	}

	p.dropsItsOwn()
	for _, name := range []string{"claude", "codebuddy", "agents-md", "gemini"} {
		p.migrator("sink", "disable", name)
	}
	for _, name := range files {
		if got := p.read(name); got != users {
			t.Errorf("%s is now\n%s", name, got)
		}
	}
}

var linked = regexp.MustCompile(`\]\((codex-[^)]+\.md)\)`)

// follows opens the document that a line of ours points to.
func (p *place) follows(text, dir string) {
	p.t.Helper()
	m := linked.FindStringSubmatch(text)
	if m == nil {
		p.t.Fatalf("no link to a document in\n%s", text)
	}
	if doc := p.read(filepath.Join(dir, m[1])); !strings.Contains(doc, "rounded to cents") {
		p.t.Errorf("%s says\n%s", m[1], doc)
	}
}

// dropsItsOwn looks at the session of the Codex that was shown our lines: they
// are no part of what was said in it.
func (p *place) dropsItsOwn() {
	p.t.Helper()
	p.migrator("run", "--once")
	docs, err := filepath.Glob(filepath.Join(p.home, ".session-migrator", "memory", "projects", "*", "2*.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	found := false
	for _, name := range docs {
		text, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		if strings.Contains(string(text), question) {
			found = true
			if strings.Contains(string(text), "price list") || strings.Contains(string(text), "ask before a release") {
				p.t.Errorf("%s tells what was only in AGENTS.md:\n%s", name, text)
			}
		}
	}
	if !found {
		p.t.Errorf("no document of the session that was asked %q: %q", question, docs)
	}
}
