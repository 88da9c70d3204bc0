package exe

import (
	"fmt"
	"sync"
	"time"
)

// lookEvery is how often the file is looked at, however often one asks.
const lookEvery = time.Second

// Watch says for a process that lives long whether its program was replaced.
// It may be asked by many at once.
type Watch struct {
	file    File
	version string // that runs
	now     func() time.Time

	mu     sync.Mutex // guards the fields below
	looked time.Time
	change Change
	note   string
}

// NewWatch begins to watch a program that says it is of a version.
func NewWatch(file File, version string) *Watch {
	return &Watch{file: file, version: version, now: time.Now}
}

// Note says in a few words that another program is there now; empty as long as
// none is.
func (w *Watch) Note() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); w.looked.IsZero() || now.Sub(w.looked) >= lookEvery || now.Before(w.looked) {
		w.looked = now
		w.look()
	}
	return w.note
}

// look is called with mu held. A file is read for its version only once.
func (w *Watch) look() {
	c, changed := w.file.Changed()
	switch {
	case !changed:
		w.note = ""
	case w.note == "" || c != w.change:
		w.note = c.describe(w.version)
	}
	w.change = c
}

// describe says what happened to the program, whose version was old.
func (c Change) describe(old string) string {
	if c.Gone {
		return "session-migrator was removed, or is just being updated"
	}
	if v := c.Version(); v != "" && v != old {
		return fmt.Sprintf("session-migrator was updated (%s → %s)", old, v)
	}
	return fmt.Sprintf("session-migrator was updated (file changed at %s)", c.At.UTC().Format(time.RFC3339))
}
