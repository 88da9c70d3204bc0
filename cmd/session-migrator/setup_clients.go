package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/install/connect"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
)

// noClients is what --clients takes for none.
const noClients = "none"

// restartAgents is what people do when agents were connected.
const restartAgents = "restart the agents that run now, then ask one: \"which of my Codex sessions could you take over?\""

// agents finds the agents installed here and says how it stands with each.
func (s *setup) agents() (part, error) {
	p := part{name: "agents", moot: map[string]bool{}}
	notes := map[string][]string{}
	asked, err := s.asked()
	if err != nil {
		return p, err
	}
	if s.config.User == "" {
		p.state = "not looked for: HOME is not set"
		return p, nil
	}
	conn, err := s.connector()
	if err != nil {
		return p, err
	}
	var is, todo, left []string
	for _, name := range connect.Names() {
		all, err := conn.Look(name)
		if err != nil { // a record of ours that can't be read
			is = append(is, name+" (unknown)")
			left = append(left, clientError(err))
			continue
		}
		wanted := asked == nil || slices.Contains(asked, name)
		if len(all[0].Found) == 0 && (asked == nil || !wanted) {
			continue
		}
		is = append(is, all[0].Title+" ("+stateOfClient(all)+")")
		if !wanted {
			continue
		}
		pl, err := conn.Plan(name, connect.Options{})
		switch {
		case err != nil:
			left = append(left, clientError(err))
			p.todo = append(p.todo, "connect "+all[0].Title+": not possible as it is: "+clientError(err))
		case len(pl.Steps) > 0:
			todo = append(todo, name)
			p.todo = append(p.todo, "connect "+all[0].Title+": "+joined(changes(pl)))
			p.steps.Steps = append(p.steps.Steps, pl.Steps...)
			for _, n := range pl.Notes {
				p.next = append(p.next, all[0].Title+": "+n)
				notes[name] = append(notes[name], all[0].Title+": "+n)
			}
		}
	}
	p.state = "none found"
	if len(is) > 0 {
		p.state = strings.Join(is, ", ")
	}
	if len(todo) > 0 {
		if _, err := service.Program(s.a.places()); s.flags.program == "" && errors.Is(err, service.ErrRefused) {
			p.next = append(p.next, fmt.Sprintf("agents start %s: move it to where it stays, such as %s, and run setup again from there", executable(), homeBin()))
		}
		p.next = append(p.next, restartAgents)
	}
	p.do = func(ctx context.Context) ([]string, error) {
		p.moot[restartAgents] = true
		for _, name := range todo {
			_, err := conn.Connect(ctx, name, connect.Options{})
			if ctx.Err() != nil {
				return left, ctx.Err()
			}
			if err == nil {
				p.moot[restartAgents] = false
				continue
			}
			left = append(left, clientError(err))
			for _, n := range notes[name] {
				p.moot[n] = true
			}
		}
		return left, nil
	}
	return p, nil
}

// connector is what connects agents once the settings are written: they name the
// Codex homes then, and entries needn't.
func (s *setup) connector() (*connect.Connector, error) {
	server, err := s.a.server(s.config)
	if err != nil {
		return nil, err
	}
	if s.flags.program != "" {
		if server.Command, err = filepath.Abs(s.flags.program); err == nil {
			err = service.Stays(server.Command)
		}
		if err != nil {
			return nil, hinted(usageError{err}, "give --program the path of session-migrator")
		}
	}
	if s.homesSaid {
		for i := slices.Index(server.Args, "--codex-home"); i >= 0; i = slices.Index(server.Args, "--codex-home") {
			server.Args = slices.Delete(server.Args, i, i+2)
		}
	}
	return s.a.connectorOf(s.config, server), nil
}

// stateOfClient is how it stands with a client that may have several files.
func stateOfClient(all []connect.Status) string {
	worst := all[0].State
	for _, st := range all {
		if st.Off != "" {
			return "switched off"
		}
		worst = max(worst, st.State)
		if st.State == connect.Absent && worst == connect.Connected {
			worst = connect.Absent
		}
	}
	return worst.String()
}

// asked are the clients of --clients; nil: those that are found.
func (s *setup) asked() ([]string, error) {
	if s.flags.clients == nil {
		return nil, nil
	}
	names := []string{}
	for _, name := range s.flags.clients {
		if name == noClients {
			continue
		}
		if !slices.Contains(connect.Names(), name) {
			hint := "known are " + joined(connect.Names()) + ", or " + noClients
			if near := nearest(name, connect.Names()); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, hinted(usagef("--clients: no agent has the name %q", name), hint)
		}
		names = append(names, name)
	}
	return names, nil
}

// clientError is an error of a client with its next step.
func clientError(err error) string {
	if e, ok := errors.AsType[*connect.Error](err); ok && e.Next != "" {
		return fmt.Sprintf("%v; %s", err, e.Next)
	}
	return err.Error()
}

// changes names the files that a plan changes, and the commands it runs.
func changes(p plan.Plan) (out []string) {
	for _, st := range p.Steps {
		switch {
		case st.File != nil:
			out = append(out, st.File.Path)
		case len(st.Command.Argv) > 0:
			out = append(out, plan.Quote(st.Command.Argv))
		}
	}
	return out
}

// disconnecting takes back what was connected, the last first.
func (s *setup) disconnecting() ([]taken, error) {
	conn, err := s.connector()
	if err != nil {
		return nil, err
	}
	var out []taken
	for _, name := range slices.Backward(connect.Names()) {
		rec, err := journals(s.config).Load("connect-" + name)
		if err != nil {
			return nil, err
		}
		if len(rec.Steps) == 0 {
			continue
		}
		p, err := conn.Undoing(name)
		if err != nil {
			err = errors.New(clientError(err))
		}
		out = append(out, taken{name, p, err, func(ctx context.Context) (plan.Outcome, error) {
			res, err := conn.Disconnect(ctx, name)
			return plan.Outcome{Done: res.Steps, Left: res.Notes}, err
		}})
	}
	return out, nil
}
