package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// A file of others that we left alone needs nothing taken out: a sink that is
// switched off forgets it.
func TestLeavingForgetsWhatWasNeverWritten(t *testing.T) {
	dir := buddies(t, 0, 1)[0]
	memory := filepath.Join(dir, ".workbuddy", "memory")
	if err := os.Mkdir(memory, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "else.md")
	for what, make := range map[string]func(name string) error{
		"not closed": func(name string) error {
			return os.WriteFile(name, []byte("<!-- BEGIN session-migrator v=1 hash=00000000 -->\n"), 0o600)
		},
		"UTF-16": func(name string) error { return os.WriteFile(name, []byte("\xff\xfea\x00"), 0o600) },
		"link out": func(name string) error {
			return errors.Join(os.WriteFile(outside, []byte("x\n"), 0o600), os.Symlink(outside, name))
		},
		"folder": func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(memory, "MEMORY.md")
			if err := make(name); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.Remove(name) }()
			d := newDesk(t, 0, consumerOf(t, "workbuddy"))
			if err := saveShared(t.Context(), d.e.db, "workbuddy", []sink.SharedFile{{Path: name, Workspace: dir, Problem: "left alone"}}); err != nil {
				t.Fatal(err)
			}
			d.choose(func(c *choices.Choices) {
				no := false
				c.Sinks["workbuddy"] = choices.Choice{Choice: sink.Choice{Enabled: &no}}
			})
			if _, _, _, err := d.e.publishAll(t.Context()); err != nil {
				t.Error(err)
			}
			if left, said := d.shared("workbuddy"), d.e.troubles.list(); len(left) > 0 || len(said) > 0 {
				t.Errorf("%+v is known still, said: %q", left, said)
			}
			if err := d.e.close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What one sink can't take away yet is no failure of another that is switched
// off.
func TestLeftoversOfAnotherSink(t *testing.T) {
	dir := buddies(t, 0, 1)[0]
	name := filepath.Join(dir, ".workbuddy", "memory", "MEMORY.md")
	if err := os.MkdirAll(name, 0o700); err != nil { // a folder by now: nothing can be taken out
		t.Fatal(err)
	}
	other := newCupboard("other", sink.ModeAsked)
	d := newDesk(t, 0, consumerOf(t, "workbuddy"), other.consumer())
	if err := saveShared(t.Context(), d.e.db, "workbuddy", []sink.SharedFile{{Path: name, Workspace: dir, Hash: "00000000"}}); err != nil {
		t.Fatal(err)
	}
	no := false
	d.choose(func(c *choices.Choices) {
		for _, k := range []string{"workbuddy", "other"} {
			c.Sinks[k] = choices.Choice{Choice: sink.Choice{Enabled: &no}}
		}
	})
	opt := d.e.opt
	if err := d.e.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := opt.TakeAway(t.Context()); err != nil {
		t.Errorf("another sink's leftovers: %v", err)
	}
}
