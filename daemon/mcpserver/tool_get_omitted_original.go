package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func getOmittedOriginal() *tool {
	return &tool{
		name: "get_omitted_original", title: "Get omitted original text",
		description: "Get the original text behind a ref that a memory or hand-off left out: om_7f3a91c2.412 (one message), t17 or t17-t30 (turns, with session).",
		search:      "full original text of an omitted message or tool output behind a reference",
		paged:       true,
		params:      []param{{name: "ref", required: true, other: []string{"refs", "reference", "uri"}}, {name: "session", other: sessionParam.other}, bytesParam, cursorParam},
		input: `{"type":"object","properties":{"ref":{"type":"string"},` +
			`"session":{"type":"string","description":"Needed for turn refs"},` +
			`"max_bytes":{"type":"integer","minimum":2000,"maximum":200000,"default":32000},` +
			`"cursor":{"type":"string"}},"required":["ref"],"additionalProperties":false}`,
		run: runGetOmittedOriginal,
	}
}

var (
	refShape = pattern.Lazy(`^(om_[0-9a-f]{8}\.[0-9]{1,18})(?:@([0-9]{1,18})\+([0-9]{1,18}))?$`)
	refTurns = pattern.Lazy(`^t[0-9]{1,9}(-t[0-9]{1,9})?$`)
)

// original is a ref as it was read.
type original struct {
	ref      string // as asked for
	whole    string // without the bytes
	off, len int    // bytes of the redacted text; len 0: all
	turns    bool
}

func parseOriginal(text string) (original, error) {
	if ref, ok := refOfURI(text); ok {
		text = ref
	}
	ref := strings.Trim(text, " \t\r\n`'\",;:()[]{}<>⟦⟧")
	if refTurns().MatchString(ref) {
		return original{ref: ref, whole: ref, turns: true}, nil
	}
	m := refShape().FindStringSubmatch(ref)
	if m == nil {
		return original{}, advise("Can't read %q as a ref: want om_7f3a91c2.412, om_7f3a91c2.412@1800+5200, t17 or t17-t30, as it stands in the text.", echoed(text, 60))
	}
	o := original{ref: ref, whole: m[1]}
	if m[3] != "" {
		o.off, _ = strconv.Atoi(m[2]) // digits that fit, by the shape
		o.len, _ = strconv.Atoi(m[3])
	}
	return o, nil
}

func runGetOmittedOriginal(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	cur, err := s.firstPage(h.pipe, c)
	if err != nil {
		return result{}, err
	}
	text, err := c.args.text("ref")
	if err != nil {
		return result{}, err
	}
	if text == "" {
		text = cur.Kind
	}
	if text == "" {
		return result{}, c.args.missing("ref")
	}
	o, err := parseOriginal(text)
	if err != nil {
		return result{}, err
	}
	thread := ""
	if o.turns {
		if !c.args.has("session") && cur.Session != "" {
			if c.args.values["session"], err = marshal(cur.Session); err != nil {
				return result{}, err
			}
		}
		if !c.args.has("session") {
			return result{}, advise("The ref %s names turns: say of which session.", o.ref)
		}
		if thread, err = s.session(ctx, h, c); err != nil {
			return result{}, err
		}
	}
	d, err := s.originalDocument(ctx, h, o, thread)
	if err != nil {
		return result{}, err
	}
	if cur.Hash != "" && cur.Hash != d.hash() {
		return result{}, advise("The text behind %s changed since page 1. Start again without cursor.", o.ref)
	}
	cur.Kind, cur.Session = o.ref, thread
	return s.page(ctx, h.pipe, d, cur, "as recorded, secrets redacted")
}

// originalDocument writes the messages behind a ref. Bytes are cut out of the
// redacted text: that is what refs were made on, and no half of a secret gets
// out.
func (s *server) originalDocument(ctx context.Context, h *handle, o original, thread string) (*document, error) {
	ms, err := s.original(ctx, h, o, thread)
	if errors.Is(err, store.ErrNotFound) {
		if o.turns {
			return nil, advise("Session %s has no turn %s. get_session_context shows what it has.", thread, o.ref)
		}
		return nil, advise("Nothing in the cache answers to %s. Take refs from a memory or hand-off of this machine, as they stand there.", o.ref)
	}
	if err != nil {
		return nil, err
	}
	d := &document{name: o.ref, shape: shapeMarkdown, session: thread}
	total := 0
	var b strings.Builder
	shown := pipeline.Redacted(ms)
	if o.len > 0 {
		shown, _ = pipeline.HandedOn(ms) // what refs to bytes count
	}
	for _, m := range shown {
		body := m.Body()
		if o.len > 0 {
			if body, err = bytesOf(body, o); err != nil {
				return nil, err
			}
		}
		total += m.Tokens
		writeOriginal(&b, &m, body, len(body))
	}
	d.body = []byte(b.String())
	if len(ms) == 1 {
		d.labels = append(d.labels, ms[0].Role.String(), stamp(ms[0].Time))
	} else {
		d.labels = append(d.labels, fmt.Sprintf("%d messages", len(ms)))
	}
	if o.len == 0 {
		d.labels = append(d.labels, grouped(total)+" tokens")
	}
	return d, nil
}

// original gives the messages behind a ref, also those that the daemon hasn't
// committed yet: texts that were read through name them.
func (s *server) original(ctx context.Context, h *handle, o original, thread string) ([]transcript.Message, error) {
	ms, err := h.pipe.Original(ctx, o.whole, thread, s.workspace)
	if err != nil && !errors.Is(err, store.ErrNotFound) || err == nil && !o.turns {
		return ms, err
	}
	if !o.turns {
		// A session's first rollout ends as the session does.
		id8, _, _ := strings.Cut(strings.TrimPrefix(o.whole, "om_"), ".")
		id, unknown := h.db.Resolve(ctx, id8, s.workspace, "")
		if unknown != nil {
			return nil, err
		}
		thread = id
	}
	t, failed := h.db.Thread(ctx, thread)
	if failed != nil {
		return nil, failed
	}
	if f, failed := h.pipe.Freshness(ctx, &t); failed != nil || f.Behind == 0 {
		return ms, errors.Join(err, failed)
	}
	v, failed := h.pipe.View(ctx, thread)
	if failed != nil {
		return nil, failed
	}
	var out []transcript.Message
	for _, m := range v.Messages {
		if o.names(&m) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return ms, err
	}
	return out, nil
}

// names tells whether a message is one of those that the ref names.
func (o *original) names(m *transcript.Message) bool {
	if !o.turns {
		return m.Ref == o.whole
	}
	first, last, ok := strings.Cut(o.whole, "-")
	if !ok {
		last = first
	}
	from, _ := strconv.Atoi(first[1:]) // digits that fit, by the shape
	to, _ := strconv.Atoi(last[1:])
	return from <= m.ThreadTurn && m.ThreadTurn <= to
}

// writeOriginal writes a body of size bytes, or what is shown of it, below a
// heading and in a fence of its own.
func writeOriginal(b *strings.Builder, m *transcript.Message, shown string, size int) {
	fence := fenceFor(shown)
	b.WriteString(originalHeading(m, size) + "\n" + fence + "\n" + shown)
	if !strings.HasSuffix(shown, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence + "\n\n")
}

func bytesOf(body string, o original) (string, error) {
	if o.off > len(body) || o.len > len(body)-o.off {
		return "", advise("The text of %s has only %d bytes. Fetch %s for all of it.", o.whole, len(body), o.whole)
	}
	return strings.ToValidUTF8(body[o.off:o.off+o.len], ""), nil
}

// originalHeading says whose words follow.
func originalHeading(m *transcript.Message, size int) string {
	h := "## "
	if m.ThreadTurn > 0 {
		h += fmt.Sprintf("[t%d] ", m.ThreadTurn)
	}
	h += m.Role.String()
	if m.Name != "" {
		h += " " + echoed(m.Name, 64)
	}
	facts := []string{m.Ref, stamp(m.Time), grouped(m.Tokens) + " tokens", grouped(size) + " bytes"}
	if m.HasExit {
		facts = append(facts, fmt.Sprintf("exit %d", m.ExitCode))
	}
	if m.Images > 0 {
		facts = append(facts, fmt.Sprintf("%d images, not kept", m.Images))
	}
	if m.Gone {
		facts = append(facts, "no longer in Codex's file")
	}
	return h + " (" + strings.Join(facts, ", ") + ")"
}

// fenceFor gives backticks, one more than the longest run in s.
func fenceFor(s string) string {
	longest, run := 2, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
