package search

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatAQuestionIsAbout(t *testing.T) {
	for query, want := range map[string]Asked{
		"where is it":        {Text: "where is it"},
		`workspace:beta zq2`: {Text: "zq2", Workspaces: []string{"beta"}},
		`zq3 session:bbbbbbbb role:user since:7d`:  {Text: "zq3", Sessions: []string{"bbbbbbbb"}},
		`"as it stands" begin* -not path:"a b/c"`:  {Text: "as it stands begin", Paths: []string{"a b/c"}},
		`-workspace:beta zq`:                       {Text: "zq", Workspaces: []string{"beta"}},
		"zq tool:x model:y":                        {Text: "zq"},
		"pasted\nworkspace:beta session:s role:me": {Text: "pasted", Workspaces: []string{"beta"}, Sessions: []string{"s"}},
		"workspace：beta Workspace:Gamma zq":        {Text: "zq", Workspaces: []string{"beta", "Gamma"}},
	} {
		if got := Read(query, time.Now()); got.Text != want.Text || !slices.Equal(got.Workspaces, want.Workspaces) || !slices.Equal(got.Sessions, want.Sessions) || !slices.Equal(got.Paths, want.Paths) {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
	long := strings.Repeat("word ", 300)
	if got := Read(long, time.Now()); got.Text != strings.TrimSpace(long) {
		t.Errorf("of a long one %d bytes", len(got.Text))
	}
}
