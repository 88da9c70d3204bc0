package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
)

// Info is what a daemon says of itself.
type Info struct {
	Running   bool       `json:"running"`
	PID       int        `json:"pid"`
	Since     time.Time  `json:"since"`
	Version   string     `json:"version"`
	Backend   string     `json:"backend"` // how changes are noticed
	Watches   int        `json:"watches"`
	Dropped   int64      `json:"dropped"` // times the system lost events; each is made good by a listing
	LastEvent time.Time  `json:"last_event"`
	Problems  []string   `json:"problems"`
	Sinks     []SinkInfo `json:"sinks"`
}

// SinkInfo says how a sink is.
type SinkInfo struct {
	Name      string `json:"name"`
	Enabled   bool   `json:"enabled"`
	Files     int    `json:"files"`
	LastError string `json:"last_error"` // empty: none
}

func (i Info) same(j Info) bool { return reflect.DeepEqual(i, j) }

const infoFile = "daemon.json"

func pid() int { return os.Getpid() }

func writeInfo(run string, i Info) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("write daemon info: %w", err)
	}
	tmp := filepath.Join(run, infoFile+".tmp")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write daemon info: %w", err)
	}
	return os.Rename(tmp, filepath.Join(run, infoFile))
}

func forgetInfo(run string) error {
	return errors.Join(os.Remove(filepath.Join(run, infoFile)), os.Remove(filepath.Join(run, pidFile)))
}

// Inspect tells whether a daemon works on the data folder, and what it says of
// itself. Without a daemon only Running is set, to false.
func Inspect(c config.Config) (Info, error) {
	if _, err := os.Stat(filepath.Join(c.Run(), "daemon.lock")); errors.Is(err, fs.ErrNotExist) {
		return Info{}, nil
	}
	l, err := acquire(c.Home, c.Run())
	if err == nil {
		return Info{}, l.release()
	}
	locked, ok := errors.AsType[*LockedError](err)
	if !ok {
		return Info{}, err
	}
	if !locked.Daemon {
		return Info{}, nil
	}
	text, err := os.ReadFile(filepath.Join(c.Run(), infoFile))
	if err != nil {
		return Info{Running: true, PID: locked.PID}, nil //nolint:nilerr // it started just now
	}
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Info{}, fmt.Errorf("read daemon info: %w", err)
	}
	i.Running, i.PID = true, locked.PID
	return i, nil
}
