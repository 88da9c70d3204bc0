package notify

import (
	"fmt"
	"os/exec"
)

func command(_, title, text string) ([]string, error) {
	path, err := exec.LookPath("osascript")
	if err != nil {
		return nil, fmt.Errorf("%w: osascript is not on PATH; it lies in /usr/bin", ErrNone)
	}
	return []string{path, "-e", "on run argv", "-e", "display notification (item 1 of argv) with title (item 2 of argv)", "-e", "end run", text, title}, nil
}
