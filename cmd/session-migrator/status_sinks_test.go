package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
)

func TestOnlyFilesWithLinesOfOursCount(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "c.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	path := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	for _, name := range []string{"MEMORY.md", "2026-11-30.md"} {
		if err := os.WriteFile(path(name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]string{
		path("MEMORY.md"):     `{"path":"` + path("MEMORY.md") + `","hash":"1"}`,
		path("2026-11-30.md"): `{"path":"` + path("2026-11-30.md") + `","hash":"2","ours":true,"entries":{"a":"answered"},"note":"git would take it in"}`,
		path("never.md"):      `{"path":"` + path("never.md") + `","problem":"no room: for it"}`,
		path("gone.md"):       `{"path":"` + path("gone.md") + `","ours":true}`,
	}
	if err := db.SetShared(t.Context(), "workbuddy", rows); err != nil {
		t.Fatal(err)
	}
	s, err := stateOf(t.Context(), config.Config{Home: dir}, db, "workbuddy", choices.Choice{})
	if err != nil || s.lines != 1 || s.logs != 1 || s.docs != 0 || len(s.held) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if want := []string{path("never.md") + ": no room: for it"}; !slices.Equal(problemTexts(s.problems), want) {
		t.Errorf("%q, want %q", problemTexts(s.problems), want)
	}
	if more := (sinkJSON{Shared: s.lines, Logs: s.logs}).more(); more != ", lines in 1 file, entries in 1 log" {
		t.Error(more)
	}
}

func TestFixOfAProblemNamesTheFile(t *testing.T) {
	for what, want := range map[string]string{
		"left alone: there are two blocks, in lines 1 and 4":                                 "in /w/A.md put the two marker lines right, or delete both",
		"left alone: it was edited and is yours now; it is written again once it is moved":   "move /w/A.md away to have it written again",
		"no room: the file would have 9 bytes, its limit is 8":                               "shorten /w/A.md; it is tried again by itself",
		"not written: it is read-only":                                                       "let /w/A.md be written; it is tried again by itself",
		"our lines were taken out; they come back with: session-migrator sink enable cursor": "session-migrator sink enable cursor",
	} {
		if got := fixOf(sinkProblem{"/w/A.md", what}, "cursor"); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

// A document that was taken away because it was past its time is no file.
func TestOnlyDocumentsThatAreThereCount(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "c.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := os.WriteFile(filepath.Join(dir, "there.md"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for thread, name := range map[string]string{"a": "there.md", "b": "gone.md", "c": ""} {
		if err := db.SaveReceipt(t.Context(), store.Receipt{Sink: dropSink, ThreadID: thread, Name: name, Hash: "1", Managed: true}); err != nil {
			t.Fatal(err)
		}
	}
	if n, edited, err := memoryFiles(t.Context(), db, config.Config{MemoryDir: dir}); n != 1 || len(edited) > 0 || err != nil {
		t.Errorf("%d files, %q edited, %v", n, edited, err)
	}
}
