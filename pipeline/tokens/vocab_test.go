package tokens_test

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

func TestVocabulary(t *testing.T) {
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase, tokens.P50kBase, tokens.R50kBase} {
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(enc.String() + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		if got := tokens.Ranks(enc); !maps.Equal(got, want) {
			t.Errorf("embedded %s differs from that of tiktoken-go-loader (%d and %d tokens)", enc, len(got), len(want))
		}
	}
}

// TestEveryTokenIsOne: a token is the encoding of its own bytes.
func TestEveryTokenIsOne(t *testing.T) {
	for _, enc := range engines {
		c := counter(t, enc)
		for token := range tokens.Ranks(enc) {
			if n := tokens.CountPiece(c, token); n != 1 {
				t.Fatalf("%s: %q has %d tokens", enc, token, n)
			}
		}
	}
}

func TestLegacyCounts(t *testing.T) {
	text := "Hello, world!  def f(x):\n        return 'don''t'\n"
	for enc, want := range map[tokens.Encoding]int{tokens.R50kBase: 25, tokens.P50kBase: 19} {
		if got := counter(t, enc).CountString(text); got != want {
			t.Errorf("%s = %d, want %d", enc, got, want)
		}
	}
}

func TestCountersShareVocabularies(t *testing.T) {
	text := strings.Repeat("many counters, one vocabulary, 许多计数器 ", 20)
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase, tokens.P50kBase} {
		var before, after runtime.MemStats
		var wg sync.WaitGroup
		want := counter(t, enc).CountString(text)
		runtime.GC()
		runtime.ReadMemStats(&before)
		const workers = 8
		all := make([]*tokens.Counter, workers)
		got := make([]int, workers)
		for i := range workers {
			all[i] = counter(t, enc)
			wg.Go(func() { got[i] = all[i].CountString(text) })
		}
		wg.Wait()
		runtime.GC()
		runtime.ReadMemStats(&after)
		for _, n := range got {
			if n != want {
				t.Errorf("%s side by side = %v, want %d", enc, got, want)
			}
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > workers*3<<20 { // a vocabulary is 4 to 7 MB
			t.Errorf("%d counters of %s took %d bytes", workers, enc, grown)
		}
		runtime.KeepAlive(all)
	}
}
