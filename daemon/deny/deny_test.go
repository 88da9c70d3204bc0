package deny_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

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
		if !deny.New([]string{tt.entry}).Thread(transcript.Thread{Workspace: transcript.WorkspaceKey(tt.cwd), Cwd: tt.cwd}) {
			t.Errorf("%q lets %q be sent", tt.entry, tt.cwd)
		}
	}
	if deny.New([]string{"/home/dana/beta"}).Thread(transcript.Thread{Cwd: "/home/dana/beta2"}) {
		t.Error("a neighbour is denied")
	}
}
