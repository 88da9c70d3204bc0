// Package counting has a vendor count texts of the user's, when the user asks for
// that, and finds the factors that follow.
//
// The way of the data:
//
//	[1] Cut takes texts that are clean of secrets already, and cuts samples from
//	    all of them alike;
//	[2] before each call the day's caps are asked, and the call is entered in the
//	    account: what was sent stands there, whatever becomes of it;
//	[3] the first call is of one letter, so that what the vendor puts around a
//	    text is known;
//	[4] the first call that fails ends it: nothing is tried again, and no factors
//	    come of a part.
package counting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/calibration"
	"github.com/session-migrator/session-migrator/pipeline/vendorcount"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// Samples is how many texts are sent at most.
	Samples = 24
	// sampleBytes is how long each is: enough for a thousand tokens and more.
	sampleBytes = 4000
	// What a vendor gets in a day if the settings don't say: ten calibrations.
	callsPerDay  = 250
	tokensPerDay = 1_000_000

	probe = "a" // one token in every vocabulary
)

// Counter counts for a vendor.
type Counter interface {
	Count(ctx context.Context, model, text string) (int64, error)
	Host() string
}

// Ledger is the account of what was sent.
type Ledger interface {
	RecordSpend(ctx context.Context, e spend.Entry) (int64, error)
	SpentSince(ctx context.Context, kind spend.Kind, since time.Time) (spend.Sum, error)
}

// Text is one text, and whose.
type Text struct {
	Thread string // empty: a file's
	Text   string
}

// Sample is what is sent of a text.
type Sample struct {
	Thread  string `json:"thread_id,omitempty"`
	Text    string `json:"text"`
	Counted int64  `json:"counted_tokens"` // in o200k_base
}

// Cut is pure but for count: samples of about the same length from all texts
// alike, at most Samples, none too short to tell anything.
func Cut(texts []Text, count func(string) int64) (out []Sample) {
	var all []Sample
	for _, t := range texts {
		for rest := t.Text; rest != ""; {
			n := cut(rest, sampleBytes)
			all = append(all, Sample{Thread: t.Thread, Text: rest[:n]})
			rest = rest[n:]
		}
	}
	step := max(1, (len(all)+Samples-1)/Samples)
	for i := 0; i < len(all) && len(out) < Samples; i++ {
		s := all[i]
		if i%step != 0 && len(all) > Samples {
			continue
		}
		if s.Counted = count(s.Text); s.Counted >= calibration.LeastTokens {
			out = append(out, s)
		}
	}
	return out
}

// cut gives where to cut a text of more than most bytes: behind a line, else
// between two letters.
func cut(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	if i := strings.LastIndexByte(text[:most], '\n'); i > most/2 {
		return i + 1
	}
	for most > 1 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// Caps are the day's caps by the settings.
func Caps(c config.Counting) spend.Caps {
	caps := spend.Caps{Calls: callsPerDay, Tokens: tokensPerDay, MicroUSD: spend.NoCap}
	if c.MaxCallsPerDay != nil {
		caps.Calls = *c.MaxCallsPerDay
	}
	if c.MaxTokensPerDay != nil {
		caps.Tokens = *c.MaxTokensPerDay
	}
	return caps
}

// Run asks for all samples, one after the other. It gives what the vendor counted
// of each, without what it puts around a text.
type Run struct {
	Counter Counter
	Ledger  Ledger
	Caps    spend.Caps
	Model   string // as the vendor calls it
	Now     func() time.Time
}

// Count asks. What it gives with an error is what was counted until then.
func (r Run) Count(ctx context.Context, samples []Sample) (counts []calibration.Sample, err error) {
	around, err := r.ask(ctx, Sample{Text: probe, Counted: 1})
	if err != nil {
		return nil, err
	}
	around--
	for _, s := range samples {
		n, err := r.ask(ctx, s)
		if err != nil {
			return counts, err
		}
		counts = append(counts, calibration.Sample{Counted: s.Counted, Vendor: max(n-around, 0)})
	}
	return counts, nil
}

// ask makes one call, if it may.
func (r Run) ask(ctx context.Context, s Sample) (int64, error) {
	now := r.Now()
	spent, err := r.Ledger.SpentSince(ctx, spend.Counting, spend.Today(now))
	if err != nil {
		return 0, fmt.Errorf("ask the account: %w", err)
	}
	// What the vendor makes of it can be more than what is counted here.
	if err := r.Caps.Allow(spent, spend.Sum{Calls: 1, Input: 2 * s.Counted}); err != nil {
		return 0, err
	}
	e := spend.Entry{At: now, Kind: spend.Counting, Host: r.Counter.Host(), Model: r.Model, Calls: 1, Input: s.Counted, Thread: s.Thread, Outcome: spend.Pending}
	if e.ID, err = r.Ledger.RecordSpend(ctx, e); err != nil {
		return 0, fmt.Errorf("enter a call in the account: %w", err)
	}
	n, asked := r.Counter.Count(ctx, r.Model, s.Text)
	e.Outcome = outcome(asked)
	if asked == nil {
		e.Input, e.Exact = n, true
	}
	_, err = r.Ledger.RecordSpend(context.WithoutCancel(ctx), e)
	return n, errors.Join(asked, err)
}

func outcome(err error) spend.Outcome {
	switch {
	case err == nil:
		return spend.Done
	case errors.Is(err, vendorcount.ErrRefused):
		return spend.Refused
	case errors.Is(err, vendorcount.ErrAnswer):
		return spend.Unusable
	}
	return spend.Unavailable
}
