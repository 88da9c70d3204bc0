package sink

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// A block that somebody took out comes back with a new session, and at most so
// often in that time.
const (
	maxMissing  = 2
	missingTime = 7 * 24 * time.Hour
)

// blockFile keeps a block in a file of others, which is made if it isn't there.
type blockFile struct {
	name   string
	limits block.Limits // of the whole file
	units  int          // most of the block, with its markers
	bytes  int          // the same in bytes; 0: no limit
	row    rowStyle
	// link gives the paths of documents, and the list of all; nil: they lie
	// elsewhere.
	link func(at place) (link func(Session) string, more string)
	// title gives the heading of a new file; nil: none.
	title func(w *words, project string) string
	// warn is the path below the place's root that git shouldn't take in.
	warn func(at place) string
}

func (k blockFile) main() string { return k.name }

func (k blockFile) keeps(name string) bool { return name == k.name }

func (k blockFile) share(ctx context.Context, j *job, last []SharedFile) []SharedFile {
	f, known := j.file(k.name, last)
	if len(j.sessions) == 0 && !known {
		return nil
	}
	was := f
	j.update(ctx, &f, j.rel(k.name), func(snap snapshot) edit {
		missing, out := f.Missing, f.Out
		f.Missing, f.Out, f.Hash = was.Missing, was.Out, was.Hash
		if j.look {
			defer func() { f.Missing, f.Out = missing, out }()
		}
		return k.compose(j, &f, snap)
	})
	if f.Written.IsZero() && f.Problem == "" && f.Again.IsZero() && !j.look {
		return nil // nothing was there to say
	}
	return []SharedFile{f}
}

func (k blockFile) compose(j *job, f *SharedFile, snap snapshot) edit {
	view := block.Look(snap.data)
	if view.Problem != "" {
		return edit{problem: "left alone: " + view.Problem}
	}
	if len(j.sessions) == 0 {
		return k.without(snap)
	}
	if !view.Has {
		if why, again, stop := k.missing(j, f, snap); stop {
			return edit{problem: why, again: again}
		}
	}
	d := digest{sessions: j.sessions, words: wordsOf(j.sessions), zone: j.sink.env.Zone, workspace: j.workspace, row: k.row}
	if k.link != nil {
		d.link, d.more = k.link(j.place)
		if !slices.ContainsFunc(j.sessions, func(s Session) bool { return d.link(s) != "" }) {
			d.more = "" // no document here, no list
		}
	}
	title := ""
	if k.title != nil {
		title = k.title(d.words, line(baseName(j.workspace), "", maxLineTitle))
	}
	var r block.Result
	fits := func(text string) bool {
		if units(text)+markerUnits > k.units || k.bytes > 0 && len(text)+markerUnits > k.bytes {
			return false
		}
		r = block.Set(snap.data, text, title, k.limits)
		return r.Outcome != block.NoRoom
	}
	text, threads, ok := d.body(0, fits)
	switch {
	case !ok:
		return edit{data: r.Data, problem: "no room: " + r.Why, done: func(f *SharedFile) {
			if !block.Look(r.Data).Has {
				f.Hash, f.Threads = "", nil
			}
		}}
	case r.Outcome == block.Malformed:
		return edit{problem: "left alone: " + r.Why}
	}
	first := f.Written.IsZero()
	return edit{data: r.Data, soon: left(*f, j.sessions), done: func(f *SharedFile) {
		if first {
			warn := j.rel(k.name)
			if k.warn != nil {
				warn = k.warn(j.place)
			}
			j.warn(f, true, warn)
			f.Written = j.now // also if it was there already, and its record lost
		}
		f.Hash, f.Threads, f.Out = block.HashOf(text), threads, false
		if n := len(f.Missing); n > 0 && j.sink.choice.At.After(f.Missing[n-1]) {
			f.Missing = nil // the user wants it: counted anew
		}
	}}
}

// without takes the block out: there is no session left to tell of.
func (k blockFile) without(snap snapshot) edit {
	r := block.Remove(snap.data)
	if r.Outcome == block.Malformed {
		return edit{problem: "left alone: " + r.Why}
	}
	if r.Outcome == block.Written {
		return edit{data: r.Data, soon: true, done: func(f *SharedFile) { f.Hash, f.Threads = "", nil }}
	}
	return edit{}
}

// left tells whether a session that the block speaks of isn't of this place any
// more. Of as many as there can be, a new one may have taken its place.
func left(f SharedFile, sessions []Session) bool {
	return len(sessions) < maxSessions && slices.ContainsFunc(f.Threads, func(id string) bool {
		return !slices.ContainsFunc(sessions, func(s Session) bool { return s.ThreadID == id })
	})
}

// missing decides about a block that was written and isn't there any more:
// stop tells that it stays out.
func (k blockFile) missing(j *job, f *SharedFile, snap snapshot) (why string, again time.Time, stop bool) {
	if f.Hash == "" && !f.Out {
		return "", again, false // never written, or taken out by us
	}
	waiting := len(f.Missing) > 0 && f.Missing[len(f.Missing)-1].After(f.Written)
	if !waiting {
		if again := snap.young(j.now); !again.IsZero() {
			return "", again, true // somebody may be writing it just now
		}
		f.Missing = append(recent(f.Missing, j.now), j.now)
		f.Out = len(f.Missing) > maxMissing
	}
	last := f.Missing[len(f.Missing)-1]
	if j.sink.choice.At.After(last) {
		return "", again, false
	}
	if f.Out {
		return fmt.Sprintf("our lines were taken out %d times in 7 days and stay out; to put them back: session-migrator sink enable %s", len(f.Missing), j.sink.name), again, true
	}
	if !newSession(j.sessions, *f) {
		return fmt.Sprintf("our lines were taken out; they come back with the next new session, or with: session-migrator sink enable %s", j.sink.name), again, true
	}
	return "", again, false
}

func recent(times []time.Time, now time.Time) []time.Time {
	var out []time.Time
	for _, t := range times {
		if now.Sub(t) <= missingTime {
			out = append(out, t)
		}
	}
	return out
}

// newSession tells whether there is a session that our part didn't tell of when
// it was taken out.
func newSession(sessions []Session, f SharedFile) bool {
	told := map[string]bool{}
	for _, id := range f.Threads {
		told[id] = true
	}
	for _, s := range sessions[:min(maxSessions, len(sessions))] {
		if !told[s.ThreadID] && s.Updated.After(f.Written) {
			return true
		}
	}
	return false
}

// unshare takes the block out. A file that was made for it goes, and one that
// was empty becomes empty again: its title is ours too.
func (k blockFile) unshare(at spot, snap snapshot, f SharedFile) error {
	view := block.Look(snap.data)
	rest := snap.data
	switch {
	case view.Problem != "":
		return fmt.Errorf("%w: %s", ErrEdited, view.Problem) // somebody did that to what we wrote
	case view.Edited:
		return ErrEdited
	case view.Has:
		r := block.Remove(snap.data)
		if r.Outcome == block.Malformed {
			return fmt.Errorf("%w: %s", ErrEdited, r.Why)
		}
		rest = r.Data
	case f.Hash != "":
		return nil // somebody took it out, and the rest is theirs
	}
	switch was, empty := emptyBefore(f); {
	case f.Ours && madeByUs(rest):
		return at.remove(snap)
	case empty && madeByUs(bytes.TrimPrefix(rest, []byte(byteOrderMark))):
		rest = was
	}
	if bytes.Equal(rest, snap.data) {
		return nil
	}
	return at.replace(snap, rest)
}

const byteOrderMark = "\ufeff"

// emptyBefore gives a file of others as it was before we first touched it, if
// there was nothing in it but a byte order mark at most.
func emptyBefore(f SharedFile) (was []byte, empty bool) {
	if f.Ours || f.Backup == "" {
		return nil, false
	}
	if info, err := os.Stat(f.Backup); err != nil || !info.Mode().IsRegular() || info.Size() > int64(len(byteOrderMark)) {
		return nil, false
	}
	was, err := os.ReadFile(f.Backup)
	return was, err == nil && len(bytes.TrimPrefix(was, []byte(byteOrderMark))) == 0
}

// madeByUs tells whether nothing is left of a file but what we begin one with.
func madeByUs(data []byte) bool {
	heading := data
	if len(heading) > 1 && heading[0] == '#' && heading[1] == ' ' {
		for i, c := range heading {
			if c == '\n' {
				heading = heading[i+1:]
				break
			}
		}
	}
	return len(heading) == 0
}

// docsIn links to documents in a folder below the place's, from the place's
// root.
func docsIn(sub string) func(place) (func(Session) string, string) {
	return func(at place) (func(Session) string, string) {
		return linkBelow(at.root, "."), path.Join(at.dir, sub, indexName)
	}
}

// docsBeside links to documents beside the file.
func docsBeside(at place) (func(Session) string, string) { return linkBelow(at.root, at.dir), "" }
