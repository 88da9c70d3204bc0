package sink_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

const docName = "2026-02-11-0818-freeze-golden-invoices-b7d20e63.md"

// where tells where a thread's document goes, from the home folder; empty if
// there is no place.
func (m machine) where(t *testing.T, s sink.Sink, workspace, cwd string) string {
	t.Helper()
	a := sink.Artifact{ThreadID: threadID, Workspace: workspace, Cwd: cwd}
	look, err := s.(interface {
		Look(ctx context.Context, a sink.Artifact) (sink.Receipt, error)
	}).Look(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	a.Name, a.Data = docName, []byte("x")
	r, err := s.Put(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if (look.State == sink.StateNone) != (r.State == sink.StateNone) {
		t.Errorf("looked like %v, was %v", look.State, r.State)
	}
	if r.State == sink.StateNone {
		return ""
	}
	if err := s.Remove(t.Context(), r); err != nil {
		t.Error(err)
	}
	rel, err := filepath.Rel(m.home, filepath.FromSlash(r.Path))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}

func TestPlacesOfWorkBuddy(t *testing.T) {
	m := newMachine(t)
	deep := m.folder(t, "code", "ledgerkit", "a", "b")
	plain := m.folder(t, "code", "plain", "a")
	nested := m.folder(t, "code", "ledgerkit", "nested")
	check := func(what, cwd, want string) {
		t.Helper()
		if got := m.where(t, m.open(t, "workbuddy", sink.Choice{}), "", cwd); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("nowhere", deep, "")
	m.folder(t, ".workbuddy")
	check("in the home folder only", deep, "")
	check("of the home folder itself", m.home, "")
	m.folder(t, "code", ".workbuddy")
	check("above the work tree", deep, "")
	m.folder(t, "code", "ledgerkit", ".workbuddy")
	check("at the top of the work tree", deep, "code/ledgerkit/.workbuddy/memory/codex/"+docName)
	m.folder(t, "code", "ledgerkit", "nested", ".workbuddy-ai")
	check("in the folder, overseas", nested, "code/ledgerkit/nested/.workbuddy-ai/memory/codex/"+docName)
	m.folder(t, "code", "plain", ".workbuddy")
	check("above a folder that is in no work tree", plain, "")
	check("in one that is in no work tree", filepath.Dir(plain), "code/plain/.workbuddy/memory/codex/"+docName)
	check("no absolute folder", "code/ledgerkit", "")
	if got := m.where(t, m.open(t, "workbuddy", sink.Choice{}), m.project, filepath.Join(m.home, "gone")); got == "" {
		t.Error("no place by the workspace")
	}

	m.env.Vars["WORKBUDDY_DATA_FOLDER_NAME"] = ".wb"
	check("another name", deep, "")
	m.folder(t, "code", "ledgerkit", ".wb")
	check("by another name", deep, "code/ledgerkit/.wb/memory/codex/"+docName)
	m.env.Vars["WORKBUDDY_DATA_FOLDER_NAME"] = "../.wb"
	check("a name that is a path", deep, "code/ledgerkit/.workbuddy/memory/codex/"+docName)
	m.env.Vars = map[string]string{"WORKBUDDY_CONFIG_DIR": filepath.Join(m.project, ".workbuddy")}
	check("the user's own folder by another path", deep, "")

	// A file or a link out of the workspace in its place is none.
	m = newMachine(t)
	put(t, "", m.project, ".workbuddy")
	check("a file", m.project, "")
	if err := os.Remove(filepath.Join(m.project, ".workbuddy")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(m.project, ".workbuddy")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	check("a link out of the workspace", m.project, "")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

// A receipt of another folder, program or workspace form is none of the sink's.
func TestReceiptsOfElsewhere(t *testing.T) {
	d := workbuddyDesk(t)
	d.folder(t, ".workbuddy")
	d.folder(t, ".claude")
	for sinkName, names := range map[string][]string{
		"workbuddy": {
			filepath.Join(d.project, ".workbuddy", "memory", docName), filepath.Join(d.project, ".workbuddy", "memory", "notes", docName),
			filepath.Join(d.project, "memory", "codex", docName), filepath.Join(d.home, ".workbuddy", "memory", "codex", docName),
			filepath.Join(d.project, ".workbuddy", "memory", "codex", "Notes.md"),
		},
		"claude": {
			filepath.Join(d.home, ".claude", "projects", "x", "memory", docName), filepath.Join(d.home, ".claude", "memory", "codex-"+docName),
			filepath.Join(d.home, ".claude", "projects", "x", "y", "memory", "codex-"+docName), filepath.Join(d.home, "projects", "x", "memory", "codex-"+docName),
		},
	} {
		s := d.open(t, sinkName, sink.Choice{})
		for _, name := range names {
			put(t, "x", name)
			sum := sha256.Sum256([]byte("x"))
			r := sink.Receipt{Sink: sinkName, ThreadID: threadID, Path: filepath.ToSlash(name), Hash: hex.EncodeToString(sum[:]), Size: 1, State: sink.StateWritten}
			if err := s.Remove(t.Context(), r); err == nil {
				t.Errorf("%s removed %s", sinkName, name)
			}
			if _, err := s.Put(t.Context(), sink.Artifact{ThreadID: threadID, Cwd: d.project, Name: docName, Data: []byte("y"), Last: r}); err == nil {
				t.Errorf("%s took %s", sinkName, name)
			}
			if read(t, name) != "x" {
				t.Errorf("%s wrote %s", sinkName, name)
			}
		}
	}
}

func TestPlacesOfCodeBuddy(t *testing.T) {
	m := newMachine(t)
	if _, err := m.tryOpen("codebuddy", sink.Choice{}); !errors.Is(err, sink.ErrNoPlace) {
		t.Errorf("without CodeBuddy: %v", err)
	}
	m.folder(t, ".codebuddy", "projects")
	s := m.open(t, "codebuddy", sink.Choice{})
	slug := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(m.project), "-")
	if got := m.where(t, s, m.project, m.project); got != "" {
		t.Errorf("made %s", got)
	}
	m.folder(t, ".codebuddy", "memories", slug)
	if got := m.where(t, s, m.project, m.project); got != ".codebuddy/memories/"+slug+"/codex-"+docName {
		t.Errorf("old place: %s", got)
	}
	m.folder(t, ".codebuddy", "projects", "-"+slug, "memory")
	m.folder(t, ".codebuddy", "projects", slug, "memory")
	if got := m.where(t, s, m.project, m.folder(t, "code", "ledgerkit", "sub")); got != ".codebuddy/projects/"+slug+"/memory/codex-"+docName {
		t.Errorf("new place: %s", got)
	}
	if got := m.where(t, s, "", m.folder(t, "code", "other")); got != "" {
		t.Errorf("another project's: %s", got)
	}
}

func TestPlacesOfClaude(t *testing.T) {
	m := newMachine(t)
	if _, err := m.tryOpen("claude", sink.Choice{}); !errors.Is(err, sink.ErrNoPlace) {
		t.Errorf("without Claude Code: %v", err)
	}
	m.folder(t, ".claude")
	want := ".claude/projects/" + flat(m.project) + "/memory/codex-" + docName
	s := m.open(t, "claude", sink.Choice{})
	for what, cwd := range map[string]string{"top": m.project, "below": m.folder(t, "code", "ledgerkit", "a", "b")} {
		if got := m.where(t, s, "", cwd); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	// A work tree beside it has the folder of the first one.
	tree := m.folder(t, "code", "tree", "sub")
	put(t, "gitdir: "+filepath.Join(m.project, ".git", "worktrees", "tree")+"\n", m.home, "code", "tree", ".git")
	put(t, "../..\n", m.project, ".git", "worktrees", "tree", "commondir")
	if got := m.where(t, s, "", tree); got != want {
		t.Errorf("work tree: %s, want %s", got, want)
	}
	if got := m.where(t, s, "", filepath.Join(m.home, "gone")); got != "" {
		t.Errorf("of a folder that is gone: %s", got)
	}
	m.env.Vars["CLAUDE_CONFIG_DIR"] = m.folder(t, "elsewhere")
	if got := m.where(t, m.open(t, "claude", sink.Choice{}), "", m.project); got != strings.Replace(want, ".claude", "elsewhere", 1) {
		t.Errorf("another folder: %s", got)
	}
	put(t, `{"autoMemoryDirectory": "~/notes"}`, m.home, "elsewhere", "settings.json")
	if _, err := m.tryOpen("claude", sink.Choice{}); !errors.Is(err, sink.ErrNoPlace) || !strings.Contains(err.Error(), "autoMemoryDirectory") {
		t.Errorf("with the memory elsewhere: %v", err)
	}
}

func TestPlacesOfOpenClaw(t *testing.T) {
	m := newMachine(t)
	if _, err := m.tryOpen("openclaw", sink.Choice{}); !errors.Is(err, sink.ErrNoPlace) {
		t.Errorf("without OpenClaw: %v", err)
	}
	m.folder(t, ".openclaw", "workspace")
	if got := m.where(t, m.open(t, "openclaw", sink.Choice{}), "", ""); got != ".openclaw/workspace/memory/2026-02-11-codex-b7d20e63.md" {
		t.Error(got)
	}
	if got := m.where(t, m.open(t, "openclaw", sink.Choice{Dir: m.folder(t, "claw")}), "", ""); got != "claw/memory/2026-02-11-codex-b7d20e63.md" {
		t.Error(got)
	}
	if _, err := m.tryOpen("openclaw", sink.Choice{Dir: filepath.Join(m.home, "none")}); !errors.Is(err, sink.ErrNoPlace) {
		t.Errorf("no such folder: %v", err)
	}
}

func TestObsidianLinksByName(t *testing.T) {
	m := newMachine(t)
	for _, dir := range []string{"", "vault", filepath.Join(m.home, "none", "Codex"), filepath.Join(m.home, "Codex")} {
		if _, err := m.tryOpen("obsidian", sink.Choice{Dir: dir}); !errors.Is(err, sink.ErrNoPlace) {
			t.Errorf("%q: %v", dir, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
	dir := m.folder(t, "Codex")
	s := m.open(t, "obsidian", sink.Choice{Dir: dir}).(*sink.Drop)
	e := entry(1, m.project)
	if err := s.WriteIndexes(t.Context(), []sink.Entry{e}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "INDEX.md"), filepath.Join(dir, "projects", sink.ProjectDir(m.project), "INDEX.md")} {
		if text := read(t, name); !strings.Contains(text, "| [[f-1]] |") || strings.Contains(text, "](") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestListOfWorkBuddy(t *testing.T) {
	d := workbuddyDesk(t)
	s := d.open(t, "workbuddy", sink.Choice{})
	r, err := s.Put(t.Context(), sink.Artifact{ThreadID: threadID, Workspace: d.project, Cwd: d.project, Name: docName, Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	var entries []sink.Entry
	for i := range 200 {
		e := entry(i, d.project)
		e.Path = r.Path
		entries = append(entries, e)
	}
	none := entry(0, "/elsewhere")
	none.Path = ""
	lister := s.(interface {
		WriteIndexes(ctx context.Context, entries []sink.Entry) error
	})
	if err := lister.WriteIndexes(t.Context(), append(entries, none)); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(d.project, ".workbuddy", "memory", "codex", "INDEX.md")
	text := read(t, list)
	if n := strings.Count(text, "\n"); n > 100 || n < 90 || !strings.Contains(text, "[open]("+docName+")") || !strings.Contains(text, "more sessions") || strings.Contains(text, d.home) {
		t.Errorf("%d lines\n%s", n, text)
	}
	mine := put(t, "mine", filepath.Dir(list), "mine.md")
	if err := s.Remove(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if read(t, mine) != "mine" {
		t.Error("a file of the user's is gone")
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err = s.Put(t.Context(), sink.Artifact{ThreadID: threadID, Cwd: d.project, Name: docName, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(list)); !os.IsNotExist(err) {
		t.Errorf("the folder stays after its last file: %v", err)
	}
}

// Projects that the user didn't name are not touched, and a folder that isn't
// there is asked for, not made.
func TestProjectSinks(t *testing.T) {
	for name, folder := range map[string]string{"agents-md": "", "gemini": "", "cursor": ".cursor", "windsurf": ".windsurf", "copilot": ".github", "handoff": ""} {
		d := &desk{machine: newMachine(t), t: t, name: name, now: later}
		if d.share(0, "", d.session(1)); len(d.last) != 0 {
			t.Errorf("%s: %+v", name, d.last)
		}
		d.c.Workspaces = []string{d.folder(t, "code", "other"), d.project + string(filepath.Separator)}
		d.share(0, "", d.session(1))
		if len(d.last) != 1 || (d.last[0].Problem == "") != (folder == "") || !strings.Contains(d.last[0].Problem, folder) {
			t.Errorf("%s: %+v", name, d.last)
		}
		if folder == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(d.project, folder)); !os.IsNotExist(err) {
			t.Errorf("%s: %s was made", name, folder)
		}
		if err := d.open(t, name, sink.Choice{}).(sink.Sharer).Unshare(t.Context(), d.last[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.folder(t, "code", "ledgerkit", folder)
		d.share(0, "", d.session(1))
		if len(d.last) != 1 || d.last[0].Problem != "" {
			t.Errorf("%s: %+v", name, d.last)
		}
		// Also when the project isn't named any more.
		if err := d.open(t, name, sink.Choice{}).(sink.Sharer).Unshare(t.Context(), d.last[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(d.last[0].Path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFrontMatterOfRules(t *testing.T) {
	for name, want := range map[string]map[string]any{
		"cursor": {"alwaysApply": false}, "windsurf": {"trigger": "model_decision"}, "copilot": {"applyTo": "**"},
	} {
		s := subjects[name](t)
		sh := sink.Sharing{Workspace: s.Workspace, Now: later, Sessions: []sink.Session{(&desk{machine: machine{project: s.Workspace}, now: later}).session(1)}}
		if _, err := s.Sink.(sink.Sharer).Share(t.Context(), sh); err != nil {
			t.Fatal(err)
		}
		text := read(t, s.Files[0].Path)
		front, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
		var got map[string]any
		if err := yaml.Unmarshal([]byte(front), &got); err != nil || !ok {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
		if got["description"] == "" {
			t.Errorf("%s: no description", name)
		}
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s: %s is %v, want %v", name, key, got[key], value)
			}
		}
	}
}

// What is generated goes, with folders that are empty then; the rest stays.
func TestClearTakesListsAway(t *testing.T) {
	m := newMachine(t)
	dir := m.folder(t, "Codex")
	s := m.open(t, "obsidian", sink.Choice{Dir: dir}).(*sink.Drop)
	for range 2 { // again is no error
		if err := s.WriteIndexes(t.Context(), []sink.Entry{entry(1, m.project), entry(2, "/other")}); err != nil {
			t.Fatal(err)
		}
		mine := filepath.Join(dir, "projects", sink.ProjectDir("/other"), "mine.md")
		put(t, "mine", mine)
		put(t, "mine", dir, "README.md")
		if err := s.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left []string
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() || name == filepath.Join(dir, "projects", sink.ProjectDir(m.project)) {
				left = append(left, name)
			}
			return err
		})
		if err != nil || len(left) != 2 || left[0] != filepath.Join(dir, "README.md") || left[1] != mine {
			t.Errorf("left are %q, %v", left, err)
		}
	}
}
