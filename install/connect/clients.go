package connect

import (
	"os"
	"strings"

	"github.com/session-migrator/session-migrator/install/edit"
)

// client is what we know of one program.
type client struct {
	name, title string
	programs    []string               // of which one in the PATH shows that it is here
	signs       func(Machine) []string // files and folders that do
	places      func(Machine) []place  // files that our entry belongs in
	format      edit.Format
	table       []string // keys that lead to the table of servers
	entry       func(Server) edit.Object

	// add is the client's own command; nil: it has none that asks no questions.
	add func(Server) []string
	// addsTo is the file that add changes, if that is always the same one.
	addsTo func(Machine) string

	// off says what else switches an entry off, by the whole file; nil: nothing.
	off func(file string, all map[string]any) string

	skill func(Machine) string // where our skill goes; nil: nowhere
	note  string               // what is left for people to do
}

// place is a file that may have one of several names.
type place struct {
	names []string // the first that is there counts
	fresh string   // else this one is made; empty: the first
	only  string   // folder without which the place doesn't count, unless none does
}

func one(path string) []place { return []place{{names: []string{path}}} }

// path is the file that counts now.
func (p place) path() string {
	for _, n := range p.names {
		if _, err := os.Lstat(n); err == nil {
			return n
		}
	}
	if p.fresh != "" {
		return p.fresh
	}
	return p.names[0]
}

// files gives the files that count now.
func (c client) files(m Machine) []string {
	var out []string
	all := c.places(m)
	for _, p := range all {
		if _, err := os.Stat(p.only); p.only == "" || err == nil {
			out = append(out, p.path())
		}
	}
	if len(out) == 0 {
		out = append(out, all[0].path())
	}
	return out
}

// clients gives all of them, in the order they are shown.
func clients() []client {
	return []client{codex(), claude(), gemini(), opencode(), codebuddy(), cursor(), vscode(), windsurf(), claudeDesktop(), workbuddy()}
}

// at is the key of our entry.
func (c client) at() []string { return append(c.table[:len(c.table):len(c.table)], Key) }

func (c client) file(path string) edit.File { return edit.File{Name: path, Format: c.format} }

func (c client) journal() string { return "connect-" + c.name }

// stdio is an entry as most clients have it.
func stdio(s Server) edit.Object {
	return edit.Object{{Key: "command", Value: s.Command}, {Key: "args", Value: s.Args}}
}

// typed is an entry that names its kind.
func typed(s Server) edit.Object {
	return append(edit.Object{{Key: "type", Value: "stdio"}}, stdio(s)...)
}

// join makes a path of the machine's system, which need not be ours.
func (m Machine) join(parts ...string) string {
	sep := "/"
	if m.OS == "windows" {
		sep = `\`
	}
	out := strings.TrimRight(parts[0], `/`+sep)
	for _, p := range parts[1:] {
		out += sep + strings.ReplaceAll(p, "/", sep)
	}
	return out
}

// env gives the folder that a variable names, else another.
func (m Machine) env(name, otherwise string) string {
	if v := m.Env(name); v != "" {
		return v
	}
	return otherwise
}

// settings is where programs with windows have their folders.
func (m Machine) settings() string {
	switch m.OS {
	case "windows":
		return m.env("APPDATA", m.join(m.Home, "AppData", "Roaming"))
	case "darwin":
		return m.join(m.Home, "Library", "Application Support")
	}
	return m.xdg()
}

// xdg is where programs of terminals have theirs, on any system.
func (m Machine) xdg() string { return m.env("XDG_CONFIG_HOME", m.join(m.Home, ".config")) }

// listed tells whether a list in a file has our name in it.
func listed(v any) (ours, some bool) {
	l, _ := v.([]any)
	for _, e := range l {
		ours = ours || e == Key
	}
	return ours, len(l) > 0
}
