package rollout_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parents says whose lines a fixture begins with.
var parents = map[string]string{
	"codex/0.118.0-as_review-3.jsonl":     "codex/0.118.0-as_review-1.jsonl",
	"codex/0.145.0-as_fork-2.jsonl":       "codex/0.145.0-as_fork-1.jsonl",
	"codex/0.171.0-x_legacy_fork-2.jsonl": "codex/0.171.0-x_legacy_fork-1.jsonl",
	"cases/forks-replay.jsonl":            "cases/forks-parent.jsonl",
	"cases/forks-empty.jsonl":             "cases/forks-parent.jsonl",
}

// parentOf gives the Options.Parent of a fixture.
func parentOf(tb testing.TB, name string) func(string) (rollout.Lineage, bool) {
	return func(id string) (rollout.Lineage, bool) {
		file, ok := parents[name]
		if !ok {
			return nil, false
		}
		r := parse(tb, load(tb, file), reading{})
		if r.state.Facts.ThreadID != id {
			tb.Errorf("%s: asked for parent %s, it is %s", name, id, r.state.Facts.ThreadID)
		}
		return r.lineage(), true
	}
}

func fixtures(tb testing.TB) []string {
	tb.Helper()
	var names []string
	for _, dir := range []string{"codex", "cases"} {
		files, err := filepath.Glob("testdata/" + dir + "/*.jsonl")
		if err != nil || len(files) == 0 {
			tb.Fatal("no fixtures in", dir, err)
		}
		for _, f := range files {
			names = append(names, dir+"/"+filepath.Base(f))
		}
	}
	return names
}

// TestGolden reads files of real Codex versions, and cases that people ran
// into, and compares all that comes out.
func TestGolden(t *testing.T) {
	for _, name := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			got := parse(t, load(t, name), reading{parent: parentOf(t, name)}).dump()
			file := filepath.Join("testdata", strings.TrimSuffix(name, ".jsonl")+".want")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Error(file, firstDifference(got, string(want)))
			}
		})
	}
}

// TestChunks: however the lines are cut into deltas, with the state stored and
// read again between them, what comes out is the same.
func TestChunks(t *testing.T) {
	for _, name := range fixtures(t) {
		parent := parentOf(t, name)
		one := parse(t, load(t, name), reading{parent: parent})
		for _, chunk := range []int{1, 2, 3, 7, 20} {
			many := parse(t, load(t, name), reading{parent: parent, chunk: chunk})
			if !reflect.DeepEqual(many.Items, one.Items) {
				t.Errorf("%s in chunks of %d: other items", name, chunk)
			}
			if got, want := many.dump(), one.dump(); got != want {
				t.Error(name, "in chunks of", chunk, firstDifference(got, want))
			}
			if !reflect.DeepEqual(roundTrip(t, many.state), roundTrip(t, one.state)) {
				t.Errorf("%s in chunks of %d: other state", name, chunk)
			}
		}
		// Delivering more than was asked for changes nothing.
		full := parse(t, load(t, name), reading{parent: parent, whole: true})
		if got, want := full.dump(), one.dump(); got != want {
			t.Error(name, "delivered in full", firstDifference(got, want))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "\ngot:  " + g[i] + "\nwant: " + w[i]
		}
	}
	return "lengths differ"
}
