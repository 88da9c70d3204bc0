package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/embedding"
	"github.com/session-migrator/session-migrator/daemon/exe"
	"github.com/session-migrator/session-migrator/daemon/summarizing"
	"github.com/session-migrator/session-migrator/store/atomicfile"
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
	Paused    Paused     `json:"paused"` // of intake
	Program   exe.File   `json:"program"`
	Homes     []string   `json:"codex_homes"`
	MemoryDir string     `json:"memory_dir"`

	Service    string `json:"service,omitempty"`    // the service manager that started it
	Supervisor int    `json:"supervisor,omitempty"` // the process of ours that starts it again
	UserHome   string `json:"user_home,omitempty"`  // HOME as it sees it

	Embeddings *embedding.Info `json:"embeddings,omitempty"` // nil: they are off
	Summaries  bool            `json:"summaries,omitempty"`  // that agents write are taken in

	Summarizing *summarizing.Info `json:"summarizing,omitempty"` // nil: no model writes summaries
}

// SinkInfo says how a sink is.
type SinkInfo struct {
	Name      string    `json:"name"`
	Enabled   bool      `json:"enabled"`
	Files     int       `json:"files"`
	LastError string    `json:"last_error"` // empty: none; else nothing is written until NextTry
	Since     time.Time `json:"since"`      // of LastError
	NextTry   time.Time `json:"next_try"`
	Waiting   int       `json:"waiting"` // sessions whose document is not renewed yet

	Shared   int      `json:"shared"`   // files of others that hold lines of ours
	Absent   bool     `json:"absent"`   // the program it writes for has no place here yet
	Problems []string `json:"problems"` // of single shared files, and what is to be known of them

	Unwritten []string `json:"unwritten"` // of the problems: places that can't be written
}

func (i Info) same(j Info) bool { return reflect.DeepEqual(i, j) }

const infoFile = "daemon.json"

func pid() int { return os.Getpid() }

func writeInfo(run string, i Info) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("write daemon info: %w", err)
	}
	if err := replaceFile(run, infoFile, append(text, '\n')); err != nil {
		return fmt.Errorf("write daemon info: %w", err)
	}
	return nil
}

// replaceFile replaces a file of the run folder as a whole, without a sync: what
// it says ends with the daemon. Others read it at any time, and on Windows one
// that is open for reading is replaced only by who asks again.
func replaceFile(run, name string, text []byte) (err error) {
	root, err := os.OpenRoot(run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	tmp := name + ".tmp"
	if err := root.WriteFile(tmp, text, 0o600); err != nil {
		_ = root.Remove(tmp) // on a full disk an empty one would stay
		return err
	}
	return atomicfile.Rename(root, tmp, name)
}

func forgetInfo(run string) error {
	return errors.Join(os.Remove(filepath.Join(run, infoFile)), os.Remove(filepath.Join(run, pidFile)))
}

// Inspect tells whether a daemon works on the data folder, and what it says of
// itself. Without a daemon only Running is set, to false.
func Inspect(c config.Config) (Info, error) {
	is, err := held(c.Home, c.Run())
	if err != nil || !is {
		return Info{}, err
	}
	pid, role := living(c.Run())
	for n := 1; pid == 0 && n < askerTries; n++ { // who took the lock just now says so next
		time.Sleep(askerPoll)
		if is, err := held(c.Home, c.Run()); err != nil || !is {
			return Info{}, err
		}
		pid, role = living(c.Run())
	}
	if role == roleCommand {
		return Info{}, nil
	}
	text, err := os.ReadFile(filepath.Join(c.Run(), infoFile))
	if err != nil {
		return Info{Running: true, PID: pid}, nil //nolint:nilerr // it started just now
	}
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Info{}, fmt.Errorf("read daemon info: %w", err)
	}
	if i.PID != pid && (pid != 0 || !alive(i.PID)) {
		return Info{Running: true, PID: pid}, nil // what the one before said
	}
	i.Running = true
	return i, nil
}

// living is holder, 0 for a process that isn't there any more.
func living(run string) (pid int, role string) {
	if pid, role = holder(run); !alive(pid) {
		return 0, ""
	}
	return pid, role
}
