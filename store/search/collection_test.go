package search

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// session is one of the collection. Each item begins with a letter: u a
// request, a an answer on the way, f one that ends the turn, c a tool's name
// and its arguments, r an exit code and a tool's output.
type session struct {
	ID    string   `json:"id"`
	Cwd   string   `json:"cwd"`
	Day   int      `json:"day"` // of November 2026
	Items []string `json:"items"`
}

// asked is a question and the session that answers it. Those that are held out
// weren't looked at when the ranking was made.
type asked struct {
	Lang string `json:"lang"`
	Q    string `json:"q"`
	Want string `json:"want"`
	Hold bool   `json:"hold"`
}

func readLines[T any](t testing.TB, pattern string) (out []T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "collection", pattern))
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var v T
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatal(file, err)
			}
			out = append(out, v)
		}
		_ = f.Close()
	}
	return out
}

// collectionNow is when the questions are asked.
var collectionNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// ingest commits a session and gives its thread's id.
func ingest(t testing.TB, db *store.DB, n int, s session) string {
	t.Helper()
	id := fmt.Sprintf("019b%04x-0000-7000-8000-%012x", n, n)
	at := time.Date(2026, 11, s.Day, 9, n%60, 0, 0, time.UTC)
	b := &store.Batch{
		File:  store.File{RolloutID: id, ThreadID: id, Stamp: at.Format("2006-01-02T15-04-05"), Home: "/h", Path: "/h/sessions/" + id, Form: store.FormPlain},
		State: store.FileOK, Delta: &transcript.Delta{},
		Facts: transcript.Facts{ThreadID: id, Cwd: s.Cwd, Model: "gpt-5.5-codex", Created: at, Updated: at.Add(time.Hour)},
	}
	turn := 0
	for i, line := range s.Items {
		kind, text, _ := strings.Cut(line, " ")
		it := transcript.Item{Seq: int64(i + 1), Ordinal: int64(i), Offset: int64(i) * 100, Size: 100, Key: uint64(n)<<20 | uint64(i), Time: at.Add(time.Duration(i) * time.Minute)}
		switch kind {
		case "u":
			it.Role, it.Text = transcript.RoleUser, text
			turn++
		case "a":
			it.Role, it.Text, it.Phase = transcript.RoleAssistant, text, transcript.PhaseCommentary
		case "f":
			it.Role, it.Text, it.Phase = transcript.RoleAssistant, text, transcript.PhaseFinal
		case "c":
			it.Role = transcript.RoleToolCall
			it.Name, it.Args, _ = strings.Cut(text, " ")
		case "r":
			it.Role = transcript.RoleToolResult
			_, it.Text, _ = strings.Cut(text, " ")
		default:
			t.Fatalf("session %s: item %q", s.ID, line)
		}
		it.Turn = turn
		b.Delta.Items = append(b.Delta.Items, it)
		b.Counts = append(b.Counts, store.ItemCount{O200k: len(it.Body()), Hash: it.BodyHash()})
	}
	b.Cursor = store.Cursor{Offset: int64(len(s.Items)) * 100, Line: int64(len(s.Items))}
	if err := db.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return id
}

// collection makes a cache of the collection and an index of it, and gives the
// sessions' names by thread.
func collection(t testing.TB) (*Index, *store.DB, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "session-migrator.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	names := map[string]string{}
	for n, s := range readLines[session](t, "sessions-*.jsonl") {
		names[ingest(t, db, n, s)] = s.ID
	}
	x, err := Open(t.Context(), filepath.Join(dir, "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	if _, err := x.CatchUp(t.Context(), db, nil); err != nil {
		t.Fatal(err)
	}
	return x, db, names
}

// score is how many of how many questions are answered among the first five.
type score struct {
	right, of int
	first     int // answered by the first hit
}

func (s score) part() float64 { return float64(s.right) / float64(max(1, s.of)) }

// recall asks all questions and gives the score of each language, of "tuned"
// and of "held out".
func recall(t testing.TB, names map[string]string, find func(asked, Request) (Found, error)) map[string]*score {
	t.Helper()
	out := map[string]*score{}
	for _, q := range readLines[asked](t, "questions.jsonl") {
		found, err := find(q, Request{Query: q.Q, Limit: 5, Now: collectionNow})
		if err != nil {
			t.Fatalf("%s: %v", q.Q, err)
		}
		right := slices.ContainsFunc(found.Hits, func(h Hit) bool { return names[h.Thread.ID] == q.Want })
		part := map[bool]string{false: "tuned", true: "held out"}[q.Hold]
		for _, k := range []string{q.Lang, part, "all"} {
			if out[k] == nil {
				out[k] = &score{}
			}
			out[k].of++
			if right {
				out[k].right++
			}
			if right && names[found.Hits[0].Thread.ID] == q.Want {
				out[k].first++
			}
		}
		if !right && !q.Hold {
			var got []string
			for _, h := range found.Hits {
				got = append(got, names[h.Thread.ID])
			}
			t.Logf("%s: %q isn't answered by %s but %q", q.Lang, q.Q, q.Want, got)
		}
	}
	return out
}

func TestQuestionsFindTheSessionThatAnswers(t *testing.T) {
	x, db, names := collection(t)
	for how, find := range map[string]func(asked, Request) (Found, error){
		"index": func(_ asked, r Request) (Found, error) { return x.Find(t.Context(), db, r) },
		"scan":  func(_ asked, r Request) (Found, error) { return Scan(t.Context(), db, r) },
	} {
		for k, s := range recall(t, names, find) {
			t.Logf("%s: recall@5 %s: %d of %d, %.3f; %d by the first hit", how, k, s.right, s.of, s.part(), s.first)
			if s.part() < 0.9 {
				t.Errorf("%s: of the questions (%s) only %d of %d are answered among the first five", how, k, s.right, s.of)
			}
		}
	}
}

// Vectors come from a model that may know nothing of the language: whatever
// they say, what words alone find stays among the first five.
func TestMeaningLosesNothing(t *testing.T) {
	x, db, names := collection(t)
	words := recall(t, names, func(_ asked, r Request) (Found, error) { return x.Find(t.Context(), db, r) })
	items := map[string][]int64{}
	var all []int64
	for id, name := range names {
		ms, err := db.Messages(t.Context(), id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			items[name] = append(items[name], m.ID)
			all = append(all, m.ID)
		}
	}
	slices.Sort(all)
	rnd := rand.New(rand.NewPCG(1, 2))
	for how, nearest := range map[string]func(asked) []int64{
		"right": func(q asked) []int64 { return items[q.Want] },
		"random": func(asked) []int64 {
			rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return slices.Clone(all[:50])
		},
		"all but the right": func(q asked) []int64 {
			return slices.DeleteFunc(slices.Clone(all), func(id int64) bool { return slices.Contains(items[q.Want], id) })
		},
	} {
		got := recall(t, names, func(q asked, r Request) (Found, error) { return x.find(t.Context(), db, r, nearest(q)) })
		for k, s := range got {
			if s.right < words[k].right {
				t.Errorf("%s vectors: %s falls from %d to %d of %d", how, k, words[k].right, s.right, s.of)
			}
		}
		t.Logf("%s vectors: recall@5 %.3f, of words alone %.3f", how, got["all"].part(), words["all"].part())
	}
}
