//go:build !windows

package main

import "os/exec"

// leaveConsole does nothing: a service has no console here.
func leaveConsole() {}

func windowless(*exec.Cmd) {}
