// Package notify shows a message on the user's desktop, through the program that
// the system has for it: notify-send on Linux and the BSDs, osascript on macOS.
// Windows offers no such program that takes a text safely; nothing is shown
// there.
//
// Texts are arguments of a program that is started without a shell. They are
// made one line without control characters and marks of markup first.
package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode"
)

// ErrNone means that no message can be shown here.
var ErrNone = errors.New("desktop notifications are not available")

const (
	// limit is how long a message may take to be shown.
	limit = 5 * time.Second
	// grace is what a program that was stopped for it gets to let go of its
	// output.
	grace = 500 * time.Millisecond
	// most is the length of a line of a message in characters.
	most = 300
)

// Desktop shows messages.
type Desktop struct {
	// Bus is where the user's session is reached, as DBUS_SESSION_BUS_ADDRESS
	// names it; not asked for on macOS.
	Bus string
}

// Ready says why messages can't be shown, with what to do; ErrNone. Nil if they
// can, as far as that is known without showing one.
func (d Desktop) Ready() error {
	_, err := command(d.Bus, "", "")
	return err
}

// Show shows a message of a title and a text. It waits until that is done, 5 s at
// most.
func (d Desktop) Show(ctx context.Context, title, text string) error {
	args, err := command(d.Bus, line(title), line(text))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the program is one of ours, the texts go as arguments
	c.WaitDelay = grace
	out, err := c.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		out = bytes.TrimSpace(out)
		return fmt.Errorf("show a notification with %s: %w: %s", args[0], err, line(string(out)))
	}
	return nil
}

// line makes a text one line that says what it shows. A leading dash would be
// taken for an option, angle brackets and ampersands for markup.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), strings.ContainsRune("<>&", r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	s = strings.TrimLeft(strings.Join(strings.Fields(s), " "), "-")
	if rs := []rune(s); len(rs) > most {
		s = string(rs[:most-1]) + "…"
	}
	return s
}
