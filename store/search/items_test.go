package search_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/store/search"
)

// An index without its cache holds nothing, and one that isn't there says so.
func TestItemsOfAnEmptyIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.db")
	if _, err := search.OpenReader(t.Context(), path); !errors.Is(err, search.ErrNone) {
		t.Errorf("no file: %v", err)
	}
	x, err := search.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n, err := x.Items(t.Context()); n != 0 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
}
