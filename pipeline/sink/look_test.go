package sink_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// What Look says beforehand is what Put does then.
func TestLookForeseesPut(t *testing.T) {
	m := newMachine(t)
	vault := m.folder(t, "vault")
	m.folder(t, "vault", "codex")
	claw := m.folder(t, ".openclaw", "workspace")
	for name, c := range map[string]sink.Choice{
		"drop": {}, "obsidian": {Dir: filepath.Join(vault, "codex")}, "openclaw": {Dir: claw},
	} {
		t.Run(name, func(t *testing.T) {
			s := m.open(t, name, c)
			l, ok := s.(interface {
				Look(ctx context.Context, a sink.Artifact) (sink.Receipt, error)
			})
			if !ok {
				t.Fatal("it can't tell beforehand")
			}
			a := sink.Artifact{ThreadID: "019a0000-0000-7000-8000-0000000000aa", Workspace: m.project, Cwd: m.project,
				Name: "2026-02-11-0818-some-title-000000aa.md", Data: []byte("some text\n")}
			look := func(a sink.Artifact) sink.Receipt {
				t.Helper()
				r, err := l.Look(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			bare := a
			bare.Data = nil
			if before := look(bare); before.State != sink.StateWritten || before.Hash != "" {
				t.Fatalf("without data, and nothing there: %+v", before)
			}
			before := look(a)
			r, err := s.Put(t.Context(), a)
			if err != nil || before != r {
				t.Fatalf("%+v, %v, foreseen %+v", r, err, before)
			}
			a.Last, bare.Last = r, r
			if again := look(a); again != r {
				t.Errorf("%+v, foreseen %+v", r, again)
			}
			if lies := look(bare); lies != r {
				t.Errorf("%+v lies there, seen is %+v", r, lies)
			}
			if place := look(sink.Artifact{Workspace: m.project, Cwd: m.project}); place.State != sink.StateWritten {
				t.Errorf("without a name %+v", place)
			}
			full := filepath.FromSlash(r.Path)
			if !filepath.IsAbs(full) {
				full = filepath.Join(map[string]string{"drop": m.env.Drop, "obsidian": c.Dir}[name], full)
			}
			if err := os.WriteFile(full, []byte("mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			edited := look(a)
			if r, err := s.Put(t.Context(), a); err != nil || edited.State != sink.StateEdited || r.State != sink.StateEdited {
				t.Errorf("edited: %+v, %v, foreseen %+v", r, err, edited)
			}
			if now, err := os.ReadFile(full); err != nil || string(now) != "mine\n" {
				t.Errorf("it holds %q, %v", now, err)
			}
		})
	}
}
