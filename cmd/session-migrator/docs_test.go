package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// docLine is one line of a page outside code blocks, or a whole code block.
type docLine struct {
	at    int    // its number in the file, from 1
	kind  string // "text", "heading 2", "row of 3 cells", "code block" …
	title string // of a heading
	text  string // of a code block, with its fences
	links []string
	spans []string // inline code
	nums  []string // figures elsewhere, without the marks that languages set in them
}

var (
	codeSpan = regexp.MustCompile("`[^`]+`")
	docLink  = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`^(#{1,6}) +(.+)$`)
	numbered = regexp.MustCompile(`^\d+\. `)
	figure   = regexp.MustCompile(`\d+([.,]\d+)*`)
)

// readDoc reads a page of the repository, line by line.
func readDoc(t *testing.T, root fs.FS, name string) []docLine {
	t.Helper()
	data, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	var page []docLine
	open := false
	for i, s := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		fence := strings.HasPrefix(s, "```")
		switch {
		case open:
			page[len(page)-1].text += "\n" + s
			open = !fence
			continue
		case fence:
			page = append(page, docLine{at: i + 1, kind: "code block", text: s})
			open = true
			continue
		}
		page = append(page, docLineOf(i+1, s))
	}
	if open {
		t.Fatalf("%s:%d: this code block is not closed", name, page[len(page)-1].at)
	}
	return page
}

func docLineOf(at int, s string) docLine {
	l := docLine{at: at, spans: codeSpan.FindAllString(s, -1)}
	bare := codeSpan.ReplaceAllString(s, "`")
	for _, m := range docLink.FindAllStringSubmatch(bare, -1) {
		l.links = append(l.links, m[1])
	}
	for _, n := range figure.FindAllString(docLink.ReplaceAllString(bare, ""), -1) {
		l.nums = append(l.nums, strings.NewReplacer(".", "", ",", "").Replace(n))
	}
	switch m := heading.FindStringSubmatch(s); {
	case m != nil:
		l.kind, l.title = fmt.Sprintf("heading %d", len(m[1])), m[2]
	case s == "":
		l.kind = "empty line"
	case strings.HasPrefix(s, "|"):
		l.kind = fmt.Sprintf("row of %d cells", strings.Count(bare, "|")-1)
	case strings.HasPrefix(s, "- "):
		l.kind = "item of a list"
	case numbered.MatchString(s):
		l.kind = "numbered item"
	default:
		l.kind = "text"
	}
	return l
}

// anchors gives the headings of a page by the name a link has for them, as
// GitHub makes it, with their place among the headings.
func anchors(page []docLine) map[string]int {
	names := map[string]int{}
	n := 0
	for _, l := range page {
		if l.title == "" {
			continue
		}
		n++
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
				return unicode.ToLower(r)
			}
			return -1
		}, l.title)
		base := name
		for i := 1; names[name] != 0; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		names[name] = n
	}
	return names
}

// targetOf says what a link of a page leads to, from the root of the
// repository. It is "" for one that leads out of it.
func targetOf(page, link string) (file, anchor string) {
	if strings.Contains(link, ":") {
		return "", ""
	}
	link, anchor, _ = strings.Cut(link, "#")
	if link == "" {
		return page, anchor
	}
	return path.Join(path.Dir(page), link), anchor
}

// docPages gives the repository, and the pages in it that people read.
func docPages(t *testing.T) (root fs.FS, pages, translations []string) {
	t.Helper()
	root = os.DirFS(filepath.Join("..", ".."))
	pages, err := fs.Glob(root, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	translations, err = fs.Glob(root, "docs/README.*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(translations) < 2 {
		t.Fatalf("the translations of README.md are %q", translations)
	}
	return root, append(pages, "README.md", "CHANGELOG.md"), translations
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	root, pages, _ := docPages(t)
	seen := 0
	for _, name := range pages {
		for _, l := range readDoc(t, root, name) {
			for _, link := range l.links {
				file, anchor := targetOf(name, link)
				if file == "" {
					continue
				}
				seen++
				if _, err := fs.Stat(root, file); err != nil {
					t.Errorf("%s:%d: the link %s leads nowhere: %v", name, l.at, link, err)
					continue
				}
				if anchor != "" && anchors(readDoc(t, root, file))[anchor] == 0 {
					t.Errorf("%s:%d: the link %s leads to no heading of %s", name, l.at, link, file)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d links were looked at", seen)
	}
}

// TestTranslationsSayWhatTheREADMESays compares what needs no translation. A
// paragraph, row or item is one line in each, so that they can be laid side by
// side.
func TestTranslationsSayWhatTheREADMESays(t *testing.T) {
	root, _, translations := docPages(t)
	readmes := append([]string{"README.md"}, translations...)
	want := readDoc(t, root, "README.md")
	for _, name := range readmes {
		page := readDoc(t, root, name)
		for _, other := range readmes {
			named := slices.ContainsFunc(page[:min(4, len(page))], func(l docLine) bool {
				return slices.ContainsFunc(l.links, func(link string) bool { file, _ := targetOf(name, link); return file == other })
			})
			if named == (name == other) {
				t.Errorf("%s: the languages at its top should name all others, and not itself: see %s", name, other)
			}
		}
		if name != "README.md" {
			compareBlocks(t, name, blocksOf(page), blocksOf(want))
			compareHeadings(t, name, page, want)
			compareLines(t, name, page, want, readmes)
		}
	}
}

func blocksOf(page []docLine) []docLine {
	return slices.DeleteFunc(slices.Clone(page), func(l docLine) bool { return l.text == "" })
}

func compareBlocks(t *testing.T, name string, got, want []docLine) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("%s:%d: code block %d is not in README.md:\n%s", name, got[i].at, i+1, got[i].text)
			return
		case i >= len(got):
			t.Errorf("%s: code block %d is missing, README.md:%d:\n%s", name, i+1, want[i].at, want[i].text)
			return
		case got[i].text == want[i].text:
			continue
		}
		g, w := strings.Split(got[i].text, "\n"), strings.Split(want[i].text, "\n")
		n := 0
		for n < min(len(g), len(w))-1 && g[n] == w[n] {
			n++
		}
		t.Errorf("code block %d differs, to be copied to each translation as it is:\n%s:%d: %s\nREADME.md:%d: %s", i+1, name, got[i].at+n, g[n], want[i].at+n, w[n])
	}
}

func compareHeadings(t *testing.T, name string, got, want []docLine) {
	t.Helper()
	count := func(page []docLine) map[string]int {
		n := map[string]int{}
		for _, l := range page {
			if l.title != "" {
				n[l.kind]++
			}
		}
		return n
	}
	if g, w := count(got), count(want); !maps.Equal(g, w) {
		t.Errorf("%s has %v, README.md %v", name, g, w)
	}
}

// compareLines stops at the first line of another kind: all after it would
// differ too.
func compareLines(t *testing.T, name string, got, want []docLine, readmes []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.kind != w.kind {
			t.Errorf("%s:%d is: %s %s\nREADME.md:%d is: %s %s\nFrom there on they were not compared.", name, g.at, g.kind, g.title, w.at, w.kind, w.title)
			return
		}
		compareSets(t, name, g, w, "code", g.spans, w.spans)
		compareSets(t, name, g, w, "figures", g.nums, w.nums)
		compareSets(t, name, g, w, "links", leadsTo(name, g, anchors(got), readmes), leadsTo("README.md", w, anchors(want), readmes))
	}
	if len(got) != len(want) {
		t.Errorf("%s ends at line %d, README.md at line %d", name, got[len(got)-1].at, want[len(want)-1].at)
	}
}

// leadsTo gives the ends of a line's links in words that are the same in every
// language. Those from one language to another are left out.
func leadsTo(name string, l docLine, headings map[string]int, readmes []string) []string {
	var all []string
	for _, link := range l.links {
		file, anchor := targetOf(name, link)
		switch {
		case file == "":
			all = append(all, link)
		case file == name:
			all = append(all, fmt.Sprintf("heading %d of the page", headings[anchor]))
		case !slices.Contains(readmes, file):
			all = append(all, strings.TrimSuffix(file+"#"+anchor, "#"))
		}
	}
	return all
}

func compareSets(t *testing.T, name string, g, w docLine, what string, got, want []string) {
	t.Helper()
	got, want = slices.Compact(slices.Sorted(slices.Values(got))), slices.Compact(slices.Sorted(slices.Values(want)))
	if !slices.Equal(got, want) {
		t.Errorf("%s:%d has not the same %s as README.md:%d:\ngot  %s\nwant %s", name, g.at, what, w.at, strings.Join(got, " "), strings.Join(want, " "))
	}
}
