package summarizing

import (
	"context"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline"
	llm "github.com/session-migrator/session-migrator/pipeline/summary"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// What a remote endpoint gets if the settings don't say: enough for a day's
	// work, not for years of sessions at once.
	remoteCalls  = 100
	remoteTokens = 1_000_000
	remoteUSD    = 5.0 // a month, if the price is known
)

// model is who writes; *llm.Client in the program.
type model interface {
	Run(ctx context.Context, p llm.Plan, before func(llm.Request) error, after func(llm.Usage)) (llm.Prior, error)
	Window(ctx context.Context) (tokens int, hint string)
	Host() string
	Local() bool
	Model() string
	Close()
}

var (
	// errKey means that the key isn't there.
	errKey = errors.New("the key is missing")
	// errPrice means that a cap on money can't be kept.
	errPrice = errors.New("nobody tells the price of the model, so a cap on money can't be kept")
)

// endpoint is what the settings name.
func endpoint(c config.Summaries) (chat.Endpoint, error) {
	p, err := chat.ParseProvider(c.Provider)
	if err != nil {
		return chat.Endpoint{}, err
	}
	return chat.Endpoint{Provider: p, BaseURL: c.Endpoint, Model: c.Model, Key: string(c.Key), AllowRemote: c.Remote}.Fill(), nil
}

// who tells whom the settings name, or what of them can't be worked with. It
// opens nothing.
type who struct {
	endpoint chat.Endpoint
	host     string
	local    bool
	price    spend.Price
	priced   bool
	day      spend.Caps
	month    spend.Caps
}

func whoIn(cfg config.Config) (w who, err error) {
	c := cfg.Summaries
	if w.endpoint, err = endpoint(c); err != nil {
		return w, err
	}
	if w.host, w.local, err = w.endpoint.Check(); err != nil {
		return w, err
	}
	if c.KeyVar != "" && c.Key == "" && (!w.local || c.APIKeyEnv != "") {
		return w, fmt.Errorf("%w: %s is not set where this program runs", errKey, c.KeyVar)
	}
	switch {
	case c.USDPerMillionInput != nil:
		w.price, w.priced = spend.Price{Input: *c.USDPerMillionInput, Output: *c.USDPerMillionOutput}, true
	case w.local:
		w.priced = true // it costs nothing
	default:
		w.price, w.priced = spend.PriceOf(w.endpoint.Model)
	}
	w.day = spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: spend.NoCap}
	w.month = spend.Caps{Period: spend.Monthly, Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: spend.NoCap}
	if !w.local {
		w.day.Calls, w.day.Tokens = remoteCalls, remoteTokens
		if w.priced {
			w.month.MicroUSD = spend.Cost(1_000_000, remoteUSD)
		}
	}
	if c.MaxCallsPerDay != nil {
		w.day.Calls = *c.MaxCallsPerDay
	}
	if c.MaxTokensPerDay != nil {
		w.day.Tokens = *c.MaxTokensPerDay
	}
	if m := c.MaxUSDPerMonth; m != nil {
		if *m > 0 && !w.priced {
			return w, fmt.Errorf("%w: %s", errPrice, w.endpoint.Model)
		}
		w.month.MicroUSD = spend.Cost(1_000_000, *m)
	}
	return w, nil
}

// open gives who the settings name. Nothing is sent.
func open(w who) (model, error) { return llm.New(w.endpoint) }

// windowOf is what the model takes in: what the settings say, what the server on
// the way tells of it, what is known of a remote one.
func windowOf(cfg config.Config, w who, table *pipeline.Pipeline, asked int) (window, output int) {
	m, err := table.Table().Lookup(w.endpoint.Model)
	if err == nil {
		output = m.MaxOutput
	}
	switch {
	case cfg.Summaries.Window > 0:
		return cfg.Summaries.Window, output
	case asked > 0:
		return asked, output
	case err == nil && !w.local:
		return m.Window, output
	}
	return 0, output
}

// Fault says what of the settings can't be worked with where this program runs,
// and what to do about it; empty: nothing. Nothing is sent.
func Fault(cfg config.Config) (what, todo string) {
	if !cfg.Summaries.On() {
		return "", ""
	}
	w, err := whoIn(cfg)
	if err == nil {
		err = errors.Join(w.day.Allow(spend.Sum{}, spend.Sum{}), w.month.Allow(spend.Sum{}, spend.Sum{}))
	}
	if err != nil {
		return err.Error(), fix(cfg, err)
	}
	return "", ""
}

// fix says what to do about an error.
func fix(cfg config.Config, err error) string {
	table := "[summaries] in " + cfg.File
	full, isCap := errors.AsType[*spend.CapError](err)
	bad, isChat := errors.AsType[*chat.Error](err)
	switch {
	case errors.Is(err, errTooMuch):
		return "raise the caps below " + table + ", or give a smaller window there: less is sent at a time then"
	case isCap && full.Limit == 0:
		return "to have summaries made, raise the cap or take it out below " + table
	case isCap && full.Period == spend.Monthly:
		return "nothing to do: it goes on next month; the caps are below " + table
	case isCap:
		return "nothing to do: it goes on tomorrow; the caps are below " + table
	case errors.Is(err, errEnter):
		return "see that there is room for the cache and that it can be written; nothing is sent until then"
	case errors.Is(err, chat.ErrRemote):
		return "write remote = true below " + table + " if texts of sessions may be sent there, or take an endpoint on this machine"
	case errors.Is(err, errKey):
		return "set " + cfg.Summaries.KeyVar + " where the daemon is started, or name another variable as api_key_env below " + table
	case errors.Is(err, errPrice):
		return "write usd_per_million_input and usd_per_million_output below " + table + ", or take max_usd_per_month out"
	case errors.Is(err, llm.ErrWindow):
		return "write the tokens that the model takes in as window below " + table + ", or take a model with a larger one"
	case isChat && bad.Hint() != "":
		return bad.Hint()
	case errors.Is(err, chat.ErrOptions):
		return "mend " + table
	}
	return "nothing to do: it is tried again by itself"
}
