// Package choices keeps what the user said of sinks and of sessions to be kept,
// in <data>/choices.json.
//
// The way of the data: a command changes the file (Change), as a whole and under
// a lock; a daemon and other commands read it (Load). It is a file and no table
// of the cache, because the daemon is the one writer of the cache and a command
// has to be able to say something beside it.
package choices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Choices is what the user said. The zero value is nothing.
type Choices struct {
	Sinks map[string]Choice `json:"sinks,omitempty"` // by name
	Pins  []string          `json:"pins,omitempty"`  // thread ids that retention leaves alone, sorted
}

// Choice is what the user said of a sink, and what is to become of what it
// wrote before.
type Choice struct {
	sink.Choice

	// Off are folders of workspaces that nothing is written for, and where what
	// was written is taken away.
	Off []string `json:"off,omitempty"`
	// Keep leaves there what a sink wrote that is disabled.
	Keep bool `json:"keep_files,omitempty"`
	// Made says that Dir was made for the sink, and goes with it once empty.
	Made bool `json:"made,omitempty"`
}

// Name is the file in the data folder.
const Name = "choices.json"

const (
	schema   = 1
	lockName = "choices.lock"
	lockWait = 5 * time.Second
	lockPoll = 20 * time.Millisecond
	maxBytes = 1 << 20 // of the file
)

// document is the file.
type document struct {
	Schema int `json:"schema"`
	Choices
}

// Load reads the choices of a data folder; the zero Choices if there is no file.
// The error names the file and the line.
func Load(home string) (Choices, error) {
	path := filepath.Join(home, Name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Choices{}, nil
	}
	if err != nil {
		return Choices{}, fmt.Errorf("read choices: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return Choices{}, fmt.Errorf("read choices: %w", err)
	}
	if len(text) > maxBytes {
		return Choices{}, fmt.Errorf("read choices: %s has more than %d bytes", path, maxBytes)
	}
	c, line, err := parse(text)
	if err != nil {
		return Choices{}, fmt.Errorf("read choices %s, line %d: %w", path, line, err)
	}
	return c, nil
}

// parse is pure. line is where an error is.
func parse(text []byte) (c Choices, line int, err error) {
	at := func(offset int64) int {
		return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(&d)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return c, at(syntax.Offset), errors.New(syntax.Error())
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return c, at(wrong.Offset), fmt.Errorf("%s is a %s, which it can't be", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], wrong.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return c, at(int64(len(text))), errors.New("the file ends too early")
	}
	if err != nil {
		return c, at(dec.InputOffset()), errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if d.Schema != schema {
		return c, 1, fmt.Errorf("its schema is %d, and this program knows %d", d.Schema, schema)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c, at(dec.InputOffset()), errors.New("something stands behind its end")
	}
	for name, s := range d.Sinks {
		for _, dir := range slices.Concat(s.Workspaces, s.Off, nonempty(s.Dir)) {
			if !anySystemAbs(dir) {
				return c, at(int64(bytes.Index(text, []byte(dir)))), fmt.Errorf("%s: folder %q is not absolute", name, dir)
			}
		}
	}
	return d.Choices, 0, nil
}

// anySystemAbs takes folders of this system, and of Windows on any: sessions
// name them too.
func anySystemAbs(dir string) bool {
	return filepath.IsAbs(dir) || len(dir) > 2 && dir[1] == ':' || strings.HasPrefix(dir, `\\`)
}

func nonempty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// Change lets edit change the choices of a data folder and writes them back, for
// the user alone, whole or not at all. Two that do so at once wait for each
// other. A broken file is left as it is.
func Change(home string, edit func(*Choices) error) (err error) {
	run := filepath.Join(home, "run")
	if err := os.MkdirAll(run, atomicfile.DirMode); err != nil {
		return fmt.Errorf("change choices: %w", err)
	}
	l := flock.New(filepath.Join(run, lockName), flock.SetPermissions(atomicfile.FileMode))
	if err := lock(l); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	c, err := Load(home)
	if err != nil {
		return err
	}
	if c.Sinks == nil {
		c.Sinks = map[string]Choice{}
	}
	if err := edit(&c); err != nil {
		return err
	}
	text, err := json.MarshalIndent(document{schema, c}, "", "  ")
	if err != nil {
		return fmt.Errorf("change choices: %w", err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("change choices: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if _, err := atomicfile.WriteIfChanged(root, Name, append(text, '\n'), atomicfile.FileMode); err != nil {
		return fmt.Errorf("change choices: %w", err)
	}
	return nil
}

func lock(l *flock.Flock) error {
	for until := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		ok, err := l.TryLock()
		if err != nil {
			return fmt.Errorf("change choices: %w", err)
		}
		if ok {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("change choices: another command has held %s for %s; try again", l.Path(), lockWait)
		}
	}
}
