package rollout

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// sessionMeta reads a header. The first one is the rollout's own; another
// thread's after it begins a copy of that thread's lines.
func (p *Parser) sessionMeta(r *record) {
	id := r.payload.get("id").str()
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
			f.ThreadID = v.str()
		case "session_id":
			f.Session = v.str()
		case "timestamp":
			f.Created = parseTime(v)
			p.m.Born = f.Created
		case "cwd":
			f.Cwd = v.str()
		case "originator":
			f.Originator = v.str()
		case "cli_version":
			f.CLIVersion = v.str()
		case "source":
			p.source(v)
		case "thread_source":
			f.Subagent = f.Subagent || v.str() == "subagent"
		case "model_provider":
			f.Provider = v.str()
		case "git":
			f.GitBranch, f.GitCommit, f.GitURL = v.get("branch").str(), v.get("commit_hash").str(), v.get("repository_url").str()
		case "forked_from_id":
			f.ForkedFrom = v.str()
		case "parent_thread_id":
			if s := v.str(); s != "" {
				f.Parent = s
			}
		case "agent_nickname":
			if s := v.str(); s != "" {
				f.Nickname = s
			}
		case "history_mode":
			f.Paginated = v.str() == "paginated"
		case "history_base":
			if base := v.get("thread_id").str(); base != "" {
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

// source reads who started the thread: a word, or an object that tells more.
func (p *Parser) source(v raw) {
	f := &p.facts
	if v.isString() {
		f.Source = v.str()
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
			if s := spawn.get("parent_thread_id").str(); s != "" {
				f.Parent = s
			}
			if s := spawn.get("agent_nickname").str(); s != "" {
				f.Nickname = s
			}
		}
	}
	f.Source = strings.Join(words, ":")
}
