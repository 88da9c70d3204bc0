//go:build crash || faults

package daemon_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// writer plays Codex in a home. What it does to a file in several calls to the
// system it does in several steps, and it can be stopped between any two.
//
// Tame, it does what Codex does: nothing that it does makes a reader begin anew,
// so nothing can hide a line that was lost or taken in twice. Hostile, it does
// all else that happens to files.
type writer struct {
	task
	rnd   *rand.Rand
	logs  []*log
	made  int // rollouts
	marks int // what was said so far; each has a number of its own
	past  int // contents put by
}

// log is one rollout.
type log struct {
	text     *rollouttest.Rollout
	taken    int64  // of text, on its way to the file
	queue    []byte // not yet in the file
	name     string // of the plain file
	day      string // folder below the home
	zst      bool
	archived bool
	parent   bool // others begin with what it says: it is never rewritten
	renewed  bool // it was rewritten
	steps    []func() error
}

const (
	maxLogs  = 10
	maxQuiet = 3 * time.Millisecond // between two steps
	maxGo    = 48 << 10             // bytes written before the next pause
)

// serveWriter carries out orders from in until it ends.
func serveWriter(k task, in io.Reader, out io.Writer) error {
	w := &writer{task: k, rnd: rand.New(rand.NewPCG(k.Seed, 2))}
	for range 3 {
		if err := w.begin(); err != nil {
			return err
		}
	}
	orders := make(chan string)
	go func() {
		defer close(orders)
		for s := bufio.NewScanner(in); s.Scan(); {
			orders <- s.Text()
		}
	}()
	running, left := false, 0
	timer := time.NewTimer(time.Hour)
	for {
		select {
		case order, ok := <-orders:
			if !ok {
				return nil
			}
			var err error
			switch order {
			case "go":
				running, left = true, maxGo
				timer.Reset(0)
			case "pause":
				running = false
			default:
				err = w.do(order)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", order, err)
			}
			if _, err := io.WriteString(out, "ok\n"); err != nil {
				return err
			}
		case <-timer.C:
			if !running || left <= 0 {
				continue
			}
			n, err := w.step()
			if err != nil {
				return err
			}
			left -= n + 64
			timer.Reset(time.Duration(w.rnd.Int64N(int64(maxQuiet))))
		}
	}
}

// pick takes one of several.
func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// step does one thing, and tells how many bytes it wrote.
func (w *writer) step() (int, error) {
	l := pick(w.rnd, w.logs...)
	if len(l.steps) > 0 {
		next := l.steps[0]
		l.steps = l.steps[1:]
		return 0, next()
	}
	switch n := w.rnd.IntN(100); {
	case n < 74:
		return w.grow(l, w.rnd.IntN(3) == 0)
	case n < 80 && w.Hostile:
		return 0, w.hostile(l, pick(w.rnd, hostileDeeds...))
	case n < 88:
		return 0, w.swap(l)
	case n < 93:
		return 0, w.archive(l)
	case n < 97:
		return 0, w.rename()
	default:
		return 0, w.begin()
	}
}

// do carries out one order of the test as a whole.
func (w *writer) do(order string) error {
	for _, l := range w.logs { // what is under way first
		if err := l.finish(); err != nil {
			return err
		}
	}
	l := pick(w.rnd, w.logs...)
	var err error
	switch order {
	case "grow":
		_, err = w.grow(l, false)
	case "fork": // its parent may be read after it
		for range maxLogs {
			w.logs = append(w.logs[1:], w.logs[0])
			if err = w.fork(w.logs[0]); err != nil || w.logs[0].parent {
				break
			}
		}
	case "begin":
		err = w.begin()
	case "swap":
		err = w.swap(l)
	case "burst":
		l.queue = append(l.queue, strings.Repeat("\n", 5200)...)
		_, err = w.grow(l, false)
	default:
		for _, longer := range w.logs { // where most can go wrong
			if !longer.parent && (l.parent || longer.taken > l.taken) {
				l = longer
			}
		}
		err = w.hostile(l, order)
	}
	return errors.Join(err, l.finish())
}

func (l *log) finish() error {
	for len(l.steps) > 0 {
		next := l.steps[0]
		l.steps = l.steps[1:]
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

// path is where the file lies, whatever its form.
func (w *writer) path(l *log) string {
	p := filepath.Join(w.Home, l.day, l.name)
	if l.archived {
		p = filepath.Join(w.Home, "archived_sessions", l.name)
	}
	if l.zst {
		p += ".zst"
	}
	return p
}

// begin starts a thread: a new one, one that copies another, or one that points
// into another, of its own or of the same thread.
func (w *writer) begin() error {
	if len(w.logs) >= maxLogs {
		return nil
	}
	if len(w.logs) > 2 && w.rnd.IntN(2) == 0 {
		return w.fork(pick(w.rnd, w.logs...))
	}
	era := pick(w.rnd, rollouttest.Bare, rollouttest.Legacy, rollouttest.Marked, rollouttest.Paginated)
	w.add(rollouttest.New(era, w.options()))
	return nil
}

func (w *writer) options() rollouttest.Options {
	w.made++
	n := w.made
	return rollouttest.Options{
		ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", n), Start: w.born(n),
		Cwd: filepath.Join(cmp.Or(w.Work, "/home/dana"), fmt.Sprint("proj", w.rnd.IntN(3))),
	}
}

// born spreads threads over days, the newest of them last month or later:
// what they tell of windows is believed.
func (w *writer) born(n int) time.Time {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	return today.AddDate(0, 0, w.rnd.IntN(3)-5).Add(time.Duration(n) * time.Minute)
}

// fork begins a rollout with what another says, if that is whole on disk.
func (w *writer) fork(from *log) error {
	if len(from.steps) > 0 {
		return nil // another time
	}
	if len(from.queue) > 0 || from.taken == 0 || from.taken != from.text.Size() {
		if _, err := w.grow(from, false); err != nil || from.zst || len(from.queue) > 0 {
			return err // another time
		}
	}
	opt := w.options()
	if strings.Contains(string(from.text.Bytes()), `"ordinal":`) {
		opt.BaseRollout = rolloutID(from.name)
		opt.BaseOrdinal, opt.BaseOffset = from.text.Ordinal(), from.text.Size()
		if w.rnd.IntN(2) == 0 { // a revert: the same thread goes on in another file
			opt.RolloutID, opt.ThreadID = opt.ThreadID, from.text.ThreadID()
		}
		w.add(rollouttest.New(rollouttest.Paginated, opt))
	} else if strings.Contains(string(from.text.Bytes()), `"session_meta"`) && !from.renewed {
		w.add(from.text.Fork(opt))
	} else {
		return nil // the oldest era has no forks, and which lines are copies of a thread that was another before, what was read first decides
	}
	from.parent = true
	return nil
}

func (w *writer) add(r *rollouttest.Rollout) {
	l := &log{text: r, day: filepath.FromSlash(filepath.Dir(r.Path())), name: filepath.Base(r.Path())}
	w.logs = append(w.logs, l)
}

// rolloutID is the last id in a file's name.
func rolloutID(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), ".jsonl")
	return name[len(name)-36:]
}

// grow appends, a piece or all there is; what is compressed is made plain first.
func (w *writer) grow(l *log, torn bool) (int, error) {
	if l.zst {
		return 0, w.swap(l)
	}
	if len(l.queue) == 0 {
		for l.taken == l.text.Size() {
			w.speak(l.text)
		}
		text := l.text.Bytes()
		l.queue, l.taken = text[l.taken:], int64(len(text))
	}
	n := len(l.queue)
	if torn {
		n = 1 + w.rnd.IntN(n)
	}
	piece := l.queue[:n]
	l.queue = l.queue[n:]
	return n, appendTo(w.path(l), piece)
}

func appendTo(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// speak adds a turn or a part of one to the text.
func (w *writer) speak(r *rollouttest.Rollout) {
	said := func() string {
		w.marks++
		return fmt.Sprintf("mk%06d", w.marks)
	}
	switch w.rnd.IntN(12) {
	case 0:
		r.User("Stop that, " + said()).Abort()
	case 1:
		r.User("Fails, " + said()).Fail("stream disconnected")
	case 2:
		r.Reasoning("thinking " + said()).Steer("And " + said()).Assistant("Yes, " + said())
	case 3:
		r.User("Much, "+said()).Call("shell", fmt.Sprintf(`{"cmd":"cat %s"}`, said()), said()+strings.Repeat("\na line of much output", w.rnd.IntN(400))).End()
	case 4:
		r.Tokens(int64(1000+w.marks), 500, 40, 10).Assistant("Counted, " + said())
	case 5:
		r.Compact("So far: " + said())
	case 6:
		if !strings.Contains(string(r.Bytes()), `"ordinal":`) && strings.Contains(string(r.Bytes()), `"session_meta"`) {
			r.User("Taken back, " + said()).Assistant("Oh, " + said()).Rollback(1)
		}
	case 7:
		r.Image("Look, " + said()).Assistant("I see, " + said()).End()
	case 8:
		r.Rename(fmt.Sprint("name ", w.rnd.IntN(100)))
	case 9:
		r.CallOnly("shell", fmt.Sprintf(`{"cmd":"sleep %s"}`, said())) // its output never comes
	default:
		r.User("Question, "+said()).
			Call("shell", fmt.Sprintf(`{"cmd":"echo %s"}`, said()), said()+strings.Repeat("\nout", w.rnd.IntN(9))).
			Assistant("Answer, "+said()).Tokens(2000, 100, 50, 0).End()
	}
}

// archive moves a file to the archive or back.
func (w *writer) archive(l *log) error {
	from := w.path(l)
	if _, err := os.Lstat(from); err != nil {
		return nil //nolint:nilerr // not yet begun
	}
	l.archived = !l.archived
	to := w.path(l)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// rename gives a thread a name in the index of the home, at times in two pieces.
func (w *writer) rename() error {
	l := pick(w.rnd, w.logs...)
	line := fmt.Sprintf(`{"id":"%s","thread_name":"called %d","updated_at":"2026-09-02T00:00:00Z"}`+"\n", l.text.ThreadID(), w.rnd.IntN(1000))
	path := filepath.Join(w.Home, "session_index.jsonl")
	if len(l.steps) > 0 || w.rnd.IntN(2) == 0 {
		return appendTo(path, []byte(line))
	}
	// The rest follows at once: another name must not come in between.
	if err := appendTo(path, []byte(line[:20])); err != nil {
		return err
	}
	return appendTo(path, []byte(line[20:]))
}

// swap compresses a plain file, or the other way round, step by step as Codex
// does: a temporary beside it, a new inode, the old time of change.
func (w *writer) swap(l *log) error {
	from := w.path(l)
	st, err := os.Stat(from)
	if err != nil {
		return nil //nolint:nilerr // not yet begun
	}
	text, err := logical(from)
	if err != nil {
		return err
	}
	to, temp := from+".zst", from+".compress.4711.0.tmp"
	if l.zst {
		to, temp = strings.TrimSuffix(from, ".zst"), strings.TrimSuffix(from, ".zst")+".decompress.4711.0.tmp"
	} else {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		text = enc.EncodeAll(text, nil)
	}
	half := len(text) / 2
	place := func() error { return os.Rename(temp, to) }
	if l.zst {
		place = func() error { return os.Link(temp, to) }
	}
	l.steps = []func() error{
		func() error { return appendTo(temp, text[:half]) },
		func() error { return errors.Join(appendTo(temp, text[half:]), syncFile(temp)) },
		func() error { return os.Chtimes(temp, time.Time{}, st.ModTime()) },
		place,
	}
	if l.zst {
		l.steps = append(l.steps, func() error { return os.Remove(temp) })
	}
	l.steps = append(l.steps, func() error { l.zst = !l.zst; return os.Remove(from) })
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// logical is a rollout's content, whatever its form.
func logical(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".zst") {
		return text, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(text, nil)
}
