//go:build unix && !darwin

package notify

import (
	"fmt"
	"os/exec"
)

// sender is the program that shows messages, of the package libnotify.
const sender = "notify-send"

func command(bus, title, text string) ([]string, error) {
	path, err := exec.LookPath(sender)
	if err != nil {
		return nil, fmt.Errorf("%w: install %s (the package is called libnotify-bin or libnotify)", ErrNone, sender)
	}
	if bus == "" {
		return nil, fmt.Errorf("%w: DBUS_SESSION_BUS_ADDRESS is not set; start the daemon from your desktop session", ErrNone)
	}
	return []string{path, "--app-name=session-migrator", "--", title, text}, nil
}
