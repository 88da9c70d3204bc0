package service

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/kardianos/service"

	"github.com/session-migrator/session-migrator/install/plan"
)

// Commands that are no programs: Runner does them.
const (
	startDetached = "start-in-background" // program and arguments
	endService    = "end-service"
	serviceRuns   = "service-runs"
	manageService = "windows-service" // what to do, and to install the user and the command line
)

// Runner runs the commands of plans: programs by Next, and what is no program by
// itself.
type Runner struct {
	Next plan.Runner
	// Running gives the process that keeps the daemon running, 0 if there is
	// none.
	Running  func() (pid int, err error)
	Password string // for the service control manager
}

// Run runs one command.
func (r Runner) Run(ctx context.Context, argv []string) (string, error) {
	switch argv[0] {
	case startDetached:
		c := exec.Command(argv[1], argv[2:]...) //nolint:gosec,noctx // the plan was shown; it outlives us
		detach(c)
		if err := c.Start(); err != nil {
			return "", fmt.Errorf("start %s: %w", argv[1], err)
		}
		return "", c.Process.Release()
	case serviceRuns, endService:
		return "", r.daemon(ctx, argv[0])
	case manageService:
		return manage(argv[1:], r.Password)
	}
	return r.Next.Run(ctx, argv)
}

// endMost is how long a daemon may take to end.
const (
	endMost = 30 * time.Second
	endPoll = 50 * time.Millisecond
)

var errNotRunning = errors.New("it does not run")

// daemon looks for the daemon, or ends it: by the process that keeps it running,
// whose end the daemon notices.
func (r Runner) daemon(ctx context.Context, what string) error {
	pid, err := r.Running()
	if err != nil {
		return err
	}
	if what == serviceRuns {
		if pid == 0 {
			return errNotRunning
		}
		return nil
	}
	if pid == 0 {
		return nil // ended already
	}
	if err := endProcess(pid); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, endMost)
	defer cancel()
	t := time.NewTicker(endPoll)
	defer t.Stop()
	for {
		if now, err := r.Running(); err != nil || now != pid {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end process %d: it still runs", pid)
		case <-t.C:
		}
	}
}

// Detect says which manager services have here. On Windows the task scheduler is
// asked whether it answers.
func Detect(ctx context.Context, run plan.Runner) (Manager, error) {
	switch name := service.Platform(); name {
	case "linux-systemd":
		return Systemd, nil
	case "darwin-launchd":
		return Launchd, nil
	case "windows-service":
		out, err := run.Run(ctx, []string{"schtasks", "/Query", "/FO", "CSV"})
		if err != nil || out == "" { // every Windows has tasks; a stand-in says nothing
			return RunKey, nil //nolint:nilerr // no scheduler: it starts without one
		}
		return Task, nil
	default:
		return 0, fmt.Errorf("%w: this machine's services are of %s, and only systemd, launchd and Windows are known", ErrRefused, name)
	}
}

// program lets main be what the service control manager starts and stops.
type program struct {
	main   func(ctx context.Context) error
	cancel context.CancelFunc
	done   chan error
}

// Start is called by the manager.
func (p *program) Start(service.Service) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.done = cancel, make(chan error, 1)
	go func() { p.done <- p.main(ctx) }()
	return nil
}

// Stop is called by the manager; it waits for main.
func (p *program) Stop(service.Service) error {
	p.cancel()
	return <-p.done
}

// AsService runs main as a service of the Windows service control manager, until
// that ends it.
func AsService(main func(ctx context.Context) error) error {
	s, err := service.New(&program{main: main}, &service.Config{Name: Name})
	if err != nil {
		return fmt.Errorf("run as a service: %w", err)
	}
	return s.Run()
}

// manage speaks to the service control manager through its own interface.
func manage(argv []string, password string) (string, error) {
	c := &service.Config{Name: Name, DisplayName: Name, Description: description}
	if argv[0] == "install" {
		c.UserName, c.Executable, c.Arguments = argv[1], argv[2], argv[3:]
		c.Option = service.KeyValue{"Password": password, "OnFailure": "restart", "OnFailureDelayDuration": "2s", "OnFailureResetPeriod": 60, "DelayedAutoStart": true}
	}
	s, err := service.New(&program{}, c)
	if err != nil {
		return "", err
	}
	switch argv[0] {
	case "install":
		err = s.Install()
	case "uninstall":
		err = s.Uninstall()
	case "start":
		err = s.Start()
	case "stop":
		err = s.Stop()
	case "show":
		return showService()
	case "installed", "running":
		var is service.Status
		if is, err = s.Status(); err == nil && argv[0] == "running" && is != service.StatusRunning {
			err = errNotRunning
		}
	}
	if err != nil {
		return "", fmt.Errorf("ask the service manager to %s: %w", argv[0], err)
	}
	return "", nil
}
