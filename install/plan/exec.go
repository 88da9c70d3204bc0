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

// Exec runs commands for real, without a shell.
type Exec struct{}

// Run runs argv and gives what it printed on both of its outputs.
func (Exec) Run(ctx context.Context, argv []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, runMost)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...) //nolint:gosec // the plan was shown
	cmd.WaitDelay = time.Second
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
