package sdnotify_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/daemon/sdnotify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTellsBothKindsOfSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "n") // a socket's name has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	names := map[string]string{"file": filepath.Join(dir, "notify")}
	if runtime.GOOS == "linux" {
		names["abstract"] = fmt.Sprintf("@session-migrator/test/%d", os.Getpid())
	}
	for kind, name := range names {
		t.Run(kind, func(t *testing.T) {
			l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
			if err != nil {
				t.Skip("no such sockets here:", err)
			}
			defer func() { _ = l.Close() }()
			s, err := sdnotify.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for _, what := range []string{sdnotify.Ready, sdnotify.Alive, sdnotify.Stopping} {
				if err := s.Tell(what); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 100)
				n, err := l.Read(b)
				if err != nil || string(b[:n]) != what {
					t.Errorf("heard %q, %v; want %q", b[:n], err, what)
				}
			}
		})
	}
}

func TestNobodyToTell(t *testing.T) {
	s, err := sdnotify.Open("")
	if s != nil || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if err := s.Tell(sdnotify.Ready); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"vsock:2:1234", filepath.Join(t.TempDir(), "none")} {
		if _, err := sdnotify.Open(name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}
