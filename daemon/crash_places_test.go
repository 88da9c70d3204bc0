//go:build crash || faults

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

// places looks over what a restarted run left in the folders of another program:
// documents that are whole and as their receipts say, none without a receipt,
// one block of ours in the shared file, and nothing else known of it than what
// is there.
func (c *checker) places(ctx context.Context, o *outcome) error {
	if c.Work == "" {
		return nil
	}
	db, err := openRows(c.config().DB())
	if err != nil {
		return err
	}
	defer db.Close()
	receipts, err := c.receipts(ctx, "workbuddy")
	if err != nil {
		return err
	}
	shared, err := queryRows(ctx, db, "SELECT path, body FROM shared WHERE sink='workbuddy'")
	if err != nil {
		return err
	}
	return walkFiles(c.Work, func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		base := filepath.Base(path)
		switch {
		case temporary(base), base == "INDEX.md":
		case base == "MEMORY.md":
			o.add("shared", c.sharedFile(path, text, shared))
		case filepath.Base(filepath.Dir(path)) == "codex":
			o.add("place", whole(base, text))
			if !isOf(receipts[filepath.ToSlash(path)], text) {
				o.add("place", path+" is not what its receipt says")
			}
		case !strings.HasPrefix(string(text), "# "):
			o.add("place", path+" is torn")
		}
		return nil
	})
}

func (c *checker) sharedFile(path string, text []byte, shared rows) string {
	var f sink.SharedFile
	if err := json.Unmarshal([]byte(shared[path].get("body")), &f); err != nil {
		return path + " is not known: " + err.Error()
	}
	if f.Hash == "" && !f.Written.IsZero() && !strings.Contains(string(text), "session-migrator:begin") {
		return "" // all sessions of the place are archived, or went elsewhere
	}
	view := block.Look(text)
	if !view.Has || view.Edited || view.Problem != "" || strings.Count(string(text), "session-migrator:begin") != 1 {
		return fmt.Sprintf("%s has no block that is ours alone (%s):\n%s", path, view.Problem, text)
	}
	if f.Hash != view.Hash || f.Problem != "" || len(f.Missing) > 0 {
		return fmt.Sprintf("%s has hash %s, known is %+v", path, view.Hash, f)
	}
	for _, line := range strings.Split(view.Body, "\n") {
		_, rest, ok := strings.Cut(line, "`.workbuddy/")
		name, _, end := strings.Cut(rest, "`")
		if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(path)), name)); ok && end && errors.Is(err, fs.ErrNotExist) {
			return path + " names " + name + ", which isn't there"
		}
	}
	return ""
}
