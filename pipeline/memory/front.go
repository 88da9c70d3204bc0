package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of the front matter: there are consumers that look at 30 lines or at
// 4 KiB of a file, and it must be whole within both.
const (
	maxFrontBytes  = 2048
	maxFrontLines  = 25
	maxDescription = 150
)

const generator = "session-migrator 1"

// frontLevel says how much of the front matter there is.
type frontLevel uint8

const (
	frontFull    frontLevel = iota + 1
	frontCompact            // what names and dates the file
	frontNone
)

// front returns the front matter, its fences included. Every scalar goes
// through the encoder in double quotes: nothing that a user wrote can be a key,
// a number, a date or a second document.
func (d *Document) front(level frontLevel, body string) (string, error) {
	if level == frontNone {
		return "", nil
	}
	// Long paths and names give way first, then lists, then the remote.
	var text string
	for _, limit := range [...]int{400, 200, 100, 60, 30} {
		fields := d.fields(level, limit)
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		if err := enc.Encode(fields); err != nil {
			return "", fmt.Errorf("encode front matter: %w", err)
		}
		if err := enc.Close(); err != nil {
			return "", fmt.Errorf("encode front matter: %w", err)
		}
		// All that isn't ours stands in double quotes, where these escapes
		// mean the same characters to YAML and no tag to anybody else.
		text = proven("---\n"+strings.NewReplacer("<", `\x3C`, "![", `\x21[`).Replace(b.String())+"---\n", body)
		if len(text) <= maxFrontBytes && strings.Count(text, "\n") <= maxFrontLines {
			return text, nil
		}
	}
	return text, nil
}

// fields builds the mapping in its fixed order. Texts longer than limit bytes
// are cut in the middle.
func (d *Document) fields(level frontLevel, limit int) *yaml.Node {
	t := &d.Thread
	m := &yaml.Node{Kind: yaml.MappingNode}
	put := func(key string, v *yaml.Node) {
		if v != nil {
			m.Content = append(m.Content, plainNode(key), v)
		}
	}
	text := func(s string) *yaml.Node {
		if s == "" {
			return nil
		}
		return quoted(middleCut(s, limit))
	}
	title := "Codex: " + d.Title
	description := maxDescription
	if level == frontCompact {
		title, description = clipUnits(title, 60), 80
	}
	put("name", quoted(d.name()))
	put("title", text(title))
	put("description", text(clipUnits(d.description(), min(description, limit))))
	put("type", quoted("project"))
	if level == frontFull {
		put("metadata", flow("type", "project"))
		put("tags", d.tags())
	}
	put("created", text(moment(t.Created, d.loc)))
	put("modified", text(moment(t.Updated, d.loc)))
	put("source", quoted("codex"))
	put("session_id", text(t.ID))
	if level == frontFull {
		put("parent", text(first(t.Parent, t.ForkedFrom)))
	}
	put("status", quoted(d.status()))
	if level == frontFull {
		put("cwd", text(t.Cwd))
		put("git", d.git(limit))
		put("model", text(t.Model))
		put("turns", number(int64(t.Turns)))
		put("tokens", d.tokens())
		put("fit", d.fit(limit))
		put("fit_tokens", d.fitTokens(limit))
		put("summary", quoted(d.summaryField()))
	}
	put("hash", quoted(noHash))
	put("generator", quoted(generator))
	return m
}

// name is unique and speaks: codex-<date>-<slug>-<id8>.
func (d *Document) name() string {
	s := slug(d.Title)
	if s != "" {
		s = "-" + s
	}
	return "codex-" + stamp(d.Thread, d.loc, "2006-01-02") + s + "-" + id8(d.Thread.ID)
}

// description says what, where and how it stands.
func (d *Document) description() string {
	s := "Codex session " + stamp(d.Thread, d.loc, "2006-01-02")
	if p := place(d.Thread); p != "" {
		s += ", " + p
	}
	state := "; " + d.status()
	if n := openSteps(d.Plan); n > 0 {
		state += "; " + strconv.Itoa(n) + " plan steps open"
	}
	s = clipUnits(s, maxDescription/2)
	return s + ": " + clipUnits(d.Title, maxDescription-units(s)-units(state)-2) + state
}

func openSteps(plan []PlanStep) (n int) {
	for _, s := range plan {
		if s.Status != "completed" {
			n++
		}
	}
	return n
}

func (d *Document) tags() *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, t := range [...]string{"codex", "handoff", d.status()} {
		n.Content = append(n.Content, quoted(t))
	}
	return n
}

func (d *Document) git(limit int) *yaml.Node {
	t := &d.Thread
	return flow("branch", middleCut(t.GitBranch, limit), "commit", middleCut(t.GitCommit, limit), "remote", middleCut(t.GitURL, limit))
}

func (d *Document) tokens() *yaml.Node {
	const encoding = "o200k_base"
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	put := func(key string, v int64) {
		if v > 0 {
			n.Content = append(n.Content, plainNode(key), number(v))
		}
	}
	put("dialogue", int64(d.DialogueTokens))
	put("all", d.Thread.Tokens[encoding])
	n.Content = append(n.Content, plainNode("encoding"), quoted(encoding))
	put("codex_used", d.Thread.Usage.Total)
	put("codex_window", int64(d.Thread.Window))
	return n
}

// fit names the verdict for each target, as many as there is room for.
func (d *Document) fit(limit int) *yaml.Node {
	var pairs []string
	for i := range d.decisions {
		if i*50 >= limit {
			break
		}
		v, err := d.decisions[i].Verdict.MarshalText()
		if err == nil && d.decisions[i].TargetModel != "" {
			pairs = append(pairs, middleCut(clean(d.decisions[i].TargetModel), 60), string(v))
		}
	}
	return flow(pairs...)
}

// fitTokens says for the same targets how many tokens each makes of the session:
// counted, or estimated with the bounds.
func (d *Document) fitTokens(limit int) *yaml.Node {
	var pairs []string
	for i := range d.decisions {
		if i*50 >= limit {
			break
		}
		c := d.decisions[i].Count
		if c.Method == 0 || d.decisions[i].TargetModel == "" {
			continue
		}
		s := fmt.Sprintf("%d %s", c.Tokens, c.Method)
		if c.Lo != c.Hi {
			s += fmt.Sprintf(" %d-%d", c.Lo, c.Hi)
		}
		pairs = append(pairs, middleCut(clean(d.decisions[i].TargetModel), 60), s)
	}
	return flow(pairs...)
}

func (d *Document) summaryField() string {
	switch {
	case d.summary != nil:
		return d.writtenBy()
	case d.noSummary != "":
		return "none (" + d.noSummary + ")"
	}
	return "none"
}

// noHash stands where the hash comes.
const noHash = "0000000000000000"

// proven puts the hash of the whole document, but its own line, into the front
// matter: by it a sink tells a document that nobody edited.
func proven(front, body string) string {
	before, after, _ := strings.Cut(front, "\nhash: \""+noHash+"\"\n")
	sum := sha256.Sum256([]byte(before + "\n" + after + body))
	return before + "\nhash: \"" + hex.EncodeToString(sum[:8]) + "\"\n" + after
}

func moment(t time.Time, loc *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(loc).Format(time.RFC3339)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// quoted is a string for sure, on one line.
func quoted(s string) *yaml.Node {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}
}

// plainNode is one of our own keys.
func plainNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func number(n int64) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(n, 10)}
}

// flow makes {key: value, …} of the pairs whose value isn't empty; nil if
// none is left.
func flow(pairs ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" || seen[pairs[i]] {
			continue
		}
		seen[pairs[i]] = true
		n.Content = append(n.Content, quoted(pairs[i]), quoted(pairs[i+1]))
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// middleCut cuts s to about n bytes; the ends of paths and names tell most.
func middleCut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := n/3, len(s)-(n-n/3-3)
	for head > 0 && s[head]&0xc0 == 0x80 {
		head--
	}
	for tail < len(s) && s[tail]&0xc0 == 0x80 {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}
