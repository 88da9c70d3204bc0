//go:build e2e

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// The tests here find out how much of a file a client takes in, with one of
// our blocks at its top. What the sinks allow themselves must lie below it.

const (
	blockBegin = "<!-- session-migrator:begin v=1 hash=0a1b2c3d -->\n"
	blockBody  = "## Codex sessions (generated, do not edit inside)\n- 2026-02-11 **answered** round the totals → `codex/x.md`\n"
	blockEnd   = "<!-- session-migrator:end -->\n"
	lastLine   = "- the last line 完"
)

func units(s string) int { return len(utf16.Encode([]rune(s))) }

func bytesOf(s string) int { return len(s) }

// filled gives a text of so many lines and of that size, with a head and an
// end; most of it isn't ASCII.
func filled(t *testing.T, head string, lines, size int, measure func(string) int) string {
	t.Helper()
	n := lines - strings.Count(head, "\n") - 1
	room := size - measure(head) - measure(lastLine) - n
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		line := room / (n - i)
		room -= line
		b.WriteString(strings.Repeat("记", line/2/measure("记")))
		b.WriteString(strings.Repeat("x", line-line/2/measure("记")*measure("记")))
		b.WriteByte('\n')
	}
	b.WriteString(lastLine)
	text := b.String()
	if measure(text) != size || strings.Count(text, "\n")+1 != lines {
		t.Fatalf("filled a file of %d and %d lines; wanted %d and %d", measure(text), strings.Count(text, "\n")+1, size, lines)
	}
	return text
}

// limitCase is a file at or over a client's limit.
type limitCase struct {
	name        string
	lines, size int
	whole       bool
}

// trial is what a client does with the file that a sink writes to.
type trial struct {
	client   client
	measure  func(string) int
	stripped bool   // HTML comments don't reach the model
	also     string // something that has to be shown as well
	write    func(p *place, text string)
	dir      func(p *place, i int) string // where the client is started for the i-th case
}

// run writes each file, starts the client and sees what the model was shown of
// it.
func (tr trial) run(t *testing.T, cases ...limitCase) {
	for i, lc := range cases {
		t.Run(lc.name, func(t *testing.T) {
			p := newPlace(t)
			head := blockBegin + blockBody + blockEnd
			if tr.stripped {
				head = blockBody
			}
			expected := filled(t, head, lc.lines, lc.size, tr.measure)
			tr.write(p, blockBegin+blockBody+blockEnd+strings.TrimPrefix(expected, head))
			got := tr.client.shown(p, tr.dir(p, i))
			if !strings.Contains(got, head) || !strings.Contains(got, tr.also) {
				t.Error("the block, or what goes with it, was not shown")
			}
			if tr.stripped && strings.Contains(got, "session-migrator:") {
				t.Error("the markers were shown")
			}
			if has := strings.Contains(got, expected); has != lc.whole {
				t.Errorf("a file of %d lines and %d: shown whole %v", lc.lines, lc.size, has)
			}
			if !lc.whole && strings.Contains(got, "\n"+lastLine) {
				t.Error("the end of a file that is too long was shown")
			}
		})
	}
}

// repository commits something in the place, and gives a folder below its
// root and a worktree beside it.
func repository(p *place) (below, worktree string) {
	p.t.Helper()
	below, worktree = filepath.Join(p.work, "internal"), filepath.Join(p.home, "code", "hot.fix")
	p.write("code/shop_api/internal/a.txt", "a\n")
	p.run(p.work, nil, "git", "add", ".")
	p.run(p.work, nil, "git", "commit", "-q", "-m", "a")
	p.run(p.work, nil, "git", "worktree", "add", "-q", worktree)
	return below, worktree
}

// Claude Code names the memory's folder after the root of the repository, for
// folders below it and worktrees too. It counts UTF-16 units after it took
// HTML comments out.
func TestLimitsOfClaude(t *testing.T) {
	t.Parallel()
	trial{client: claude, measure: units, stripped: true,
		write: func(p *place, text string) {
			p.write(filepath.Join(".claude", "projects", claudeSlug(p.work), "memory", "MEMORY.md"), text)
		},
		dir: func(p *place, i int) string {
			below, worktree := repository(p)
			return []string{below, worktree, p.work}[i]
		},
	}.run(t, limitCase{"whole", 200, 25000, true}, limitCase{"a line more", 201, 10000, false}, limitCase{"a unit more", 150, 25001, false})
}

// CodeBuddy names it after the folder it is started in, be that a worktree or
// a folder of the repository.
func TestLimitsOfCodeBuddy(t *testing.T) {
	t.Parallel()
	dir := func(p *place, i int) string {
		below, worktree := repository(p)
		return []string{below, worktree, p.work}[i]
	}
	for i, lc := range []limitCase{{"whole", 200, 40000, true}, {"a line more", 201, 10000, false}, {"a unit more", 150, 40001, false}} {
		trial{client: codebuddy, measure: units,
			write: func(p *place, text string) {
				below := []string{filepath.Join(p.work, "internal"), filepath.Join(p.home, "code", "hot.fix"), p.work}[i]
				p.write(filepath.Join(".codebuddy", "projects", codebuddySlug(below), "memory", "MEMORY.md"), text)
			},
			dir: func(p *place, _ int) string { return dir(p, i) },
		}.run(t, lc)
	}
}

// Codex counts the bytes of a project's files only: those of the user are
// shown whole, whatever their size.
func TestLimitsOfCodex(t *testing.T) {
	t.Parallel()
	users := strings.Repeat("user's own\n", 4000)
	trial{client: codex, measure: bytesOf, also: users,
		write: func(p *place, text string) {
			p.write(".codex/AGENTS.md", users)
			p.write("code/shop_api/AGENTS.md", text)
		},
		dir: func(p *place, i int) string {
			below, _ := repository(p)
			return []string{below, p.work}[i]
		},
	}.run(t, limitCase{"whole", 300, 32768, true}, limitCase{"a byte more", 300, 32769, false})
}

// Gemini CLI has no limit that was found.
func TestLimitsOfGemini(t *testing.T) {
	t.Parallel()
	trial{client: gemini, measure: units,
		write: func(p *place, text string) { p.write("code/shop_api/GEMINI.md", text) },
		dir: func(p *place, _ int) string {
			below, _ := repository(p)
			return below
		},
	}.run(t, limitCase{"whole", 2000, 200000, true})
}

func claudeSlug(dir string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, dir)
}

func codebuddySlug(dir string) string {
	return strings.Trim(strings.NewReplacer("/", "-", ":", "-").Replace(dir), "-")
}
