package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/install/edit"
	"github.com/session-migrator/session-migrator/install/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a throw-away home without any program in its PATH.
type machine struct {
	t    *testing.T
	m    Machine
	vars map[string]string
	data string
	con  *Connector
}

// quiet is a Runner that nothing is asked of.
type quiet struct{ t *testing.T }

func (q quiet) Run(_ context.Context, argv []string) (string, error) {
	q.t.Errorf("%q was run", argv)
	return "", errors.New("nothing is to be run")
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	home := t.TempDir()
	w := &machine{t: t, vars: map[string]string{}, data: filepath.Join(home, "data")}
	w.m = Machine{OS: runtime.GOOS, Home: home, Env: func(k string) string { return w.vars[k] }}
	if runtime.GOOS == "windows" {
		w.vars["APPDATA"] = filepath.Join(home, "AppData", "Roaming")
	}
	w.use(Server{Command: filepath.Join(home, "bin", Key), Args: []string{"mcp"}}, quiet{t})
	return w
}

func (w *machine) use(s Server, run plan.Runner) { w.con = New(w.m, s, w.data, run) }

// place is the file of a client, with the ending that a test's file has.
func (w *machine) place(name, ext string) string {
	cl, err := find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range cl.places(w.m)[0].names {
		if filepath.Ext(p) == ext {
			return p
		}
	}
	return cl.places(w.m)[0].names[0]
}

func (w *machine) write(path string, text []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o640); err != nil {
		w.t.Fatal(err)
	}
}

func (w *machine) read(path string) []byte {
	w.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *machine) connect(name string, o Options) Result {
	w.t.Helper()
	res, err := w.con.Connect(w.t.Context(), name, o)
	if err != nil {
		w.t.Fatalf("connect %s: %v", name, err)
	}
	return res
}

func (w *machine) disconnect(name string) Result {
	w.t.Helper()
	res, err := w.con.Disconnect(w.t.Context(), name)
	if err != nil {
		w.t.Fatalf("disconnect %s: %v", name, err)
	}
	return res
}

func (w *machine) look(name string) Status {
	w.t.Helper()
	all, err := w.con.Look(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return all[0]
}

// parsed reads a file by parsers that the code under test doesn't write with.
func parsed(t *testing.T, path string, text []byte) map[string]any {
	t.Helper()
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	out := map[string]any{}
	if filepath.Ext(path) == ".toml" {
		if err := toml.Unmarshal(bytes.ReplaceAll(text, []byte("nan"), []byte("inf")), &out); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
		return out
	}
	text = bare(text)
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
	}
	return out
}

// bare takes comments, white space and trailing commas out of JSON.
func bare(text []byte) (out []byte) {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case text[i] == '"':
			n := 1
			for rest[n] != '"' {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			out, i = append(out, rest[:n+1]...), i+n
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			i += len(line)
		case bytes.HasPrefix(rest, []byte("/*")):
			note, _, _ := bytes.Cut(rest[2:], []byte("*/"))
			i += 2 + len(note) + 1
		case strings.ContainsRune(" \t\r\n", rune(text[i])):
		default:
			if text[i] == '}' || text[i] == ']' {
				out = bytes.TrimSuffix(out, []byte(","))
			}
			out = append(out, text[i])
		}
	}
	return out
}

// without takes our entry out of what was parsed, and tables that are empty then.
func without(all map[string]any, at []string) map[string]any {
	if m, ok := all[at[0]].(map[string]any); ok {
		if len(at) > 1 {
			without(m, at[1:])
		}
		if len(m) == 0 || len(at) == 1 {
			delete(all, at[0])
		}
	}
	return all
}

func TestRealFilesKeepEveryOtherByte(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "files", "*"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, from := range files {
		t.Run(filepath.Base(from), func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(filepath.Base(from), "--")
			cl, err := find(name)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			w := newMachine(t)
			path := w.place(name, filepath.Ext(from))
			w.write(path, text)
			_, had := parsed(t, from, text)[cl.table[0]]
			before := without(parsed(t, from, text), cl.at())

			w.connect(name, Options{})
			now := w.read(path)
			if st := w.look(name); st.State != Connected || st.File != path {
				t.Fatalf("%+v\n%s", st, now)
			}
			if after := without(parsed(t, from, now), cl.at()); !reflect.DeepEqual(after, before) {
				t.Errorf("other keys changed:\n%s", now)
			}
			if copies, _ := filepath.Glob(filepath.Join(w.data, "backups", "clients", name+"-*", filepath.Base(path))); len(copies) != 1 || !bytes.Equal(w.read(copies[0]), text) {
				t.Errorf("the copies are %q", copies)
			}
			if res := w.connect(name, Options{}); len(res.Steps) > 0 || !bytes.Equal(w.read(path), now) {
				t.Errorf("a second time: %+v", res)
			}
			if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o640) {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}

			w.disconnect(name)
			if got := w.read(path); !bytes.Equal(got, text) {
				t.Errorf("disconnected it is\n%q\nand was\n%q", got, text)
			}
			if left, _ := filepath.Glob(filepath.Join(w.data, "*", "*", "*")); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}

			// Another program changes another key meanwhile: only ours goes.
			w.connect(name, Options{})
			changed, err := edit.File{Name: path, Format: cl.format}.Set(w.read(path), []string{"theirs"}, edit.Object{{Key: "a", Value: 1}})
			if err != nil {
				t.Fatal(err)
			}
			w.write(path, changed)
			w.disconnect(name)
			after := parsed(t, from, w.read(path))
			if after["theirs"] == nil {
				t.Errorf("the key of the others is gone:\n%s", w.read(path))
			}
			delete(after, "theirs")
			if _, has := after[cl.table[0]]; has && !had {
				t.Errorf("a table that we made is left:\n%s", w.read(path))
			}
			if !reflect.DeepEqual(without(after, cl.at()), before) || w.look(name).State != Absent {
				t.Errorf("other keys changed:\n%s", w.read(path))
			}
		})
	}
}

func TestWhatIsBrokenStaysAsItIs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "refused", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, from := range files {
		t.Run(filepath.Base(from), func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(filepath.Base(from), "--")
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			w := newMachine(t)
			path := w.place(name, filepath.Ext(from))
			w.write(path, text)
			_, err = w.con.Connect(t.Context(), name, Options{Force: true})
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Next == "" || !strings.Contains(err.Error(), path+":") {
				t.Errorf("%v", err)
			}
			if _, err := w.con.Disconnect(t.Context(), name); err == nil {
				t.Error("it could be disconnected")
			}
			if !bytes.Equal(w.read(path), text) {
				t.Error("it was changed")
			}
			if _, err := os.Stat(w.data); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the data folder: %v", err)
			}
			faults, _, _ := w.con.Check()
			if len(faults) != 1 || !faults[0].Broken || faults[0].Fix == "" {
				t.Errorf("%+v", faults)
			}
		})
	}
}

func TestAnEntryThatIsThere(t *testing.T) {
	const old = `{"mcpServers": {"session-migrator": {"command": "/old/session-migrator", "args": ["mcp", "--home", "/x", "--workspace", "/w"], "env": {"A": "1"}, "disabled": true}}}`
	w := newMachine(t)
	path := w.place("cursor", ".json")
	w.write(path, []byte(old))
	if st := w.look("cursor"); st.State != Stale || st.Off == "" {
		t.Errorf("%+v", st)
	}
	res := w.connect("cursor", Options{})
	quoted, _ := json.Marshal(w.con.server.Command)
	want := strings.Replace(strings.Replace(old, `"/old/session-migrator"`, string(quoted), 1), `"--home", "/x", `, "", 1)
	if got := string(w.read(path)); got != want {
		t.Errorf("renewed it is\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(strings.Join(res.Notes, "\n"), "switched off, and stays so") {
		t.Errorf("%q", res.Notes)
	}
	w.disconnect("cursor") // not to the old entry: it is ours, too
	if got := string(w.read(path)); got != `{"mcpServers": {}}` {
		t.Errorf("disconnected it is %s", got)
	}

	const foreign = `{"mcpServers": {"session-migrator": {"command": "npx", "args": ["--token", "hush"]}}}`
	w.write(path, []byte(foreign))
	_, err := w.con.Connect(t.Context(), "cursor", Options{})
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "program: npx, in") || string(w.read(path)) != foreign {
		t.Errorf("%v, %s", err, w.read(path))
	}
	if st := w.look("cursor"); !slices.Equal(st.Command, []string{"npx"}) {
		t.Errorf("arguments of another program may be keys: %q", st.Command)
	}
	if res := w.disconnect("cursor"); len(res.Steps) > 0 || !strings.Contains(strings.Join(res.Notes, ""), "stays as it is") || string(w.read(path)) != foreign {
		t.Errorf("%+v, %s", res, w.read(path))
	}
	w.connect("cursor", Options{Force: true})
	if w.look("cursor").State != Connected {
		t.Errorf("%s", w.read(path))
	}
	w.disconnect("cursor")
	if string(w.read(path)) != foreign {
		t.Errorf("%s", w.read(path))
	}

	w.write(path, []byte(`{"mcpServers": {"mine": {"command": "C:\\bin\\Session-Migrator.EXE", "args": ["mcp"]}}}`))
	if _, err := w.con.Connect(t.Context(), "cursor", Options{}); !errors.Is(err, ErrDouble) || !strings.Contains(err.Error(), "mcpServers.mine") {
		t.Errorf("%v", err)
	}
}

// A program that was called otherwise when it connected knows its entries.
func TestAnEntryOfAnOlderName(t *testing.T) {
	w := newMachine(t)
	path := w.place("cursor", ".json")
	w.write(path, []byte(`{"mcpServers": {}}`))
	ours := w.con.server.Command
	w.con.server.Command = filepath.Join(filepath.Dir(ours), "sm2")
	w.connect("cursor", Options{})
	w.con.server.Command = ours
	if st := w.look("cursor"); st.State != Stale || len(st.Command) != 2 {
		t.Errorf("%+v", st)
	}
	w.connect("cursor", Options{})
	if st := w.look("cursor"); st.State != Connected {
		t.Errorf("%+v", st)
	}
	w.disconnect("cursor")
	if got := string(w.read(path)); got != `{"mcpServers": {}}` {
		t.Errorf("disconnected it is %s", got)
	}
}

func TestALinkStaysALink(t *testing.T) {
	w := newMachine(t)
	path, real := w.place("codex", ".toml"), filepath.Join(w.m.Home, "dotfiles", "codex.toml")
	text := []byte("model = \"x\" # mine\n")
	w.write(real, text)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Skipf("links can't be made here: %v", err)
	}
	w.connect("codex", Options{})
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 || !bytes.Contains(w.read(real), []byte(Key)) {
		t.Errorf("%v, %v, %s", info.Mode(), err, w.read(real))
	}
	w.disconnect("codex")
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 || !bytes.Equal(w.read(real), text) {
		t.Errorf("%v, %v, %s", info.Mode(), err, w.read(real))
	}
}

func TestReadOnlyIsRespected(t *testing.T) {
	for _, what := range []string{"file", "folder"} {
		w := newMachine(t)
		path := w.place("cursor", ".json")
		w.write(path, []byte("{}"))
		locked, mode := path, fs.FileMode(0o400)
		if what == "folder" {
			if runtime.GOOS == "windows" {
				continue // folders there have no such mode
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			locked, mode = filepath.Dir(path), 0o500
		}
		if err := os.Chmod(locked, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(locked, 0o700) })
		_, err := w.con.Connect(t.Context(), "cursor", Options{})
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), locked) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWorkBuddyGetsItsSkill(t *testing.T) {
	w := newMachine(t)
	dir := filepath.Join(w.m.Home, ".workbuddy")
	skill := filepath.Join(dir, "skills", "codex-handoff", "SKILL.md")
	w.write(filepath.Join(dir, ".mcp.json"), []byte("{}")) // the program's own: not ours to change
	res := w.connect("workbuddy", Options{})
	if !strings.Contains(strings.Join(res.Notes, "\n"), "press Trust in the connector page") || !bytes.Contains(w.read(skill), []byte("name: codex-handoff")) {
		t.Errorf("%+v", res)
	}
	if string(w.read(filepath.Join(dir, ".mcp.json"))) != "{}" {
		t.Error(".mcp.json was changed")
	}
	w.write(skill, []byte("mine"))
	if res := w.connect("workbuddy", Options{}); string(w.read(skill)) != "mine" || !strings.Contains(strings.Join(res.Notes, "\n"), "stays as it is") {
		t.Errorf("%+v, %s", res, w.read(skill))
	}
	res = w.disconnect("workbuddy")
	if string(w.read(skill)) != "mine" || !strings.Contains(strings.Join(res.Notes, "\n"), skill) {
		t.Errorf("%+v, %s", res, w.read(skill))
	}
	if _, err := os.Stat(filepath.Join(dir, "mcp.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("mcp.json: %v", err)
	}
}
