package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

// chosen follows what the user says of sinks. One goroutine uses it.
type chosen struct {
	home string
	now  choices.Choices // the last good ones
	err  error           // why those of now aren't the newest
	info fs.FileInfo     // of the file when it was read; nil: there was none
	read bool            // it was looked at before
}

// look reads the choices again if the file is another than the last time, and
// tells whether other ones are in force. A broken file leaves the last good ones
// in force; at a start those are in the backup.
func (c *chosen) look() (changed bool) {
	info, err := os.Stat(filepath.Join(c.home, choices.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.err = fmt.Errorf("read choices: %w", err)
		return c.first()
	}
	if c.read && unchanged(info, c.info) {
		return false
	}
	now, err := choices.Load(c.home)
	if c.err = err; err != nil {
		c.info = info
		return c.first()
	}
	c.now, c.info, c.read = now, info, true
	return true
}

// first takes the choices of the backup, the first time.
func (c *chosen) first() (changed bool) {
	if c.read {
		return false
	}
	c.read = true
	if kept, err := choices.LoadBackup(c.home); err == nil {
		c.now = kept
	}
	return true
}

// unchanged tells whether a file is the one of last time, unchanged; nil: none.
func unchanged(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// allConsumers are the programs that documents are written for.
func (o Options) allConsumers() []sink.Consumer {
	if o.consumers != nil {
		return o.consumers
	}
	return sink.Consumers()
}

// placeEvery is how often a place is looked for where there was none.
const placeEvery = 3 * time.Minute
