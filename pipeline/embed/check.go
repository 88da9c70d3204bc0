package embed

import (
	"fmt"
	"math"
	"slices"

	"github.com/sashabaranov/go-openai"
)

// vectors checks what came back for n texts, puts it in the texts' order, and
// normalises it.
func vectors(data []openai.Embedding, n int) ([][]float32, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(data), n)
	}
	out := make([][]float32, n)
	for _, d := range data {
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil {
			out = nil // numbered otherwise: they come in the order asked
			break
		}
		out[d.Index] = d.Embedding
	}
	if out == nil {
		numbered := slices.ContainsFunc(data, func(d openai.Embedding) bool { return d.Index != data[0].Index })
		if numbered {
			return nil, fmt.Errorf("the vectors are numbered wrongly")
		}
		for _, d := range data {
			out = append(out, d.Embedding)
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
