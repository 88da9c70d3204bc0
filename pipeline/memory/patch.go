package memory

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// change is what one patch does to one file.
type change struct {
	path           string
	op             byte // A, U, D
	movedTo        string
	added, removed int
}

const patchBegin = "*** Begin Patch"

// patchesIn finds the patches in a call's arguments: the free text of the
// patch tool, a JSON string in whatever field, a shell command with a here
// document, a string literal of a script.
func patchesIn(m *transcript.Message) []change {
	if !strings.Contains(m.Args, patchBegin) {
		return nil
	}
	text := m.Args
	if t := strings.TrimSpace(text); t != "" && (t[0] == '{' || t[0] == '[') {
		var v any
		if json.Unmarshal([]byte(t), &v) == nil {
			var found strings.Builder
			collect(v, &found)
			text = found.String()
		}
	}
	var all []change
	for {
		i := strings.Index(text, patchBegin)
		if i < 0 {
			return all
		}
		body := text[i+len(patchBegin):]
		// A literal of a script has its line ends escaped.
		if strings.HasPrefix(body, `\n`) {
			body = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(body)
		}
		rest := ""
		if end := strings.Index(body, "*** End Patch"); end >= 0 {
			body, rest = body[:end], body[end:]
		}
		all = append(all, changesOf(body)...)
		text = rest
	}
}

// collect writes all strings of a JSON value that hold a patch.
func collect(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, patchBegin) {
			b.WriteString(v + "\n")
		}
	case []any:
		for _, e := range v {
			collect(e, b)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			collect(v[k], b)
		}
	}
}

func changesOf(body string) []change {
	var all []change
	for _, l := range strings.Split(body, "\n") {
		l = strings.TrimSuffix(l, "\r")
		op, path := fileHead(l)
		if op != 0 {
			all = append(all, change{path: path, op: op})
			continue
		}
		if len(all) == 0 {
			continue
		}
		c := &all[len(all)-1]
		if p, ok := strings.CutPrefix(l, "*** Move to: "); ok {
			c.movedTo = strings.TrimSpace(p)
			continue
		}
		switch {
		case strings.HasPrefix(l, "+"):
			c.added++
		case strings.HasPrefix(l, "-"):
			c.removed++
		}
	}
	return all
}

// fileHead reads the line that begins a file's part; op is 0 for other lines.
func fileHead(l string) (op byte, path string) {
	for _, h := range [...]struct {
		prefix string
		op     byte
	}{{"*** Add File: ", 'A'}, {"*** Update File: ", 'U'}, {"*** Delete File: ", 'D'}} {
		if p, ok := strings.CutPrefix(l, h.prefix); ok {
			return h.op, strings.TrimSpace(p)
		}
	}
	return 0, ""
}

// patchOutcome tells how a patch ended.
type patchOutcome uint8

const (
	patchApplied patchOutcome = iota + 1
	patchFailed
	patchOpen // no result recorded
)

// outcomeOf judges a patch by its result. Success is never guessed from
// silence.
func outcomeOf(result *transcript.Message) patchOutcome {
	if result == nil {
		return patchOpen
	}
	if result.HasExit && result.ExitCode != 0 {
		return patchFailed
	}
	head := strings.ToLower(cutUnits(result.Text, 400))
	if strings.Contains(head, "success. updated the following files") {
		return patchApplied // what stands behind it is of another command
	}
	for _, w := range [...]string{"verification failed", "failed to", "failed in sandbox", "invalid patch", "invalid hunk", "execution error", "aborted by user", "rejected", "error:", "did not match", "timed out"} {
		if strings.Contains(head, w) {
			return patchFailed
		}
	}
	return patchApplied
}

// File is a file that the session changed.
type File struct {
	Path           string // relative to the working folder where it lies inside
	MovedTo        string
	Added, Removed int    // lines, of applied patches
	Patches        int    // applied
	Failed         int    // patches that failed after the last applied one: open work
	New, Deleted   bool   // as of the last applied patch
	Shell          string // what wrote it from the shell last; empty: nothing
	Turns          []int

	last       int  // number of the last change, for order
	afterPatch bool // Shell wrote after the last patch, failed ones included
}

// ledger gathers the changes of files.
type ledger struct {
	show  func(path string) string
	files map[string]*File
	n     int
}

// file returns the entry of a path, with the turn noted.
func (l *ledger) file(path string, turn int) *File {
	if l.files == nil {
		l.files = make(map[string]*File)
	}
	path = l.show(path)
	f := l.files[path]
	if f == nil {
		f = &File{Path: path}
		l.files[path] = f
	}
	l.n++
	f.last = l.n
	if len(f.Turns) == 0 || f.Turns[len(f.Turns)-1] != turn {
		f.Turns = append(f.Turns, turn)
	}
	return f
}

func (l *ledger) add(c change, outcome patchOutcome, turn int) {
	f := l.file(c.path, turn)
	f.afterPatch = false
	switch outcome {
	case patchApplied:
		f.Patches++
		f.Added += c.added
		f.Removed += c.removed
		f.Failed = 0
		f.New = c.op == 'A' || f.New && c.op == 'U'
		f.Deleted = c.op == 'D'
		if c.movedTo != "" {
			f.MovedTo = l.show(c.movedTo)
		}
	case patchFailed, patchOpen:
		f.Failed++
	}
}

func (l *ledger) shell(w written, turn int) {
	f := l.file(w.path, turn)
	f.Shell, f.afterPatch, f.Deleted = w.by, true, false
}

// list returns the files, most changed lines first.
func (l *ledger) list() []File {
	all := make([]File, 0, len(l.files))
	for _, f := range l.files {
		all = append(all, *f)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		if (a.Failed > 0) != (b.Failed > 0) {
			return a.Failed > 0
		}
		if x, y := a.Added+a.Removed, b.Added+b.Removed; x != y {
			return x > y
		}
		return a.last > b.last
	})
	return all
}

// newest returns the files in the order of their last change, newest first.
func newest(files []File) []File {
	all := slices.Clone(files)
	slices.SortStableFunc(all, func(a, b File) int { return b.last - a.last })
	return all
}

// relative takes the working folder off a path. A path beside it, not far up,
// gets dots; what lies elsewhere stays as it is.
func relative(p, cwd string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	cwd = strings.TrimRight(strings.ReplaceAll(cwd, `\`, "/"), "/")
	windows := len(cwd) > 1 && cwd[1] == ':'
	same := func(a, b string) bool { return a == b || windows && strings.EqualFold(a, b) }
	if cwd != "" && len(p) > len(cwd) && same(p[:len(cwd)], cwd) && p[len(cwd)] == '/' {
		return strings.TrimPrefix(p[len(cwd)+1:], "./")
	}
	if cwd == "" || !strings.HasPrefix(p, "/") && !(len(p) > 2 && p[1] == ':' && p[2] == '/') {
		return strings.TrimPrefix(p, "./")
	}
	to, from := strings.Split(p, "/"), strings.Split(cwd, "/")
	n := 0
	for n < len(from) && n < len(to)-1 && same(from[n], to[n]) {
		n++
	}
	if up := len(from) - n; n >= 3 && up <= 2 {
		return strings.Repeat("../", up) + strings.Join(to[n:], "/")
	}
	return p
}
