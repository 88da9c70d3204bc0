//go:build unix

package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// cpu is the processor time that this process has used.
func cpu(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const (
	benchRollouts = 60
	benchItems    = 1000 // of each
	benchBytes    = 640  // of an item
)

// benchCache is a cache of 60,000 items with 40 MB of text.
func benchCache(b *testing.B) (*store.DB, int64) {
	db := openCache(b)
	c := newCorpus(1)
	var size int64
	for r := range benchRollouts {
		var items []transcript.Item
		for range benchItems {
			it := c.chunk(benchBytes)
			size += int64(len(it.Body()))
			items = append(items, it)
		}
		commit(b, db, batch(fmt.Sprintf("019a0000-0000-7000-8000-%012x", r), 1, items...))
	}
	return db, size
}

// BenchmarkIndex takes a cache in from its start. MB of text a CPU second, the
// index's size by the text's, and how long a question for a word takes.
func BenchmarkIndex(b *testing.B) {
	db, size := benchCache(b)
	var used time.Duration
	var x *Index
	var path string
	n := 0
	for b.Loop() {
		b.StopTimer()
		path = filepath.Join(b.TempDir(), fmt.Sprint(n), "search.db")
		x = openIndex(b, path)
		b.StartTimer()
		begun := cpu(b)
		p, err := x.CatchUp(b.Context(), db, func(context.Context) error { return nil })
		if err != nil || p.Items != benchRollouts*benchItems {
			b.Fatal(p, err)
		}
		used += cpu(b) - begun
		n++
	}
	b.ReportMetric(float64(size)*float64(n)/1e6/used.Seconds(), "MB/cpu-s")
	if _, err := x.db.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(st.Size())/float64(size), "index/text")
	p50, most := benchQueries(b, x)
	b.ReportMetric(float64(p50.Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(most.Microseconds())/1e3, "max-ms")
	var segments int
	if err := x.db.QueryRowContext(b.Context(), "SELECT count(DISTINCT segid) FROM words_idx").Scan(&segments); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(segments), "segments")
}

// benchQueries asks for the twenty best items of words of all kinds.
func benchQueries(b *testing.B, x *Index) (p50, most time.Duration) {
	c := newCorpus(1)
	var took []time.Duration
	for i := range 300 {
		of := [...][]string{c.english, c.names, c.paths, c.cjk[0], c.cjk[1], c.cjk[2]}[i%6]
		q := ""
		for _, w := range words(of[c.rnd.IntN(len(of)*(1+i%2)/2)]) {
			for _, p := range w.parts {
				q += ` "` + p + `"`
				if w.begin {
					q += "*"
				}
			}
		}
		if q == "" {
			continue
		}
		begun := time.Now()
		rows, err := x.read.QueryContext(b.Context(), "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 20", q)
		if err != nil {
			b.Fatal(q, err)
		}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				b.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		_ = rows.Close() //nolint:sqlclosecheck // in a loop
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1]
}

// BenchmarkIngest commits while an index follows, and while none does: the time
// of a commit of 50 items. A commit that the index's writes made wait would be
// slower.
func BenchmarkIngest(b *testing.B) {
	for _, follows := range []bool{false, true} {
		b.Run(fmt.Sprint("index ", follows), func(b *testing.B) {
			db := openCache(b)
			x := openIndex(b, filepath.Join(b.TempDir(), "search.db"))
			c := newCorpus(1)
			var took []time.Duration
			seq := int64(1)
			for b.Loop() {
				var items []transcript.Item
				for range 50 {
					items = append(items, c.chunk(benchBytes))
				}
				bt := batch(idA, seq, items...)
				seq += 50
				begun := time.Now()
				commit(b, db, bt)
				took = append(took, time.Since(begun))
				if follows {
					catchUpWith(b, x, db)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-commit-ms")
			b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1e3, "p90-commit-ms")
		})
	}
}
