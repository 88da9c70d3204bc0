package rollouttest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func build(era Era) *Rollout {
	return New(era, Options{Nickname: "Noether", BranchName: "main"}).User("a \"b\" <c> 你好").Steer("d").Image("e").Reasoning("f").
		Call("shell", `{"cmd":"ls"}`, "x\n").Assistant("g").Tokens(10, 5, 3, 1).Again().Inject("skill", "h").Compact("i", "j").
		Rename("k").Abort().User("l").Fail("m").User("n").Rollback(1)
}

func TestLinesAreOrderedJSON(t *testing.T) {
	shapes := map[Era]string{
		Bare:      `^\{"(type|record_type|id|message)":`,
		Legacy:    `^\{"timestamp":"[^"]{24}","type":"[a-z_]+","payload":\{`,
		Marked:    `^\{"timestamp":"[^"]{24}","type":"[a-z_]+","payload":\{`,
		Paginated: `^\{"timestamp":"[^"]{24}","ordinal":\d+,"type":"[a-z_]+","payload":\{`,
	}
	for era, shape := range shapes {
		b := build(era).Bytes()
		if !bytes.Equal(b, build(era).Bytes()) {
			t.Errorf("%s: two runs differ", era)
		}
		re := regexp.MustCompile(shape)
		n := 0
		for line := range bytes.Lines(b) {
			n++
			if !json.Valid(line) || !re.Match(line) {
				t.Errorf("%s: line %s", era, line)
			}
		}
		if n < 10 {
			t.Errorf("%s: %d lines", era, n)
		}
	}
}

func TestTurnIDsAreVersion7(t *testing.T) {
	if id := New(Marked, Options{}).ThreadID(); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Error(id)
	}
}

func TestForkCopiesTheParent(t *testing.T) {
	p := New(Marked, Options{}).User("u").Assistant("a")
	f := p.Fork(Options{}).User("own")
	s := string(f.Bytes())
	if strings.Count(s, `"type":"session_meta"`) != 2 || strings.Count(s, `"forked_from_id":"`+p.ThreadID()) != 1 || f.ThreadID() == p.ThreadID() {
		t.Error(s)
	}
	if f.Path() == p.Path() || !strings.HasPrefix(f.Path(), "sessions/2026/09/01/rollout-2026-09-01T09-00-0") {
		t.Error(f.Path())
	}
}

func TestTorn(t *testing.T) {
	r := New(Legacy, Options{})
	n := r.Size()
	if r.Torn(5); r.Size() != n-5 {
		t.Error(r.Size())
	}
}
