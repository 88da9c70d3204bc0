package connect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/install/edit"
)

// clientProgram stands for a client's own command: it writes the entry in a way
// of its own.
type clientProgram struct {
	t    *testing.T
	ran  [][]string
	does func(argv []string) error
}

func (p *clientProgram) Run(_ context.Context, argv []string) (string, error) {
	p.ran = append(p.ran, slices.Clone(argv))
	return "", p.does(argv)
}

// withProgram puts a client's program into the PATH of a machine.
func (w *machine) withProgram(name string, does func(argv []string) error) *clientProgram {
	p := &clientProgram{t: w.t, does: does}
	w.m.Find = func(program string) (string, error) {
		if program == name {
			return "/usr/bin/" + name, nil
		}
		return "", os.ErrNotExist
	}
	w.use(w.con.server, p)
	return p
}

func TestAClientsOwnCommandIsUsed(t *testing.T) {
	for name, want := range map[string]string{
		"codex":     "mcp add session-migrator -- BIN mcp --home /h h",
		"claude":    "mcp add -s user session-migrator -- BIN mcp --home /h h",
		"gemini":    "mcp add -s user session-migrator BIN mcp --home /h h",
		"codebuddy": "mcp add -s user session-migrator -- BIN mcp --home /h h",
	} {
		t.Run(name, func(t *testing.T) {
			w := newMachine(t)
			w.con.server.Args = []string{"mcp", "--home", "/h h"}
			cl, _ := find(name)
			path := w.place(name, "")
			text := []byte("{\"theirs\":   1}")
			if cl.format == edit.TOML {
				text = []byte("theirs   = 1")
			}
			w.write(path, text)
			p := w.withProgram(name, func([]string) error {
				out, err := cl.file(path).Set(w.read(path), cl.at(), cl.entry(w.con.server))
				w.write(path, bytes.ReplaceAll(out, []byte("   "), []byte(" "))) // and puts all in order
				return err
			})
			plan, err := w.con.Plan(name, Options{})
			if err != nil || len(plan.Steps) != 1 || plan.Steps[0].Command == nil || !bytes.Equal(w.read(path), text) {
				t.Fatalf("%+v, %v", plan, err)
			}
			res := w.connect(name, Options{})
			argv := strings.Split(strings.Replace(want, "BIN", w.con.server.Command, 1), " ")
			argv = append(append([]string{"/usr/bin/" + name}, argv[:len(argv)-2]...), "/h h")
			if len(p.ran) != 1 || !slices.Equal(p.ran[0], argv) {
				t.Errorf("%q was run, want %q", p.ran, argv)
			}
			if st := w.look(name); st.State != Connected || len(res.Steps) != 1 || res.Steps[0].Command == nil {
				t.Errorf("%+v, %+v", st, res)
			}
			if w.connect(name, Options{}); len(p.ran) != 1 {
				t.Errorf("a second time: %q", p.ran)
			}
			// A new place of this program is written into the file: the command
			// would refuse, or throw away what the user added.
			w.con.server.Command += "2"
			if w.connect(name, Options{}); len(p.ran) != 1 || w.look(name).State != Connected {
				t.Errorf("renewed: %q, %+v", p.ran, w.look(name))
			}
			w.disconnect(name)
			if !bytes.Equal(w.read(path), text) {
				t.Errorf("disconnected it is %q", w.read(path))
			}
		})
	}
}

func TestACommandThatFailsIsDoneWithout(t *testing.T) {
	for what, does := range map[string]func(string) error{
		"fails":        func(string) error { return errors.New("run claude: exit status 1: unknown command") },
		"does nothing": func(string) error { return nil },
		"writes something else": func(path string) error {
			return os.WriteFile(path, []byte(`{"mcpServers": {"session-migrator": {"command": "/x/session-migrator", "args": ["mcp"]}}}`), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newMachine(t)
			path := w.place("claude", ".json")
			w.write(path, []byte("{\n}"))
			p := w.withProgram("claude", func([]string) error { return does(path) })
			res := w.connect("claude", Options{})
			if len(p.ran) != 1 || w.look("claude").State != Connected {
				t.Errorf("%q, %+v", p.ran, w.look("claude"))
			}
			if told := strings.Contains(strings.Join(res.Notes, "\n"), "unknown command; the entry was written to"); told != (what == "fails") {
				t.Errorf("%q", res.Notes)
			}
			w.disconnect("claude")
			if got := string(w.read(path)); got != "{\n}" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestOnlyTheFileThatACommandChangesIsLeftToIt(t *testing.T) {
	w := newMachine(t)
	a, b := filepath.Join(w.m.Home, "a"), filepath.Join(w.m.Home, ".codex")
	w.m.CodexHomes = []string{a, b}
	w.write(filepath.Join(a, "config.toml"), []byte("x = 1\n"))
	w.write(filepath.Join(b, "config.toml"), nil)
	cl, _ := find("codex")
	p := w.withProgram("codex", func([]string) error {
		out, err := cl.file("").Set(nil, cl.at(), cl.entry(w.con.server))
		w.write(filepath.Join(b, "config.toml"), out)
		return err
	})
	w.connect("codex", Options{})
	all, err := w.con.Look("codex")
	if err != nil || len(p.ran) != 1 || len(all) != 2 || all[0].State != Connected || all[1].State != Connected {
		t.Errorf("%q, %+v, %v", p.ran, all, err)
	}
	w.disconnect("codex")
	if string(w.read(filepath.Join(a, "config.toml"))) != "x = 1\n" || len(w.read(filepath.Join(b, "config.toml"))) != 0 {
		t.Error("not as before")
	}
}

func TestACommandIsInterrupted(t *testing.T) {
	w := newMachine(t)
	w.write(w.place("claude", ".json"), []byte("{}"))
	ctx, cancel := context.WithCancel(t.Context())
	w.withProgram("claude", func([]string) error { cancel(); return errors.New("killed") })
	if _, err := w.con.Connect(ctx, "claude", Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := string(w.read(w.place("claude", ".json"))); got != "{}" {
		t.Errorf("%q", got)
	}
}

func TestChecks(t *testing.T) {
	w := newMachine(t)
	w.write(w.con.server.Command, []byte("#!"))
	only := func(want string) {
		t.Helper()
		faults, fine, loose := w.con.Check()
		if len(faults) != 1 || len(fine) > 0 || len(loose) > 0 || !strings.Contains(faults[0].What, want) || faults[0].Fix == "" {
			t.Errorf("%+v, %q, %q; want %s", faults, fine, loose, want)
		}
	}
	path := w.place("windsurf", ".json")
	w.write(path, []byte("{}"))
	if faults, fine, loose := w.con.Check(); len(faults) > 0 || len(fine) > 0 || !slices.Equal(loose, []string{"windsurf"}) {
		t.Errorf("%+v, %q, %q", faults, fine, loose)
	}
	w.connect("windsurf", Options{})
	if faults, fine, loose := w.con.Check(); len(faults) > 0 || len(loose) > 0 || !slices.Equal(fine, []string{"windsurf"}) {
		t.Errorf("%+v, %q, %q", faults, fine, loose)
	}
	w.write(path, []byte("{}"))
	only("is no longer in " + path)
	if all, _ := w.con.Look("windsurf"); !all[0].Lost {
		t.Errorf("%+v", all)
	}
	w.connect("windsurf", Options{})
	ours := w.con.server.Command
	w.con.server.Command = ours + "-new"
	only("this program would be")
	if err := os.Remove(ours); err != nil {
		t.Fatal(err)
	}
	only("which is not there")
	w.con.server.Command = ours
	only(ours)
	w.write(ours, []byte("#!"))
	w.write(path, bytes.Replace(w.read(path), []byte(`"session-migrator"`), []byte(`"twin": {"command": "/session-migrator", "args": ["mcp"]}, "session-migrator"`), 1))
	only("more than one entry")
	w.write(path, []byte(`{"mcpServers": {"session-migrator": {"command": "npx"}}}`))
	only("starts another program: npx")
	w.write(path, []byte(`{"mcpServers": {"session-migrator": 1}}`))
	only("starts another program")
}

func TestWhatSwitchesAnEntryOff(t *testing.T) {
	w := newMachine(t)
	on := func(name, change string, said bool) {
		t.Helper()
		if st := w.look(name); (st.Off != "") != said || st.State != Connected {
			t.Errorf("%s, %s: %+v", name, change, st)
		}
	}
	put := func(name string, path []string, v any) {
		t.Helper()
		cl, _ := find(name)
		file := w.place(name, "")
		out, err := cl.file(file).Set(w.read(file), path, v)
		if err != nil {
			t.Fatal(err)
		}
		w.write(file, out)
	}
	for _, name := range []string{"codex", "gemini", "codebuddy"} {
		w.connect(name, Options{Force: true})
		on(name, "nothing", false)
	}
	put("codex", []string{"mcp_servers", Key, "enabled"}, false)
	on("codex", "enabled = false", true)
	put("codebuddy", []string{"disabledMcpServers"}, []string{Key})
	on("codebuddy", "disabledMcpServers", true)
	put("gemini", []string{"mcp", "allowed"}, []string{Key})
	on("gemini", "allowed", false)
	put("gemini", []string{"mcp", "allowed"}, []string{"x"})
	on("gemini", "not allowed", true)
	put("gemini", []string{"mcp", "allowed"}, []string{})
	put("gemini", []string{"mcp", "excluded"}, []string{Key})
	on("gemini", "excluded", true)
	put("gemini", []string{"mcp", "excluded"}, []string{})
	w.write(filepath.Join(filepath.Dir(w.place("gemini", "")), "mcp-server-enablement.json"), []byte(`{"session-migrator": {"enabled": false}}`))
	on("gemini", "mcp disable", true)
}
