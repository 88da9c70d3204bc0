package store

import (
	"fmt"
	"slices"
	"testing"
)

func TestSuperfluousBackups(t *testing.T) {
	name := func(n, day int) string { return fmt.Sprintf("/b/kept-%06d-202609%02dT090000.db", n, day) }
	var daily, healed []string
	for i := range 9 {
		daily = append(daily, name(i, i+1))
	}
	healed = slices.Clone(daily[:7])
	for i := range 20 { // all on the day of the last
		healed = append(healed, name(10+i, 7))
	}
	for _, c := range []struct {
		what   string
		copies []string
		kept   []string
	}{
		{"none", nil, nil},
		{"one", daily[:1], daily[:1]},
		{"a day more than are kept", daily, daily[2:]},
		{"a day with many", healed, append(slices.Clone(daily[:6]), name(28, 7), name(29, 7))},
		{"a clock set back", []string{name(1, 9), name(2, 8), name(3, 9)}, []string{name(2, 8), name(3, 9)}},
	} {
		kept := slices.DeleteFunc(slices.Clone(c.copies), func(p string) bool { return slices.Contains(superfluous(c.copies), p) })
		if !slices.Equal(kept, c.kept) {
			t.Errorf("%s: kept %q, want %q", c.what, kept, c.kept)
		}
	}
}
