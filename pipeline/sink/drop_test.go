package sink_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openDrop(t *testing.T) (*sink.Drop, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data", "memory")
	d, err := sink.OpenDrop(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, dir
}

func TestStateNames(t *testing.T) {
	for s := sink.State(0); s <= sink.StateEdited; s++ {
		b, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got sink.State
		if err := got.UnmarshalText(b); err != nil || got != s {
			t.Errorf("%q: %v, %v", b, got, err)
		}
	}
	var s sink.State
	if err := s.UnmarshalText([]byte("lost")); err == nil {
		t.Error("an unknown state was read")
	}
}

const threadID = "019c4a10-9790-7c5e-9a41-3f08b7d20e63"

// document is one that proves itself, as package memory writes them.
func document(id, body string) []byte {
	before, after := "---\ntags: [\"codex\"]\nsession_id: \""+id+"\"\n", "generator: \"session-migrator 1\"\n---\n"+body
	sum := sha256.Sum256([]byte(before + after))
	return []byte(before + "hash: \"" + hex.EncodeToString(sum[:8]) + "\"\n" + after)
}

// After the loss of all receipts our own documents are still ours, and those
// that somebody edited are still theirs.
func TestLostReceipts(t *testing.T) {
	d, dir := openDrop(t)
	put := func(data []byte) sink.Receipt {
		t.Helper()
		r, err := d.Put(t.Context(), sink.Artifact{ThreadID: threadID, Workspace: "/w", Name: "a-b7d20e63.md", Data: data})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	put(document(threadID, "# one\n"))
	r := put(document(threadID, "# two\n"))
	if r.State != sink.StateWritten {
		t.Errorf("our own untouched file: %v", r.State)
	}
	name := filepath.Join(dir, r.Path)
	for what, data := range map[string][]byte{
		"edited below":      append(document(threadID, "# two\n"), "note\n"...),
		"edited tags":       bytes.Replace(document(threadID, "# two\n"), []byte(`"codex"`), []byte(`"codex", "mine"`), 1),
		"a line above":      bytes.Replace(document(threadID, "# two\n"), []byte("session_id"), []byte("permalink: x\nsession_id"), 1),
		"a line below":      bytes.Replace(document(threadID, "# two\n"), []byte("\n---\n"), []byte("\nmine: x\n---\n"), 1),
		"another hash":      bytes.Replace(document(threadID, "# two\n"), []byte("\n---\n"), []byte("\nhash: \"x\"\n---\n"), 1),
		"of another thread": document("019c4a10-9790-7c5e-9a41-000000000000", "# two\n"),
		"no front matter":   []byte("# two\n"),
		"unclosed":          []byte("---\nhash: x\n"),
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := put(document(threadID, "# three\n")); r.State != sink.StateEdited {
			t.Errorf("%s: %v", what, r.State)
		}
		older := sink.Receipt{Sink: "drop", ThreadID: threadID, Path: r.Path, Hash: "of a document before", State: sink.StateWritten}
		if err := d.Remove(t.Context(), older); !errors.Is(err, sink.ErrEdited) {
			t.Errorf("%s: removed, %v", what, err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(data) {
			t.Errorf("%s: file is now %q, %v", what, got, err)
		}
	}
	// Renewed by a run that was killed before it kept the receipt.
	if err := os.WriteFile(name, document(threadID, "# two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(t.Context(), sink.Receipt{Sink: "drop", ThreadID: threadID, Path: r.Path, Hash: "of a document before", State: sink.StateWritten}); err != nil {
		t.Error(err)
	}
}

// A receipt that damage changed names no document, and nothing else is touched.
func TestReceiptsOfNowhere(t *testing.T) {
	d, _ := openDrop(t)
	for _, name := range []string{"a.md", "projects/p/a.txt", "projects/P/a.md", "projects/../a.md", "../projects/p/a.md", "projects/p/q/a.md", "\x00rojects/p/a.md"} {
		r := sink.Receipt{Sink: "drop", ThreadID: threadID, Path: name, Hash: "h", Size: 1, State: sink.StateWritten}
		if _, err := d.Has(name); !errors.Is(err, sink.ErrPath) {
			t.Errorf("has %q: %v", name, err)
		}
		if err := d.Remove(t.Context(), r); !errors.Is(err, sink.ErrPath) {
			t.Errorf("remove %q: %v", name, err)
		}
		if _, err := d.Put(t.Context(), sink.Artifact{ThreadID: threadID, Workspace: "/w", Name: "a.md", Data: []byte("x"), Last: r}); !errors.Is(err, sink.ErrPath) {
			t.Errorf("put %q: %v", name, err)
		}
	}
}

func TestUnsafeFoldersAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits carry no rights on windows")
	}
	dir := t.TempDir()
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o770: false, 0o777: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		d, err := sink.OpenDrop(dir)
		if (err == nil) != ok {
			t.Errorf("mode %o: %v", mode, err)
		}
		if d != nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.OpenDrop(file); err == nil {
		t.Error("a file was opened as a folder")
	}
}

func entry(i int, workspace string) sink.Entry {
	at := time.Date(2026, 2, 11, 9, 26, 5, 0, time.FixedZone("", 8*3600)).Add(time.Duration(-i) * time.Hour)
	return sink.Entry{
		ThreadID: fmt.Sprintf("019c4a10-9790-7c5e-9a41-3f08%08x", i), Workspace: workspace, Title: fmt.Sprintf("session %d", i),
		State: transcript.StateAnswered, Created: at.Add(-time.Minute), Updated: at, Turns: i, Tokens: int64(1000 * i), Model: "gpt-5",
		Path: fmt.Sprintf("projects/%s/f-%d.md", sink.ProjectDir(workspace), i),
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestIndexes(t *testing.T) {
	d, dir := openDrop(t)
	a, b := "/home/dana/code/ledgerkit", `D:\code\小店`
	entries := []sink.Entry{entry(3, a), entry(1, a), entry(2, b)}
	entries[1].Title = "evil | cell\n| x | [a](http://x) <script> @import `y`"
	if err := d.WriteIndexes(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	dirA := sink.ProjectDir(a)
	if !strings.HasPrefix(dirA, "ledgerkit-") || !strings.HasPrefix(sink.ProjectDir(b), "project-") || len(dirA) != len("ledgerkit-")+8 {
		t.Errorf("project folders %q, %q", dirA, sink.ProjectDir(b))
	}
	all := read(t, dir, "INDEX.md")
	if i, j, k := strings.Index(all, "00000001"), strings.Index(all, "00000002"), strings.Index(all, "00000003"); i < 0 || i > j || j > k {
		t.Errorf("order in\n%s", all)
	}
	wantRow := "| 2026-02-11 08:26 | answered | 00000001 | evil \\| cell \\| x \\| \\[a\\](http://x) &lt;script> \\@import 'y' | [open](projects/" + dirA + "/f-1.md) |\n"
	if !strings.Contains(all, wantRow) {
		t.Errorf("%q is missing in\n%s", wantRow, all)
	}
	own := read(t, dir, "projects", dirA, "INDEX.md")
	if !strings.Contains(own, "[open](f-3.md)") || strings.Contains(own, "00000002") {
		t.Errorf("project index\n%s", own)
	}
	var doc struct {
		Schema   int
		Sessions []map[string]any
	}
	if err := json.Unmarshal([]byte(read(t, dir, "index.json")), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != 1 || len(doc.Sessions) != 3 || doc.Sessions[0]["updated"] != "2026-02-11T08:26:05+08:00" || doc.Sessions[0]["state"] != "answered" {
		t.Errorf("index.json %+v", doc)
	}
	if !strings.Contains(read(t, dir, "README.md"), "history,\n  not instructions") {
		t.Error("README.md says nothing")
	}

	// A project without sessions loses its index, not what lies beside it.
	mine := filepath.Join(dir, "projects", sink.ProjectDir(b), "mine.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteIndexes(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "projects", dirA)); !os.IsNotExist(err) {
		t.Errorf("empty project folder: %v", err)
	}
	if got := read(t, mine); got != "mine" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(mine), "INDEX.md")); !os.IsNotExist(err) {
		t.Errorf("index without sessions: %v", err)
	}
}

func TestIndexesAreStableAndSpareForeignFiles(t *testing.T) {
	d, dir := openDrop(t)
	foreign := filepath.Join(dir, "README.md")
	if err := os.WriteFile(foreign, []byte("# My vault\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := []sink.Entry{entry(1, "/a"), entry(2, "/b")}
	if err := d.WriteIndexes(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"INDEX.md", "index.json"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	entries[0], entries[1] = entries[1], entries[0]
	if err := d.WriteIndexes(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"INDEX.md", "index.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was written again: %v", name, err)
		}
	}
	if got := read(t, foreign); got != "# My vault\n" {
		t.Errorf("README.md of the user is now %q", got)
	}
}

func TestIndexKeepsItsSize(t *testing.T) {
	d, dir := openDrop(t)
	var entries []sink.Entry
	for i := range 2000 {
		e := entry(i, fmt.Sprintf("/w%d", i%3))
		e.Title = strings.Repeat("长", 300)
		entries = append(entries, e)
	}
	if err := d.WriteIndexes(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]int{"INDEX.md": 150, "projects/" + sink.ProjectDir("/w0") + "/INDEX.md": 100} {
		text := read(t, dir, name)
		if n := strings.Count(text, "\n"); n > most || len(text) > 20_000 {
			t.Errorf("%s: %d lines, %d bytes", name, n, len(text))
		}
		if !strings.Contains(text, "more sessions, see index.json") {
			t.Errorf("%s doesn't say what is missing", name)
		}
	}
}

// A reader that lists the folder all the time finds whole documents only.
func TestReadersNeverSeeHalfADocument(t *testing.T) {
	d, dir := openDrop(t)
	ctx := t.Context()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			files, err := filepath.Glob(filepath.Join(dir, "projects", "*", "*.md"))
			if err != nil {
				t.Error(err)
				return
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err == nil && (!strings.HasPrefix(string(b), "begin ") || !strings.HasSuffix(string(b), " end")) {
					t.Errorf("%s: %d bytes", f, len(b))
					return
				}
			}
		}
	})
	var last sink.Receipt
	for i := range 80 {
		text := "begin " + strings.Repeat(fmt.Sprint(i, " "), i*10) + " end"
		r, err := d.Put(ctx, sink.Artifact{ThreadID: threadID, Workspace: "/w", Name: "a.md", Data: []byte(text), Last: last})
		if err != nil || r.State != sink.StateWritten {
			t.Fatal(r.State, err)
		}
		last = r
	}
	close(done)
	wg.Wait()
}

func TestSweep(t *testing.T) {
	d, dir := openDrop(t)
	name := filepath.Join(dir, ".sm-0123456789abcdef.tmp")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Error(n, err)
	}
}
