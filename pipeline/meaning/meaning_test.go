package meaning

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
)

func texts(ps []Passage) (out []string) {
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return out
}

func TestCutAtParagraphs(t *testing.T) {
	para := func(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }
	a, b, c := para("alpha", 100), para("beta", 60), para("gamma", 120)
	got := texts(Cut(a + "\n\n" + b + "\n\n" + c + "\n"))
	if len(got) != 2 || got[0] != a+"\n\n"+b || got[1] != c {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]int{"": 0, " \n ": 0, "ok": 0, "修复登录": 1, "fix it": 1, strings.Repeat("x", 1200): 1, strings.Repeat("x", 1300): 2, strings.Repeat("数据。", 5000): passages} {
		if got := Cut(text); len(got) != want {
			t.Errorf("%.20q: %d passages, want %d", text, len(got), want)
		}
	}
	if one, two := Cut("the same words"), Cut("\nthe same words  "); one[0] != two[0] {
		t.Error("space around makes another passage")
	}
}

func TestPassagesAreShortAndTogetherTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 6000, -1).Draw(t, "text")
		if rapid.Bool().Draw(t, "prose") {
			text = strings.Repeat(text+" word. \n", rapid.IntRange(1, 40).Draw(t, "times"))
		}
		strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
		ps := Cut(text)
		joined := strip(strings.Join(texts(ps), " "))
		for _, p := range ps {
			if n := utf8.RuneCountInString(p.Text); n < least || n > passageMost || !utf8.ValidString(p.Text) {
				t.Fatalf("a passage of %d runes", n)
			}
		}
		if all := strip(clean(text, 1<<30)); len(ps) < passages && len(joined) < len(all)-least*utf8.UTFMax*(len(ps)+2) {
			t.Fatalf("%d bytes of %d are in passages", len(joined), len(all))
		}
	})
}

func TestNoSecretIsInAPassageOrAQuestion(t *testing.T) {
	secrets := redacttest.All(7)
	leaks := redacttest.NewLeaks(secrets)
	filler := strings.Repeat("and more text of some length ", 40)
	for _, s := range secrets {
		for _, text := range []string{s.Text, filler + "\n" + s.Text + "\n" + filler} {
			if got := leaks.In(strings.Join(texts(Cut(text)), "\n") + clean(text, questionMost)); len(got) > 0 {
				t.Errorf("%s: leaks %v", s.Name, got)
			}
		}
	}
}

type fake struct {
	asked []string
	err   error
	hang  bool
}

func (f *fake) Embed(ctx context.Context, texts []string) (embed.Answer, error) {
	f.asked = append(f.asked, texts...)
	if f.hang {
		<-ctx.Done()
		return embed.Answer{}, ctx.Err()
	}
	return embed.Answer{Vectors: [][]float32{{1}}}, f.err
}

func TestAQuestionIsAskedOnce(t *testing.T) {
	f := &fake{}
	a := NewAsker(f)
	for range 3 {
		if v, err := a.Vector(t.Context(), " how  was it "); err != nil || len(v) != 1 {
			t.Fatal(v, err)
		}
	}
	if v, err := a.Vector(t.Context(), " "); v != nil || err != nil {
		t.Error(v, err)
	}
	if len(f.asked) != 1 {
		t.Errorf("asked %q", f.asked)
	}
	for i := range 2 * askCalls {
		_, err := a.Vector(t.Context(), strings.Repeat("x", i+1))
		if want := i >= askCalls-1; want != errors.Is(err, ErrAsked) {
			t.Fatalf("question %d: %v", i, err)
		}
	}
	if len(f.asked) != askCalls || len(a.known) > remembered {
		t.Errorf("asked %d times, %d remembered", len(f.asked), len(a.known))
	}
}

func TestAnEndpointThatFailsIsLeftAlone(t *testing.T) {
	f := &fake{hang: true}
	a := NewAsker(f)
	now := time.Now()
	a.now = func() time.Time { return now }
	begun := time.Now()
	if _, err := a.Vector(t.Context(), "one"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*AskFor {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	f.hang = false
	if _, err := a.Vector(t.Context(), "two"); !errors.Is(err, ErrRests) {
		t.Errorf("got %v", err)
	}
	now = now.Add(askRest)
	if _, err := a.Vector(t.Context(), "two"); err != nil {
		t.Error(err)
	}
}
