package main

import (
	"fmt"
	"testing"
)

func TestMatchesAreFoundInAnyCase(t *testing.T) {
	for _, c := range []struct {
		text  string
		words []string
		want  string
	}{
		{"The Flaky test", []string{"flaky"}, "[{4 9}]"},
		{"a FLAKY flaky", []string{"flaky", "a"}, "[{0 1} {2 7} {8 13}]"},
		{"upload_test", []string{"upload", "_test"}, "[{0 11}]"},
		{"aaa", []string{"aa"}, "[{0 2}]"},
		{"数据库错误", []string{"错误"}, "[{9 15}]"},
		{"Ünder", []string{"ünder"}, "[{0 6}]"},
		{"text", []string{"", "texts"}, "[]"},
		{"", []string{"x"}, "[]"},
	} {
		if got := fmt.Sprint(matches(c.text, c.words)); got != c.want {
			t.Errorf("%q in %q: %s, want %s", c.words, c.text, got, c.want)
		}
	}
}
