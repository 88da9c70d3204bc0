//go:build (crash || faults) && !windows

package daemon_test

import "syscall"

// pipe makes a named pipe: whoever opens it to read waits for good.
func pipe(name string) error { return syscall.Mkfifo(name, 0o600) }
