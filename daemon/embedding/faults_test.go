package embedding

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/search"
)

// A model that can't be opened leaves search by words, and the daemon running.
func TestAModelThatCantBeOpenedIsTold(t *testing.T) {
	p := newPlace(t, nil)
	dir := filepath.Join(t.TempDir(), "gone")
	p.cfg.Embeddings = config.Embeddings{Provider: "model2vec", Dir: dir}
	p.say("/w", transcript.Facts{}, "some words")
	w := p.worker()
	if err := p.round(w); !errors.Is(err, embed.ErrOptions) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	a := NewAsker(p.cfg)
	for range 2 {
		r := search.Request{Query: "words"}
		if note := a.Fill(t.Context(), p.db, &r); !strings.Contains(note, "by words only") || !strings.Contains(note, dir) || r.Vector != nil {
			t.Errorf("note %q", note)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// However a folder that isn't here is written, nothing of it is sent.
func TestFoldersAreDeniedHoweverWritten(t *testing.T) {
	at := t.TempDir()
	if err := os.MkdirAll(filepath.Join(at, "real", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	links := os.Symlink(filepath.Join(at, "real", "sub"), filepath.Join(at, "link")) == nil
	for _, tt := range []struct {
		entry, cwd string
		link       bool
	}{
		{"/home/dana/../dana/beta", "/home/dana/beta", false},
		{"/home/dana/./beta", "/home/dana/beta/x", false},
		{"/home//dana/beta//", "/home/dana/beta", false},
		{" /home/dana/beta", "/home/dana/beta", false},
		{"/home/dana/beta", "/home/dana/x/../beta", false},
		{`C:\work\.\x\..\beta`, `c:/Work/beta/y`, false},
		{`\\srv\share\.\beta`, `\\SRV\share\beta`, false},
		{"/home/dana/beta", "beta", false},
		{"/", "/home/dana/beta", false},
		{at + "/link", at + "/real/sub/x", true},
		{at + "/link/gone", at + "/real/sub/gone", true},
		{at + "/real/sub", at + "/link/y", true},
		{at + "/link/../beta", at + "/real/beta", true}, // by links
		{at + "/link/../beta", at + "/beta", true},      // as written
	} {
		if tt.link && !links {
			continue
		}
		if !deny([]string{tt.entry}).thread(transcript.Thread{Workspace: transcript.WorkspaceKey(tt.cwd), Cwd: tt.cwd}) {
			t.Errorf("%q lets %q be sent", tt.entry, tt.cwd)
		}
	}
	if deny([]string{"/home/dana/beta"}).thread(transcript.Thread{Cwd: "/home/dana/beta2"}) {
		t.Error("a neighbour is denied")
	}
}
