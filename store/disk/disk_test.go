package disk_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/store/disk"
)

func TestOf(t *testing.T) {
	u, err := disk.Of(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || u.Total <= 0 || u.Free <= 0 || u.Free > u.Total {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := disk.Of(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a folder that isn't there has room")
	}
	if kind := disk.Shared(t.TempDir()); kind != "" {
		t.Errorf("a folder for temporary files lies on %s", kind)
	}
}
