package embedding

import (
	"errors"
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
