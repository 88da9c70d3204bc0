package compress

import (
	"slices"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

func TestReadPaths(t *testing.T) {
	tests := []struct {
		cmd   string
		paths []string
		whole bool
	}{
		{"cat a.go", []string{"a.go"}, true},
		{"cat ./a.go 'b.go'", []string{"a.go", "b.go"}, true},
		{"sed -n 1,200p src/a.go", []string{"src/a.go"}, false},
		{"head -n 20 a.go", []string{"a.go"}, false},
		{"tail -c 20 a.go", []string{"a.go"}, false},
		{"nl -ba a.go", []string{"a.go"}, true},
		{"sed -i s/a/b/ a.go", nil, false},
		{"sed -n", nil, false},
		{"cat a.go | wc -l", nil, false},
		{"cat *.go", nil, false},
		{"cat a.go > b.go", nil, false},
		{"go test ./...", nil, false},
		{"cat", nil, true},
		{"", nil, false},
	}
	for _, c := range tests {
		paths, whole := readPaths(c.cmd)
		if !slices.Equal(paths, c.paths) || whole != c.whole {
			t.Errorf("%q: got %q, %v; want %q, %v", c.cmd, paths, whole, c.paths, c.whole)
		}
	}
}

func TestCommandOf(t *testing.T) {
	for args, want := range map[string]string{
		`{"cmd":"cat a"}`:                    "cat a",
		`{"command":"cat a"}`:                "cat a",
		`{"command":["bash","-lc","cat a"]}`: "cat a",
		`{"command":[]}`:                     "",
		`{"command":7}`:                      "",
		`{"path":"a"}`:                       "",
		`{broken`:                            "",
		`*** Begin Patch`:                    "",
		``:                                   "",
	} {
		m := transcript.Message{Item: transcript.Item{Role: transcript.RoleToolCall, Args: args}}
		if got := commandOf(&m); got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

func TestPatchedPaths(t *testing.T) {
	for args, want := range map[string][]string{
		"*** Begin Patch\n*** Update File: a.go\n@@\n*** Add File: b/c.go\n+x\n*** Delete File: d.go": {"a.go", "b/c.go", "d.go"},
		`{"input":"*** Begin Patch\n*** Update File: a.go\n@@"}`:                                      {"a.go"},
		`{"cmd":"cat a.go"}`: nil,
	} {
		if got := patchedPaths(args); !slices.Equal(got, want) {
			// The order is that of the kinds of change.
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", args, got, want)
			}
		}
	}
}

// Symbols are what the next agent may write again; words only where somebody
// said them.
func TestSymbols(t *testing.T) {
	tests := []struct {
		text     string
		by       speaker
		symbols  int
		words    int
		describe string
	}{
		{"internal/render/page.go", speakerTool, 2, 0, "a path and its last element"},
		{"minutesFor ErrNoFont", speakerTool, 2, 0, "identifiers"},
		{"snake_case SHOUT v1.2.3 c3fa71d 4386", speakerTool, 5, 0, "other shapes"},
		{"the plain words here", speakerTool, 0, 0, "words of a tool"},
		{"the plain words here", speakerUser, 0, 3, "words of a person"},
		{"注文を取消", speakerUser, 0, 4, "pairs of characters"},
		{"- -- ... // 42 ab", speakerUser, 0, 0, "nothing"},
		{"page.go page.go page.go", speakerAgent, 1, 0, "each once"},
	}
	for _, c := range tests {
		x := newIndex(100)
		x.scan(c.text, 0, 0, c.by)
		symbols, words := 0, 0
		for _, s := range x.syms {
			if s.plain {
				words++
			} else {
				symbols++
			}
		}
		if symbols != c.symbols || words != c.words || len(x.refs) != len(x.syms) {
			t.Errorf("%s: %d symbols and %d words, want %d and %d", c.describe, symbols, words, c.symbols, c.words)
		}
	}
}

func TestWeights(t *testing.T) {
	x := newIndex(100)
	x.scan("seldom_written", 0, 0, speakerTool)
	x.scan("often_written", 1, 100, speakerAgent)
	x.scan("often_written", 2, 200, speakerAgent)
	x.scan("once_written", 3, 200, speakerAgent)
	x.scan("asked_for", 4, 200, speakerUser)
	x.scan("asked_for", 5, 200, speakerAgent)
	x.weigh(200, 6)
	weight := func(word string) float32 { return x.syms[x.ids[hash(word)&^1]].weight }
	order := []string{"asked_for", "often_written", "once_written", "seldom_written"}
	for i := 1; i < len(order); i++ {
		if weight(order[i-1]) <= weight(order[i]) {
			t.Errorf("%s weighs %v, %s %v", order[i-1], weight(order[i-1]), order[i], weight(order[i]))
		}
	}
}
