package main

import (
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/embedding"
)

// embeddingsJSON is how search by meaning is; all but enabled is told by the
// daemon alone.
type embeddingsJSON struct {
	Enabled   bool       `json:"enabled"`
	Provider  string     `json:"provider,omitempty"`
	Host      string     `json:"host,omitempty"` // where texts go
	Model     string     `json:"model,omitempty"`
	Passages  int64      `json:"passages"`   // that can be found by meaning
	Behind    int        `json:"behind"`     // rollouts with more to come
	LastCall  *time.Time `json:"last_call"`  // null: none since the daemon started
	LastError *string    `json:"last_error"` // null: none; else nothing is sent until next_try. Without a daemon, what is wrong for this command
	NextTry   *time.Time `json:"next_try"`

	running, local bool
	fix            string // of LastError
}

func embeddingsOf(c config.Config, info daemon.Info) embeddingsJSON {
	e := embeddingsJSON{Enabled: c.Embeddings.Provider != "", Provider: c.Embeddings.Provider}
	if i := info.Embeddings; i != nil {
		e.running, e.local = true, i.Local
		e.Enabled, e.Provider, e.Host, e.Model, e.Passages, e.Behind = true, i.Provider, i.Host, i.Model, i.Passages, i.Behind
		e.LastCall, e.LastError, e.NextTry, e.fix = instant(i.LastCall), orNull(shown(i.LastError)), instant(i.NextTry), i.LastFix
		return e
	}
	what, fix := embedding.Fault(c)
	e.LastError, e.fix = orNull(shown(what)), fix
	return e
}

// print tells it in a line, if it is on.
func (e *embeddingsJSON) print(a *app, now time.Time, line func(key, format string, args ...any)) {
	if !e.Enabled {
		return
	}
	if !e.running {
		line("meaning", "%s in the settings; no daemon makes vectors", clean(e.Provider, false))
		e.printError(a, now, line)
		return
	}
	to := ""
	switch {
	case e.Host != "" && e.local:
		to = " at " + e.Host + ", on this machine"
	case e.Host != "":
		to = ": " + a.paint(a.out, yellow, "texts are sent to "+clean(e.Host, false))
	}
	state := plural(e.Passages, "passage")
	if e.Behind > 0 {
		state += ", " + plural(e.Behind, "file") + " to come"
	}
	if e.LastCall != nil {
		state += ", last call " + ago(now, *e.LastCall)
	}
	line("meaning", "%s%s; %s", clean(orDash(first(e.Model, e.Provider)), false), to, state)
	e.printError(a, now, line)
}

func (e *embeddingsJSON) printError(a *app, now time.Time, line func(key, format string, args ...any)) {
	if e.LastError != nil {
		next := ""
		if e.NextTry != nil {
			next = " (next try in " + took(max(0, e.NextTry.Sub(now))) + ")"
		}
		line("", "%s%s", a.paint(a.out, red, clean(*e.LastError, false)), next)
	}
}

// meaning looks at search by meaning, if it is on. What is wrong with it leaves
// search by words.
func (d *doctor) meaning(c config.Config, info daemon.Info) {
	e := embeddingsOf(c, info)
	if !e.Enabled {
		return
	}
	if what, fix := embedding.Fault(c); what != "" {
		d.warn("meaning", fix, "searches are by words only: %s", shown(what))
	}
	switch {
	case info.Running && !e.running:
		d.warn("meaning", "start the daemon again", "the daemon was started before search by meaning was in the settings: it makes no vectors")
	case !e.running:
		d.ok("meaning", "%s in the settings; no daemon makes vectors", e.Provider)
	case e.LastError != nil:
		d.warn("meaning", first(e.fix, "nothing to do: it is tried again by itself"), "the daemon makes no vectors for now: %s", *e.LastError)
	default:
		d.ok("meaning", "%s, %s, %s to come", first(e.Model, e.Provider), plural(e.Passages, "passage"), plural(e.Behind, "file"))
	}
}

func first(vs ...string) string {
	for _, v := range vs {
		if v != "" {
			return v
		}
	}
	return ""
}
