package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/install/service"
)

// lingering is where systemd notes whose services run without a login.
const lingering = "/var/lib/systemd/linger"

// service looks at the service: what it starts, and whether that sees what this
// shell does.
func (d *doctor) service(ctx context.Context, c config.Config) {
	if d.a.serviceOf(ctx, c) == nil {
		d.ok("service", "not installed; \"session-migrator setup\" installs it")
		return
	}
	s, err := d.a.serviceHost(ctx, &serviceFlags{})
	if err == nil {
		err = s.installedData(d.a)
	}
	if err != nil {
		d.warn("service", "session-migrator service status", "can't be asked: %v", err)
		return
	}
	s.follow()
	is, err := s.status(ctx, d.a)
	if err != nil || is.Installed == nil {
		return // the daemon's check says it, or it was just taken away
	}
	d.serviceProblems(is.problems)
	if seen := is.Seen.Home; seen != "" && c.User != "" && filepath.Clean(seen) != filepath.Clean(c.User) {
		d.warn("service", "session-migrator service install, from a shell with the right HOME", "its home folder is %s, this shell's is %s", seen, c.User)
	}
	if len(is.Problems) == 0 {
		d.ok("service", "%s", s.told(is))
	}
}

// serviceProblems adds what is wrong, without what the checks of the daemon that
// runs have said.
func (d *doctor) serviceProblems(problems []serviceProblem) {
	for _, p := range problems {
		if p.also != "" && slices.ContainsFunc(d.checks, func(c checkJSON) bool { return c.Name == p.also }) {
			continue
		}
		state := healthWarn
		if p.broken {
			state = healthBroken
		}
		d.add("service", state, cmp.Or(p.fix, `"session-migrator service status" says more`), "%s", p.what)
	}
}

// told says how a service is that nothing is wrong with.
func (s *serviceHost) told(is serviceStatusJSON) string {
	out := fmt.Sprintf("%s (%s), starts at login", is.Installed.Definition, is.Installed.Manager)
	switch {
	case is.Installed.System:
		out = fmt.Sprintf("%s (%s), starts with the machine", is.Installed.Definition, is.Installed.Manager)
	case is.Installed.Manager == service.Systemd && runtime.GOOS == "linux" && !exists(filepath.Join(lingering, s.host.User)):
		out += `; it ends with your last login: "loginctl enable-linger" lets it go on`
	}
	return out
}
