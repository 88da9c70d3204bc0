package main

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// leaveConsole closes the window that the system opens for a program like ours
// that it starts at login.
func leaveConsole() {
	_, _, _ = windows.NewLazySystemDLL("kernel32.dll").NewProc("FreeConsole").Call() // there may be none
}

// windowless starts a program without a window.
func windowless(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW}
}
