package memory

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var verbs = regexp.MustCompile(`%(?:\[\d\])?[sd]`)

// Every language has every word, and each takes what the English one takes.
func TestLabelsAreComplete(t *testing.T) {
	want := reflect.ValueOf(englishLabels())
	for l := english; l <= russian; l++ {
		got := reflect.ValueOf(labelsOf(l))
		for i := range got.NumField() {
			name := got.Type().Field(i).Name
			if got.Field(i).Kind() == reflect.Map {
				if got.Field(i).Len() != want.Field(i).Len() {
					t.Errorf("%v: %s has %d words", l, name, got.Field(i).Len())
				}
				continue
			}
			text := got.Field(i).String()
			if text == "" {
				t.Errorf("%v: %s is empty", l, name)
			}
			if strings.Contains(text, "|") {
				for n := 1; n < 3; n++ {
					args := make([]any, 0, 4)
					for _, v := range verbs.FindAllString(text[strings.Index(text, "|"):], -1)[1:] {
						args = append(args, map[byte]any{'d': 7, 's': "x"}[v[len(v)-1]])
					}
					if s := count(text, n, args...); strings.Contains(s, "%!") || strings.Contains(s, "|") {
						t.Errorf("%v: %s of %d gives %q", l, name, n, s)
					}
				}
			}
			forms := regexp.MustCompile(`\|`).Split(text, -1)
			wide := regexp.MustCompile(`\|`).Split(want.Field(i).String(), -1)
			if a, b := kinds(forms[len(forms)-1]), kinds(wide[len(wide)-1]); !slices.Equal(a, b) {
				t.Errorf("%v: %s takes %v, in English %v", l, name, a, b)
			}
		}
	}
}

// kinds are the kinds of a format's arguments, sorted.
func kinds(format string) []string {
	out := verbs.FindAllString(format, -1)
	for i, v := range out {
		out[i] = v[len(v)-1:]
	}
	slices.Sort(out)
	return out
}
