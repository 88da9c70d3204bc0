package rollout

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/loop"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// userMessage finds out which parts of a message with the role user a person
// wrote. If none, it is context that the agent put in.
func (p *Parser) userMessage(it *item, r *record, d *transcript.Delta) {
	if p.m.Bare && p.facts.Cwd == "" {
		p.cwdFromContext(it.content)
	}
	text, images, theirs := p.theirWords(it, r, d)
	if !theirs {
		p.facts.Injected++
		return
	}
	p.facts.Images += images
	if text == "" && p.m.Last.ViewImage {
		p.m.Last.ViewImage = false // view_image shows its picture this way
		return
	}
	key := itemKey(transcript.RoleUser, text, "", "", "")
	if p.m.Echo.Open {
		if p.echoAnswered(key, r, d) {
			return
		}
	}
	p.m.Responses = true
	p.person(transcript.Item{Role: transcript.RoleUser, Text: text, Images: images, TurnID: p.turnID(it), Key: key}, r, d)
}

// person emits a person's message.
func (p *Parser) person(out transcript.Item, r *record, d *transcript.Delta) {
	out.Inherited = p.inherit(out.Role, out.Key, out.TurnID, r)
	p.request(p.m.Seq+1, out.TurnID, r.time, d)
	out.Turn = p.m.Count
	p.emit(out, r, d)
	p.m.Last = lastItem{Seq: p.m.Seq}
	if p.facts.FirstUser == "" || !out.Inherited && !p.m.FirstOwn {
		// A title of ours would be handed on from session to session.
		words, _ := loop.Text(out.Role, ownRequest(out.Text))
		if s := preview(words, 400); s != "" {
			p.facts.FirstUser, p.m.First, p.m.FirstOwn = s, p.m.Seq, !out.Inherited
		}
	}
}

// ideMark stands between what an editor adds and what the person typed.
const ideMark = "## My request for Codex:"

func ownRequest(text string) string {
	if _, after, ok := strings.Cut(text, ideMark); ok {
		return after
	}
	return text
}

// theirWords joins the parts that the person gave; false if there are none.
func (p *Parser) theirWords(it *item, r *record, d *transcript.Delta) (text string, images int, theirs bool) {
	var kinds walker
	if it.passthrough != nil {
		kinds = it.passthrough.get("content_item_kinds").elements()
	}
	if it.content.isString() {
		kind, _ := kinds.element()
		s := it.content.str()
		return s, 0, p.personsPart(kind.str(), s, r, d)
	}
	var parts []string
	images = countImages(it.content)
	for w := it.content.elements(); ; {
		e, ok := w.element()
		if !ok {
			break
		}
		kind, _ := kinds.element()
		t, isImage := partText(e)
		if isImage || t == nil {
			continue
		}
		s := t.str()
		if images > 0 && imageWrapper(s) || !p.personsPart(kind.str(), s, r, d) {
			continue
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n"), images, len(parts) > 0 || images > 0
}

func countImages(v raw) int {
	n := 0
	for w := v.elements(); ; {
		e, ok := w.element()
		if !ok {
			return n
		}
		if _, isImage := partText(e); isImage {
			n++
		}
	}
}

// imageWrapper tells the texts that stand around an attached picture.
func imageWrapper(s string) bool {
	s = strings.TrimSpace(s)
	return s == "</image>" || s == "<image>" || strings.HasPrefix(s, "<image ") && strings.IndexByte(s, '>') == len(s)-1
}

// personsPart tells whether a part is the person's, by the name that newer
// versions give it, else by its text.
func (p *Parser) personsPart(kind, text string, r *record, d *transcript.Delta) bool {
	switch {
	case kind == "" || kind == "unknown":
		return !injected(text)
	case strings.HasPrefix(kind, "user."):
		return true
	case injectedKinds[kind]:
		return false
	}
	for _, f := range injectedFamilies {
		if strings.HasPrefix(kind, f) {
			return false
		}
	}
	p.unknown("content", kind, r.place, d)
	return false
}

// wrappers are the elements that versions without names for them put around
// context, in lower case.
var wrappers = [...]string{
	"environment_context", "user_instructions", "turn_aborted", "user_shell_command", "subagent_notification",
	"user_action", "skill", "goal_context", "extension_context", "hook_prompt", "codex_internal_context",
	"image_resize_notice", "collaboration_mode", "model_switch", "permissions instructions", "skills_instructions",
	"apps_instructions", "plugins_instructions", "recommended_plugins", "personality_spec", "token_budget",
	"multi_agent_mode", "multi_agent_role", "git_attribution",
}

// injected tells whether a text is context that the agent put in.
func injected(text string) bool {
	s := strings.TrimSpace(text)
	if len(s) == 0 {
		return false
	}
	switch s[0] {
	case '<':
		return wrapped(s)
	case '#':
		const open, closing = "# agents.md instructions", "</instructions>"
		return hasFold(s, open) && hasFoldSuffix(s, closing)
	case 'A':
		return strings.HasPrefix(s, summaryIntro+" and produced a summary")
	case 'Y':
		return strings.HasPrefix(s, "You were originally given instructions from a user over one or more turns. Here were the user messages:")
	case 'W':
		return legacyWarning(s)
	}
	return false
}

// legacyWarning tells a note of the program that a few versions stored as a
// message of the user.
func legacyWarning(s string) bool {
	if !strings.HasPrefix(s, "Warning: ") || len(s) > 2000 {
		return false
	}
	l := strings.ToLower(s)
	return strings.Contains(l, "unified exec") || strings.Contains(l, "apply_patch was requested via exec_command") ||
		strings.Contains(l, "your account was flagged")
}

// wrapped tells whether all of s is one element of the known ones.
func wrapped(s string) bool {
	for _, w := range wrappers {
		if !hasFold(s[1:], w) || len(s) < 2+len(w) {
			continue
		}
		if c := s[1+len(w)]; (c == '>' || c == ' ' || c == '\n') && hasFoldSuffix(s, "</"+w+">") {
			return true
		}
	}
	if !hasFold(s, "<external_") {
		return false
	}
	end := strings.IndexByte(s, '>')
	if end < 0 {
		return false
	}
	tag := s[1:end]
	for i := range len(tag) {
		c := tag[i] | 0x20
		if !(c >= 'a' && c <= 'z' || tag[i] >= '0' && tag[i] <= '9' || strings.IndexByte("_.-", tag[i]) >= 0) {
			return false
		}
	}
	return hasFoldSuffix(s, "</"+tag+">")
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasFoldSuffix(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// cwdFromContext finds the directory in the oldest era, whose header has none.
func (p *Parser) cwdFromContext(content raw) {
	text, _ := joined(content, "\n")
	if !injected(text) {
		return
	}
	if _, after, ok := strings.Cut(text, "<cwd>"); ok {
		if cwd, _, closed := strings.Cut(after, "</cwd>"); closed {
			p.facts.Cwd = strings.TrimSpace(cwd)
		}
	}
}
