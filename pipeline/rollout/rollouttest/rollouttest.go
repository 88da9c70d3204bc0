// Package rollouttest makes synthetic rollouts of every era of Codex CLI, for
// tests. What it writes has the key order, the duplicates and the injected
// context of the real files; times and ids are fixed by Options, so the same
// calls give the same bytes.
//
//	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).
//		User("Fix the build").
//		Call("exec_command", `{"cmd":"make"}`, "ok\n").
//		Assistant("Fixed.").
//		Bytes()
package rollouttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Era is one of the shapes that rollouts had.
type Era uint8

// The eras, oldest first.
const (
	Bare      Era = iota + 1 // ≤0.20: no envelope, no times
	Legacy                   // 0.36–0.98: envelope, each message twice, no turn marks
	Marked                   // 0.105–0.150: turn marks with ids
	Paginated                // 0.151+: ordinals, finished items instead of message events
)

var eraVersions = [...]string{"", "0.20.0", "0.98.0", "0.140.0", "0.171.0"}

// String gives the newest version that was tested of the era.
func (e Era) String() string {
	if int(e) < len(eraVersions) && e > 0 {
		return eraVersions[e]
	}
	return fmt.Sprintf("era(%d)", uint8(e))
}

// MarshalText implements encoding.TextMarshaler.
func (e Era) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Options are what a rollout's header and context say. The zero value works.
type Options struct {
	ThreadID   string    // default: made of Start
	RolloutID  string    // second id in the file name, of a reverted thread
	Start      time.Time // default 2026-09-01T09:00:00Z
	Cwd        string    // default /home/dana/proj
	Model      string    // default gpt-5.5
	Version    string    // default: the era's
	Originator string    // default codex-tui
	Source     any       // default "cli"; a map for a sub-agent
	SessionID  string
	ForkedFrom string // thread id
	Parent     string // thread id of a sub-agent's spawner
	Nickname   string
	BranchName string
	Window     int // usable window in tokens, default 258400

	// BaseRollout makes a paginated rollout whose history begins in another.
	BaseRollout string
	BaseOrdinal int64
	BaseOffset  int64
}

// Rollout is a rollout that grows call by call.
type Rollout struct {
	era     Era
	opt     Options
	now     time.Time
	ordinal int64
	ids     int
	buf     bytes.Buffer
	turn    string // id of the open turn
	total   [5]int64
}

// New begins a rollout: header, injected context and, where the era has it,
// the first turn_context.
func New(era Era, opt Options) *Rollout {
	if opt.Start.IsZero() {
		opt.Start = time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	}
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&opt.Cwd, "/home/dana/proj")
	def(&opt.Model, "gpt-5.5")
	def(&opt.Version, era.String())
	def(&opt.Originator, "codex-tui")
	if opt.Source == nil {
		opt.Source = "cli"
	}
	if opt.Window == 0 {
		opt.Window = 258400
	}
	r := &Rollout{era: era, opt: opt, now: opt.Start.UTC(), ordinal: opt.BaseOrdinal}
	if r.opt.ThreadID == "" {
		r.opt.ThreadID = r.newID()
	}
	r.header()
	if opt.BaseRollout == "" {
		r.context()
	}
	return r
}

// ThreadID is the id in the header.
func (r *Rollout) ThreadID() string { return r.opt.ThreadID }

// Bytes is the file so far.
func (r *Rollout) Bytes() []byte { return bytes.Clone(r.buf.Bytes()) }

// Size is the length of the file so far, in bytes.
func (r *Rollout) Size() int64 { return int64(r.buf.Len()) }

// Ordinal is the number that the next line gets in a paginated rollout.
func (r *Rollout) Ordinal() int64 { return r.ordinal }

// Path is where Codex keeps the file, below its home, in a time zone of UTC.
func (r *Rollout) Path() string {
	t := r.opt.Start.UTC()
	name := "rollout-" + t.Format("2006-01-02T15-04-05") + "-" + r.opt.ThreadID
	if r.opt.RolloutID != "" {
		name += "_" + r.opt.RolloutID
	}
	return "sessions/" + t.Format("2006/01/02") + "/" + name + ".jsonl"
}

// Wait lets time pass before the next line.
func (r *Rollout) Wait(d time.Duration) *Rollout {
	r.now = r.now.Add(d)
	return r
}

// Raw writes a line as it is, with a newline.
func (r *Rollout) Raw(line string) *Rollout {
	r.buf.WriteString(line)
	r.buf.WriteByte('\n')
	return r
}

// Torn takes the last n bytes away, as a crash while writing does; what comes
// next is glued to the rest.
func (r *Rollout) Torn(n int) *Rollout {
	r.buf.Truncate(max(0, r.buf.Len()-n))
	return r
}

// newID makes a version 7 UUID of the time and a counter.
func (r *Rollout) newID() string {
	r.ids++
	ms := r.now.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7%03x-8000-%012x", ms>>16, ms&0xffff, r.ids&0xfff, r.ids)
}

// line writes one record.
func (r *Rollout) line(kind string, payload json.RawMessage) {
	r.now = r.now.Add(time.Millisecond)
	if r.era == Bare {
		r.Raw(string(payload))
		return
	}
	stamp := r.now.Format("2006-01-02T15:04:05.000Z")
	if r.era == Paginated {
		r.Raw(string(object("timestamp", stamp, "ordinal", r.ordinal, "type", kind, "payload", payload)))
		r.ordinal++
		return
	}
	r.Raw(string(object("timestamp", stamp, "type", kind, "payload", payload)))
}

func (r *Rollout) event(kind string, pairs ...any) {
	if r.era != Bare {
		r.line("event_msg", object(append([]any{"type", kind}, pairs...)...))
	}
}

// itemCompleted repeats a finished item, as paginated rollouts do.
func (r *Rollout) itemCompleted(item json.RawMessage) {
	if r.era == Paginated {
		r.event("item_completed", "thread_id", r.opt.ThreadID, "turn_id", r.turn, "item", item)
	}
}

func (r *Rollout) header() {
	o := &r.opt
	stamp := o.Start.UTC().Format("2006-01-02T15:04:05.000Z")
	if r.era == Bare {
		r.Raw(string(object("id", o.ThreadID, "timestamp", stamp, "instructions", json.RawMessage("null"), "git", object("branch", "main"))))
		r.Raw(`{"record_type":"state"}`)
		return
	}
	pairs := []any{"id", o.ThreadID, "session_id", optional(o.SessionID), "forked_from_id", optional(o.ForkedFrom),
		"parent_thread_id", optional(o.Parent), "timestamp", stamp, "cwd", o.Cwd, "originator", o.Originator,
		"cli_version", o.Version, "source", o.Source, "agent_nickname", optional(o.Nickname), "model_provider", "openai"}
	if r.era == Paginated {
		pairs = append(pairs, "history_mode", "paginated")
		if o.BaseRollout != "" {
			pairs = append(pairs, "history_base", object("thread_id", o.BaseRollout,
				"end_ordinal_exclusive", o.BaseOrdinal, "end_byte_offset", o.BaseOffset))
		}
	}
	if o.BranchName != "" {
		pairs = append(pairs, "git", object("branch", o.BranchName))
	}
	r.line("session_meta", object(pairs...))
}

// context writes what Codex puts in front of the first request.
func (r *Rollout) context() {
	env := "<environment_context>\n  <cwd>" + r.opt.Cwd + "</cwd>\n</environment_context>"
	if r.era == Paginated {
		r.message("user", nil, "environments.environment_context", env)
	} else {
		r.message("user", nil, "", env)
	}
	if r.era == Legacy {
		r.turnContext()
	}
}

func (r *Rollout) turnContext() {
	r.line("turn_context", object("turn_id", optional(r.turn), "cwd", r.opt.Cwd, "approval_policy", "never", "model", r.opt.Model, "summary", "auto"))
}
