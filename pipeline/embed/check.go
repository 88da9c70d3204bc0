package embed

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sashabaranov/go-openai"
)

// vectors checks what came back for n texts, puts it in the texts' order, and
// normalises it. Unnumbered vectors are in that order; body, the answer as it
// came, tells those from vectors that all have number 0.
func vectors(data []openai.Embedding, n int, body []byte) ([][]float32, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(data), n)
	}
	ordered := !slices.ContainsFunc(data, func(d openai.Embedding) bool { return d.Index != 0 }) && !bytes.Contains(body, []byte(`"index"`))
	out := make([][]float32, n)
	for i, d := range data {
		if ordered {
			d.Index = i
		}
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil {
			return nil, errors.New("the vectors are numbered wrongly: not from 0 on, each once")
		}
		if out[d.Index] = d.Embedding; d.Embedding == nil {
			out[d.Index] = []float32{}
		}
	}
	for i, v := range out {
		if len(v) == 0 || len(v) > maxDims || len(v) != len(out[0]) {
			return nil, fmt.Errorf("vector %d has %d dimensions, the first has %d", i, len(v), len(out[0]))
		}
		if !Normalise(v) {
			return nil, fmt.Errorf("vector %d is zero or not of numbers", i)
		}
	}
	return out, nil
}

// Normalise makes v of length 1, in place. It tells whether it could: v is not
// zero, and all of it numbers.
func Normalise(v []float32) bool {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	length := math.Sqrt(sum)
	if length < 1e-12 || math.IsNaN(length) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}
