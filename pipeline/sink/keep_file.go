package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ownFile keeps a file for a workspace that is ours as a whole. It proves
// itself by its last line: one that somebody changed, or else's, stays.
type ownFile struct {
	name  string
	front string // before everything
	units int    // most of the file, UTF-16 units
	lines int    // most of the file; 0: no limit
	// document says that the newest session's document follows the list.
	document bool
}

func (k ownFile) main() string { return k.name }

func (k ownFile) keeps(name string) bool { return name == k.name }

func (k ownFile) share(ctx context.Context, j *job, last []SharedFile) []SharedFile {
	f, known := j.file(k.name, last)
	if len(j.sessions) == 0 && !known {
		return nil
	}
	j.update(ctx, &f, j.rel(k.name), func(snap snapshot) edit { return k.compose(j, f, snap) })
	if len(j.sessions) == 0 && (f.Problem == "" || f.Written.IsZero()) && !j.look {
		return nil // it is gone, or never was ours
	}
	return []SharedFile{f}
}

func (k ownFile) compose(j *job, f SharedFile, snap snapshot) edit {
	if snap.found && !provesItself(snap.data) {
		if f.Hash == "" {
			return edit{problem: "left alone: a file that isn't ours is there; it is written once that one is moved away"}
		}
		return edit{problem: "left alone: it was edited and is yours now; it is written again once it is moved away"}
	}
	if len(j.sessions) == 0 {
		return edit{drop: true, own: true}
	}
	text, err := k.render(j)
	if err != nil {
		return edit{problem: "not written: " + err.Error(), again: j.now.Add(paceShared)}
	}
	first := f.Written.IsZero()
	done := func(f *SharedFile) {
		j.warn(f, first, j.rel(k.name))
		if first {
			f.Written = j.now
		}
		f.Ours, f.Hash, f.Threads = true, hashOf(text), threadsOf(j.sessions)
	}
	if bytes.Equal(unixEnds(snap.data), text) {
		return edit{own: true, done: done} // git may have given it other line ends
	}
	return edit{data: text, own: true, done: done}
}

// render makes the file: the list of sessions, and as much of the newest one's
// document as there is room for.
func (k ownFile) render(j *job) ([]byte, error) {
	w := wordsOf(j.sessions)
	d := digest{sessions: j.sessions, words: w, zone: j.sink.env.Zone, workspace: j.workspace, row: rowID}
	fits := func(text string) bool {
		return k.units == 0 || units(text) <= k.units
	}
	list, _, ok := d.body(0, func(text string) bool { return fits(string(k.seal(j, text, nil))) })
	if !ok {
		return nil, errors.New("there is no room for a single session")
	}
	var errs []error
	if k.document && j.sessions[0].Document != nil {
		for _, room := range []int{k.units - units(string(k.seal(j, list, nil))) - 1, 5000, 2500, 1200, 600} {
			if room < 600 || room > k.units {
				continue
			}
			doc, err := j.sessions[0].Document(room, true)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if text := k.seal(j, list, doc); fits(string(text)) && (k.lines == 0 || bytes.Count(text, []byte("\n")) <= k.lines) {
				return text, nil
			}
		}
	}
	text := k.seal(j, list, nil)
	if k.lines > 0 && bytes.Count(text, []byte("\n")) > k.lines {
		return nil, fmt.Errorf("it would have more than %d lines", k.lines)
	}
	return text, errors.Join(errs...)
}

// seal puts the parts together and the proof below.
func (k ownFile) seal(j *job, list string, document []byte) []byte {
	var b strings.Builder
	b.WriteString(k.front)
	b.WriteString("# Codex: " + line(baseName(j.workspace), "", maxLineTitle) + "\n\n")
	b.WriteString(generated + "; rewritten on every change. Once you edit it, it is yours.\n\n")
	b.WriteString(strings.TrimRight(list, "\n") + "\n\n")
	if doc := bytes.Trim(unixEnds(document), "\n"); len(doc) > 0 {
		b.Write(doc)
		b.WriteString("\n\n")
	}
	return append([]byte(b.String()), proofOf([]byte(b.String()))...)
}

const (
	proofStart = "<!-- session-migrator:file v=1 hash="
	proofEnd   = " -->\n"
)

// proofOf is the last line of a file that is ours as a whole: the hash of what
// stands above.
func proofOf(data []byte) string {
	sum := sha256.Sum256(data)
	return proofStart + hex.EncodeToString(sum[:8]) + proofEnd
}

// provesItself tells whether a file is one of ours and untouched.
func provesItself(data []byte) bool {
	data = unixEnds(data)
	i := bytes.LastIndex(data, []byte(proofStart))
	return i > 0 && string(data[i:]) == proofOf(data[:i])
}

func unixEnds(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

func threadsOf(sessions []Session) []string {
	var out []string
	for _, s := range sessions[:min(maxSessions, len(sessions))] {
		out = append(out, s.ThreadID)
	}
	return out
}

func (k ownFile) unshare(at spot, snap snapshot, _ SharedFile) error {
	if !provesItself(snap.data) {
		return ErrEdited
	}
	return at.remove(snap)
}
