package sink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Somebody who writes between our reading and our writing loses nothing: all
// is done again with their bytes, and given up if they go on.
func TestChangesMeanwhileAreKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		times int
	}{
		{"once", 1}, {"three times", 3}, {"for ever", 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "MEMORY.md")
			if err := os.WriteFile(name, []byte("zero\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			j := &job{sink: &placed{env: Env{Data: t.TempDir()}}, place: place{root: dir, dir: ".", need: "."}, now: time.Now().Add(time.Hour)}
			f := SharedFile{Path: name}
			asked := 0
			j.update(t.Context(), &f, "MEMORY.md", func(s snapshot) edit {
				if asked++; asked <= c.times {
					// Of equal length: a look at the size alone sees nothing.
					if err := os.WriteFile(name, []byte(strings.Repeat(string(rune('a'+asked)), 4)+"\n"), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Chtimes(name, time.Time{}, time.Now().Add(time.Duration(asked)*time.Second)); err != nil {
						t.Fatal(err)
					}
				}
				return edit{data: append([]byte("ours\n"), s.data...), done: func(f *SharedFile) { f.Hash = "h" }}
			})
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			theirs := strings.Repeat(string(rune('a'+min(asked, c.times))), 4) + "\n"
			if c.times < triesShare {
				if string(got) != "ours\n"+theirs || f.Hash != "h" || f.Problem != "" {
					t.Errorf("%q, %+v", got, f)
				}
				return
			}
			if string(got) != theirs || asked != triesShare || f.Problem == "" || !f.Again.Equal(j.now.Add(waitShared)) || !f.Written.IsZero() {
				t.Errorf("asked %d times: %q, %+v", asked, got, f)
			}
		})
	}
}

func TestLine(t *testing.T) {
	const root = "/home/dana/code/ledgerkit"
	for _, c := range []struct{ in, want string }{
		{"plain text, and/or more", "plain text, and/or more"},
		{"see /home/dana/code/ledgerkit/a/b.go:12", "see a/b.go:12"},
		{"in /home/dana/code/ledgerkit", "in ."},
		{"in /home/dana/code/ledgerkit-old/x", "in …/x"},
		{"`/etc/ssh/key`, (~/.ssh/id) \"C:\\Users\\d\\x.txt\" D:/a/b", "`…/key`, (…/id) \"…/x.txt\" …/b"},
		{"file:///home/x/y.md https://host/a/b /goal", "…/y.md https://host/a/b /goal"},
		{"用 /usr/local/bin/go。然后", "用 …/go。然后"},
		{"run `go test` now", "run `go test` now"},
		{"run `go test now", "run 'go test now"},
		{"```sh", "'''sh"},
		{"<b> @x [y](z)", `&lt;b> @ x \[y\](z)`},
		{`as @totals.md and \@@a.md says, mail me@host, 5 @ 3, @`, `as @ totals.md and \@ @ a.md says, mail me@ host, 5 @ 3, @`},
		{"a\n\tb\u202e", "a b"},
	} {
		if got := line(c.in, root, 200); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
	for n := 1; n < 12; n++ {
		if got := line("ab<c@😀長d<", "", n); units(got) > n || strings.HasSuffix(got, `\…`) || strings.HasSuffix(got, "&l…") {
			t.Errorf("%d: %q", n, got)
		}
	}
}
