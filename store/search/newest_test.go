package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// ways are those to answer a question: what holds of one holds of the other.
func ways(x *Index) map[string]func(context.Context, *store.DB, Request) (Found, error) {
	return map[string]func(context.Context, *store.DB, Request) (Found, error){"index": x.Find, "scan": Scan}
}

func TestFiltersAloneLeaveOutWhatIsExcluded(t *testing.T) {
	db := openCache(t)
	x := indexOf(t, db,
		in(1, "/home/beta", 26, user("a zebra crosses"), user("nothing here"), call("exec_command", `{"cmd":"feed zebra"}`, "c1"), output("it ate", "c1")),
		in(2, "/home/beta", 27, user("登录失败"), user("on the Zebra-crossing"), user("a quiet zebras day")),
	)
	for q, want := range map[string][]string{
		"role:user -zebra":                   {"2:a quiet zebras day", "2:登录失败", "1:nothing here"},
		`role:user -"zebra crosses"`:         {"2:a quiet zebras day", "2:on the Zebra-crossing", "2:登录失败", "1:nothing here"},
		"role:user -zebra*":                  {"2:登录失败", "1:nothing here"},
		"workspace:beta -zebra since:2w":     {"2:a quiet zebras day", "2:登录失败", "1:it ate", "1:nothing here"},
		"tool:exec_command -zebra":           {"1:it ate"},
		"-登录 role:user -zebra":               {"2:a quiet zebras day", "1:nothing here"},
		"session:" + threadID(1) + " -zebra": {"1:it ate", "1:nothing here"},
	} {
		for how, find := range ways(x) {
			found, err := find(t.Context(), db, Request{Query: q, Now: collectionNow})
			if err != nil {
				t.Fatal(q, err)
			}
			if got := texts(found); !slices.Equal(got, want) {
				t.Errorf("%s: %q finds %q, want %q", how, q, got, want)
			}
		}
	}
}

// Who asks by filters alone can page through all there is, newest first, and
// needs no index for it.
func TestFiltersAloneGiveAll(t *testing.T) {
	db := openCache(t)
	var bs []*store.Batch
	for n := 1; n <= 4; n++ {
		var items []transcript.Item
		for i := range 200 {
			items = append(items, user(fmt.Sprintf("question %d", i)), answer("the answer "+strings.Repeat("x", 30_000)))
		}
		bs = append(bs, in(n, "/w", 2*n, items...))
	}
	bs = append(bs, in(9, "/other", 5, user("elsewhere")))
	x := indexOf(t, db, bs...)
	for q, want := range map[string]int{
		"workspace:w role:user":                  800,
		"workspace:w":                            1600,
		"role:user":                              801,
		"role:user session:" + threadID(2):       200,
		"role:assistant since:2026-11-04 -quest": 600,
		"path:other":                             1,
	} {
		for how, find := range ways(x) {
			var got []string
			var last transcript.Message
			seen := map[int64]bool{}
			for more := true; more; {
				found, err := find(t.Context(), db, Request{Query: q, Limit: 300, Offset: len(got), Now: collectionNow})
				if err != nil {
					t.Fatal(q, err)
				}
				if byText := how == "scan" && q == "path:other"; !byText && len(found.Notes)+int(found.Behind) > 0 {
					t.Fatalf("%s: %q: notes %q, %d behind", how, q, found.Notes, found.Behind)
				}
				for _, h := range found.Hits {
					if seen[h.Message.ID] || last.ID != 0 && h.Message.Time.After(last.Time) {
						t.Fatalf("%s: %q: %s of %v after %v", how, q, h.Message.Ref, h.Message.Time, last.Time)
					}
					seen[h.Message.ID], last = true, h.Message
				}
				got = append(got, texts(found)...)
				if more = found.More; more && len(found.Hits) != 300 {
					t.Fatalf("%s: %q: a page of %d", how, q, len(found.Hits))
				}
			}
			if len(got) != want {
				t.Errorf("%s: %q finds %d, want %d", how, q, len(got), want)
			}
		}
	}
}

// What is not given of a question with words is told of: no page ends as if it
// were the last of all.
func TestWordsGiveAsManyAsPromised(t *testing.T) {
	db := openCache(t)
	var bs []*store.Batch
	for n := 1; n <= 6; n++ {
		var items []transcript.Item
		for i := range 400 {
			items = append(items, user(fmt.Sprintf("question %d", i)), answer(fmt.Sprintf("the answer of %d to %d", n, i)))
		}
		bs = append(bs, in(n, "/w", 2*n, items...))
	}
	x := indexOf(t, db, bs...)
	for q, want := range map[string]struct {
		hits int
		cut  bool
	}{
		"answer":                             {300, true},
		"answer session:" + threadID(2):      {300, true},
		`"the answer"`:                       {300, true},
		"answer -question role:tool":         {0, false},
		`"the answer of 3 to 77"`:            {1, false},
		"question 77 session:" + threadID(3): {300, true},
	} {
		for how, find := range ways(x) {
			var got []string
			var found Found
			var err error
			for more := true; more; more = found.More {
				if found, err = find(t.Context(), db, Request{Query: q, Limit: 70, Offset: len(got), Now: collectionNow}); err != nil {
					t.Fatal(q, err)
				}
				got = append(got, texts(found)...)
			}
			told := slices.ContainsFunc(found.Notes, func(n string) bool { return strings.Contains(n, "more may match") })
			slices.Sort(got)
			if len(got) != want.hits || len(slices.Compact(got)) != want.hits || told != want.cut {
				t.Errorf("%s: %q gives %d hits, want %d; notes %q", how, q, len(got), want.hits, found.Notes)
			}
		}
	}
}

// Without an index no answer looks like one of everything.
func TestAScanSaysHowFarItWent(t *testing.T) {
	db := openCache(t)
	filler := strings.Repeat("nothing of that here ", 20_000)
	old := in(1, "/w", 1, user("redis carts long ago"))
	var items []transcript.Item
	for i := range 50 {
		items = append(items, answer(fmt.Sprint(filler, i)))
	}
	indexOf(t, db, old, in(2, "/w", 2, items...))
	found, err := Scan(t.Context(), db, Request{Query: "redis carts", Now: collectionNow})
	if err != nil || len(found.Hits) > 0 || found.Behind == 0 || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "only the newest 16 MB were searched") {
		t.Errorf("%d hits, %d behind, notes %q, %v", len(found.Hits), found.Behind, found.Notes, err)
	}
	if found, err = Scan(t.Context(), db, Request{Query: "redis carts", Thread: threadID(1), Now: collectionNow}); err != nil || len(found.Hits) != 1 || len(found.Notes) > 0 {
		t.Errorf("in a thread: %d hits, notes %q, %v", len(found.Hits), found.Notes, err)
	}
}

// A path that many messages name is not looked for in all of them; that is told.
func TestAPathThatManyNameIsToldOf(t *testing.T) {
	db := openCache(t)
	var many []transcript.Item
	for i := range pathItems + 1 {
		many = append(many, user(fmt.Sprintf("see report.py, line %d", i)))
	}
	x := indexOf(t, db, in(1, "/w", 1, user("report.py and once.py")), in(2, "/w", 2, many...))
	for q, want := range map[string]bool{"path:report.py": true, "path:once.py": false} {
		notes := find(t, x, db, Request{Query: q}).Notes
		if slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "only 400 messages") }) != want {
			t.Errorf("%s: notes %q", q, notes)
		}
	}
}
