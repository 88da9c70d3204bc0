package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// runMost is how long a command may take: all of ours answer at once or hang.
const runMost = time.Minute

// outputMost is how much of what a command prints is kept.
const outputMost = 64 << 10

// saidMost is how much of that an error tells.
const saidMost = 500

// Exec runs commands for real, without a shell.
type Exec struct {
	// Alone ends a command that is given up with all that it started. Such a
	// command can't ask anything on the terminal.
	Alone bool
}

// Run runs argv and gives what it printed on both of its outputs.
func (e Exec) Run(ctx context.Context, argv []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, runMost)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...) //nolint:gosec // the plan was shown
	cmd.WaitDelay = time.Second
	if e.Alone {
		alone(cmd)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	if len(text) > outputMost {
		text = text[:outputMost]
	}
	if err == nil {
		return text, nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return text, fmt.Errorf("run %s: it did not end within %s", Quote(argv), runMost)
	}
	if said := strings.TrimSpace(text); said != "" && !errors.Is(err, exec.ErrNotFound) {
		if len(said) > saidMost {
			said = strings.ToValidUTF8(said[:saidMost], "") + "…"
		}
		return text, fmt.Errorf("run %s: %w: %s", Quote(argv), err, said)
	}
	return text, fmt.Errorf("run %s: %w", Quote(argv), err)
}

// Quote writes a command line for people, as they could type it.
func Quote(argv []string) string {
	var b strings.Builder
	for i, a := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a != "" && !strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]#~!{}") {
			b.WriteString(a)
			continue
		}
		b.WriteString(`"` + strings.NewReplacer(`"`, `\"`, "`", "\\`", "$", `\$`).Replace(a) + `"`)
	}
	return b.String()
}
