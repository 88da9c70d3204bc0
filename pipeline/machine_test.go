package pipeline_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

// written is one line of the model's file.
type written struct {
	raw     string // with its end
	text    string // what it says; empty for none
	damaged bool
}

// machine is a rollout that all sorts of things happen to, beside a model of
// what the cache must hold of it. Nothing is told to the pipeline but by look:
// everything between two looks is events that were lost.
type machine struct {
	b    *bench
	t    *rapid.T // what fails, so that the deeds are cut down to those it takes
	id   string
	home string
	n    int // words said so far: no two lines say the same

	// the file
	here     bool
	packed   bool // compressed
	broken   bool // compressed and cut
	archived bool
	lines    []written
	torn     string // the unfinished last line
	rest     written

	// what the cache must hold
	known   bool
	taken   []written
	pending int
	past    []string // texts of earlier generations, oldest first
	gens    int
	path    string // as last taken in
	state   store.FileState
	last    store.File // as last recorded
	stale   []store.File
}

func (m *machine) say(t *rapid.T) written {
	m.n++
	text := strings.Repeat("filler ", rapid.SampledFrom([]int{0, 1, 100}).Draw(t, "filler")) + fmt.Sprintf("words %d", m.n)
	return written{raw: string(more(text)), text: text}
}

// odd is a line that gives nothing, or not all of it.
func (m *machine) odd(t *rapid.T) written {
	switch rapid.IntRange(0, 4).Draw(t, "odd") {
	case 0:
		return written{raw: "\r\n"}
	case 1:
		return written{raw: strings.Repeat("\x00", 100) + "\n", damaged: true}
	case 2:
		l := m.say(t)
		l.raw, l.damaged = strings.Repeat("\x00", 10)+l.raw, true
		return l
	case 3:
		l := m.say(t)
		l.raw, l.damaged = string(more("never finished")[:70])+l.raw, true
		return l
	}
	return written{raw: `{"timestamp":"2026-09-01T09:00:01.000Z","type":"world_state","payload":{"full":true}}` + "\n"}
}

func (m *machine) draw(t *rapid.T) []written {
	var out []written
	for range rapid.IntRange(1, 4).Draw(t, "lines") {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			out = append(out, m.odd(t))
		} else {
			out = append(out, m.say(t))
		}
	}
	return out
}

func content(lines []written) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.raw)
	}
	return b.String()
}

// header is longer than what is fingerprinted of a start: whether what follows
// is the same, only the end that was read can tell.
func (m *machine) header() written {
	long := fmt.Sprintf(`"base_instructions":%q,"cwd":`, strings.Repeat("be good ", 600))
	return written{raw: string(bytes.ReplaceAll(bytes.Replace(spoken(), []byte(`"cwd":`), []byte(long), 1), []byte(openThread), []byte(m.id)))}
}

func (m *machine) where() string {
	dir := filepath.Join(m.home, "sessions", "2026", "09", "01")
	if m.archived {
		dir = filepath.Join(m.home, "archived_sessions")
	}
	path := filepath.Join(dir, "rollout-2026-09-01T09-00-00-"+m.id+".jsonl")
	if m.packed {
		path += ".zst"
	}
	return path
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// put writes the file in place.
func (m *machine) put() {
	m.b.t.Helper()
	write(m.b.t, m.where(), []byte(content(m.lines)+m.torn))
	m.here, m.broken = true, false
}

func (m *machine) plain(t *rapid.T) {
	if !m.here || m.packed {
		t.Skip("no plain file")
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append": func(t *rapid.T) {
			m.plain(t)
			if m.torn != "" {
				t.Skip("a line is unfinished")
			}
			lines := m.draw(t)
			appendTo(m.b.t, m.where(), []byte(content(lines)))
			m.lines = append(m.lines, lines...)
		},
		"append a part": func(t *rapid.T) {
			m.plain(t)
			if m.torn == "" {
				m.rest = m.say(t)
			}
			n := rapid.IntRange(1, max(1, len(m.rest.raw)-2)).Draw(t, "bytes")
			part := m.rest.raw[:min(n, len(m.rest.raw)-2)]
			appendTo(m.b.t, m.where(), []byte(part))
			m.torn, m.rest.raw = m.torn+part, m.rest.raw[len(part):]
		},
		"finish": func(t *rapid.T) {
			m.plain(t)
			if m.torn == "" {
				t.Skip("no line is unfinished")
			}
			line := written{raw: m.torn + m.rest.raw, text: m.rest.text}
			add := m.rest.raw
			if len(m.rest.raw) > 20 && rapid.Bool().Draw(t, "written anew") { // the writer saw an error and writes the whole record again
				again := m.say(t)
				line, add = written{raw: m.torn + again.raw, text: again.text, damaged: true}, again.raw
			}
			appendTo(m.b.t, m.where(), []byte(add))
			m.lines, m.torn = append(m.lines, line), ""
		},
		"archive": func(t *rapid.T) {
			if !m.here {
				t.Skip("no file")
			}
			from := m.where()
			m.archived = !m.archived
			m.must(errors.Join(os.MkdirAll(filepath.Dir(m.where()), 0o700), os.Rename(from, m.where())))
		},
		"compress": func(t *rapid.T) {
			m.plain(t)
			pack(m.b.t, m.where())
			m.packed = true
		},
		"decompress": func(t *rapid.T) {
			if !m.here || !m.packed || m.broken {
				t.Skip("no compressed file")
			}
			unpack(m.b.t, m.where(), func(string) {})
			m.packed = false
		},
		"break": func(t *rapid.T) {
			if !m.here || !m.packed || m.broken {
				t.Skip("no compressed file")
			}
			text, err := os.ReadFile(m.where())
			m.must(err)
			m.must(os.WriteFile(m.where(), text[:len(text)-3], 0o600))
			m.broken = true
		},
		"mend": func(t *rapid.T) {
			if !m.broken {
				t.Skip("nothing is broken")
			}
			m.must(os.WriteFile(m.where(), frame(m.b.t, []byte(content(m.lines)+m.torn)), 0o600))
			m.broken = false
		},
		"truncate": func(t *rapid.T) {
			m.plain(t)
			m.lines, m.torn = nil, ""
			m.put()
		},
		"rewrite": func(t *rapid.T) {
			m.plain(t)
			was := len(content(m.lines) + m.torn)
			keep := rapid.IntRange(0, len(m.lines)).Draw(t, "lines kept")
			m.lines = append(slices.Clone(m.lines[:keep]), m.draw(t)...)
			for m.torn = ""; len(content(m.lines)) == was; { // times are coarse: a size that differs is seen for sure
				m.lines = append(m.lines, m.say(t))
			}
			if rapid.Bool().Draw(t, "by a rename") {
				replace(m.b.t, m.where(), []byte(content(m.lines)))
				return
			}
			m.put()
		},
		"copytruncate": func(t *rapid.T) {
			m.plain(t)
			was := len(content(m.lines) + m.torn)
			m.lines, m.torn = []written{m.header()}, ""
			for len(content(m.lines)) <= was {
				m.lines = append(m.lines, m.draw(t)...)
			}
			m.put()
		},
		"delete": func(t *rapid.T) {
			if !m.here {
				t.Skip("no file")
			}
			m.must(os.Remove(m.where()))
			m.here, m.broken = false, false
		},
		"create": func(t *rapid.T) {
			if m.here {
				t.Skip("there is a file")
			}
			m.packed, m.torn = false, ""
			if len(m.lines) == 0 || rapid.Bool().Draw(t, "other content") {
				m.lines = append([]written{m.header()}, m.draw(t)...)
			}
			m.put()
		},
		"restart":    func(*rapid.T) { m.b.reopen(); m.check() },
		"look":       func(*rapid.T) { m.look() },
		"look again": func(*rapid.T) { m.look(); m.look() },
		"late event": func(t *rapid.T) {
			if len(m.stale) == 0 {
				t.Skip("nothing was seen yet")
			}
			f := rapid.SampledFrom(m.stale).Draw(t, "file")
			r, err := m.b.pipe.Ingest(m.b.t.Context(), f)
			if !m.here || f.Path != m.where() {
				if !errors.Is(err, fs.ErrNotExist) && (err != nil || r.Changed) && f != m.last {
					m.t.Fatalf("a file that isn't there: %+v, %v", r, err)
				}
				m.check()
				return
			}
			m.expect(f)
		},
	}
}

// look lists the home and takes in what the listing has, as the daemon does.
func (m *machine) look() {
	files, _, err := watch.List(m.b.t.Context(), m.home)
	m.must(err)
	files, others := watch.Resolve(files)
	if len(files) > 1 || len(others) > 0 || len(files) == 1 != m.here {
		m.t.Fatalf("listed %v and %v", files, others)
	}
	if len(files) == 0 {
		if cp, err := m.b.db.Rollout(m.b.t.Context(), m.id); err == nil && cp.State != store.FileGone {
			m.must(m.b.pipe.Gone(m.b.t.Context(), cp.File))
			m.state, m.last = store.FileGone, store.File{}
		}
		m.check()
		return
	}
	f := fileAt(m.b.t, m.home, files[0].Path)
	m.stale = append(m.stale, f)
	if _, err := m.b.pipe.Ingest(m.b.t.Context(), f); err != nil != m.broken && f != m.last {
		m.t.Fatalf("broken %v: %v", m.broken, err)
	}
	m.expect(f)
}

// expect moves the model: f was given to the pipeline while the file was there.
func (m *machine) expect(f store.File) {
	defer m.check()
	if f == m.last && m.state == store.FileOK {
		return // it looks as it did
	}
	m.known, m.path, m.last = true, f.Path, f
	if m.broken {
		m.state = store.FileUnreadable
		return
	}
	m.state = store.FileOK
	now, was := content(m.lines), content(m.taken)
	switch {
	case strings.HasPrefix(now+m.torn, was):
		m.taken, m.pending = slices.Clone(m.lines), len(m.torn)
	case len(m.lines) > 0:
		m.past = append(m.past, said(m.taken)...)
		m.taken, m.pending = slices.Clone(m.lines), len(m.torn)
		m.gens++
	}
}

func said(lines []written) (texts []string) {
	for _, l := range lines {
		if l.text != "" {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// check compares the cache with the model, to the letter.
func (m *machine) check() {
	t := m.t
	t.Helper()
	cp, err := m.b.db.Rollout(m.b.t.Context(), m.id)
	if errors.Is(err, store.ErrNotFound) && !m.known {
		return
	}
	m.must(err)
	off, pending := int64(len(content(m.taken))), int64(m.pending)
	if cp.Cursor.Offset != off || cp.Cursor.Line != int64(len(m.taken)) || cp.Pending != pending || cp.Generation != 1+m.gens || cp.State != m.state || cp.Path != m.path {
		t.Fatalf("cursor %d, line %d, %d pending, generation %d, %s, %s\nwant %d, line %d, %d pending, generation %d, %s, %s", cp.Cursor.Offset, cp.Cursor.Line,
			cp.Pending, cp.Generation, cp.State, cp.Path, off, len(m.taken), pending, 1+m.gens, m.state, m.path)
	}
	ms, err := m.b.db.Messages(m.b.t.Context(), m.id, 0, 0)
	m.must(err)
	var texts []string
	for i := range ms {
		texts = append(texts, ms[i].Text)
	}
	want := said(m.taken)
	if !slices.Equal(texts, want) {
		t.Fatalf("holds %.20q\nwant  %.20q", texts, want)
	}
	old, err := m.b.db.Rewritten(m.b.t.Context(), m.id)
	m.must(err)
	var gone, wantGone []string
	for i := range old {
		gone = append(gone, old[i].Text)
	}
	for _, text := range m.past {
		if !slices.Contains(want, text) && !slices.Contains(wantGone, text) {
			wantGone = append(wantGone, text)
		}
	}
	if !slices.Equal(gone, wantGone) {
		t.Fatalf("kept as rewritten %.20q\nwant %.20q", gone, wantGone)
	}
	th := m.b.thread(m.id)
	damaged := 0
	for _, l := range m.taken {
		if l.damaged {
			damaged++
		}
	}
	if th.Counts.DamagedLines != damaged || th.Counts.User+th.Counts.Assistant != len(want) || th.Gone != (m.state == store.FileGone) {
		t.Fatalf("%+v gone %v, want %d damaged and %d messages", th.Counts, th.Gone, damaged, len(want))
	}
}

// Whatever happens to a rollout, in whatever order, seen or not: the cache holds
// what the model says. More of it with -rapid.checks=5000.
func TestMachine(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue { // some seconds are enough each time
		if err := f.Value.Set("40"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(f.DefValue) }()
	}
	b := newBench(t)
	n := 0
	begun := time.Now()
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &machine{b: b, t: rt, id: fmt.Sprintf("019a0000-0000-7000-8000-%012x", 0xE00000+n), home: t.TempDir(), state: store.FileOK}
		m.lines = []written{m.header()}
		m.put()
		rt.Repeat(m.actions())
	})
	t.Logf("%d rollouts in %v", n, time.Since(begun))
}
