package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/decide"
)

type decideFlags struct {
	models  []string
	all     bool
	reserve int
	policy  string
}

func newDecideCommand(a *app) *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "decide SESSION",
		Short: "Say which models can take a session over, and why",
		Long: `Says for each model whether it can take the session over as it is (direct) or
only a part of it (compress), with every figure the verdict rests on. Without
--model the models of the settings are asked about, or those in use today.

Exit codes: 0 answered, 2 wrong usage, 10 no cache and no Codex home, 12 no such session.`,
		Example:           "  session-migrator decide latest --model claude-opus-4-8 --model gpt-4o",
		Args:              args(1, 1, "one SESSION"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, given []string) error {
			if f.all && len(f.models) > 0 {
				return usagef("--model and --all-models exclude each other")
			}
			if slices.Contains(f.models, "") {
				return noModel("model")
			}
			opt, err := decideOptions(cmd, a, f.reserve, f.policy)
			if err != nil {
				return err
			}
			return runDecide(cmd.Context(), a, given[0], f, opt)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.models, "model", "m", nil, "target model, repeatable; name@TOKENS sets its window")
	fl.BoolVar(&f.all, "all-models", false, "every model of the capacity table")
	addPolicyFlags(cmd, &f.reserve, &f.policy)
	completes(cmd, "model", a.completeModels)
	choice(cmd, "policy", "fits", "comfortable")
	return cmd
}

func addPolicyFlags(cmd *cobra.Command, reserve *int, policy *string) {
	cmd.Flags().IntVar(reserve, "reserve", 0, "tokens to leave free for the answer (default by model)")
	if policy != nil {
		cmd.Flags().StringVar(policy, "policy", "fits", "direct if the session fits, or only if it is comfortable")
	}
}

// decideOptions gives the wishes of the flags over those of the settings; zero
// if the flags say nothing.
func decideOptions(cmd *cobra.Command, a *app, reserve int, policy string) (decide.Options, error) {
	if !cmd.Flags().Changed("reserve") && !cmd.Flags().Changed("policy") {
		return decide.Options{}, nil
	}
	c, err := a.config()
	if err != nil {
		return decide.Options{}, err
	}
	opt := daemon.PipelineOptions(c).Decide
	if cmd.Flags().Changed("reserve") {
		if reserve < 0 {
			return opt, usagef("--reserve is %d; give a number of tokens", reserve)
		}
		opt.Reserve = reserve
		if reserve == 0 {
			opt.Reserve = -1 // asked for: nothing is kept free
		}
	}
	if policy != "" {
		if err := opt.Policy.UnmarshalText([]byte(policy)); err != nil {
			return opt, usagef("--policy %q; give fits or comfortable", policy)
		}
	}
	return opt, nil
}

type decideJSON struct {
	Schema    int                `json:"schema"`
	ThreadID  string             `json:"thread_id"`
	Decisions []decisionJSON     `json:"decisions"`
	Freshness pipeline.Freshness `json:"freshness"`
}

// decisionJSON adds what the capacity table knows to a decision.
type decisionJSON struct {
	decide.Decision
	Suggestions []string `json:"suggestions,omitempty"` // for a name that nothing knows
	Problem     string   `json:"problem,omitempty"`     // why no hand-over can be made
}

func runDecide(ctx context.Context, a *app, arg string, f decideFlags, opt decide.Options) error {
	r, v, err := a.view(ctx, arg)
	if err != nil {
		return err
	}
	defer r.close()
	models := f.models
	switch {
	case f.all:
		models = allModels(r)
	case len(models) == 0:
		models = targets(r)
	}
	if err := r.windows(models...); err != nil {
		return err
	}
	out := decideJSON{Schema: 1, ThreadID: v.Thread.ID, Freshness: v.Fresh}
	packs := &packs{r: r, v: v, opt: opt, now: a.now()}
	if err := packs.load(ctx); err != nil {
		return err
	}
	for _, m := range models {
		d, problem, err := packs.decide(ctx, m)
		if err != nil {
			return err
		}
		one := decisionJSON{Decision: d, Problem: problem}
		if d.MatchedBy == capacity.MatchNone.String() {
			one.Suggestions = r.pipe.Table().Closest(m, 3)
		}
		out.Decisions = append(out.Decisions, one)
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	return printDecisions(a, v, out.Decisions)
}

// targets are the models that decisions are kept ready for.
func targets(r *reader) []string { return targetsOf(r.config) }

// allModels are the targets, and then every row of the table.
func allModels(r *reader) []string {
	const most = 10_000
	out := slices.Clone(targets(r))
	for _, m := range r.pipe.Table().Search("", 0, most) {
		id := m.ID
		if m.Surface != "" && m.Surface != capacity.SurfaceAPI {
			id = m.Surface + "/" + id
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// packs gives decisions with what a hand-over would hold. The daemon's are
// taken where they are as new as the thread; the same selection is made once.
type packs struct {
	r     *reader
	v     pipeline.View
	opt   decide.Options
	now   time.Time
	ready map[string]decide.Decision
	made  map[packKey]decide.Decision
}

type packKey struct {
	encoding string
	budget   int
	strategy decide.Strategy
}

func (p *packs) load(ctx context.Context) error {
	p.ready, p.made = map[string]decide.Decision{}, map[packKey]decide.Decision{}
	if p.opt != (decide.Options{}) {
		return nil
	}
	all, err := p.r.db.Decisions(ctx, p.v.Thread.ID, "")
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.ThroughSeq == p.v.Thread.LastSeq {
			p.ready[d.TargetModel] = d
		}
	}
	return nil
}

// decide gives the decision, and why no hand-over can be made if none can.
func (p *packs) decide(ctx context.Context, model string) (d decide.Decision, problem string, err error) {
	if err := p.r.pipe.CountFor(ctx, &p.v, model); err != nil {
		return d, "", err
	}
	d = p.r.pipe.Decide(p.v.Thread, model, p.opt)
	d.ComputedAt = p.now.UTC()
	if ready, ok := p.ready[model]; ok && ready.Window == d.Window && ready.Verdict == d.Verdict && ready.SessionTokens == d.SessionTokens && ready.Basis() == d.Basis() && ready.Room == d.Room {
		d = ready
	}
	if d.Verdict == decide.Direct || d.KeptMessages > 0 || d.Budget == nil {
		return d, "", nil
	}
	key := packKey{d.Encoding, *d.Budget, d.Strategy}
	kept, ok := p.made[key]
	if !ok {
		h, err := p.r.pipe.Migrate(ctx, p.v, pipeline.Request{Target: model, Decide: p.opt})
		if err != nil {
			if ctx.Err() != nil {
				return d, "", err
			}
			return d, tooSmall(err).Error(), nil // a window that holds no hand-over is an answer too
		}
		kept = h.Decision
		p.made[key] = kept
	}
	d.KeptTokens, d.KeptMessages, d.OmittedMessages = kept.KeptTokens, kept.KeptMessages, kept.OmittedMessages
	return d, "", nil
}

func printDecisions(a *app, v pipeline.View, all []decisionJSON) error {
	th := v.Thread
	put(a.out, "%s  %s\n%s in %s, %s tokens (o200k_base)\n\n", th.ID, clean(shown(th.Title), false),
		plural(th.Migrated, "message"), plural(th.Turns, "turn"), number(th.Tokens["o200k_base"]))
	if err := decisionTable(all).print(a, a.out); err != nil {
		return err
	}
	for _, d := range all {
		if d.Problem != "" {
			a.warn("nothing of it can be given to %s: %s", d.TargetModel, d.Problem)
		}
		if d.MatchedBy != capacity.MatchNone.String() {
			continue
		}
		hint := ""
		if len(d.Suggestions) > 0 {
			hint = "; did you mean " + joined(d.Suggestions) + "?"
		}
		a.warn("nothing is known of %s: taken for a window of %s tokens%s", d.TargetModel, number(d.Window), hint)
	}
	return nil
}

func decisionTable(all []decisionJSON) *table {
	t := &table{head: []string{"MODEL", "VERDICT", "FIT", "SESSION", "ROOM", "WINDOW", "GIVE", "KEEPS", "FROM"}, right: []bool{false, false, false, true, true, true},
		paint: map[string]colour{"direct": green, "compress": yellow, "comfortable": green, "tight": yellow, "over": red}}
	for _, d := range all {
		give := "all of it"
		keeps := plural(d.KeptMessages, "message")
		if d.Budget != nil {
			give = d.Strategy.String() + " ≤ " + number(*d.Budget)
			keeps = fmt.Sprintf("%s of %s messages", number(d.KeptMessages), number(d.KeptMessages+d.OmittedMessages))
			if d.Problem != "" {
				keeps = "nothing"
			}
		}
		tokens := number(d.TargetTokens)
		if !d.Exact {
			tokens = fmt.Sprintf("~%s ≤ %s", number(d.Count.Tokens), tokens)
		}
		from := d.WindowSource
		if d.WindowDate != "" {
			from += " " + d.WindowDate
		}
		t.add(clean(d.TargetModel, false), d.Verdict.String(), d.Fit.String(), tokens, number(d.Room), number(d.Window), give, keeps, from)
	}
	return t
}
