//go:build speed

package tokens_test

import (
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/tokens/corpus"
)

const (
	speedRounds = 6        // of both counters in turn, the best of which counts
	speedBatch  = 16 << 10 // bytes that are timed at once, in whole messages
	speedEvery  = 24       // one batch of so many is for tiktoken-go, too
)

// wanted is how many times as fast as tiktoken-go a counter must be that has
// seen the texts before, in either encoding.
func wanted(k corpus.Kind) float64 {
	if k == corpus.CJK {
		return 25
	}
	return 60
}

// TestSpeed is a gate on ratios within one process, for rates hang on the
// machine and on what else it does: a batch's time is the best of several
// rounds, in which both counters have their turns. What it tells of texts not
// seen is no gate: with new caches, which the first batch makes, and in use, by
// a counter that has counted as much of the kind. These rates are of all batches,
// for the first ones take longer than the others.
func TestSpeed(t *testing.T) {
	for _, enc := range engines {
		baseline, err := tokens.Baseline(enc)
		if err != nil {
			t.Fatal(err)
		}
		baseline([]byte("first"))
		for _, k := range corpus.Kinds() {
			all, unseen := batches(corpus.Messages(k, 2*corpusSize))
			c := counter(t, enc)
			cold, ours, next := newTiming(c.Count, all), newTiming(c.Count, all), newTiming(c.Count, unseen)
			theirs := newTiming(baseline, all)
			for range speedRounds {
				c.Release() // the first batch makes new caches
				cold.pass(1)
				ours.pass(1)
				next.pass(1)
				theirs.pass(speedEvery)
			}
			size, warm, slow := 0, time.Duration(0), time.Duration(0)
			for i := 0; i < len(all); i += speedEvery {
				if ours.counts[i] != theirs.counts[i] || cold.counts[i] != theirs.counts[i] {
					t.Errorf("%s %s: %d tokens in batch %d, %d when new, want %d", enc, k, ours.counts[i], i, cold.counts[i], theirs.counts[i])
				}
				size, warm, slow = size+sizeOf(all[i]), warm+ours.best[i], slow+theirs.best[i]
			}
			ratio, base := float64(slow)/float64(warm), rate(size, slow)
			t.Logf("%-11s %-5s %4.0f× tiktoken-go, texts not seen: %3.0f× in use, %3.0f× new (MB/s: %.0f, %.0f, %.0f; tiktoken-go %.1f)",
				enc, k, ratio, next.rate()/base, cold.rate()/base, rate(size, warm), next.rate(), cold.rate(), base)
			if want := wanted(k); ratio < want {
				t.Errorf("%s %s: %.0f times as fast as tiktoken-go, want %.0f", enc, k, ratio, want)
			}
		}
	}
}

// timing is the best time that a counter took for each batch.
type timing struct {
	count  func([]byte) int
	all    [][][]byte
	best   []time.Duration
	counts []int
}

func newTiming(count func([]byte) int, all [][][]byte) *timing {
	m := &timing{count: count, all: all, best: make([]time.Duration, len(all)), counts: make([]int, len(all))}
	for i := range m.best {
		m.best[i] = time.Hour
	}
	return m
}

// pass counts every step-th batch.
func (m *timing) pass(step int) {
	for i := 0; i < len(m.all); i += step {
		sum, start := 0, spent()
		for _, text := range m.all[i] {
			sum += m.count(text)
		}
		m.best[i], m.counts[i] = min(m.best[i], spent()-start), sum
	}
}

// rate is that of all batches, in MB/s.
func (m *timing) rate() float64 {
	size, took := 0, time.Duration(0)
	for i, batch := range m.all {
		size, took = size+sizeOf(batch), took+m.best[i]
	}
	return rate(size, took)
}

func rate(size int, took time.Duration) float64 { return float64(size) / 1e6 / took.Seconds() }

func sizeOf(texts [][]byte) (size int) {
	for _, text := range texts {
		size += len(text)
	}
	return size
}

// batches returns two halves of the texts.
func batches(texts [][]byte) (first, second [][][]byte) {
	var all [][][]byte
	size := speedBatch
	for _, text := range texts {
		if size >= speedBatch {
			all, size = append(all, nil), 0
		}
		all[len(all)-1], size = append(all[len(all)-1], text), size+len(text)
	}
	return all[:len(all)/2], all[len(all)/2:]
}
