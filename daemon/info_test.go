package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
)

// What a killed daemon left says nothing of who holds the lock now.
func TestInspectBelievesNoProcessThatIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what a process said of itself is taken for true")
	}
	const gone = 1 << 30 // more than any system gives out
	for _, c := range []struct {
		name    string
		then    string // the role that whoever took the lock tells, a moment later; empty: nothing
		running bool
		pid     int
	}{
		{"a command", roleCommand, false, 0},
		{"a daemon", roleDaemon, true, os.Getpid()},
		{"one that can't say", "", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := config.Config{Home: filepath.Join(t.TempDir(), "data")}
			l, err := acquire(conf.Home, conf.Run())
			if err != nil {
				t.Fatal(err)
			}
			defer l.release()
			if err := os.WriteFile(filepath.Join(conf.Run(), pidFile), fmt.Appendf(nil, "%d %s\n", gone, roleDaemon), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := writeInfo(conf.Run(), Info{PID: gone, Version: "old", Problems: []string{"old"}}); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				go func() {
					time.Sleep(askerPoll / 2)
					if c.then == "" {
						return
					}
					if err := writeHolder(conf.Run(), c.then); err != nil {
						t.Error(err)
					}
				}()
				i, err := Inspect(conf)
				if err != nil || i.Running != c.running || i.PID != c.pid || i.Version != "" || len(i.Problems) > 0 {
					t.Errorf("%+v, %v", i, err)
				}
			})
		})
	}
}
