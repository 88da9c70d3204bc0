package main

import (
	"context"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// lookAtSinks tells of the sinks that are on what the cache knows: there is no
// daemon to say more.
func (s *statusJSON) lookAtSinks(ctx context.Context, c config.Config, db *store.DB) error {
	all, err := choices.Load(c.Home)
	if err != nil {
		all = choices.Choices{} // it is among the problems
	}
	for _, k := range sink.Consumers() {
		said := all.Sinks[k.Name]
		if !said.On(k.Mode) {
			continue
		}
		kept, edited, err := daemon.Options{Config: c}.Written(ctx, db, k.Name, choices.Choice{Choice: sink.Choice{Dir: said.Dir}})
		if err != nil {
			return err
		}
		shared, err := db.Shared(ctx, k.Name)
		if err != nil {
			return err
		}
		absent := k.Mode != sink.ModeAlways && noPlace(c, k, said) != ""
		s.Sinks = append(s.Sinks, sinkJSON{Name: k.Name, Enabled: true, Files: max(0, len(kept)+len(edited)-len(shared)), Shared: len(shared), Absent: absent, Edited: allShown(edited), Problems: []string{}})
	}
	return nil
}

// whyAbsent says of the sinks without a place what "sink list" says.
func (s *statusJSON) whyAbsent(c config.Config) {
	all, err := choices.Load(c.Home)
	if err != nil {
		return // it is among the problems
	}
	for i := range s.Sinks {
		k := &s.Sinks[i]
		if consumer, err := consumer(k.Name); err == nil && k.Absent {
			said := all.Sinks[k.Name]
			k.AbsentWhy, k.asked = noPlace(c, consumer, said), said.Enabled != nil && *said.Enabled
		}
	}
}

// more is what else is to be said of a sink.
func (k sinkJSON) more() string {
	out := ""
	if k.Shared > 0 {
		out += ", lines in " + plural(k.Shared, "shared file")
	}
	if k.Absent {
		out += ", its place is gone"
		if k.AbsentWhy != "" {
			out += ": " + clean(k.AbsentWhy, false)
		}
	}
	return out
}

// sinks checks what the user chose, and what the sinks for other programs say.
func (d *doctor) sinks(c config.Config, info daemon.Info) {
	fine := true
	if _, err := loadChoices(c); err != nil {
		fine = false
		_, fix := classify(err)
		if h, ok := err.(*hintError); ok { //nolint:errorlint // made just above
			fix = h.hint
		}
		d.broken("choices", fix, "%v; what was chosen before stays in force", err)
	}
	for _, k := range info.Sinks {
		if k.Name != dropSink && k.LastError != "" {
			fine = false
			d.broken("sink "+k.Name, "see the message; it is tried again by itself", "%s waiting since %s: %s",
				plural(k.Waiting, "session"), k.Since.Local().Format("2006-01-02 15:04:05"), k.LastError)
		}
		for _, p := range k.Problems {
			fine = false
			d.warn("sink "+k.Name, `see the message; "session-migrator sink disable `+k.Name+`" takes all of it away`, "%s", p)
		}
	}
	if fine && len(info.Sinks) > 1 {
		d.ok("sinks", "%s for other programs, nothing is wrong with them", plural(len(info.Sinks)-1, "sink"))
	}
}
