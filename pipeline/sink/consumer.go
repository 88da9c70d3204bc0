package sink

import (
	"context"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// Consumer is a program that picks documents up, and where it looks for them.
// Each has a file of its own in this package.
type Consumer struct {
	Name  string
	About string // what is written for it and where, one line
	Mode  Mode
	Open  func(Env, Choice) (Sink, error) // ErrNoPlace if it has no place on this machine
}

// Mode says when a sink is on without a word of the user.
type Mode uint8

// The modes.
const (
	ModeAlways  Mode = iota + 1 // its folder is ours alone
	ModeFound                   // where the consumer's own folder is there already
	ModeAsked                   // after "sink enable NAME"
	ModeProject                 // after "sink enable NAME --workspace DIR", in that project
)

// Env is what the places of consumers depend on. The program resolves it once;
// nothing here reads the environment.
type Env struct {
	User string            // home folder of the user
	Data string            // data folder of ours: backups of shared files lie below it
	Vars map[string]string // environment variables of consumers, by their names; absent: not set
	Zone *time.Location    // of dates in files; nil: UTC
	// Drop is the drop folder.
	Drop string
}

// Choice is what the user said of a sink. The zero value is nothing.
type Choice struct {
	Enabled    *bool    `json:"enabled,omitempty"` // nil: by the consumer's mode
	Dir        string   `json:"dir,omitempty"`     // folder to write to, where a consumer has more than one
	Workspaces []string `json:"workspaces,omitempty"`
	// At is when it was last enabled: blocks that went missing before are put
	// back.
	At time.Time `json:"at,omitzero"`
}

// Sharer is a sink that keeps some lines, or a file, for a workspace as a
// whole. What it writes to may belong to others: it does so rarely.
type Sharer interface {
	// Share brings the shared files of a workspace up to date. What it returns
	// is to be kept and given again as Sharing.Last. A file that can't be
	// written now carries Problem or Again; an error is about all of them.
	Share(ctx context.Context, s Sharing) ([]SharedFile, error)
	// Unshare takes what is ours out of a shared file again and changes nothing
	// else in it. What somebody edited stays; the error is ErrEdited.
	Unshare(ctx context.Context, f SharedFile) error
}

// Sharing is what is to be shared of a workspace.
type Sharing struct {
	Workspace string    // canonical root as the user wrote it; empty: of all workspaces
	Sessions  []Session // newest first
	Now       time.Time
	Last      []SharedFile // what the last call returned; before a first one may be given with its path and workspace alone
	// Look asks what would be written and writes nothing.
	Look bool
}

// Session is a thread in short. Texts are redacted, and made safe by the sink.
type Session struct {
	ThreadID  string
	Workspace string // the key that threads are grouped by
	Cwd       string // folder the thread worked in, as written
	Title     string
	Asked     string // what was asked last, where the title is what was asked first; one line
	State     transcript.State
	Standing  string // done or blocked, if somebody said so; goes before State
	Created   time.Time
	Updated   time.Time
	Turns     int
	Lang      string   // of what the person wrote: en, zh, de, ja
	Did       []string // what was done, newest first, with paths relative to the workspace
	Result    string   // what the last answer or the newest check says, one line
	Open      string   // what is open, one line
	Next      string   // next step that the agent named, one line
	Path      string   // of its document in this sink, as in its receipt; empty: none
	// Document writes the thread's document of at most so many UTF-16 units,
	// with or without front matter.
	Document func(units int, bare bool) ([]byte, error)
}

// SharedFile is what is known of a shared file. The caller keeps it, and
// reads only the exported fields.
type SharedFile struct {
	Path      string    `json:"path"` // absolute
	Workspace string    `json:"workspace,omitempty"`
	Hash      string    `json:"hash,omitempty"`    // of our part as we wrote it last
	Threads   []string  `json:"threads,omitempty"` // those our part speaks of
	Written   time.Time `json:"written,omitzero"`
	// Missing is when our part was found gone although we had written it.
	Missing []time.Time `json:"missing,omitempty"`
	// Out says that our part went missing too often and is not put back before
	// the user enables the sink again.
	Out     bool   `json:"out,omitempty"`
	Backup  string `json:"backup,omitempty"`  // of the file before we first touched it
	Ours    bool   `json:"ours,omitempty"`    // the file as a whole is ours, or we made it
	Problem string `json:"problem,omitempty"` // why our part isn't current, for the user
	Note    string `json:"note,omitempty"`    // said once, for the user: as that git would take the file in
	// Entries are the states that a daily log tells, by thread.
	Entries map[string]string `json:"entries,omitempty"`

	Again time.Time `json:"-"` // when to call again; zero: with the next change
	Old   []byte    `json:"-"` // with Look: the file as it is
	New   []byte    `json:"-"` // with Look: the file as it would be
}
