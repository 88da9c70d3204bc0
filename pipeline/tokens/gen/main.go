//go:build ignore

// Command gen writes the embedded vocabularies of package tokens from the
// rank files that tiktoken-go-loader carries. It needs no network:
//
//	go generate ./pipeline/tokens
//
// It also proves what the fast engine relies on: every token of a vocabulary
// meant for it can be reached by its own merges ("closed"). A vocabulary that
// is not closed is refused, because pair validity would then miscount it.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// vocabulary names one blob to write. Engine vocabularies carry the split of
// every token; the others are only ever read back as a rank map.
type vocabulary struct {
	name   string
	engine bool
}

func main() {
	log.SetFlags(0)
	for _, v := range []vocabulary{
		{name: "o200k_base", engine: true},
		{name: "cl100k_base", engine: true},
		{name: "p50k_base"},
	} {
		if err := write(v); err != nil {
			log.Fatalf("write vocabulary %s: %v", v.name, err)
		}
	}
	if err := checkR50k(); err != nil {
		log.Fatalf("derive r50k_base from p50k_base: %v", err)
	}
}

func load(name string) (map[string]int, error) {
	return loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
}

func write(v vocabulary) error {
	ranks, err := load(v.name)
	if err != nil {
		return err
	}
	words := make([]string, 0, len(ranks))
	for w := range ranks {
		words = append(words, w)
	}
	slices.Sort(words)
	var lcps, lens, splits, hi, mid, lo []byte
	var tails bytes.Buffer
	prev := ""
	for _, w := range words {
		shared := commonPrefix(prev, w)
		split := 0
		if v.engine && len(w) > 1 {
			if split = lastMerge(w, ranks); split == 0 {
				return fmt.Errorf("token %q cannot be reached by its own merges", w)
			}
		}
		if len(w) > math.MaxUint8 {
			return fmt.Errorf("token %q is longer than 255 bytes", w)
		}
		lcps = append(lcps, byte(shared))
		lens = append(lens, byte(len(w)-shared))
		splits = append(splits, byte(split))
		r := ranks[w]
		hi, mid, lo = append(hi, byte(r>>16)), append(mid, byte(r>>8)), append(lo, byte(r))
		tails.WriteString(w[shared:])
		prev = w
	}
	var out bytes.Buffer
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(words)))
	fw, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return err
	}
	for _, column := range [][]byte{head[:], lcps, lens, splits, hi, mid, lo, tails.Bytes()} {
		if _, err := fw.Write(column); err != nil {
			return err
		}
	}
	if err := fw.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d tokens, %d bytes", v.name, len(words), out.Len())
	return os.WriteFile(filepath.Join("vocab", v.name+".deflate"), out.Bytes(), 0o644)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lastMerge returns the length of the left half of the merge that makes w, or
// 0 if merging the bytes of w by rank does not end in exactly two halves.
func lastMerge(w string, ranks map[string]int) int {
	parts := make([]string, 0, len(w))
	for i := range len(w) {
		parts = append(parts, w[i:i+1])
	}
	for len(parts) > 2 {
		best, at := math.MaxInt, -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 || best >= ranks[w] {
			return 0
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	for _, p := range parts {
		if r, ok := ranks[p]; !ok || r >= ranks[w] {
			return 0
		}
	}
	return len(parts[0])
}

// checkR50k proves that r50k_base is p50k_base without its last ranks, so that
// one blob serves both.
func checkR50k() error {
	small, err := load("r50k_base")
	if err != nil {
		return err
	}
	large, err := load("p50k_base")
	if err != nil {
		return err
	}
	limit := 0
	for w, r := range small {
		if large[w] != r {
			return fmt.Errorf("token %q has rank %d and %d", w, r, large[w])
		}
		limit = max(limit, r+1)
	}
	below := 0
	for _, r := range large {
		if r < limit {
			below++
		}
	}
	if below != len(small) {
		return fmt.Errorf("%d ranks below %d, want %d", below, limit, len(small))
	}
	log.Printf("r50k_base: the %d ranks of p50k_base below %d", below, limit)
	return nil
}
