package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// house is a home folder in which all consumers are at home, with a daemon that
// writes for all of them.
type house struct {
	*place
	user       string
	workspaces []string
	log        bytes.Buffer // of the daemon
}

func newHouse(t *testing.T, workspaces ...string) *house {
	t.Helper()
	h := &house{place: newPlace(t), user: t.TempDir()}
	h.opt.Config.User = h.user
	h.opt.Config.Home = filepath.Join(h.user, ".session-migrator")
	h.opt.Config.MemoryDir = filepath.Join(h.opt.Config.Home, "memory")
	h.opt.Log = slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	dirs := []string{".workbuddy", ".claude", ".openclaw/workspace", "vault/codex", ".codebuddy"}
	for _, w := range workspaces {
		w = filepath.Join(h.user, "code", w)
		h.workspaces = append(h.workspaces, w)
		rel, err := filepath.Rel(h.user, w)
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range []string{".workbuddy", ".cursor", ".windsurf", ".github"} {
			dirs = append(dirs, filepath.Join(rel, own))
		}
		slug := strings.Trim(regexp.MustCompile(`[/\\:-]+`).ReplaceAllString(w, "-"), "-")
		dirs = append(dirs, filepath.Join(".codebuddy/projects", slug, "memory"))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(h.user, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(h.opt.Config.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	h.choose(true)
	return h
}

// choose switches all sinks on or off.
func (h *house) choose(on bool) {
	h.t.Helper()
	err := choices.Change(h.opt.Config.Home, func(all *choices.Choices) error {
		for _, c := range sink.Consumers() {
			said := choices.Choice{Choice: sink.Choice{Enabled: &on}}
			switch {
			case c.Mode == sink.ModeProject:
				said.Workspaces = h.workspaces
			case c.Name == "obsidian":
				said.Dir = filepath.Join(h.user, "vault", "codex")
			}
			all.Sinks[c.Name] = said
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// publish writes to all sinks, and gives what stands in which of the files.
func (h *house) publish() map[string]string {
	h.t.Helper()
	if _, err := daemon.Once(h.t.Context(), h.opt); err != nil {
		h.t.Fatal(err)
	}
	out := map[string]string{}
	for _, dir := range append([]string{filepath.Join(h.user, "code"), h.opt.Config.MemoryDir}, h.homes()...) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			out[path] = string(text)
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return out
}

func (h *house) homes() (out []string) {
	for _, dir := range []string{".workbuddy", ".claude", ".openclaw", "vault", ".codebuddy"} {
		out = append(out, filepath.Join(h.user, dir))
	}
	return out
}

// foretold gives what the sinks say they would write for threads.
func (h *house) foretold(threads ...string) map[string]string {
	h.t.Helper()
	db, err := store.OpenReader(h.t.Context(), h.opt.Config.DB())
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	pipe, err := pipeline.New(h.t.Context(), db, daemon.PipelineOptions(h.opt.Config))
	if err != nil {
		h.t.Fatal(err)
	}
	said, err := choices.Load(h.opt.Config.Home)
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range sink.Consumers() {
		for _, id := range threads {
			files, err := h.opt.Preview(h.t.Context(), db, pipe, c, said.Sinks[c.Name], id)
			if err != nil {
				h.t.Fatal(err)
			}
			for _, f := range files {
				out["preview of "+c.Name] += string(f.New)
			}
		}
	}
	return out
}

// perWorkspace is how many sessions a shared file tells of.
const perWorkspace = 5

// sharedNames are the files that sinks share, each of which has to be there for
// a test to say anything.
var sharedNames = []string{
	".workbuddy/memory/MEMORY.md", ".workbuddy/memory/2000-01-01.md", ".workbuddy/memory/codex/INDEX.md", "AGENTS.md", "GEMINI.md", "HANDOFF.md",
	".cursor/rules/session-migrator.mdc", ".windsurf/rules/session-migrator.md", ".github/instructions/session-migrator.instructions.md",
	"../../.workbuddy/MEMORY.md", "../../vault/codex/INDEX.md",
}

func (h *house) allThere(files map[string]string) {
	h.t.Helper()
	for _, w := range h.workspaces {
		for _, name := range sharedNames {
			if files[filepath.Join(w, name)] == "" {
				h.t.Errorf("%s has no %s", w, name)
			}
		}
	}
	for _, pattern := range []string{".claude/projects/*/memory/MEMORY.md", ".codebuddy/projects/*/memory/MEMORY.md", ".openclaw/workspace/memory/*.md", "vault/codex/projects/*/2*.md"} {
		if found, _ := filepath.Glob(filepath.Join(h.user, pattern)); len(found) == 0 {
			h.t.Errorf("no %s", pattern)
		}
	}
}

// tell begins a session with one text in each place that a sink shows: title,
// request, path, command, output, plan, first words, next step, error.
func (h *house) tell(i int, o rollouttest.Options, s []string) string {
	h.t.Helper()
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	o.ThreadID = fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)
	b := rollouttest.New(rollouttest.Paginated, o)
	args := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			h.t.Fatal(err)
		}
		return string(text)
	}
	patch := "*** Begin Patch\n*** Update File: src/" + line(s[1]) + "\n@@\n-a\n+b\n*** End Patch"
	b.User(s[0]+"\nand go on").
		Call("apply_patch", args(map[string]string{"input": patch}), "Success. Updated the following files:\nM src/"+line(s[1])).
		Call("exec_command", args(map[string]string{"cmd": "go test ./... # " + s[2]}), "Exit code: 1\nOutput:\nFAIL "+s[3]).
		Call("update_plan", args(map[string]any{"plan": []map[string]string{{"step": s[4], "status": "in_progress"}}}), "Plan updated")
	if i%3 > 0 {
		b.Rename("about " + line(s[5]))
	}
	if i%2 == 0 {
		b.Assistant("The cause is " + s[6] + " and nothing else.\n\nNext step: rotate " + line(s[7])).End()
	} else {
		b.Assistant("I begin.").Fail("stopped by " + s[6] + " and " + s[7])
	}
	h.write(b, -1)
	return o.ThreadID
}

// No file that a sink writes shows a secret of any kind, nor what is said of the
// sinks.
func TestNoSinkShowsASecret(t *testing.T) {
	const places = 8
	few := func(all []redacttest.Secret) (out []redacttest.Secret) {
		for i := 0; i < len(all); i += everySecret {
			out = append(out, all[i])
		}
		return out
	}
	var made [places + 1][]redacttest.Secret
	var all []redacttest.Secret
	for n := range made {
		made[n] = few(redacttest.All(uint64(300 + n)))
		all = append(all, made[n]...)
	}
	leaks := redacttest.NewLeaks(all)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12 * time.Hour)
		var names []string
		for i := 0; i < len(made[0]); i += perWorkspace {
			names = append(names, fmt.Sprint("w", i, " ", folderOf(made[places], i)))
		}
		h := newHouse(t, names...)
		var ids []string
		for i := range made[0] {
			s := make([]string, places)
			for n := range s {
				s[n] = made[n][i].Text
			}
			ids = append(ids, h.tell(i, rollouttest.Options{Cwd: h.workspaces[i/perWorkspace], BranchName: "b", Start: time.Now().Add(-time.Hour)}, s))
		}
		files := h.publish()
		h.allThere(files)
		marks := 0
		check := func(where, text string) {
			for name, part := range leaks.In(text) {
				t.Errorf("%s: %q of it is in %s: %s", name, part, where, nearby(text, part))
			}
			marks += strings.Count(text, "[redacted:") + strings.Count(text, `\[redacted:`)
		}
		for path, text := range files {
			name := strings.TrimPrefix(path, h.user)
			if rel, err := filepath.Rel(filepath.Join(h.user, "code"), path); err == nil && filepath.IsLocal(rel) {
				_, name, _ = strings.Cut(rel, string(filepath.Separator)) // the folder is the user's own
			}
			if strings.Contains(name, "projects/-") || strings.Contains(name, ".codebuddy/projects") {
				name = filepath.Base(name) // claude and codebuddy name the folder after the user's
			}
			check("the name "+name, name)
			check(path, text)
		}
		for where, text := range h.foretold(ids[:min(len(ids), 12)]...) {
			check(where, text)
		}
		if marks < 5*len(ids) {
			t.Errorf("only %d marks for %d sessions", marks, len(ids))
		}
	})
}

// folderOf is a folder's name with a secret, the first of those that can be one.
func folderOf(secrets []redacttest.Secret, from int) string {
	for i := range secrets {
		s := secrets[(from+i)%len(secrets)]
		if len(s.Text) < 120 && !strings.ContainsAny(s.Text, "/\\\n\x1b\u200b\u00ad\u202d:\"<>|?*") {
			return s.Text
		}
	}
	return ""
}

func nearby(text, part string) string {
	i := max(0, strings.Index(strings.ToLower(text), part))
	return strings.ToValidUTF8(text[max(0, i-60):min(len(text), i+40)], "?")
}
