package tail_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/watch/tail"
)

// A file cut and grown again between two reads must not give lines of both:
// with the cursor behind the new ones, nobody would look at the old ones again.
func TestRewrittenBetweenReads(t *testing.T) {
	var old bytes.Buffer
	for i := range 2_000 {
		fmt.Fprintf(&old, "old line %d\n", i)
	}
	old.WriteString("half a line")
	other := bytes.Repeat([]byte("quite other words\n"), 4_000)
	for name, c := range map[string]struct {
		lines int   // read before the cut
		cut   int64 // where the other words begin
		want  error
	}{
		"in what was read":               {1, 7 << 10, tail.ErrReplaced},
		"all of it":                      {1, 0, tail.ErrReplaced},
		"in the line that isn't whole":   {2_000, int64(old.Len()) - 3, tail.ErrReplaced},
		"behind what was read":           {1, 20 << 10, nil},
		"at the end, which is only more": {2_000, int64(old.Len()), nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.jsonl")
			write(t, path, old.Bytes())
			r := open(t, path, tail.Cursor{}, tail.Options{HeadBytes: 1 << 10, BufferBytes: 8 << 10})
			var err error
			for range c.lines {
				if _, err = r.Next(); err != nil {
					t.Fatal(err)
				}
			}
			write(t, path, append(bytes.Clone(old.Bytes()[:c.cut]), other...))
			for err == nil {
				_, err = r.Next()
			}
			if want := cmp.Or(c.want, io.EOF); !errors.Is(err, want) {
				t.Errorf("Next() error = %v, want %v", err, want)
			}
		})
	}
}
