package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

type showFlags struct {
	format string
	model  string
	budget string
	size   memory.Budget // of budget, if it is a name
	tokens int           // of budget, if it is a number
	file   string
}

func newShowCommand(a *app) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Print a session: its memory, its messages or its original text",
		Long: `Prints a session as

  memory     the hand-off document, secrets taken out (default)
  messages   every message of the current branch; with --json exact and whole
  original   the exact text of every message, nothing taken out
  summary    what a model or an agent wrote of it ([summaries] in the settings),
             the one that covers more; else the memory within 5,000 characters

--budget counts tokens in the encoding that "tokens --model M" counts with, of
--model or without one o200k_base; or it names a size:

  brief      1,200 characters
  standard   5,000 characters, what memory files have
  full       20,000 characters
  direct     the whole dialogue, word for word; with --model only if that
             model takes the session as it is, else full

Exit codes: 0 printed, 1 the budget holds nothing, 2 wrong usage, 10 no cache and no Codex home, 12 no such session.`,
		Example:           "  session-migrator show latest\n  session-migrator show 0199a213 --format messages --json",
		Args:              args(1, 1, "one SESSION"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, given []string) error {
			var err error
			if f, err = f.validated(cmd); err != nil {
				return err
			}
			return runShow(cmd.Context(), a, given[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "memory", "memory, messages, original or summary")
	fl.StringVarP(&f.model, "model", "m", "", "memory: cut to what this model can take")
	fl.StringVar(&f.budget, "budget", "", "memory: `N` tokens, or brief, standard, full, direct")
	fl.StringVarP(&f.file, "output", "o", "", "write to a file")
	completes(cmd, "model", a.completeModels)
	choice(cmd, "format", "memory", "messages", "original", "summary")
	choice(cmd, "budget", "brief", "standard", "full", "direct")
	return cmd
}

// validated gives the flags with the budget read.
func (f showFlags) validated(cmd *cobra.Command) (showFlags, error) {
	if !oneOf(f.format, "memory", "messages", "original", "summary") {
		return f, usagef("--format %q; give memory, messages, original or summary", f.format)
	}
	for _, name := range []string{"budget", "model"} {
		if f.format != "memory" && cmd.Flags().Changed(name) {
			return f, usagef("--%s is for --format memory: messages and originals are printed whole", name)
		}
	}
	if cmd.Flags().Changed("budget") {
		size, isName := memory.ParseBudget(f.budget)
		n, err := strconv.Atoi(f.budget)
		if !isName && (err != nil || n <= 0) {
			return f, usagef("--budget is %q; give a number of tokens above 0, or brief, standard, full or direct", f.budget)
		}
		f.size, f.tokens = size, n
	}
	return f, named(cmd, "model")
}

type memoryJSON struct {
	Schema    int                `json:"schema"`
	ThreadID  string             `json:"thread_id"`
	Format    string             `json:"format"`
	Text      string             `json:"text"`
	Freshness pipeline.Freshness `json:"freshness"`
}

func runShow(ctx context.Context, a *app, arg string, f showFlags) error {
	r, v, err := a.view(ctx, arg)
	if err != nil {
		return err
	}
	defer r.close()
	if f.format == "messages" && a.flags.json {
		j, err := r.threadOf(ctx, v)
		if err != nil {
			return err
		}
		return a.toFile(f.file, func(a *app) error { return a.printJSON(j) })
	}
	var text []byte
	switch f.format {
	case "messages":
		j, err := r.threadOf(ctx, v)
		if err != nil {
			return err
		}
		return a.toFile(f.file, func(a *app) error { return printMessages(a, j, v) })
	case "original":
		text = originalText(v.Messages)
	case "summary":
		if text, err = r.summary(ctx, a, v); err != nil {
			return err
		}
	case "memory":
		if err := r.windows(f.model); err != nil {
			return err
		}
		if text, err = r.memory(ctx, v, f); err != nil {
			return err
		}
		if f.tokens > 0 && f.tokens < usefulBudget {
			whole := f
			whole.tokens = 0
			if all, err := r.memory(ctx, v, whole); err == nil && len(all) > len(text) {
				a.warnSmall(f.tokens)
			}
		}
	}
	if a.flags.json {
		return a.toFile(f.file, func(a *app) error {
			return a.printJSON(memoryJSON{Schema: 1, ThreadID: v.Thread.ID, Format: f.format, Text: string(text), Freshness: v.Fresh})
		})
	}
	return a.printTo(f.file, text)
}

// toFile prints into a file if one is named.
func (a *app) toFile(file string, print func(*app) error) error {
	if file == "" || file == "-" {
		return print(a)
	}
	var b bytes.Buffer
	to := *a
	to.out = &b
	if err := print(&to); err != nil {
		return err
	}
	return a.printTo(file, b.Bytes())
}

// printMessages lists the messages with their first words.
func printMessages(a *app, j threadJSON, v pipeline.View) error {
	context := "unknown"
	if j.ContextPercent != nil {
		context = fmt.Sprintf("%s of %s tokens (%.1f %%)", number(cmp.Or(j.ContextInput, j.ContextTokens)), number(j.Window), *j.ContextPercent)
	}
	put(a.out, "%s  %s\n%s, %s, context %s, spent %s tokens\n", j.ThreadID, clean(j.Title, false), clean(j.Model, false), j.State, context,
		number(j.OwnUsage.Total))
	if j.Subagents > 0 {
		put(a.out, "with %s: %s tokens\n", plural(j.Subagents, "sub-agent"), number(j.UsageWithSubagents.Total))
	}
	if j.BaseMissing != nil {
		a.warn("the history begins in rollout %s, which is not here", *j.BaseMissing)
	}
	for _, p := range j.Problems.lines() {
		a.warn("%s", p)
	}
	if n := j.Counts.DamagedLines - len(j.Problems.Damage); n > 0 {
		a.warn("%s more", plural(n, "damaged line"))
	}
	put(a.out, "\n")
	t := table{head: []string{"SEQ", "TURN", "TOKENS", "REF", "ROLE", "TEXT"}, right: []bool{true, true, true}, paint: map[string]colour{"user": bold}}
	for i := range v.Messages {
		m := &v.Messages[i]
		role := m.Role.String()
		if m.Inherited {
			role += " (inherited)"
		}
		t.add(number(m.Position), number(m.ThreadTurn), number(m.Tokens), m.Ref, role, preview(m))
	}
	if err := t.print(a, a.out); err != nil {
		return err
	}
	if n := len(j.NoLongerInSource); n > 0 {
		put(a.err, "%s that Codex removed from its file: see no_longer_in_source of --json\n", plural(n, "message"))
	}
	return nil
}

const previewRunes = 120

// preview gives the first words of a message in one line.
func preview(m *transcript.Message) string {
	text := strings.Join(strings.Fields(clean(m.Body(), false)), " ")
	if m.Name != "" {
		text = clean(m.Name, false) + " " + text
	}
	if m.HasExit && m.ExitCode != 0 {
		text = fmt.Sprintf("[exit %d] %s", m.ExitCode, text)
	}
	if m.Images > 0 {
		text = fmt.Sprintf("[%s] %s", plural(m.Images, "image"), text)
	}
	if r := []rune(text); len(r) > previewRunes {
		return string(r[:previewRunes-1]) + "…"
	}
	return text
}

// memory makes the hand-off document, within a budget of tokens if one is
// asked for.
func (r *reader) memory(ctx context.Context, v pipeline.View, f showFlags) ([]byte, error) {
	q := pipeline.MemoryRequest{Target: f.model, Budget: f.size, Location: time.Local}
	if f.tokens == 0 {
		return r.pipe.Memory(ctx, v, q)
	}
	encoding := tokens.O200kBase
	if f.model != "" {
		m, _ := r.pipe.Table().Lookup(f.model) // an unknown name's row says so itself
		encoding = m.Encoding
	}
	// The document is cut by its length; its tokens are known when it is made.
	for q.Units = f.tokens * unitsAToken; q.Units > 0; {
		text, err := r.pipe.Memory(ctx, v, q)
		if err != nil {
			return nil, err
		}
		n, _, err := tokens.CountReader(encoding, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if n <= int64(f.tokens) {
			return text, nil
		}
		q.Units = min(q.Units*9/10, int(int64(q.Units)*int64(f.tokens)/n))
	}
	return nil, hinted(fmt.Errorf("a memory within %s holds nothing", plural(f.tokens, "token")), "give a larger --budget")
}

// summaryUnits is the size of a summary that nobody wrote, in UTF-16 units.
const summaryUnits = 5_000

// summary gives what a model or an agent wrote, or the memory in short; on
// stderr, whose it is and how far it goes, or how to have one written.
func (r *reader) summary(ctx context.Context, a *app, v pipeline.View) ([]byte, error) {
	last, offered := v.Thread.LastSeq, r.config.Summaries.ByCaller && v.Thread.LastSeq > 0
	text, err := r.pipe.Notes(ctx, v)
	if errors.Is(err, store.ErrNotFound) {
		switch {
		case r.config.Summaries.On():
			put(a.err, "No LLM summary yet. To have one made now: session-migrator summarize %s\n", v.Thread.ID)
		case offered:
			put(a.err, "No LLM summary yet. To make one: read format=memory, write ≤ 5,000 characters, call save_session_summary with through_event=%d.\n", last)
		}
		return r.pipe.Memory(ctx, v, pipeline.MemoryRequest{Units: summaryUnits, Location: time.Local})
	}
	if err != nil {
		return nil, err
	}
	was, err := r.pipe.Summary(ctx, v)
	if err == nil {
		who := "an agent"
		if was.Made != nil {
			who = "the model " + clean(was.Model, false) + " at " + clean(was.Made.Host, false)
		}
		put(a.err, "generated: %s wrote this summary, through message %d of %d\n", who, min(was.Through, last), last)
	}
	return text, err
}

// unitsAToken is more characters than a token has in usual text: the first
// try is rather too long than too short.
const unitsAToken = 6
