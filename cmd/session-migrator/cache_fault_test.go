package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/store"
)

// Beside a daemon nothing is named that it would refuse to let run.
func TestCacheFaultBesideADaemon(t *testing.T) {
	c := config.Config{Home: t.TempDir()}
	for _, kind := range []error{store.ErrNone, store.ErrDamaged, store.ErrForeign} {
		err := fmt.Errorf("open cache %s: %w", c.DB(), kind)
		if f := cacheFault(c, true, err); f.fix != healing {
			t.Errorf("%v: %q", kind, f.fix)
		}
		if f := cacheFault(c, false, err); !strings.Contains(f.fix, "session-migrator r") {
			t.Errorf("%v without a daemon: %q", kind, f.fix)
		}
	}
}

func TestDeniedNamesTheFileAndTheCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	c := config.Config{Home: t.TempDir()}
	folder := fmt.Errorf("read the schema of cache %s: %w", c.DB(), store.ErrFolder)
	for _, name := range []string{"", "-wal", "-shm"} {
		if err := os.WriteFile(c.DB()+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f := cacheFault(c, true, folder); f.fix == "" || strings.Contains(f.fix, "chmod") {
		t.Errorf("rights are fine: %+v", f)
	}
	for _, name := range []string{"-shm", "-wal", ""} {
		if err := os.Chmod(c.DB()+name, 0); err != nil {
			t.Fatal(err)
		}
		f := cacheFault(c, true, folder)
		if f.what != "the cache can't be read: "+c.DB()+name+" has mode 0000" || f.fix != "chmod 600 "+c.DB()+name {
			t.Errorf("%+v", f)
		}
	}
	dir := filepath.Join(c.Home, "a b")
	if err := os.Mkdir(dir, 0o200); err != nil {
		t.Fatal(err)
	}
	if _, fix := denied(dir, false); fix != "chmod u+rx '"+dir+"'" {
		t.Errorf("a folder: %q", fix)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	other := &fs.PathError{Op: "open", Path: filepath.Join(dir, "x"), Err: syscall.EACCES}
	if lockedOut(c, other) || !lockedOut(c, &fs.PathError{Op: "open", Path: c.Home, Err: syscall.EACCES}) || lockedOut(c, errors.New("x")) {
		t.Error("what is the cache, and what isn't")
	}
}

// Nobody is told to take over the home folder of somebody else, as after su with
// the other's HOME.
func TestHomesOfOthersStayTheirs(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	if got := homeOf(u.HomeDir, "user "+u.Uid); got != u.Username {
		t.Errorf("%q, want %q", got, u.Username)
	}
	if got := homeOf(filepath.Join(u.HomeDir, "x"), "user "+u.Uid); got != "" {
		t.Errorf("a folder in it: %q", got)
	}
}

// sudo that keeps HOME would leave files in it that its user can't change.
func TestSudoInAHomeOfOthers(t *testing.T) {
	for _, c := range []struct {
		euid        int
		sudo, owner string
		want        bool
	}{{0, "dana", "user 1000", true}, {0, "dana", "", false}, {0, "", "user 1000", false}, {0, "root", "user 1000", false}, {1000, "dana", "user 0", false}} {
		if got := foreignTo(c.euid, c.sudo, c.owner); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
