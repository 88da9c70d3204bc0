package compress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/compress"
)

// A thread of about a million tokens: 900 turns of requests, commands with
// long outputs, patches and answers.
func millionTokens() []compress.Input {
	var c conversation
	for i := range 900 {
		c.user(fmt.Sprintf("Now look at module_%d and fix what the log says about case %d.", i%97, i))
		for k := range 4 {
			c.run(fmt.Sprintf("sed -n 1,80p pkg/mod%d/file_%d.go", i%97, k), strings.Repeat(fmt.Sprintf("\tif err := step%d(ctx, value_%d); err != nil { return fmt.Errorf(\"step: %%w\", err) }\n", i, k*i), 12), 0)
		}
		c.patch(fmt.Sprintf("pkg/mod%d/file_%d.go", i%97, i%4))
		c.assistant(fmt.Sprintf("Changed file_%d.go: step%d returns ErrCase%d now.", i%4, i, i))
	}
	in := compress.Input{Messages: c.ms, Count: func(s string) int { return (len(s) + 3) / 4 }, Session: "b7d20e63"}
	small, large := in, in
	small.BudgetTokens, large.BudgetTokens = 4000, 32000
	return []compress.Input{small, large}
}

func BenchmarkSelect(b *testing.B) {
	for _, in := range millionTokens() {
		bytes := 0
		for i := range in.Messages {
			bytes += len(in.Messages[i].Body())
		}
		for _, name := range strategies {
			st, err := compress.ByName(name)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", name, in.BudgetTokens), func(b *testing.B) {
				b.SetBytes(int64(bytes))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := st.Select(in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
