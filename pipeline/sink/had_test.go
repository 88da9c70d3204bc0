package sink_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// Without a receipt a document is found again under the name it had, in
// whichever project it lies, edited or not; another thread's is not taken.
func TestDocumentKeepsItsNameWithoutAReceipt(t *testing.T) {
	d, dir := openDrop(t)
	put := func(d *sink.Drop, id, workspace, name, body string) sink.Receipt {
		t.Helper()
		r, err := d.Put(t.Context(), sink.Artifact{ThreadID: id, Workspace: workspace, Name: name, Data: document(id, body)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := put(d, threadID, "/one", "2026-old-title-b7d20e63.md", "# one\n")
	again, err := sink.OpenDrop(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}()
	if r := put(again, threadID, "/two", "2026-new-title-b7d20e63.md", "# two\n"); r.Path != first.Path || r.State != sink.StateWritten {
		t.Errorf("put as %+v, want %s", r, first.Path)
	}
	other := "019c4a10-9790-7c5e-9a41-0000b7d20e63"
	if r := put(again, other, "/one", "2026-other-b7d20e63.md", "# other\n"); r.Path == first.Path {
		t.Errorf("took another thread's document: %+v", r)
	}
	edited := append(document(threadID, "# two\n"), "my note\n"...)
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(first.Path)), edited, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := put(again, threadID, "/two", "2026-new-title-b7d20e63.md", "# three\n"); r.Path != first.Path || r.State != sink.StateEdited {
		t.Errorf("put as %+v", r)
	}
	if got := read(t, dir, filepath.FromSlash(first.Path)); got != string(edited) {
		t.Errorf("the edited file is now %q", got)
	}
}
