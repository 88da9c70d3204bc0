package sink_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// What a reader doesn't see must not turn the rest of the line around.
func TestIndexesHaveNoHiddenCharacters(t *testing.T) {
	d, dir := openDrop(t)
	e := entry(1, "/srv/a\u202eb\u200b c")
	e.Title = "fix \u202egpj.exe\u2066 \u200b\ufeff\u00ad\x1b[31mred\x00\u009b\nnext\u2028line 日本 é"
	e.Model = "gpt\u200d-5\u2069\x07"
	if err := d.WriteIndexes(t.Context(), []sink.Entry{e}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"INDEX.md", "index.json", filepath.Join("projects", sink.ProjectDir(e.Workspace), "INDEX.md")} {
		text := read(t, dir, name)
		for _, r := range text {
			if r != '\n' && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || r == 0x2028) {
				t.Errorf("%s has %U:\n%q", name, r, text)
				break
			}
		}
		if !strings.Contains(text, "gpj.exe") || !strings.Contains(text, "日本 é") {
			t.Errorf("%s: %s", name, text)
		}
	}
	var doc struct {
		Sessions []struct{ Title, Workspace, Model, Project string }
	}
	if err := json.Unmarshal([]byte(read(t, dir, "index.json")), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Sessions[0]
	if s.Title != "fix gpj.exe red next line 日本 é" || s.Workspace != "/srv/ab c" || s.Model != "gpt-5" || s.Project != sink.ProjectDir(e.Workspace) {
		t.Errorf("%+v", s)
	}
}

// A folder of projects that can't be read is told: its stale indexes stay.
func TestUnreadableProjectsAreTold(t *testing.T) {
	d, dir := openDrop(t)
	if err := d.WriteIndexes(t.Context(), nil); err != nil {
		t.Fatalf("without the folder: %v", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "projects")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := d.WriteIndexes(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "projects") {
		t.Errorf("behind a link out of the folder: %v", err)
	}
}
