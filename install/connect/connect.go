// Package connect puts the entry of our MCP server into the settings of other
// programs (Codex, Claude Code, Cursor, …), keeps it right, and takes it out.
// There is one file for each client.
//
// The way of the data:
//
//	[1] where a client has its settings is a pure function of the system, the
//	    home folder and the environment (Machine)
//	[2] Look reads them: is the client here, is our entry in it, is it right
//	[3] Plan says what would be changed: a command of the client's own where it
//	    has one and the entry is new, else one key of the file (install/edit)
//	[4] Connect does that. What the file held before is kept in a receipt
//	    (install/plan), what a client's own command did included
//	[5] Disconnect gives the old bytes back if ours still stand there; else it
//	    takes out our key alone
//
// An entry under our name that starts another program is somebody else's: it is
// changed only when that was asked for. One that the user switched off stays so.
package connect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/install/edit"
	"github.com/session-migrator/session-migrator/install/plan"
)

// Key is the name of our server in the settings of clients.
const Key = "session-migrator"

// Machine is what tells where clients have their settings.
type Machine struct {
	OS         string                               // as GOOS has it
	Home       string                               // of the user
	Env        func(string) string                  // one variable
	Find       func(program string) (string, error) // in the PATH; nil: none is looked for
	CodexHomes []string                             // by our settings; none: as Codex itself looks
}

// Server is how a client is to start us.
type Server struct {
	Command string   // absolute
	Args    []string // "mcp" first
}

// State is how it stands with our entry.
type State uint8

// The states.
const (
	Absent    State = iota + 1 // there is none
	Connected                  // it starts this program, as it should
	Stale                      // it is ours, and starts us from another place or otherwise
	Foreign                    // it has our name, and starts another program
	Unread                     // the file can't be read
)

// String gives the state as people see it.
func (s State) String() string {
	return [...]string{"", "not connected", "connected", "outdated", "not ours", "unreadable"}[s]
}

// MarshalText gives the same as String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Status is what was found of a client in one of its files.
type Status struct {
	Client, Title string
	Found         []string // what shows that it is here; empty: it isn't
	File          string
	State         State
	Command       []string // the entry's, with its arguments if it is ours
	Off           string   // what switches the entry off; empty: nothing does
	Doubles       []string // keys of further entries that start us
	Changed       bool     // we did, as a receipt says
	Lost          bool     // we did, and the entry went without us
	Problem       error    // why the file can't be read

	entry map[string]any
}

// Error is what keeps a client from being connected or disconnected, with what
// the user can do.
type Error struct {
	Client string
	Err    error
	Next   string
}

func (e *Error) Error() string { return e.Client + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// What is in an Error.
var (
	ErrUnknown  = errors.New("no client of this name")
	ErrNotFound = errors.New("it was not found here")
	ErrForeign  = errors.New("its entry " + Key + " starts another program")
	ErrDouble   = errors.New("an entry of another name starts this program")
	ErrReadOnly = errors.New("it is read-only")
)

// Connector connects clients of one machine.
type Connector struct {
	m       Machine
	server  Server
	journal plan.Journal
	backups string
	run     plan.Runner
}

// New gives a Connector that keeps its receipts and copies in a data folder.
func New(m Machine, s Server, data string, run plan.Runner) *Connector {
	if m.Env == nil {
		m.Env = func(string) string { return "" }
	}
	return &Connector{m, s, plan.Journal{Dir: filepath.Join(data, "receipts")}, filepath.Join(data, "backups", "clients"), run}
}

// Names gives the names of all clients, in the order they are shown.
func Names() []string {
	var out []string
	for _, c := range clients() {
		out = append(out, c.name)
	}
	return out
}

func find(name string) (client, error) {
	all := clients()
	i := slices.IndexFunc(all, func(c client) bool { return c.name == name })
	if i < 0 {
		return client{}, &Error{name, ErrUnknown, "known are " + strings.Join(Names(), ", ")}
	}
	return all[i], nil
}

// Look gives what is found of a client, for each of its files.
func (c *Connector) Look(name string) ([]Status, error) {
	cl, err := find(name)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range cl.programs {
		if c.m.Find == nil {
			break
		}
		if path, err := c.m.Find(p); err == nil {
			found = append(found, path)
			break
		}
	}
	for _, sign := range cl.signs(c.m) {
		if _, err := os.Stat(sign); err == nil {
			found = append(found, sign)
		}
	}
	rec, err := c.journal.Load(cl.journal())
	if err != nil {
		return nil, err
	}
	var out []Status
	for _, file := range cl.files(c.m) {
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		st := Status{Client: cl.name, Title: cl.title, Found: found, File: file}
		c.read(cl, &st)
		if st.State == Foreign && wrote(rec, cl, st) {
			st.State, st.Command = Stale, commandOf(st.entry)
		}
		st.Changed = slices.ContainsFunc(rec.Steps, func(d plan.Done) bool { return d.File != nil && d.File.Path == st.File })
		st.Lost = st.Changed && st.State == Absent
		out = append(out, st)
	}
	return out, nil
}

// wrote tells whether the entry of a file is one that we wrote, by a receipt: this
// program may have had another name then.
func wrote(rec plan.Receipt, cl client, st Status) bool {
	command := commandOf(st.entry)
	return len(command) > 1 && slices.ContainsFunc(rec.Steps, func(d plan.Done) bool {
		if d.File == nil || d.File.Path != st.File {
			return false
		}
		entry, err := cl.file(st.File).Get(d.File.After, cl.at())
		m, _ := entry.(map[string]any)
		was := commandOf(m)
		return err == nil && len(was) > 1 && was[0] == command[0] && slices.Contains(command[1:], "mcp")
	})
}

// read fills in what a file says.
func (c *Connector) read(cl client, st *Status) {
	content, err := plan.Read(st.File)
	if err == nil {
		var all map[string]any
		if all, err = cl.file(st.File).Tree(content, cl.at()); err == nil {
			c.judge(cl, st, all)
			return
		}
	}
	st.State, st.Problem = Unread, &Error{cl.name, err, nextFor(err, st.File)}
}

// nextFor is what to do about a file that can't be read or written.
func nextFor(err error, file string) string {
	if e, ok := errors.AsType[*edit.Error](err); ok {
		return e.Next
	}
	return "see that you may read and write " + file
}

// judge says of the entry in a file what it is.
func (c *Connector) judge(cl client, st *Status, all map[string]any) {
	var table any = all
	for _, key := range cl.table {
		m, _ := table.(map[string]any)
		table = m[key]
	}
	servers, _ := table.(map[string]any)
	st.Doubles = c.doubles(all, cl.at(), nil)
	entry, is := servers[Key]
	if !is {
		st.State = Absent
		return
	}
	st.entry, _ = entry.(map[string]any)
	st.Command = commandOf(st.entry)
	switch {
	case !c.startsUs(st.Command):
		st.State = Foreign
		st.Command = st.Command[:min(1, len(st.Command))] // arguments of others may be keys
	case slices.Equal(st.Command, c.wanted(st.Command)):
		st.State = Connected
	default:
		st.State = Stale
	}
	switch {
	case st.entry["disabled"] == true:
		st.Off = "disabled is true in its entry"
	case st.entry["enabled"] == false:
		st.Off = "enabled is false in its entry"
	case cl.off != nil:
		st.Off = cl.off(st.File, all)
	}
}

// commandOf gives the command of an entry with its arguments. Some clients have
// both in one list.
func commandOf(entry map[string]any) []string {
	var out []string
	for _, key := range []string{"command", "args"} {
		switch v := entry[key].(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, a := range v {
				if s, ok := a.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// startsUs tells whether a command is this program as a server, from wherever.
// A release may be named for its version or system.
func (c *Connector) startsUs(command []string) bool {
	if len(command) < 2 || !slices.Contains(command[1:], "mcp") {
		return false
	}
	base := strings.ToLower(command[0][strings.LastIndexAny(command[0], `/\`)+1:])
	rest, named := strings.CutPrefix(base, Key)
	return command[0] == c.server.Command || named && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// wanted gives the command that an entry should have: ours, with what the user
// added to it.
func (c *Connector) wanted(command []string) []string {
	out := append([]string{c.server.Command}, c.server.Args...)
	if len(command) == 0 {
		return out
	}
	for rest := command[1:]; len(rest) > 0; rest = rest[1:] {
		name, _, joined := strings.Cut(rest[0], "=")
		switch name {
		case "mcp":
		case "--home", "--codex-home", "--config":
			if !joined && len(rest) > 1 {
				rest = rest[1:]
			}
		default:
			out = append(out, rest[0])
		}
	}
	return out
}

// doubles finds entries that start us at other keys than ours.
func (c *Connector) doubles(v any, ours, at []string) []string {
	m, _ := v.(map[string]any)
	if m == nil || slices.Equal(at, ours) {
		return nil
	}
	if c.startsUs(commandOf(m)) {
		return []string{strings.Join(at, ".")}
	}
	var out []string
	for key, below := range m {
		out = append(out, c.doubles(below, ours, append(at[:len(at):len(at)], key))...)
	}
	slices.Sort(out)
	return out
}

// Describe says in one line where a client was looked for.
func (c *Connector) Describe(name string) string {
	cl, err := find(name)
	if err != nil {
		return ""
	}
	var parts []string
	if len(cl.programs) > 0 {
		parts = append(parts, "no program "+strings.Join(cl.programs, " or ")+" in the PATH")
	}
	for _, s := range cl.signs(c.m) {
		parts = append(parts, "no "+s)
	}
	return fmt.Sprintf("%s: %s", cl.title, strings.Join(parts, ", "))
}
