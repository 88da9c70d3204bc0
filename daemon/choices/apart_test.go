package choices_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

func TestNoSinkSharesAFolderWithOurs(t *testing.T) {
	top := t.TempDir()
	at := func(elem ...string) string { return filepath.Join(append([]string{top}, elem...)...) }
	for _, dir := range []string{at("home", "codex"), at("home", "data"), at("out", "memory"), at("home", "vault")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Config{User: at("home"), Home: at("home", "data"), MemoryDir: at("out", "memory"), CodexHomes: []string{at("home", "codex")}}
	all := sink.Consumers()
	obsidian := all[slices.IndexFunc(all, func(k sink.Consumer) bool { return k.Name == "obsidian" })]
	refused := []string{at("out", "memory"), at("out", "memory", "deep"), at("out"), at("home", "data"), at("home", "data", "x"), at("home"), at("home", "codex", "sessions"),
		top, filepath.VolumeName(top) + string(filepath.Separator)}
	if err := os.Symlink(at("out"), at("link")); err == nil {
		refused = append(refused, at("link", "memory"), at("link", "memory", "new"))
	}
	for _, dir := range refused {
		if err := choices.Apart(c, dir); err == nil {
			t.Errorf("%s was not refused", dir)
		}
		if _, err := choices.Open(obsidian, c, sink.Choice{Dir: dir}); !errors.Is(err, sink.ErrNoPlace) {
			t.Errorf("%s was opened: %v", dir, err)
		}
	}
	for _, dir := range []string{at("home", "vault"), at("out", "memory2"), at("home", "data2", "x")} {
		if err := choices.Apart(c, dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
