package service

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc/mgr"
)

const executableMode = false

// detach lets a program go on without a window when we and the terminal end.
func detach(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP}
}

func endProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	return p.Kill()
}

// showService gives the command line of the service, empty if there is none.
func showService() (string, error) {
	h, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return "", err
	}
	m := &mgr.Mgr{Handle: h}
	defer func() { _ = m.Disconnect() }()
	name, err := windows.UTF16PtrFromString(Name)
	if err != nil {
		return "", err
	}
	sh, err := windows.OpenService(h, name, windows.SERVICE_QUERY_CONFIG)
	if err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	s := &mgr.Service{Handle: sh, Name: Name}
	defer func() { _ = s.Close() }()
	c, err := s.Config()
	return c.BinaryPathName, err
}
