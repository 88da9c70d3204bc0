//go:build crash || faults

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// hostileDeeds are what Codex itself would not do to a rollout.
var hostileDeeds = []string{
	"truncate", "shorten", "regrow", "copytruncate", "recreate", "replace", "rewrite", "nul", "glue", "join", "garbage", "odd", "unreadable", "delete",
}

// hostile begins one of the deeds.
func (w *writer) hostile(l *log, deed string) error {
	if deed == "odd" {
		return w.odd(l)
	}
	path := w.path(l)
	if _, err := os.Lstat(path); err != nil {
		return nil //nolint:nilerr // not yet begun
	}
	if l.zst {
		if err := errors.Join(w.swap(l), l.finish()); err != nil {
			return err
		}
		path = w.path(l)
	}
	switch deed {
	case "nul":
		return appendTo(path, append(bytes.Repeat([]byte{0}, 1+w.rnd.IntN(300)), pick(w.rnd, "", "\n")...))
	case "glue", "join":
		return w.damage(l, deed == "glue")
	case "garbage":
		junk := pick(w.rnd, "{\"timestamp\":\"2026-0", "[1,2", "\xff\xfe\x80", "null", `{"type":"response_item","payload":7}`, strings.Repeat("[", 3000), "\ufeff{}", "\r")
		return appendTo(path, []byte(junk+"\n"))
	}
	if l.parent {
		return nil // what was copied from it would no longer be found there
	}
	if err := w.keep(path); err != nil {
		return err
	}
	old := l.text
	if deed != "replace" {
		w.renew(l)
	}
	next := func() error { _, err := w.grow(l, false); return err }
	switch deed {
	case "truncate": // and written anew later
		l.steps = []func() error{func() error { return os.Truncate(path, 0) }, next}
	case "shorten": // and continued with other words
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		n := w.rnd.Int64N(st.Size() + 1)
		l.steps = []func() error{func() error { return os.Truncate(path, n) }, next}
	case "regrow": // other words in place of the last ones, before anybody looks
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		cut := min(st.Size(), 100+w.rnd.Int64N(1000))
		for l.text.Size() <= cut {
			w.speak(l.text)
		}
		return errors.Join(os.Truncate(path, st.Size()-cut), next())
	case "copytruncate": // and grown past the old end before anybody looks
		for l.text.Size() <= old.Size() {
			w.speak(l.text)
		}
		return errors.Join(os.Truncate(path, 0), next())
	case "recreate": // most file systems give the inode number again
		l.steps = []func() error{func() error { return os.Remove(path) }, next}
	case "replace", "rewrite": // by a file with the same beginning, or another
		return w.replace(l, path, deed == "replace")
	case "unreadable": // compressed, and then cut
		l.steps = []func() error{func() error { return w.spoil(path) }, func() error { return os.Remove(path + ".zst") }, next}
	case "delete":
		w.drop(l)
		return os.Remove(path)
	}
	return nil
}

// keep puts by what a file says, before it is destroyed.
func (w *writer) keep(path string) error {
	text, err := logical(path)
	if err != nil {
		return err
	}
	w.past++
	return appendTo(filepath.Join(w.Past, fmt.Sprintf("%s.%06d", rolloutID(filepath.Base(path)), w.past)), text)
}

// renew gives a rollout another text, unlike the one before from its first line
// on.
func (w *writer) renew(l *log) {
	w.marks++
	opt := w.options()
	opt.ThreadID = l.text.ThreadID()
	opt.Start = opt.Start.Add(time.Duration(w.marks) * time.Second)
	l.text = rollouttest.New(pick(w.rnd, rollouttest.Legacy, rollouttest.Marked, rollouttest.Paginated), opt)
	l.taken, l.queue, l.renewed = 0, nil, true
	w.speak(l.text)
}

// damage writes a record that is torn, or has no line end, and another at once.
func (w *writer) damage(l *log, torn bool) error {
	for len(l.queue) == 0 || bytes.Count(l.queue, []byte("\n")) < 2 {
		w.speak(l.text)
		text := l.text.Bytes()
		l.queue, l.taken = append(l.queue, text[l.taken:]...), int64(len(text))
	}
	end := bytes.IndexByte(l.queue, '\n')
	first := l.queue[:end]
	if torn {
		first = first[:w.rnd.IntN(end+1)] // and the whole of it again
	} else {
		l.queue = l.queue[end+1:]
	}
	if err := appendTo(w.path(l), first); err != nil {
		return err
	}
	_, err := w.grow(l, false)
	return err
}

// replace puts another file in place of one.
func (w *writer) replace(l *log, path string, same bool) error {
	var text []byte
	if same {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = append(old, l.queue...)
		l.queue = nil
	} else {
		text = l.text.Bytes()
		l.taken = int64(len(text))
	}
	temp := path + ".new"
	l.steps = []func() error{
		func() error { return appendTo(temp, text) },
		func() error { return os.Rename(temp, path) },
	}
	return nil
}

// spoil leaves a compressed file without its end in place of a plain one.
func (w *writer) spoil(path string) error {
	text := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x04}, bytes.Repeat([]byte{7}, w.rnd.IntN(50))...)
	return errors.Join(os.WriteFile(path+".zst", text, 0o600), os.Remove(path))
}

func (w *writer) drop(l *log) {
	for i := range w.logs {
		if w.logs[i] == l && len(w.logs) > 2 {
			w.logs = append(w.logs[:i:i], w.logs[i+1:]...)
			return
		}
	}
}

// odd leaves things about that are no rollouts, or not good ones.
func (w *writer) odd(l *log) error {
	dir := filepath.Dir(w.path(l))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	w.marks++
	id := fmt.Sprintf("019b0000-0000-7000-8000-%012d", w.marks)
	name := filepath.Join(dir, "rollout-2026-09-01T09-00-00-"+id+".jsonl")
	switch w.rnd.IntN(7) {
	case 0:
		return os.Mkdir(name, 0o700)
	case 1:
		return os.Symlink(w.path(l), name)
	case 2:
		return os.WriteFile(name+".zst", []byte("no frame"), 0o600)
	case 3:
		return os.WriteFile(name+".compress.1.1.tmp", []byte("half"), 0o600)
	case 4:
		return os.WriteFile(name, nil, 0o600)
	case 5:
		return os.WriteFile(filepath.Join(dir, "rollout-\n.jsonl"), []byte("{}\n"), 0o600)
	default:
		return pipe(name)
	}
}
