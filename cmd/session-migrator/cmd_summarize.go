package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/summarizing"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// Bounds of --target-chars.
const (
	leastTarget = 1_200
	mostTarget  = 200_000
)

type summarizeFlags struct {
	target int
	dry    bool
}

func newSummarizeCommand(a *app) *cobra.Command {
	var f summarizeFlags
	cmd := &cobra.Command{
		Use:   "summarize SESSION",
		Short: "Have a model summarize a session now, or see what it would be sent",
		Long: `Has the model of the settings write or renew the summary of a session, and
prints it. It need not be long for that, nor have rested; the caps and
deny_workspaces of the settings hold. If a daemon runs, it does it, by its own
settings and within its own account. If there is nothing new, nothing is sent.

--dry-run sends nothing. It prints every message word for word, with where it
would go, to which model, and how many tokens that is. Two things differ when it
is sent: the random part of the tag names, and calls that are made of earlier
answers.

Without a model in the settings nothing is ever sent: docs/summaries.md.

Exit codes: 0 made, or up to date, 1 not made, 2 wrong usage, 3 made in part, 10 no cache
and no Codex home, 11 another command is at work, 12 no such session.`,
		Example:           "  session-migrator summarize latest --dry-run\n  session-migrator summarize latest",
		Args:              args(1, 1, "one SESSION"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, given []string) error {
			if n := f.target; cmd.Flags().Changed("target-chars") && (n < leastTarget || n > mostTarget) {
				return usagef("--target-chars is %d; give %d to %d", n, leastTarget, mostTarget)
			}
			if f.dry {
				return runDry(cmd.Context(), a, given[0], f)
			}
			return runSummarize(cmd.Context(), a, given[0], f)
		},
	}
	cmd.Flags().IntVar(&f.target, "target-chars", 0, "characters of memory that the summary is to fit in (default 5000, or by the settings)")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print what would be sent, and send nothing")
	return cmd
}

type summarizeJSON struct {
	Schema int `json:"schema"`
	summarizing.Result
	Text string `json:"text"` // the summary
}

func runSummarize(ctx context.Context, a *app, arg string, f summarizeFlags) error {
	r, v, err := a.view(ctx, arg)
	if err != nil {
		return err
	}
	c := r.config
	r.close()
	if !c.Summaries.On() {
		return noSummaryModel(c.File)
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	res, made := daemon.Summarize(ctx, daemon.Options{Config: c, Version: version, Log: log, Healed: a.healed}, v.Thread.ID, summarizing.Wish{TargetChars: f.target})
	partly := false
	if bad, ok := errors.AsType[*summarizing.FixedError](made); ok {
		partly = bad.Partly
		made = hinted(errors.New(shown(bad.What)), bad.Fix)
		if partly {
			made = partlyError{partlyMade(v, res) + ": " + shown(bad.What) + "; " + bad.Fix}
		}
	}
	if errors.Is(made, summarizing.ErrDenied) {
		made = hinted(made, "take the folder out of deny_workspaces below [summaries] in "+c.File+" if it may be sent")
	}
	if made != nil && !partly {
		return explained(c, made)
	}
	if r, err = openReader(ctx, c); err != nil {
		return err
	}
	defer r.close()
	if v, err = r.pipe.View(ctx, v.Thread.ID); err != nil {
		return err
	}
	text, err := r.pipe.Notes(ctx, v)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if a.flags.json {
		return errors.Join(a.printJSON(summarizeJSON{Schema: 1, Result: res, Text: string(text)}), made)
	}
	if _, err := a.out.Write(text); err != nil {
		return err
	}
	put(a.err, "%s\n", madeLine(res))
	return made
}

// partlyMade says what a summary lacks of which a call failed: turns, or the last
// call of a long session, which makes title and state of all its parts.
func partlyMade(v pipeline.View, r summarizing.Result) string {
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Position > r.Through && (m.Role == transcript.RoleUser || m.Role == transcript.RoleAssistant) {
			return "the summary goes up to turn " + number(r.Turns) + " only"
		}
	}
	return "the summary has all turns, but state and goal are those of its last part"
}

func noSummaryModel(file string) error {
	return hinted(summarizing.ErrOff, `write for example [summaries] and below it provider = "ollama" and model = "qwen3:8b" into `+file+"; docs/summaries.md has more")
}

// madeLine says in a line how a summary was come by.
func madeLine(r summarizing.Result) string {
	if r.Same {
		return "nothing new since the summary that there is: nothing was sent"
	}
	tilde := "~"
	if r.Exact {
		tilde = ""
	}
	return fmt.Sprintf("%s at %s, through turn %s: %s, %s%s tokens in, %s%s out, %s", clean(r.Model, false), clean(r.Host, false), number(r.Turns), plural(r.Requests, "request"),
		tilde, number(r.Input), tilde, number(r.Output), costText(r.MicroUSD, r.Unpriced))
}

// costText is a cost for people.
func costText(micro int64, unpriced bool) string {
	switch {
	case unpriced:
		return "cost not known"
	case micro == 0:
		return "no cost"
	}
	return "about " + usd(micro) + " USD"
}

type dryJSON struct {
	Schema   int       `json:"schema"`
	ThreadID string    `json:"thread_id"`
	Endpoint string    `json:"endpoint"`
	Local    bool      `json:"local"` // it stays on this machine
	Model    string    `json:"model"`
	Window   int       `json:"window"` // tokens the model takes in; 0: the server is asked when it is sent
	Kind     string    `json:"kind"`
	Tokens   int       `json:"tokens"` // of all calls
	Exact    bool      `json:"exact"`
	MicroUSD int64     `json:"micro_usd"` // at most, without further tries
	Unpriced bool      `json:"unpriced"`
	LeftOut  int       `json:"left_out_messages"`
	Same     bool      `json:"up_to_date"` // nothing would be sent: there is nothing new
	Denied   bool      `json:"denied"`     // nothing would be sent: deny_workspaces
	Fault    *string   `json:"fault"`      // nothing could be sent as the settings are
	Fix      *string   `json:"fix"`
	Calls    []dryCall `json:"calls"`
}

type dryCall struct {
	Part     string       `json:"part"`
	From     int          `json:"from_turn"`
	To       int          `json:"to_turn"`
	Tokens   int          `json:"tokens"`
	Output   int          `json:"max_output_tokens"`
	Messages []dryMessage `json:"messages"`
}

type dryMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func runDry(ctx context.Context, a *app, arg string, f summarizeFlags) error {
	r, v, err := a.view(ctx, arg)
	if err != nil {
		return err
	}
	defer r.close()
	p, err := summarizing.Look(ctx, r.config, r.db, r.pipe, v, summarizing.Wish{TargetChars: f.target})
	if errors.Is(err, summarizing.ErrOff) {
		return noSummaryModel(r.config.File)
	}
	if bad, ok := errors.AsType[*summarizing.FixedError](err); ok {
		return hinted(err, bad.Fix)
	}
	if err != nil {
		return err
	}
	out := dryJSON{Schema: 1, ThreadID: v.Thread.ID, Endpoint: p.Host, Local: p.Local, Model: p.Model, Window: p.Window, Tokens: p.Plan.Tokens, Exact: p.Exact,
		MicroUSD: p.MicroUSD, Unpriced: !p.Priced, LeftOut: p.Plan.LeftOut, Same: p.Same, Denied: p.Denied, Fault: orNull(p.Fault), Fix: orNull(p.Fix), Calls: []dryCall{}}
	if !p.Same {
		out.Kind = p.Plan.Kind.String()
	}
	for i := range p.Plan.Calls {
		c := &p.Plan.Calls[i]
		out.Calls = append(out.Calls, dryCall{c.Part.String(), c.From, c.To, c.Tokens, c.Output, []dryMessage{{"system", c.System()}, {"user", c.Text()}}})
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	a.printDry(out)
	return nil
}

func (a *app) printDry(d dryJSON) {
	where := ", on this machine"
	if !d.Local {
		where = ", not on this machine"
	}
	tilde := "~"
	if d.Exact {
		tilde = ""
	}
	put(a.out, "nothing is sent: this is what would be\nendpoint %s%s\nmodel    %s\n", clean(orDash(d.Endpoint), false), where, clean(d.Model, false))
	switch {
	case d.Denied:
		put(a.out, "denied   by deny_workspaces: nothing would be sent\n")
	case d.Fault != nil:
		put(a.out, "fault    %s\nfix      %s\n", clean(*d.Fault, false), clean(*d.Fix, false))
	}
	if d.Same {
		put(a.out, "nothing new since the summary that there is: nothing would be sent\n")
		return
	}
	put(a.out, "tokens   %s%s in %s, %s\n", tilde, number(d.Tokens), plural(len(d.Calls), "call"), costText(d.MicroUSD, d.Unpriced))
	if d.Window == 0 {
		put(a.out, "window   not known here: the server is asked before it is sent, and more may go into a call then\n")
	}
	if d.LeftOut > 0 {
		put(a.out, "left out %s that have no room\n", plural(d.LeftOut, "message"))
	}
	for i, c := range d.Calls {
		put(a.out, "\n=== call %d of %d: %s, turns %d to %d, %s%s tokens, an answer of up to %s\n", i+1, len(d.Calls), c.Part, c.From, c.To, tilde, number(c.Tokens), number(c.Output))
		for _, m := range c.Messages {
			put(a.out, "\n--- %s\n%s\n", m.Role, clean(m.Content, true))
		}
	}
}
