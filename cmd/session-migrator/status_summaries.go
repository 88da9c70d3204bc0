package main

import (
	"context"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/summarizing"
	"github.com/session-migrator/session-migrator/store"
)

// summaryState is how summaries by a model are. Disabled, no text is sent to any.
type summaryState struct {
	Enabled   bool    `json:"enabled"`
	LastError *string `json:"last_error"` // null: none; else nothing is sent until next_try. Without a daemon, what is wrong for this command

	ByCaller bool         `json:"by_caller"` // agents may save summaries
	Provider string       `json:"provider,omitempty"`
	Host     string       `json:"host,omitempty"` // where texts go
	Local    bool         `json:"local"`          // that is this machine
	Model    string       `json:"model,omitempty"`
	Priced   bool         `json:"priced"`   // the price is known
	Waiting  int          `json:"waiting"`  // sessions to look at when they have rested, or when something may be sent
	Made     int          `json:"made"`     // since the daemon started
	NextTry  *time.Time   `json:"next_try"` // null: when somebody changed the settings and started the daemon again
	Sent     *summarySent `json:"last_sent"`

	running bool
	fix     string // of LastError
}

// summarySent is what left last, whichever process sent it.
type summarySent struct {
	At     time.Time `json:"at"`
	Host   string    `json:"host"`
	Model  string    `json:"model"`
	Thread string    `json:"thread_id"`
	Bytes  int       `json:"bytes"`
}

func summariesOf(c config.Config, info daemon.Info) summaryState {
	s := summaryState{Enabled: c.Summaries.On(), Provider: c.Summaries.Provider, Model: c.Summaries.Model, ByCaller: c.Summaries.ByCaller}
	i := info.Summarizing
	if i == nil {
		what, fix := summarizing.Fault(c)
		s.LastError, s.fix = orNull(shown(what)), fix
		return s
	}
	s.running, s.Enabled, s.Provider, s.Host, s.Local, s.Priced = true, true, i.Provider, i.Host, i.Local, i.Priced
	s.Model, s.Waiting, s.Made = first(i.Model, s.Model), i.Waiting, i.Made
	s.LastError, s.NextTry, s.fix = orNull(shown(i.LastError)), instant(i.NextTry), i.LastFix
	return s
}

// look adds what stands in the cache.
func (s *summaryState) look(ctx context.Context, db *store.DB) error {
	sent, err := summarizing.LastSent(ctx, db)
	if err != nil || sent.At.IsZero() {
		return err
	}
	s.Sent = &summarySent{At: sent.At, Host: sent.Host, Model: sent.Model, Thread: sent.Thread, Bytes: sent.Bytes}
	return nil
}

// print tells it in a line or two, if it is on or something was sent.
func (s *summaryState) print(a *app, now time.Time, line func(key, format string, args ...any)) {
	if !s.Enabled && s.Sent == nil {
		return
	}
	to := ""
	switch {
	case !s.Enabled:
		line("summary", "off")
	case !s.running:
		line("summary", "%s in the settings; no daemon makes summaries", clean(first(s.Model, s.Provider), false))
	default:
		switch {
		case s.Host != "" && s.Local:
			to = " at " + clean(s.Host, false) + ", on this machine"
		case s.Host != "":
			to = ": " + a.paint(a.out, yellow, "texts are sent to "+clean(s.Host, false))
		}
		price := ""
		if s.Host != "" && !s.Priced {
			price = "; its price is not known"
		}
		line("summary", "%s%s; %s made, %s waiting%s", clean(first(s.Model, s.Provider), false), to, number(s.Made), plural(s.Waiting, "session"), price)
	}
	if s.Sent != nil {
		line("", "last sent %s: %s to %s at %s", ago(now, s.Sent.At), size(int64(s.Sent.Bytes)), clean(s.Sent.Model, false), clean(s.Sent.Host, false))
	}
	if s.Enabled && s.LastError != nil {
		next := ""
		switch {
		case s.NextTry != nil:
			next = " (next try in " + took(max(0, s.NextTry.Sub(now))) + ")"
		case s.running:
			next = " (nothing is sent until that is mended and the daemon started again)"
		}
		line("", "%s%s", a.paint(a.out, red, clean(*s.LastError, false)), next)
	}
}

// summaries looks at summaries by a model, if they are on. What is wrong with
// them leaves all else as it is.
func (d *doctor) summaries(c config.Config, info daemon.Info) {
	s := summariesOf(c, info)
	if !s.Enabled {
		return
	}
	what, fix := summarizing.Fault(c)
	if what != "" {
		d.warn("summary", fix, "sessions are not summarized: %s", shown(what))
	}
	switch {
	case info.Running && !s.running:
		d.warn("summary", "start the daemon again", "the daemon was started before a model for summaries was in the settings: it makes none")
	case s.running && s.LastError != nil:
		d.warn("summary", first(s.fix, "nothing to do: it is tried again by itself"), "the daemon makes no summaries for now: %s", *s.LastError)
	case what != "":
	case !s.running:
		d.ok("summary", "%s in the settings; no daemon makes summaries", first(s.Model, s.Provider))
	case s.Local:
		d.ok("summary", "%s at %s, on this machine", s.Model, s.Host)
	default:
		d.ok("summary", "%s; texts are sent to %s", first(s.Model, s.Provider), orDash(s.Host))
	}
}
