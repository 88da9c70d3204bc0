//go:build !windows

package service

import (
	"os/exec"
	"syscall"
)

const executableMode = true

// detach lets a program go on when we and the terminal end.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func endProcess(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

func showService() (string, error) { return "", nil }
