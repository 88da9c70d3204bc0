package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
)

// indexFile holds the names that people gave to threads, a line for each time.
const indexFile = "session_index.jsonl"

// IngestNames takes in the thread names of a Codex home: of several for one
// thread the last one counts. No file, no names.
func (p *Pipeline) IngestNames(ctx context.Context, home string) error {
	path := filepath.Join(home, indexFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read thread names: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	names := map[string]string{}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // an unfinished line comes again
		}
		if err != nil {
			return fmt.Errorf("read thread names %s: %w", path, err)
		}
		if n, ok := rollout.ParseIndexLine(line); ok {
			names[n.ThreadID] = n.Name
		}
	}
	return p.db.SetNames(ctx, names, p.decisions)
}
