package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
)

// usualSpend is how many entries are listed if nobody says.
const usualSpend = 20

type spendFlags struct {
	since string
	limit int
}

func newSpendCommand(a *app) *cobra.Command {
	var f spendFlags
	cmd := &cobra.Command{
		Use:   "spend",
		Short: "List what was sent to models, and what it cost",
		Long: `Lists the calls to models for embeddings and summaries, and to vendors that were
asked to count ("tokens calibrate"), newest first: to whom, how many tokens, and
the cost at the price in the settings or, for summaries, in a table of ` + spend.PricesFrom() + `;
"?" where nobody tells it. Without any of them in the settings nothing is ever
sent, and the list is empty. Tokens with "~" are estimated, because the endpoint
didn't count them. A call that stays "pending" was sent when the program was
killed; it counts. The vectors of questions, which search and mcp ask for
themselves, are not in the list.

Exit codes: 0 answered, 2 wrong usage, 10 no cache.`,
		Example: "  session-migrator spend --since 7d\n  session-migrator spend --json",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSpend(cmd.Context(), a, f) },
	}
	cmd.Flags().StringVar(&f.since, "since", "30d", "since then: 7d, 12h, 2w, 2026-11-01")
	cmd.Flags().IntVar(&f.limit, "limit", usualSpend, "at most so many calls; 0 for all. The sum is of all")
	return cmd
}

type spendJSON struct {
	Schema int           `json:"schema"`
	Since  *time.Time    `json:"since"`
	Sum    spend.Sum     `json:"sum"` // of all since then
	Calls  []spend.Entry `json:"calls"`
}

func runSpend(ctx context.Context, a *app, f spendFlags) (err error) {
	if f.limit < 0 {
		return usagef("--limit is a number from 0 on")
	}
	since, err := parseSince(f.since, a.now())
	if err != nil {
		return err
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	db, err := store.OpenReader(ctx, c.DB())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if since.IsZero() {
		since = time.Unix(0, 0)
	}
	all, err := db.Spent(ctx, since)
	if err != nil {
		return err
	}
	out := spendJSON{Schema: 1, Since: instant(since), Calls: list(all)}
	for _, e := range all {
		out.Sum.Calls += int64(e.Calls)
		out.Sum.Input += e.Input
		out.Sum.Output += e.Output
		out.Sum.MicroUSD += e.MicroUSD
		if e.Unpriced {
			out.Sum.Unpriced += int64(e.Calls)
		}
	}
	if f.limit > 0 {
		out.Calls = out.Calls[:min(f.limit, len(all))]
	}
	if a.flags.json {
		return a.printJSON(out)
	}
	return a.printSpend(out, len(all))
}

func (a *app) printSpend(s spendJSON, total int) error {
	if total == 0 {
		put(a.out, "nothing was sent to any model\n")
		return nil
	}
	t := table{head: []string{"WHEN", "FOR", "HOST", "MODEL", "CALLS", "IN", "OUT", "USD", "OUTCOME", "SESSION"},
		right: []bool{false, false, false, false, true, true, true, true}, paint: map[string]colour{"refused": red, "unavailable": yellow, "unusable": yellow, "pending": yellow}}
	now := a.now()
	for _, e := range s.Calls {
		in, out := number(e.Input), number(e.Output)
		if !e.Exact {
			in = "~" + in
		}
		if !e.Exact && e.Output > 0 {
			out = "~" + out
		}
		t.add(age(now, e.At), e.Kind.String(), clean(e.Host, false), clean(e.Model, false), number(e.Calls), in, out,
			priceOf(e), e.Outcome.String(), orDash(e.Thread))
	}
	if err := t.print(a, a.out); err != nil {
		return err
	}
	unpriced := ""
	if s.Sum.Unpriced > 0 {
		unpriced = ", and what " + plural(s.Sum.Unpriced, "call") + " cost whose price is not known"
	}
	put(a.out, "\n%s, %s tokens in, %s out, %s USD%s\n", plural(s.Sum.Calls, "call"), number(s.Sum.Input), number(s.Sum.Output), usd(s.Sum.MicroUSD), unpriced)
	if left := total - len(s.Calls); left > 0 {
		put(a.err, "%s more; --limit 0 lists all\n", number(left))
	}
	return nil
}

func priceOf(e spend.Entry) string {
	if e.Unpriced {
		return "?"
	}
	return usd(e.MicroUSD)
}

// usd writes millionths of a dollar; a dash for none.
func usd(micro int64) string {
	if micro == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6)
}
