package rollout

import (
	"strings"
	"unicode"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// sessionMeta reads a header. The first one is the rollout's own; another
// thread's after it begins a copy of that thread's lines.
func (p *Parser) sessionMeta(r *record) {
	id := ident(r.payload.get("id"))
	if p.m.Meta {
		if id != "" && id != p.facts.ThreadID && p.facts.CopyOf == "" && p.facts.Base == nil && p.m.Seq == 0 {
			p.copyBegins(id, r.time)
		}
		return
	}
	p.m.Meta = true
	f := &p.facts
	for w := r.payload.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "id":
			f.ThreadID = ident(v)
		case "session_id":
			f.Session = ident(v)
		case "timestamp":
			f.Created = parseTime(v)
			p.m.Born = f.Created
		case "cwd":
			f.Cwd = v.str()
		case "originator":
			f.Originator = label(v.str())
		case "cli_version":
			f.CLIVersion = label(v.str())
		case "source":
			p.source(v)
		case "thread_source":
			f.Subagent = f.Subagent || v.str() == "subagent"
		case "model_provider":
			f.Provider = label(v.str())
		case "git":
			f.GitBranch, f.GitCommit, f.GitURL = label(v.get("branch").str()), label(v.get("commit_hash").str()), v.get("repository_url").str()
		case "forked_from_id":
			f.ForkedFrom = ident(v)
		case "parent_thread_id":
			if s := ident(v); s != "" {
				f.Parent = s
			}
		case "agent_nickname":
			if s := label(v.str()); s != "" {
				f.Nickname = s
			}
		case "history_mode":
			f.Paginated = v.str() == "paginated"
		case "history_base":
			if base := ident(v.get("thread_id")); base != "" {
				f.Base = &transcript.Base{RolloutID: base, Ordinal: v.get("end_ordinal_exclusive").integer(), Offset: v.get("end_byte_offset").integer()}
			}
		case "subagent_history_start_ordinal":
			p.m.Start = v.integer()
		}
	}
	if f.Created.IsZero() {
		f.Created = r.time
	}
	if p.facts.Updated.IsZero() {
		p.facts.Updated = f.Created
	}
}

// maxIdent bounds the id of a thread or rollout, bytes.
const maxIdent = 64

// ident reads an id of a thread or rollout. Ids become parts of file names,
// queries and lines: what isn't made of letters, digits, "_" and "-" is none,
// and the id in the file's name holds.
func ident(v raw) string {
	s := v.str()
	if len(s) > maxIdent {
		return ""
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_', c == '-':
		default:
			return ""
		}
	}
	return s
}

// maxLabel bounds a short name such as a model's, bytes.
const maxLabel = 200

// colour is what is left of a terminal's sequence without its ESC.
var colour = pattern.Lazy("[\x1b\u009b]\\[?[0-?]*[ -/]*[@-~]")

// label makes a short name fit for one line: without control characters and at
// most maxLabel bytes, not cut within a word, which may be a secret.
func label(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) >= 0 {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, colour().ReplaceAllString(s, ""))
	}
	if len(s) <= maxLabel {
		return s
	}
	return preview(s, maxLabel)
}

// source reads who started the thread: a word, or an object that tells more.
func (p *Parser) source(v raw) {
	f := &p.facts
	if v.isString() {
		f.Source = label(v.str())
		return
	}
	w := v.members()
	k, inner, ok := w.member()
	if !ok {
		return
	}
	words := []string{repair(k)}
	if inner.isString() {
		words = append(words, inner.str())
	}
	if string(k) == "subagent" {
		f.Subagent = true
		iw := inner.members()
		if kind, spawn, found := iw.member(); found {
			words = append(words, repair(kind))
			if spawn.isString() {
				words = append(words, spawn.str())
			}
			if s := ident(spawn.get("parent_thread_id")); s != "" {
				f.Parent = s
			}
			if s := label(spawn.get("agent_nickname").str()); s != "" {
				f.Nickname = s
			}
		}
	}
	f.Source = label(strings.Join(words, ":"))
}
