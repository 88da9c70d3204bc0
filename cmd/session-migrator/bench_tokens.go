package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/tokens/corpus"
	"github.com/session-migrator/session-migrator/store"
)

const (
	benchBytes    = 16 << 20 // of text that is counted
	baselineBytes = 1 << 20  // about, of that by tiktoken-go, which is slow
	baselineMax   = 20 << 10 // longest text given to it: it is quadratic in a piece
	benchMessage  = 4 << 10  // what files are cut into
	benchPasses   = 3        // over all texts, the best of which counts for each
)

type benchTokensJSON struct {
	Schema    int               `json:"schema"`
	Texts     int               `json:"texts"`
	Bytes     int64             `json:"bytes"`
	Encodings []benchTokensLine `json:"encodings"`
}

// benchTokensLine is one vocabulary's figures. Rates are in MB a second on one
// core.
type benchTokensLine struct {
	Encoding   string  `json:"encoding"`
	Tokens     int64   `json:"tokens"`
	FirstMS    float64 `json:"first_count_ms"` // with the vocabulary built for it
	FirstBytes int64   `json:"first_count_bytes"`
	Cold       float64 `json:"cold_mb_per_s"`
	Warm       float64 `json:"warm_mb_per_s"`
	Baseline   float64 `json:"tiktoken_go_mb_per_s"`
	ColdRatio  float64 `json:"cold_ratio"` // on the texts that tiktoken-go counted
	Ratio      float64 `json:"warm_ratio"`
	Compared   int     `json:"compared"`
	Different  int     `json:"different"` // counts that are not tiktoken-go's
}

func runBenchTokens(ctx context.Context, a *app, kind string, files []string) error {
	texts, err := corpusTexts(kind)
	if err == nil && kind == "" {
		texts, err = benchTexts(ctx, a, files)
	}
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		return hinted(fmt.Errorf("there is no text to count"), "give files: session-migrator bench tokens FILE…")
	}
	out := benchTokensJSON{Schema: 1, Texts: len(texts)}
	for _, t := range texts {
		out.Bytes += int64(len(t))
	}
	different := 0
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
		line, err := benchEncoding(ctx, enc, texts)
		if err != nil {
			return err
		}
		different += line.Different
		out.Encodings = append(out.Encodings, line)
	}
	if a.flags.json {
		err = a.printJSON(out)
	} else {
		put(a.out, "%s, %.1f MB, one core\n", plural(out.Texts, "text"), mega(out.Bytes))
		t := table{head: []string{"ENCODING", "TOKENS", "FIRST COUNT", "COLD MB/S", "WARM MB/S", "TIKTOKEN-GO", "COLD", "WARM", "DIFFERENT"}, right: []bool{false, true, true, true, true, true, true, true, true}}
		for _, l := range out.Encodings {
			t.add(l.Encoding, number(l.Tokens), fmt.Sprintf("%.0f ms, %.0f MB", l.FirstMS, mega(l.FirstBytes)), fmt.Sprintf("%.1f", l.Cold), fmt.Sprintf("%.1f", l.Warm),
				fmt.Sprintf("%.2f", l.Baseline), fmt.Sprintf("%.0f×", l.ColdRatio), fmt.Sprintf("%.0f×", l.Ratio), fmt.Sprintf("%s of %s", number(l.Different), number(l.Compared)))
		}
		err = t.print(a, a.out)
	}
	if err == nil && different > 0 {
		err = fmt.Errorf("%s of this program not that of tiktoken-go", plural(different, "count"))
	}
	return err
}

// corpusTexts are generated, of the kind that is named; none if none is.
func corpusTexts(kind string) ([][]byte, error) {
	if kind == "" {
		return nil, nil
	}
	var known []string
	for _, k := range corpus.Kinds() {
		if k.String() == kind {
			return corpus.Messages(k, benchBytes), nil
		}
		known = append(known, k.String())
	}
	return nil, usagef("unknown corpus %q (known: %s)", kind, strings.Join(known, ", "))
}

// benchTexts are the messages of the newest sessions, or the files in parts.
func benchTexts(ctx context.Context, a *app, files []string) (texts [][]byte, err error) {
	size := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read text to count: %w", err)
		}
		for len(text) > 0 && size < benchBytes {
			n := min(benchMessage, len(text))
			for n < len(text) && n > 1 && !utf8.RuneStart(text[n]) {
				n--
			}
			texts, text, size = append(texts, text[:n]), text[n:], size+n
		}
	}
	if len(files) > 0 {
		return texts, nil
	}
	r, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	threads, _, err := r.db.Threads(ctx, store.Filter{Subagents: true, Archived: true})
	if err != nil {
		return nil, err
	}
	for _, th := range threads {
		ms, err := r.db.Messages(ctx, th.ID, 0, 0)
		if err != nil {
			return nil, err
		}
		for i := range ms {
			if body := ms[i].Body(); body != "" && size < benchBytes {
				texts, size = append(texts, []byte(body)), size+len(body)
			}
		}
		if size >= benchBytes {
			break
		}
	}
	return texts, nil
}

func benchEncoding(ctx context.Context, enc tokens.Encoding, texts [][]byte) (benchTokensLine, error) {
	l := benchTokensLine{Encoding: enc.String()}
	tokens.Release()
	before := heapNow()
	start := time.Now()
	c, err := tokens.New(enc)
	if err != nil {
		return l, err
	}
	c.Count([]byte("first"))
	l.FirstMS = time.Since(start).Seconds() * 1e3
	l.FirstBytes = max(heapNow()-before, 0)

	cold, warm := newBenchTimes(texts), newBenchTimes(texts)
	for range benchPasses {
		c.Release() // what it remembers; the vocabulary stays
		if err := cold.pass(ctx, c.Count); err != nil {
			return l, err
		}
		if err := warm.pass(ctx, c.Count); err != nil {
			return l, err
		}
	}
	for _, n := range warm.counts {
		l.Tokens += int64(n)
	}
	l.Cold, l.Warm = rate(cold.sum(nil)), rate(warm.sum(nil))
	return l, l.compare(ctx, enc, cold, warm)
}

// compare lets tiktoken-go count a part of the texts, from all over, as often.
func (l *benchTokensLine) compare(ctx context.Context, enc tokens.Encoding, cold, warm *benchTimes) error {
	count, err := tokens.Baseline(enc)
	if err != nil {
		return err
	}
	count([]byte("first"))
	size, _ := warm.sum(nil)
	every := max(int(size/baselineBytes), 1)
	picked, texts := []int{}, [][]byte(nil)
	for i := 0; i < len(warm.texts); i += every {
		if t := warm.texts[i]; len(t) <= baselineMax && utf8.Valid(t) {
			picked, texts = append(picked, i), append(texts, t)
		}
	}
	theirs := newBenchTimes(texts)
	for range benchPasses {
		if err := theirs.pass(ctx, count); err != nil {
			return err
		}
	}
	for k, i := range picked {
		l.Compared++
		if n := theirs.counts[k]; n != warm.counts[i] || n != cold.counts[i] {
			l.Different++
		}
	}
	bytes, slow := theirs.sum(nil)
	_, fresh := cold.sum(picked)
	_, quick := warm.sum(picked)
	l.Baseline = rate(bytes, slow)
	l.ColdRatio, l.Ratio = slow.Seconds()/max(fresh.Seconds(), 1e-9), slow.Seconds()/max(quick.Seconds(), 1e-9)
	return nil
}

// benchTimes is the best time that a counter took for each text.
type benchTimes struct {
	texts  [][]byte
	best   []time.Duration
	counts []int
}

func newBenchTimes(texts [][]byte) *benchTimes {
	b := &benchTimes{texts: texts, best: make([]time.Duration, len(texts)), counts: make([]int, len(texts))}
	for i := range b.best {
		b.best[i] = math.MaxInt64
	}
	return b
}

// pass counts all texts once.
func (b *benchTimes) pass(ctx context.Context, count func([]byte) int) error {
	for i, text := range b.texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		b.counts[i] = count(text)
		b.best[i] = min(b.best[i], time.Since(start))
	}
	return nil
}

// sum is over the texts of those numbers, all for nil.
func (b *benchTimes) sum(which []int) (size int64, took time.Duration) {
	add := func(i int) { size, took = size+int64(len(b.texts[i])), took+b.best[i] }
	if which == nil {
		for i := range b.texts {
			add(i)
		}
	}
	for _, i := range which {
		add(i)
	}
	return size, took
}

// heapNow is what is in use after a collection.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
