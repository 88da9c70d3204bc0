//go:build unix

package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

// benchRequests are questions of all kinds, of one seed.
func benchRequests(n int) map[string][]Request {
	c := newCorpus(1)
	text := newCorpus(2)
	pick := func(of []string) string { return of[c.rnd.IntN(len(of)*(1+c.rnd.IntN(4))/4)] }
	several := func(n int, of []string) string {
		var ws []string
		for range n {
			ws = append(ws, pick(of))
		}
		return strings.Join(ws, " ")
	}
	sentence := func() string {
		var b strings.Builder
		text.sentence(&b)
		return "why did we " + strings.ToLower(b.String())
	}
	out := map[string][]Request{}
	for i := range n {
		cjk := c.cjk[i%3]
		out["word"] = append(out["word"], Request{Query: pick([][]string{c.english, c.names, cjk}[i%3])})
		out["path"] = append(out["path"], Request{Query: pick(c.paths)})
		out["common"] = append(out["common"], Request{Query: c.english[i%8] + " " + c.english[i%13]})
		out["words"] = append(out["words"], Request{Query: several(2+i%3, c.english)})
		out["sentence"] = append(out["sentence"], Request{Query: sentence()})
		out["cjk sentence"] = append(out["cjk sentence"], Request{Query: strings.ReplaceAll(several(4+i%4, cjk), " ", "")})
		out["phrase"] = append(out["phrase"], Request{Query: `"` + several(2, c.english[:300]) + `"`})
		out["beginning"] = append(out["beginning"], Request{Query: head(pick(c.english), 5) + "* " + pick(c.names)})
		pasted := text.chunk(1500)
		out["pasted"] = append(out["pasted"], Request{Query: pasted.Body() + "\n"})
		out["workspace"] = append(out["workspace"], Request{Query: several(2, c.english), Within: "/w"})
		out["thread"] = append(out["thread"], Request{Query: several(2, c.english), Thread: fmt.Sprintf("019a0000-0000-7000-8000-%012x", i%benchRollouts)})
		out["role"] = append(out["role"], Request{Query: several(2, c.english) + " role:user"})
	}
	return out
}

// BenchmarkFind asks questions of all kinds of 60,000 items, and gives what half
// and 99 of 100 answers take at most, texts included.
func BenchmarkFind(b *testing.B) {
	db, _ := benchCache(b)
	x := openIndex(b, b.TempDir()+"/search.db")
	if _, err := x.CatchUp(b.Context(), db, nil); err != nil {
		b.Fatal(err)
	}
	var all, used []time.Duration
	requests := benchRequests(100)
	for b.Loop() {
		for _, kind := range slices.Sorted(keysOf(requests)) {
			took, cpus := ask(b, x, db, requests[kind])
			used = append(used, cpus...)
			b.ReportMetric(ms50(cpus), "cpu-p50-ms:"+strings.ReplaceAll(kind, " ", "-"))
			all = append(all, took...)
		}
	}
	slices.Sort(all)
	slices.Sort(used)
	b.ReportMetric(ms50(used), "cpu-p50-ms")
	b.ReportMetric(float64(used[len(used)*99/100].Microseconds())/1e3, "cpu-p99-ms")
	b.ReportMetric(ms50(all), "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1e3, "p99-ms")
}

func keysOf(m map[string][]Request) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func ms50(took []time.Duration) float64 {
	return float64(took[len(took)/2].Microseconds()) / 1e3
}

func ask(b *testing.B, x *Index, db *store.DB, rs []Request) (took, used []time.Duration) {
	for _, r := range rs {
		begun, before := time.Now(), cpu(b)
		r.Now = time.Unix(1_700_100_000, 0)
		if _, err := x.Find(b.Context(), db, r); err != nil {
			b.Fatal(r.Query, err)
		}
		took = append(took, time.Since(begun))
		used = append(used, cpu(b)-before)
	}
	slices.Sort(took)
	slices.Sort(used)
	return took, used
}
