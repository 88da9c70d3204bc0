// Package edit changes one key in a settings file of somebody else and keeps
// every other byte: comments, order, indentation, line ends, a byte order mark,
// the final newline or that there is none. It is pure.
//
// The way of an edit:
//
//	[1] the text is read to its end: what can't be read is never changed
//	[2] the place of the key is looked for, and whether what holds it is a table
//	[3] the value is written in the style of what stands around it, and spliced in
//	[4] the result is read again by another parser, and compared with what was
//	    there before: only the key may differ, else nothing is given
//
// Set twice gives the bytes of Set once. Remove after Set gives the bytes from
// before Set, except where Set had to make a table or a file, or fill an empty
// one: who needs those bytes back keeps a copy of them.
package edit

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the language of a file.
type Format uint8

// The formats.
const (
	JSON  Format = iota + 1 // as the standard has it
	JSONC                   // with comments and trailing commas, where they are there already
	TOML
)

// String gives the format's name.
func (f Format) String() string { return [...]string{"", "JSON", "JSONC", "TOML"}[f] }

// File is a file to be changed. Its name is only for errors.
type File struct {
	Name   string
	Format Format
}

// Object is a table with its members in order. Values of members and of Set are
// string, bool, int, []string or Object.
type Object []Member

// Member is one key of an Object.
type Member struct {
	Key   string
	Value any
}

// Kind is what is wrong with a file.
type Kind uint8

// The kinds.
const (
	Malformed Kind = iota + 1 // it can't be read
	Duplicate                 // the key, or what holds it, is there twice
	WrongType                 // what should hold the key is no table
	Encoding                  // it is no UTF-8
	Unsafe                    // the change would have changed more than the key
)

// String gives the kind's name.
func (k Kind) String() string {
	return [...]string{"", "malformed", "duplicate", "wrong type", "encoding", "unsafe"}[k]
}

// Error says where in a file something keeps it from being changed, and what the
// user can do. The file is as it was.
type Error struct {
	File         string
	Line, Column int // from 1; columns count characters
	Kind         Kind
	Problem      string
	Next         string // the next step
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

const mendIt = "mend it there, or take it out; then try again"

var bom = []byte("\xef\xbb\xbf")

// language is what the formats differ in. Texts have no byte order mark.
type language interface {
	// tree gives the whole text as maps, lists and plain values.
	tree(text []byte) (map[string]any, error)
	set(text []byte, path []string, v any) ([]byte, error)
	remove(text []byte, path []string) ([]byte, error)
}

func (f File) language() language {
	if f.Format == TOML {
		return tomlText{}
	}
	return jsonText{lax: f.Format == JSONC}
}

// Set gives the content with path set to v. Content that has it already is given
// back as it is; tables on the way that are missing are made.
func (f File) Set(content []byte, path []string, v any) ([]byte, error) {
	return f.change(content, path, v, func(l language, text []byte) ([]byte, error) { return l.set(text, path, v) })
}

// Remove gives the content without path; content that doesn't have it as it is.
// Tables that held it stay, if empty.
func (f File) Remove(content []byte, path []string) ([]byte, error) {
	return f.change(content, path, nil, func(l language, text []byte) ([]byte, error) { return l.remove(text, path) })
}

// Get gives the value at path: maps, slices of any, strings, booleans and
// numbers; nil if there is none.
func (f File) Get(content []byte, path []string) (any, error) {
	all, err := f.Tree(content, path)
	v, _ := lookUp(all, path)
	return v, err
}

// Tree gives all that is in the file, of which path could be changed.
func (f File) Tree(content []byte, path []string) (map[string]any, error) {
	text, _, err := f.text(content)
	if err != nil {
		return nil, err
	}
	l := f.language()
	if err := f.placed(text, check(l, text, path)); err != nil {
		return nil, err
	}
	all, err := l.tree(text)
	return all, f.placed(text, err)
}

// check finds what would keep path from being changed, without changing it.
func check(l language, text []byte, path []string) error {
	_, err := l.remove(text, path)
	return err
}

func (f File) change(content []byte, path []string, v any, edit func(language, []byte) ([]byte, error)) ([]byte, error) {
	if len(path) == 0 {
		panic("bug: no key to change")
	}
	text, mark, err := f.text(content)
	if err != nil {
		return nil, err
	}
	l := f.language()
	if err := f.placed(text, check(l, text, path)); err != nil { // [1] [2]
		return nil, err
	}
	before, err := l.tree(text)
	if err != nil {
		return nil, f.placed(text, err)
	}
	old, is := lookUp(before, path)
	if !is && v == nil || is && v != nil && same(old, plain(v)) {
		return content, nil
	}
	out, err := edit(l, text) // [3]
	if err != nil {
		return nil, f.placed(text, err)
	}
	after, err := l.tree(out) // [4]
	if err == nil {
		err = check(l, out, path)
	}
	want := with(before, path, plain(v))
	if v == nil { // a table in TOML may be there by what is in it alone
		want, after = pruned(want, path[:len(path)-1]), pruned(after, path[:len(path)-1])
	}
	if err != nil || !same(after, want) {
		return nil, f.placed(text, &fault{kind: Unsafe, problem: "changing " + strings.Join(path, ".") + " here would change something else, too",
			next: "change it by hand, and tell us how this file looks"})
	}
	return slices.Concat(mark, out), nil
}

// text takes a byte order mark off, and refuses what is no UTF-8.
func (f File) text(content []byte) (text, mark []byte, err error) {
	if text, is := bytes.CutPrefix(content, bom); is {
		content, mark = text, bom
	}
	utf16 := bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff"))
	if utf16 || !utf8.Valid(content) {
		at := 0
		for at < len(content) && !utf16 {
			r, n := utf8.DecodeRune(content[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		what := "bytes that are no UTF-8"
		if utf16 {
			what = "the file is UTF-16, which is not read"
		}
		return nil, nil, f.placed(content, &fault{at: at, kind: Encoding, problem: what, next: "save it as UTF-8; then try again"})
	}
	return content, mark, nil
}

// fault is an Error before its place is known in lines.
type fault struct {
	at            int // byte
	kind          Kind
	problem, next string
}

func (e *fault) Error() string { return e.problem }

// placed turns a fault into an Error.
func (f File) placed(text []byte, err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*fault) //nolint:errorlint // made here, never wrapped
	if !ok {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	at := min(max(e.at, 0), len(text)) // a library may be off by one
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	next := e.next
	if next == "" {
		next = mendIt
	}
	return &Error{File: f.Name, Line: 1 + bytes.Count(text[:at], []byte("\n")), Column: 1 + utf8.RuneCount(text[begin:at]), Kind: e.kind, Problem: e.problem, Next: next}
}

// newline is what ends the lines of a text.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// plain turns a value for Set into what a parser would give for it.
func plain(v any) any {
	switch v := v.(type) {
	case Object:
		out := map[string]any{}
		for _, m := range v {
			out[m.Key] = plain(m.Value)
		}
		return out
	case []string:
		out := []any{}
		for _, s := range v {
			out = append(out, s)
		}
		return out
	}
	return v
}

// same compares two parsed values, whatever whole numbers they are made of.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case []map[string]any: // how tables in arrays are parsed
		b, ok := b.([]map[string]any)
		return ok && slices.EqualFunc(a, b, func(x, y map[string]any) bool { return same(x, y) })
	case float64: // what is no number equals itself here
		b, ok := b.(float64)
		return ok && (a == b || a != a && b != b)
	}
	return reflect.DeepEqual(a, b) || isInt(a) && isInt(b) && fmt.Sprint(a) == fmt.Sprint(b)
}

func isInt(v any) bool {
	switch v.(type) {
	case int, int64, fmt.Stringer:
		return true
	}
	return false
}

func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// with gives a tree with one value changed; v == nil takes it out.
func with(tree map[string]any, path []string, v any) map[string]any {
	out := map[string]any{}
	for k, w := range tree {
		out[k] = w
	}
	key := path[0]
	switch {
	case len(path) == 1 && v == nil:
		delete(out, key)
	case len(path) == 1:
		out[key] = v
	default:
		below, _ := tree[key].(map[string]any)
		if below != nil || v != nil {
			out[key] = with(below, path[1:], v)
		}
	}
	return out
}

// pruned gives a tree without the tables on a path that are empty.
func pruned(tree map[string]any, path []string) map[string]any {
	for n := len(path); n > 0; n-- {
		if v, is := lookUp(tree, path[:n]); is {
			if m, ok := v.(map[string]any); ok && len(m) == 0 {
				tree = with(tree, path[:n], nil)
			}
		}
	}
	return tree
}
