package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

type migrateFlags struct {
	to       string
	budget   int
	strategy string
	reserve  int
	format   string
	file     string
	prompt   string
}

func newMigrateCommand(a *app) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate SESSION --to MODEL",
		Short: "Print what to give the target: all of it where it fits, else the best part",
		Long: `Prints what the target is to be given: the whole conversation where it fits,
else a selection with references for the rest. Secrets are taken out. What was
left out is fetched with "original REF".

--budget counts tokens as the session does, in the "encoding" that --json names;
the target counts them as up to budget × "factor". A budget that holds no whole
message is given the beginning and end of the newest, with a mark between.

--prompt says what the target will be asked first: where not all fits, up to a
tenth of the budget goes to passages that say something about it, in their
places and marked as retrieved.

Exit codes: 0 printed, 1 the budget holds no message, 2 wrong usage, 10 no cache and
no Codex home, 12 no such session.`,
		Example:           "  session-migrator migrate latest --to gpt-4o -o handoff.md",
		Args:              args(1, 1, "one SESSION"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			opt, err := decideOptions(cmd, a, f.reserve, "")
			if err != nil {
				return err
			}
			return runMigrate(cmd.Context(), a, given[0], f, opt)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.to, "to", "", "target model (required); name@TOKENS sets its window")
	fl.IntVar(&f.budget, "budget", 0, "tokens the hand-over may have, in the session's encoding (default by the model)")
	fl.StringVar(&f.strategy, "strategy", "", "latest, shrunk or selected (default by the decision)")
	fl.StringVar(&f.format, "format", "markdown", "markdown, messages, openai or anthropic")
	fl.StringVarP(&f.file, "output", "o", "", "write to a file")
	fl.StringVar(&f.prompt, "prompt", "", "what the target will be asked first, to find what was said about it")
	addPolicyFlags(cmd, &f.reserve, nil)
	completes(cmd, "to", a.completeModels)
	choice(cmd, "strategy", "latest", "shrunk", "selected")
	choice(cmd, "format", "markdown", "messages", "openai", "anthropic")
	return cmd
}

func (f migrateFlags) validate(cmd *cobra.Command) error {
	if f.to == "" {
		return hinted(usageError{errors.New("--to is missing")}, `say which model takes over: "session-migrator migrate SESSION --to MODEL"; "session-migrator models" lists them`)
	}
	if cmd.Flags().Changed("budget") && f.budget <= 0 {
		return usagef("--budget is %d; give a number of tokens above 0", f.budget)
	}
	if !oneOf(f.strategy, "", "latest", "shrunk", "selected") {
		return usagef("--strategy %q; give latest, shrunk or selected", f.strategy)
	}
	if !oneOf(f.format, "markdown", "messages", "openai", "anthropic") {
		return usagef("--format %q; give markdown, messages, openai or anthropic", f.format)
	}
	return nil
}

func oneOf(s string, known ...string) bool {
	for _, k := range known {
		if s == k {
			return true
		}
	}
	return false
}

type migrateJSON struct {
	Schema   int             `json:"schema"`
	ThreadID string          `json:"thread_id"`
	Decision decide.Decision `json:"decision"`
	Strategy string          `json:"strategy"` // whole, latest, shrunk, selected
	Format   string          `json:"format"`
	Tokens   int             `json:"tokens"` // of text, in the decision's encoding
	// Count is the same in the target's own tokens, MessageOverhead what its
	// chat format adds: around each message in openai and anthropic, else around
	// the one that the text is.
	Count           tokens.Result      `json:"count"`
	MessageOverhead int                `json:"message_overhead"`
	KeptMessages    int                `json:"kept_messages"`
	OmittedMessages int                `json:"omitted_messages"`
	Retrieved       int                `json:"retrieved_messages"` // here only for --prompt
	Text            string             `json:"text"`
	Freshness       pipeline.Freshness `json:"freshness"`
}

func runMigrate(ctx context.Context, a *app, arg string, f migrateFlags, opt decide.Options) error {
	r, v, err := a.view(ctx, arg)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.windows(f.to); err != nil {
		return err
	}
	h, err := r.pipe.Migrate(ctx, v, pipeline.Request{Target: f.to, Budget: f.budget, Strategy: f.strategy, Format: f.format, Decide: opt, Next: f.prompt})
	if err != nil {
		return tooSmall(err)
	}
	h.Decision.ComputedAt = a.now().UTC()
	if h.Decision.MatchedBy == capacity.MatchNone.String() {
		hint := ""
		if near := r.pipe.Table().Closest(f.to, 3); len(near) > 0 {
			hint = "; did you mean " + joined(near) + "?"
		}
		a.warn("nothing is known of %s: taken for a window of %s tokens%s", f.to, number(h.Decision.Window), hint)
	}
	if a.flags.json {
		return a.printJSON(migrateJSON{Schema: 1, ThreadID: v.Thread.ID, Decision: h.Decision, Strategy: h.Strategy, Format: f.format, Tokens: h.Tokens,
			Count: h.Count, MessageOverhead: h.Overhead, KeptMessages: h.Kept, OmittedMessages: h.Omitted, Retrieved: h.Retrieved, Text: string(h.Text), Freshness: v.Fresh})
	}
	if err := a.printTo(f.file, h.Text); err != nil {
		return err
	}
	put(a.err, "%s\n", handoffLine(f.to, h))
	if h.Omitted > 0 && f.budget > 0 {
		a.warnSmall(f.budget)
	}
	return nil
}

// usefulBudget is about what a task, where it stands and what comes next take.
// Less is given all the same, and said to be little.
const usefulBudget = 500

func (a *app) warnSmall(budget int) {
	if budget < usefulBudget {
		a.warn("%s are room for hardly more than the frame: nobody can go on from that; give --budget %d or more", plural(budget, "token"), usefulBudget)
	}
}

// smallBudget is the error of a budget that holds no message.
type smallBudget interface {
	error
	TooSmall() (budget, need int) // tokens
}

// tooSmall says of such an error what would do.
func tooSmall(err error) error {
	const hint = "give a larger --budget, or a model with a larger window"
	small, ok := errors.AsType[smallBudget](err)
	if !ok {
		return hinted(err, hint)
	}
	budget, need := small.TooSmall()
	err = fmt.Errorf("no message fits %s, not even a part of one: at least %s are needed", plural(budget, "token"), number(need))
	return hinted(err, hint)
}

// estimateOf says what an estimated count is for the target; nothing of an exact
// one.
func estimateOf(target string, c tokens.Result) string {
	if c.Method != tokens.Estimated {
		return ""
	}
	return fmt.Sprintf(" of %s (about %s for %s: %s to %s, estimated)", c.Encoding, number(c.Tokens), clean(target, false), number(c.Lo), number(c.Hi))
}

// handoffLine says in a line what was given.
func handoffLine(target string, h pipeline.Handoff) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", clean(target, false), h.Decision.Verdict)
	if h.Strategy != "whole" {
		fmt.Fprintf(&b, " (%s)", h.Strategy)
	}
	fmt.Fprintf(&b, ", %s tokens%s, %s", number(h.Tokens), estimateOf(target, h.Count), plural(h.Kept, "message"))
	if h.Omitted > 0 {
		fmt.Fprintf(&b, ", %s left out by reference", number(h.Omitted))
	}
	if h.Retrieved > 0 {
		fmt.Fprintf(&b, ", %s with passages for the next request", number(h.Retrieved))
	}
	return b.String()
}
