//go:build crash || faults

package daemon_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/session-migrator/session-migrator/pipeline/sink/sinktest"
)

// folder looks for documents that are not whole. A document's front matter
// proves its body.
func (c *checker) folder(o *outcome) error {
	return walkFiles(c.config().MemoryDir, func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch base := filepath.Base(path); {
		case temporary(base):
		case base == "index.json":
			if !json.Valid(text) {
				o.add("memory", base+" is torn")
			}
		case base == "INDEX.md" || base == "README.md":
			if !bytes.HasPrefix(text, []byte("# ")) || !bytes.HasSuffix(text, []byte("\n")) {
				o.add("memory", base+" is torn")
			}
		default:
			o.add("memory", whole(base, text))
		}
		return nil
	})
}

func whole(name string, text []byte) string {
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	front, _, cut := bytes.Cut(rest, []byte("\n---\n"))
	if !ok || !cut {
		return name + " has no whole front matter"
	}
	var says struct {
		Session string `yaml:"session_id"`
	}
	if err := yaml.Unmarshal(front, &says); err != nil {
		return name + ": " + err.Error()
	}
	if says.Session == "" || !sinktest.Proven(text) {
		return name + " is torn: its text is not what its front matter says"
	}
	return ""
}

func temporary(base string) bool {
	return strings.HasPrefix(base, ".sm-") && strings.HasSuffix(base, ".tmp")
}

// walkFiles calls f for all files below a folder, which needn't exist.
func walkFiles(dir string, f func(path string) error) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return f(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// agedTemporaries makes what the kill left behind look old enough to be swept.
func (c *checker) agedTemporaries() error {
	old := time.Now().Add(-time.Hour)
	return walkFiles(c.config().MemoryDir, func(path string) error {
		if !temporary(filepath.Base(path)) {
			return nil
		}
		return os.Chtimes(path, old, old)
	})
}

// memories compares the documents with those of a clean run. Their names were
// fixed when they were first written, so they are found by their receipts.
func (c *checker) memories(ctx context.Context, o *outcome, clean task, threads rows, stable map[string]bool) error {
	if err := errors.Join(c.folder(o), c.receipted(ctx, o)); err != nil {
		return err
	}
	err := walkFiles(c.config().MemoryDir, func(path string) error {
		if temporary(filepath.Base(path)) {
			o.add("memory", path+" was not swept")
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := c.documents(ctx)
	if err != nil {
		return err
	}
	want, err := (&checker{task: clean}).documents(ctx)
	if err != nil {
		return err
	}
	for key := range got {
		if t, ok := threads[key[:36]]; !ok || want[key].values == nil && strings.Contains(t.get("body"), `"Turns":0,`) {
			delete(got, key) // of a thread that has no turn any more: what there was is kept
			delete(want, key)
		}
	}
	o.add("memory", apart(got, want, "text"))
	o.add("memory", apart(got.only(stable), want.only(stable)))
	return nil
}

// receipted looks for documents in the drop folder that nobody would know to be
// ours once they are past their time: those that aren't as a receipt says.
func (c *checker) receipted(ctx context.Context, o *outcome) error {
	receipts, err := c.receipts(ctx, "drop")
	if err != nil {
		return err
	}
	return walkFiles(filepath.Join(c.config().MemoryDir, "projects"), func(path string) error {
		if filepath.Base(path) == "INDEX.md" || temporary(filepath.Base(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.config().MemoryDir, path)
		if err != nil {
			return err
		}
		if !isOf(receipts[filepath.ToSlash(name)], text) {
			o.add("memory", name+" is not what its receipt says")
		}
		return nil
	})
}

// receipts gives those of a sink that are of a file, by its name.
func (c *checker) receipts(ctx context.Context, sink string) (rows, error) {
	db, err := openRows(c.config().DB())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return queryRows(ctx, db, "SELECT name, hash FROM receipt WHERE sink='"+sink+"' AND name<>''")
}

// isOf tells whether a receipt is there, and of that text.
func isOf(receipt row, text []byte) bool {
	sum := sha256.Sum256(text)
	return receipt.values != nil && receipt.get("hash") == hex.EncodeToString(sum[:])
}

// documents gives each thread's document, and what the index says of it.
func (c *checker) documents(ctx context.Context) (rows, error) {
	db, err := openRows(c.config().DB())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	receipts, err := queryRows(ctx, db, "SELECT thread_id, name, hash, managed FROM receipt WHERE sink='drop'")
	if err != nil {
		return nil, err
	}
	index := map[string]map[string]any{}
	var doc struct {
		Sessions []map[string]any `json:"sessions"`
	}
	text, err := os.ReadFile(filepath.Join(c.config().MemoryDir, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, s := range doc.Sessions {
		delete(s, "path")
		index[fmt.Sprint(s["thread_id"])] = s
	}
	out := rows{}
	for id, r := range receipts {
		text, err := os.ReadFile(filepath.Join(c.config().MemoryDir, filepath.FromSlash(r.get("name"))))
		if err != nil {
			return nil, err
		}
		entry, err := json.Marshal(index[id])
		if err != nil {
			return nil, err
		}
		proven := "not what was written"
		if isOf(r, text) {
			proven = "as written"
		}
		out[id+" document"] = row{[]string{"text", "index", "managed", "receipt"}, []string{string(text), string(entry), r.get("managed"), proven}}
	}
	return out, nil
}
