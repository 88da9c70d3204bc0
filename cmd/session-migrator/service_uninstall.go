package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/install/service"
)

func newServiceUninstallCommand(a *app, f *serviceFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and take away all that install did",
		Long: `Stops the service and takes back what install did. The data folder stays: cache,
memory files and settings.

Exit codes: 0 gone, 1 failed, 2 wrong usage.`,
		Example: "  session-migrator service uninstall --dry-run\n  session-migrator service uninstall",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServiceUninstall(cmd.Context(), a, f) },
	}
}

func runServiceUninstall(ctx context.Context, a *app, f *serviceFlags) error {
	s, err := a.serviceHost(ctx, f)
	if err != nil {
		return err
	}
	if err := s.installedData(a); err != nil {
		return err
	}
	if s.was != nil && s.was.System && !s.host.System {
		return hinted(usagef("the service is the machine's, as %s", s.was.Definition), "give --system, with sudo")
	}
	s.follow()
	j := s.journal()
	p, err := j.Undoing(service.JournalName)
	if err != nil {
		return err
	}
	stays := "the data folder " + s.config.Home + " stays; delete it if you want nothing kept"
	if l := s.host.LogFile(s.config.Home); l != "" && s.host.Manager == service.Launchd {
		stays += "; so do the logs " + l
	}
	if f.dryRun {
		if len(p.Steps) == 0 && s.was != nil {
			if p, err = s.was.Removal(s.host); err != nil {
				return err
			}
		}
		return a.printPlan(p, []string{stays})
	}
	if len(p.Steps) == 0 && s.was == nil {
		put(a.out, "the service is not installed, nothing to do\n")
		return nil
	}
	out, err := j.Undo(ctx, service.JournalName, s.run)
	for _, left := range out.Left {
		a.warn("%s", left)
	}
	if err != nil {
		return hinted(s.explain(ctx, err), "when that is mended, run it again: it goes on with what is left")
	}
	if err := s.rest(ctx); err != nil {
		return err
	}
	put(a.out, "uninstalled; %s\n", stays)
	return nil
}

// rest takes away what is still there of ours without a record, as after the
// data folder was deleted.
func (s *serviceHost) rest(ctx context.Context) error {
	still, err := s.host.Find(ctx, s.run)
	if err != nil || still == nil || still.System != s.host.System {
		return err
	}
	p, err := still.Removal(s.host)
	if err != nil {
		return hinted(err, "take it away by hand")
	}
	_, err = p.Do(ctx, s.run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.explain(ctx, err)
}
