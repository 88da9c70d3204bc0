package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/install/service"
)

// service finds whether the daemon starts at login, and what can be done where
// there is nothing that would start it.
func (s *setup) service(ctx context.Context) (part, error) {
	p := part{name: "service"}
	info, err := daemon.Inspect(s.config)
	if err != nil {
		return p, err
	}
	if s.flags.noService {
		p.state = "not asked for (--no-service)"
		if !info.Running {
			p.next = byHand()
		}
		return p, nil
	}
	h, err := s.a.serviceHost(ctx, s.flags.installs().serviceFlags)
	if errors.Is(err, service.ErrRefused) {
		return s.unserved(p, info, err.Error()), nil
	}
	if err != nil {
		return p, err
	}
	if info.Running && info.Service == "" {
		p.state = fmt.Sprintf("a daemon runs that was started by hand%s: it keeps everything fresh until it ends", processOf(info.PID))
		p.next = []string{"end that daemon and run setup again, to have one start at login"}
		return p, nil
	}
	if why := h.unreachable(ctx); why != "" {
		return s.unserved(p, info, why), nil
	}
	spec, _, err := h.spec(s.a, s.flags.installs())
	if err != nil {
		return s.refused(p, err), nil
	}
	spec.Restart = info.Running && h.outdated(info, spec.Program)
	if p.steps, _, err = h.pending(ctx, spec); err != nil {
		return p, err
	}
	p.state = h.describe(info)
	if len(p.steps.Steps) == 0 && info.Running {
		return p, nil
	}
	switch {
	case h.was == nil:
		p.todo = []string{fmt.Sprintf("install the service of this user (%s) and start it: %s", h.host.Manager, h.host.Definition())}
	case spec.Restart:
		p.todo = []string{"restart the service: another version of the program is installed than runs"}
	default:
		p.todo = []string{"bring the service up to date and start it: " + h.host.Definition()}
	}
	p.do = func(ctx context.Context) ([]string, error) {
		quiet := *s.a
		quiet.out = io.Discard
		return nil, runServiceInstall(ctx, &quiet, s.flags.installs())
	}
	return p, nil
}

// refused is a service that can't be installed as it is, though there is a manager
// for it: that is left out, and said.
func (s *setup) refused(p part, err error) part {
	p.state, p.todo = "not installed", []string{"install the service of this user"}
	p.do = func(context.Context) ([]string, error) { return nil, err }
	return p
}

// unserved is what there is where nothing starts services: a container, WSL
// without systemd, another init. The rest works all the same.
func (s *setup) unserved(p part, info daemon.Info, why string) part {
	p.state = "none can be installed here: " + strings.TrimPrefix(why, service.ErrRefused.Error()+": ")
	if info.Running {
		return p
	}
	p.next = byHand()
	if s.a.env("WSL_DISTRO_NAME") != "" {
		p.next = append(p.next, "or give WSL its systemd: [boot] systemd=true in /etc/wsl.conf, wsl --shutdown, setup again")
	}
	return p
}

func byHand() []string {
	return []string{program() + " run keeps memory files fresh while it runs; without it each question takes new sessions in itself"}
}

// unreachable says why the manager can't be asked from here; empty if it can.
func (s *serviceHost) unreachable(ctx context.Context) string {
	if s.host.Manager != service.Systemd {
		return ""
	}
	if _, err := s.run.Run(ctx, s.host.Reachable()); err == nil {
		return ""
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return "systemd does not run here"
	}
	return `systemd answers only within a login of yours, not through su or cron: log in, or run "loginctl enable-linger ` + s.host.User + `" once`
}

// describe says how the service is.
func (s *serviceHost) describe(i daemon.Info) string {
	if s.was == nil {
		return fmt.Sprintf("not installed yet (%s)", s.host.Manager)
	}
	if !i.Running {
		return fmt.Sprintf("installed (%s), not running", s.was.Manager)
	}
	return fmt.Sprintf("running%s, version %s (%s)", processOf(i.PID), orDash(i.Version), s.was.Manager)
}

// uninstalling takes the service back.
func (s *setup) uninstalling() ([]taken, error) {
	rec, err := journals(s.config).Load(service.JournalName)
	if err != nil || len(rec.Steps) == 0 {
		return nil, err
	}
	p, err := journals(s.config).Undoing(service.JournalName)
	if err != nil {
		return nil, err
	}
	return []taken{{name: "the service", plan: p, undo: func(ctx context.Context) (plan.Outcome, error) {
		quiet := *s.a
		quiet.out = io.Discard
		err := runServiceUninstall(ctx, &quiet, s.flags.installs().serviceFlags)
		if err != nil {
			return plan.Outcome{}, err
		}
		return plan.Outcome{Done: p.Steps}, nil
	}}}, nil
}
