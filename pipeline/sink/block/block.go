// Package block keeps a few generated lines inside a file that somebody else
// owns: a managed block, or entries of a daily log. It is pure: bytes in, bytes
// out. All of it takes time in proportion to the file.
//
//	[1] scan reads the lines: front matter, title, fences, markers
//	[2] the markers make one block, none, or a file that is left alone
//	[3] the new file is composed from the bytes before and behind the block
//	[4] it is scanned again: unless exactly the block is found where it was
//	    put, and taking it out gives the old file, nothing is written
//	[5] a file that would be larger than its reader takes gets no block
//
// A marker is a line of its own, from the first column on, outside of code
// fences as CommonMark has them. One inside a fence or a line is text. A
// marker inside a fence that is never closed is neither: the file is left
// alone.
//
// A block goes below the byte order mark, the front matter and the title (a
// "# " heading among the first 20 lines) and stays where it is from then on,
// also where its owner moves it. One blank line comes with it: in front of it
// if there is none and a blank line or the end follows, else behind it. So the
// place itself tells which one goes when the block is taken out.
package block

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bound the whole file after the block is in it; 0 means no limit. A
// file that would be larger gets no block.
type Limits struct {
	Units int // UTF-16 units, a byte order mark included
	Bytes int
	Lines int // a line end at the end of the file begins no other line
}

// Outcome is what became of a call. Only with Written, and with NoRoom if a
// block had to go, do the bytes differ from those given.
type Outcome uint8

// The outcomes.
const (
	Unchanged Outcome = iota + 1 // the block is there as it should be
	Written
	Malformed // the file is left alone: what is ours in it can't be told
	NoRoom    // the file with the block would be over a limit
	Absent    // there is no block to remove
)

var outcomes = [...]string{Unchanged: "unchanged", Written: "written", Malformed: "malformed", NoRoom: "no room", Absent: "absent"}

// String gives a short name.
func (o Outcome) String() string {
	if int(o) < len(outcomes) && outcomes[o] != "" {
		return outcomes[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// Result is a file after a call: the bytes to write if they differ.
type Result struct {
	Data    []byte
	Outcome Outcome
	Why     string // of Malformed and NoRoom, for the user
}

// View is what there is of a block in a file.
type View struct {
	Has     bool
	Edited  bool   // somebody changed lines between the markers
	Body    string // lines between the markers, ended by LF, the last one not
	Hash    string // in the marker
	Problem string // why Set and Remove leave the file alone
}

// Look tells of the block in a file.
func Look(data []byte) View {
	_, b, why := read(data)
	if why != "" || b == nil {
		return View{Problem: why}
	}
	_, texts := insideOf(data[b.inner:b.innerEnd])
	return View{Has: true, Edited: hashOf(texts) != b.hash, Body: strings.Join(texts, "\n"), Hash: b.hash}
}

// Set puts a block with this body into the file, or renews the one that is
// there; data nil is a new file. The body is made safe: see HashOf for what it
// then is. An empty one takes the block out. A title is the "# " heading of a
// file that is empty.
//
// Lines that somebody wrote into the block move below it: exactly those if
// some were added and nothing else was changed in a block of usual size, else
// all that the new body doesn't have.
//
// Without room for the new block the one that is there stays, as long as the
// file as it is keeps the limits; else it is taken out. Both is NoRoom. No
// file is ever made larger than its limits.
func Set(data []byte, body, title string, lim Limits) Result {
	if body = clean(body); body == "" {
		r := Remove(data)
		if r.Outcome == Absent {
			r.Outcome = Unchanged
		}
		return r
	}
	f, b, why := read(data)
	if why != "" {
		return Result{data, Malformed, why}
	}
	out, ok := data, true
	if b == nil {
		out, ok = f.insert(body, title)
	} else {
		_, texts := insideOf(data[b.inner:b.innerEnd])
		if is := hashOf(texts); is != b.hash || is != hashClean(body) {
			out, ok = f.renew(b, body, is != b.hash)
		}
	}
	if !ok {
		return Result{data, Malformed, "a block would not be found again in this file, or lines behind it would become code"}
	}
	if over := lim.over(out); over != "" {
		r := Result{data, NoRoom, over}
		if b != nil && lim.over(data) != "" {
			r.Data = Remove(data).Data
		}
		return r
	}
	if bytes.Equal(out, data) {
		return Result{data, Unchanged, ""}
	}
	return Result{out, Written, ""}
}

// Remove takes the block out again, with the blank line that came with it.
// Lines that somebody wrote into it stay in its place, as Set tells them. A
// title that Set gave to an empty file stays: whoever made that file knows
// whether it is theirs to delete.
func Remove(data []byte) Result {
	f, b, why := read(data)
	switch {
	case why != "":
		return Result{data, Malformed, why}
	case b == nil:
		return Result{data, Absent, ""}
	}
	out := f.cut(b)
	if now, left, why := read(out); why != "" || left != nil || !now.endsLike(f) {
		return Result{data, Malformed, "without the block other lines would become code or a block"}
	}
	return Result{out, Written, ""}
}

// read is steps [1] and [2].
func read(data []byte) (*file, *span, string) {
	if why := Unfit(data); why != "" {
		return nil, nil, why
	}
	f := scan(data)
	b, why := f.block()
	return f, b, why
}

// endsLike tells whether what follows the end of both files would be read the
// same way: a change must not leave a fence or a comment open.
func (f *file) endsLike(o *file) bool {
	return (f.open == 0) == (o.open == 0) && f.html == o.html
}

// insert composes a file with a first block.
func (f *file) insert(body, title string) (out []byte, ok bool) {
	data, place := f.data, f.place
	if title = titleLine(title); title != "" && len(bytes.TrimPrefix(data, []byte(bom))) == 0 {
		data = append(bytes.Clone(data), title+"\n"...)
		place = len(data)
	}
	before, behind := data[:place], data[place:]
	eol := lineEnd(data)
	out = bytes.Clone(before)
	top := place == 0 || string(before) == bom
	ended := top || len(endOf(before)) > 0
	if !ended {
		out = append(out, eol...)
	}
	textEnd, _ := nextLine(behind, 0)
	// LF behind CR would make one line end of two.
	blankInFront := !top && isBlank(behind[:textEnd]) && !bytes.HasSuffix(before, []byte("\r"))
	if blankInFront {
		out = append(out, eol...)
	}
	start := len(out)
	out = appendBlock(out, body, eol, ended)
	end := len(out)
	if !blankInFront && len(behind) > 0 {
		out = append(out, eol...)
	}
	out = append(out, behind...)
	now, b, why := read(out)
	return out, why == "" && now.endsLike(f) && b != nil && b.start == start && b.end == end &&
		b.hash == hashClean(body) && bytes.Equal(now.cut(b), data)
}

// renew composes a file with the block in place of the one that is there.
func (f *file) renew(b *span, body string, edited bool) (out []byte, ok bool) {
	before, behind := f.data[:b.start], f.data[b.end:]
	eol := lineEnd(before, behind)
	if bytes.IndexByte(before, '\n') < 0 && bytes.IndexByte(behind, '\n') < 0 {
		eol = lineEnd(f.data) // nobody else's line ends
	}
	var moved []byte
	if edited {
		moved = theirs(f.data[b.inner:b.innerEnd], b.hash, body)
	}
	ended := len(endOf(f.data[:b.end])) > 0
	out = appendBlock(bytes.Clone(before), body, eol, ended || len(moved) > 0)
	end := len(out)
	if len(moved) > 0 {
		out = append(out, eol...)
		out = append(out, moved...)
		switch {
		case !ended:
			out = out[:len(out)-len(endOf(out))]
		case len(behind) > 0 && len(blankLine(behind)) == 0:
			out = append(out, eol...)
		}
	}
	out = append(out, behind...)
	now, is, why := read(out)
	return out, why == "" && now.endsLike(f) && is != nil && is.start == b.start && is.end == end && is.hash == hashClean(body)
}

// cut composes the file without its block.
func (f *file) cut(b *span) []byte {
	before, behind := f.data[:b.start], f.data[b.end:]
	top := len(before) == 0 || string(before) == bom
	ended := len(endOf(f.data[:b.end])) > 0
	_, texts := insideOf(f.data[b.inner:b.innerEnd])
	var kept []byte
	if hashOf(texts) != b.hash {
		kept = theirs(f.data[b.inner:b.innerEnd], b.hash, "")
	}
	if len(kept) > 0 {
		if !ended {
			kept = kept[:len(kept)-len(endOf(kept))]
		}
		return bytes.Join([][]byte{before, kept, behind}, nil)
	}
	if last := endOf(before); !top && len(last) > 0 && len(endOf(before[:len(before)-len(last)])) > 0 {
		before = before[:len(before)-len(last)]
	} else {
		behind = behind[len(blankLine(behind)):]
	}
	if !ended && !top {
		before = before[:len(before)-len(endOf(before))]
	}
	return append(bytes.Clone(before), behind...)
}

func appendBlock(out []byte, body, eol string, ended bool) []byte {
	out = append(out, beginMark(hashClean(body))+eol...)
	out = append(out, strings.ReplaceAll(body, "\n", eol)+eol...)
	out = append(out, endMark...)
	if ended {
		out = append(out, eol...)
	}
	return out
}

// titleLine makes a "# " heading of a title.
func titleLine(title string) string {
	title = strings.TrimSpace(strings.TrimLeft(oneLine(title), "# "))
	if title == "" {
		return ""
	}
	return "# " + title
}

// lineEnd returns what ends most lines of a file, given in parts; of as many of
// each what ends the first; LF if there are none.
func lineEnd(parts ...[]byte) string {
	crlf, lf, first := 0, 0, ""
	for _, p := range parts {
		n := bytes.Count(p, []byte("\r\n"))
		crlf, lf = crlf+n, lf+bytes.Count(p, []byte("\n"))-n
		if i := bytes.IndexByte(p, '\n'); first == "" && i >= 0 {
			first = "\n"
			if i > 0 && p[i-1] == '\r' {
				first = "\r\n"
			}
		}
	}
	if crlf > lf || crlf == lf && first == "\r\n" {
		return "\r\n"
	}
	return "\n"
}

// endOf returns the line end that the bytes end with, empty if none.
func endOf(data []byte) []byte {
	for _, eol := range []string{"\r\n", "\n", "\r"} {
		if bytes.HasSuffix(data, []byte(eol)) {
			return data[len(data)-len(eol):]
		}
	}
	return nil
}

// blankLine returns the empty line that the bytes begin with, if they do.
func blankLine(data []byte) []byte {
	textEnd, end := nextLine(data, 0)
	if textEnd > 0 {
		return nil
	}
	return data[:end]
}

// over tells which limit a file is over, "" if none.
func (l Limits) over(data []byte) string {
	for _, c := range []struct {
		limit int
		count func([]byte) int
		what  string
	}{{l.Units, units, "UTF-16 units"}, {l.Bytes, func(d []byte) int { return len(d) }, "bytes"}, {l.Lines, countLines, "lines"}} {
		if c.limit <= 0 {
			continue
		}
		if n := c.count(data); n > c.limit {
			return fmt.Sprintf("the file would have %d %s, its limit is %d", n, c.what, c.limit)
		}
	}
	return ""
}

func units(data []byte) int {
	n := 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		n++
		if r > 0xffff {
			n++
		}
		data = data[size:]
	}
	return n
}

func countLines(data []byte) int {
	n := 0
	for pos := 0; pos < len(data); n++ {
		_, pos = nextLine(data, pos)
	}
	return n
}
