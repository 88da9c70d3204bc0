package counting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/counting"
	"github.com/session-migrator/session-migrator/pipeline/vendorcount"
	"github.com/session-migrator/session-migrator/store/spend"
)

// desk is a vendor and an account that write down what comes in.
type desk struct {
	log   []string
	spent spend.Sum
	fails map[int]error // by call
	calls int
	full  error // of the account
}

func (d *desk) Host() string { return "vendor.example" }

func (d *desk) Count(_ context.Context, model, text string) (int64, error) {
	d.calls++
	d.log = append(d.log, fmt.Sprintf("asks %s for %d bytes", model, len(text)))
	if err := d.fails[d.calls]; err != nil {
		return 0, err
	}
	return int64(len(text)) + 9, nil
}

func (d *desk) RecordSpend(_ context.Context, e spend.Entry) (int64, error) {
	if d.full != nil {
		return 0, d.full
	}
	d.log = append(d.log, fmt.Sprintf("%v %d", e.Outcome, e.Input))
	if e.ID == 0 {
		d.spent.Calls++
	}
	return 7, nil
}

func (d *desk) SpentSince(context.Context, spend.Kind, time.Time) (spend.Sum, error) {
	return d.spent, nil
}

func run(d *desk, caps spend.Caps) counting.Run {
	return counting.Run{Counter: d, Ledger: d, Caps: caps, Model: "m", Now: time.Now}
}

var some = []counting.Sample{{Text: "12345", Counted: 5}, {Text: "1234567", Counted: 6}}

func TestCallsAreEnteredBeforeTheyAreSent(t *testing.T) {
	d := &desk{}
	got, err := run(d, counting.Caps(config.Counting{})).Count(t.Context(), some)
	if err != nil || len(got) != 2 || got[0].Vendor != 5 || got[1].Vendor != 7 || got[1].Counted != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	want := "pending 1|asks m for 1 bytes|done 10|pending 5|asks m for 5 bytes|done 14|pending 6|asks m for 7 bytes|done 16"
	if s := strings.Join(d.log, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

func TestNothingIsSentThatMayNotBe(t *testing.T) {
	none, two := int64(0), int64(2)
	for name, tt := range map[string]struct {
		caps config.Counting
		full error
		want error
		sent int
	}{
		"no calls":       {config.Counting{MaxCallsPerDay: &none}, nil, spend.ErrCap, 0},
		"no tokens":      {config.Counting{MaxTokensPerDay: &none}, nil, spend.ErrCap, 0},
		"two calls":      {config.Counting{MaxCallsPerDay: &two}, nil, spend.ErrCap, 2},
		"a full account": {config.Counting{}, errors.ErrUnsupported, errors.ErrUnsupported, 0},
	} {
		d := &desk{full: tt.full}
		if _, err := run(d, counting.Caps(tt.caps)).Count(t.Context(), some); !errors.Is(err, tt.want) || d.calls != tt.sent {
			t.Errorf("%s: %d calls, %v", name, d.calls, err)
		}
	}
}

func TestTheFirstFailureEndsIt(t *testing.T) {
	for fault, outcome := range map[error]string{
		vendorcount.ErrRefused: "refused", vendorcount.ErrUnavailable: "unavailable", vendorcount.ErrAnswer: "unusable", context.Canceled: "unavailable",
	} {
		d := &desk{fails: map[int]error{2: fault}}
		got, err := run(d, counting.Caps(config.Counting{})).Count(t.Context(), some)
		if !errors.Is(err, fault) || len(got) != 0 || d.calls != 2 || d.log[len(d.log)-1] != outcome+" 5" {
			t.Errorf("%v: %+v, %v, %v", fault, got, err, d.log)
		}
	}
}

func TestCut(t *testing.T) {
	count := func(s string) int64 { return int64(len(s)) / 4 }
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 4000)
	got := counting.Cut([]counting.Text{{Thread: "a", Text: long}, {Thread: "b", Text: long}, {Text: "short"}}, count)
	threads := map[string]int{}
	for _, s := range got {
		threads[s.Thread]++
		if len(s.Text) > 6000 || !strings.HasSuffix(s.Text, "\n") || s.Counted != count(s.Text) {
			t.Errorf("a sample of %d bytes, %d tokens", len(s.Text), s.Counted)
		}
	}
	if len(got) > counting.Samples || len(got) < counting.Samples/2 || threads["a"] < 8 || threads["b"] < 8 {
		t.Errorf("%d samples, %v", len(got), threads)
	}
	for _, s := range counting.Cut([]counting.Text{{Text: strings.Repeat("语", 5000)}}, count) {
		if !strings.HasPrefix(s.Text, "语") || !strings.HasSuffix(s.Text, "语") {
			t.Error("a letter was cut")
		}
	}
}
