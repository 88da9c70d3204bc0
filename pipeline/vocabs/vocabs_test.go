package vocabs_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

// rankFile is a vocabulary of the bytes and one word.
func rankFile() []byte {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, w := range []string{"he", "ll", "hell", "hello"} {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(w)), 256+i)
	}
	return []byte(b.String())
}

func save(t *testing.T, dir, name string, models ...string) {
	t.Helper()
	v, err := tokens.Import(rankFile(), "kimi")
	if err != nil {
		t.Fatal(err)
	}
	e := vocabs.Entry{Name: name, Models: models, SHA256: v.SHA256, Split: v.Split.String(), Tokens: v.Tokens, Closed: v.Closed}
	if err := vocabs.Save(dir, e, rankFile()); err != nil {
		t.Fatal(err)
	}
}

func TestShelfCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vocabularies")
	if s, err := vocabs.Open(dir); err != nil || len(s.Entries()) != 0 {
		t.Fatalf("a folder that isn't there: %v, %v", s.Entries(), err)
	}
	save(t, dir, "kimi-k2", "kimi-k2*")
	s, err := vocabs.Open(dir)
	if err != nil || len(s.Entries()) != 1 {
		t.Fatalf("%v, %v", s.Entries(), err)
	}
	for range 2 {
		c, err := s.Counter("kimi-k2")
		if err != nil {
			t.Fatal(err)
		}
		if n := c.CountString("hello help"); n != 1+1+4-1 {
			t.Errorf("%d tokens", n)
		}
		s.Release()
	}
	if _, err := s.Counter("qwen3"); err == nil {
		t.Error("a vocabulary that isn't there counts")
	}
}

func TestShelfPinsTheHash(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "x", "x")
	if err := os.WriteFile(filepath.Join(dir, "x.vocab"), append(rankFile(), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := vocabs.Open(dir)
	if _, err := s.Counter("x"); err == nil || !strings.Contains(err.Error(), "pinned") {
		t.Errorf("a changed file counts: %v", err)
	}
	// Its models are estimated, as if nothing had been imported.
	if e, ok := s.For("x"); ok || s.Check("x") == nil {
		t.Errorf("a changed file is taken for %+v", e)
	}
}

func TestShelfFollowsItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vocabularies")
	s, err := vocabs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	was := int64(-1)
	step := func(what, model, want string, changed bool) {
		t.Helper()
		now, err := s.Look()
		if err != nil {
			t.Fatal(err)
		}
		if was >= 0 && now > was != changed {
			t.Errorf("%s: %d changes, before %d", what, now, was)
		}
		if e, ok := s.For(model); e.Name != want || ok != (want != "") {
			t.Errorf("%s: %q counts with %q, want %q", what, model, e.Name, want)
		}
		was = now
	}
	step("nothing is there", "kimi-k2", "", false)
	save(t, dir, "kimi", "kimi-k2*")
	step("imported", "kimi-k2", "kimi", true)
	step("as before", "kimi-k2", "kimi", false)
	if _, err := s.Counter("kimi"); err != nil {
		t.Error(err)
	}
	save(t, dir, "kimi", "kimi-k3*")
	step("for another model", "kimi-k2", "", true)
	if err := os.WriteFile(filepath.Join(dir, "kimi.vocab"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	step("damaged", "kimi-k3", "", true)
	if _, err := s.Counter("kimi"); err == nil {
		t.Error("a damaged file counts")
	}
	save(t, dir, "kimi", "kimi-k3*")
	step("imported again", "kimi-k3", "kimi", true)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	step("removed", "kimi-k3", "", true)
	if _, err := s.Counter("kimi"); err == nil {
		t.Error("a removed vocabulary counts")
	}
	var none *vocabs.Shelf
	if n, err := none.Look(); n != 0 || err != nil {
		t.Error("no shelf changes")
	}
}

func TestForModels(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "qwen3", "qwen2*", "qwen3")
	save(t, dir, "coder", "qwen3-coder")
	save(t, dir, "llama3", "llama-3*")
	s, err := vocabs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"qwen3": "qwen3", "qwen3-max": "qwen3", "qwen3-235b-a22b": "qwen3", "qwen2-5-72b": "qwen3", "qwen3-coder-plus": "coder",
		"qwen3-7-max": "", "qwen3-5": "", "qwen30": "", "llama-3-3-70b-instruct": "llama3", "llama-4": "", "": "",
	} {
		if e, ok := s.For(model); e.Name != want || ok != (want != "") {
			t.Errorf("%q counts with %q, want %q", model, e.Name, want)
		}
	}
	var none *vocabs.Shelf
	if _, ok := none.For("qwen3"); ok {
		t.Error("no shelf has one")
	}
}

func TestBadManifestsAreNamed(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "good", "good")
	for name, text := range map[string]string{"broken.json": "{", "other.json": `{"name":"../x"}`, "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := vocabs.Open(dir)
	if err == nil || !strings.Contains(err.Error(), "broken.json") || !strings.Contains(err.Error(), "other.json") || strings.Contains(err.Error(), "notes") {
		t.Errorf("error %v", err)
	}
	if len(s.Entries()) != 1 {
		t.Errorf("entries %v", s.Entries())
	}
	for _, name := range []string{"", "../up", "Big", "o200k_base"} {
		if err := vocabs.Save(dir, vocabs.Entry{Name: name}, nil); err == nil {
			t.Errorf("saved as %q", name)
		}
	}
}
