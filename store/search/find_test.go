package search

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func threadID(n int) string { return fmt.Sprintf("019a0000-0000-7000-8000-%012x", n) }

func answer(text string) transcript.Item {
	return transcript.Item{Role: transcript.RoleAssistant, Text: text, Phase: transcript.PhaseFinal}
}

func call(tool, args, id string) transcript.Item {
	return transcript.Item{Role: transcript.RoleToolCall, Name: tool, Args: args, CallID: id}
}

func output(text, id string) transcript.Item {
	return transcript.Item{Role: transcript.RoleToolResult, Text: text, CallID: id}
}

// in gives a thread's first items, in a workspace, said from a day of November
// 2026 on.
func in(n int, cwd string, day int, items ...transcript.Item) *store.Batch {
	at := time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC)
	for i := range items {
		items[i].Time = at.Add(time.Duration(i) * time.Minute)
	}
	b := batch(threadID(n), 1, items...)
	b.Facts.Cwd, b.Facts.Created, b.Facts.Updated = cwd, at, at.Add(time.Hour)
	return b
}

// indexOf makes an index of what is committed.
func indexOf(t testing.TB, db *store.DB, bs ...*store.Batch) *Index {
	t.Helper()
	for _, b := range bs {
		commit(t, db, b)
	}
	x := openIndex(t, filepath.Join(t.TempDir(), "search.db"))
	if _, err := x.CatchUp(t.Context(), db, nil); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t testing.TB, x *Index, db *store.DB, r Request) Found {
	t.Helper()
	r.Now = collectionNow
	found, err := x.Find(t.Context(), db, r)
	if err != nil {
		t.Fatalf("%q: %v", r.Query, err)
	}
	return found
}

// texts gives what was found, each as thread:text.
func texts(found Found) (out []string) {
	for _, h := range found.Hits {
		id := h.Thread.ID
		out = append(out, strings.TrimLeft(id[len(id)-12:], "0")+":"+h.Message.Body())
	}
	return out
}

func TestWhatIsAskedIsFound(t *testing.T) {
	db := openCache(t)
	x := indexOf(t, db,
		in(1, "/home/Dana/shop", 3, user("the upload fails with exit status 1"), call("exec_command", `{"cmd":"grep call_output internal\\up\\retry.go"}`, "c1"), output("status of exit 1 is fine", "c1")),
		in(2, "/w", 20, user("商品上传失败，库存超卖"), answer("Die Prüfung der Umlaute in retry.go"), user("失败的是上传")),
	)
	for q, want := range map[string][]string{
		"":                             nil,
		"!!! ---":                      nil,
		`"exit status"`:                {"1:the upload fails with exit status 1"},
		`„Status 1“`:                   {"1:the upload fails with exit status 1"},
		"uplo*":                        {"1:the upload fails with exit status 1"},
		"uploads failing":              {"1:the upload fails with exit status 1"},
		"exit -upload":                 {"1:status of exit 1 is fine"},
		`exit -"exit status"`:          {"1:status of exit 1 is fine"},
		"call_out":                     {`1:{"cmd":"grep call_output internal\\up\\retry.go"}`},
		"上传失败":                         {"2:商品上传失败，库存超卖", "2:失败的是上传"},
		"「上传失败」":                       {"2:商品上传失败，库存超卖"},
		"超":                            {"2:商品上传失败，库存超卖"},
		"prufung":                      {"2:Die Prüfung der Umlaute in retry.go"},
		"status role:user":             {"1:the upload fails with exit status 1"},
		"status role:output":           {"1:status of exit 1 is fine"},
		"status tool:exec_command":     {"1:status of exit 1 is fine"},
		"retry.go workspace:shop":      {`1:{"cmd":"grep call_output internal\\up\\retry.go"}`},
		"retry.go workspace:w":         {"2:Die Prüfung der Umlaute in retry.go"},
		"retry.go since:2026-11-10":    {"2:Die Prüfung der Umlaute in retry.go"},
		"upload path:up/retry.go":      {"1:the upload fails with exit status 1"},
		"retry session:" + threadID(2): {"2:Die Prüfung der Umlaute in retry.go"},
		"retry model:nosuch":           nil,
		"path:nosuch.go upload":        nil,
		"role:output":                  {"1:status of exit 1 is fine"},
		"since:2026-11-10 role:user":   {"2:失败的是上传", "2:商品上传失败，库存超卖"},
	} {
		if got := texts(find(t, x, db, Request{Query: q})); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
		found, err := Scan(t.Context(), db, Request{Query: q, Now: collectionNow})
		if err != nil {
			t.Fatal(q, err)
		}
		got := texts(found)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q without an index, want %q", q, got, want)
		}
	}
	for q, want := range map[string]string{
		"upload since:yesterdayish": "since:yesterdayish is no time that is understood (7d, 12h, 2026-11-01, or RFC 3339); it was searched for as text",
		"upload session:nosuch":     "session:nosuch names no session here; it was searched for as text",
		"?!":                        "the question has no words to look for",
		"upload role:reasoning":     "role:reasoning finds nothing: what models think is not searched",
		"role:reasoning":            "role:reasoning finds nothing: what models think is not searched",
		"upload path:nosuch.go":     "no session here names the path nosuch.go",
		"upload workspace:nosuch":   "no session here is in the workspace, of the model and of the time that is asked for",
	} {
		if got := find(t, x, db, Request{Query: q}).Notes; !slices.Contains(got, want) {
			t.Errorf("%q is told of with %q, want %q", q, got, want)
		}
	}
}

func TestAWorkspaceWithoutSessionsIsToldOf(t *testing.T) {
	db := openCache(t)
	x := indexOf(t, db, in(1, "/w", 3, user("the upload fails")))
	for _, q := range []string{"upload", "role:user"} {
		for how, find := range ways(x) {
			for w, want := range map[string]int{"/nowhere": 1, "/w": 0} {
				found, err := find(t.Context(), db, Request{Query: q, Workspace: w, Now: collectionNow})
				if err != nil || len(found.Notes) != want {
					t.Errorf("%s: %q in %s: notes %q, %v", how, q, w, found.Notes, err)
				}
			}
		}
	}
}

func TestNothingFromBehindTheLimitIsFound(t *testing.T) {
	db := openCache(t)
	fork := in(3, "/mine", 8, user("own secret words"))
	fork.Facts.Base = &transcript.Base{RolloutID: threadID(2), Ordinal: 2, Offset: 200}
	x := indexOf(t, db, in(1, "/mine", 3, user("my secret words")), in(2, "/other", 4, user("their secret words"), user("later secret words")), fork)
	for _, q := range []string{"secret", "secret workspace:other", "secret workspace:/other", "secret session:" + threadID(2), "words path:other", `"their secret"`, "their", "later", "role:user", "secret since:2020-01-01"} {
		for how, find := range map[string]func(context.Context, *store.DB, Request) (Found, error){"index": x.Find, "scan": Scan} {
			found, err := find(t.Context(), db, Request{Query: q, Within: "/mine", Now: collectionNow})
			if err != nil {
				t.Fatal(q, err)
			}
			for _, h := range found.Hits {
				if h.Thread.Workspace != "/mine" || strings.Contains(h.Message.Text, "later") {
					t.Errorf("%s: %q finds %q of %s", how, q, h.Message.Text, h.Thread.Workspace)
				}
			}
		}
	}
	// What the fork inherits is its own.
	got := texts(find(t, x, db, Request{Query: "secret", Thread: threadID(3), Within: "/mine"}))
	slices.Sort(got)
	if !slices.Equal(got, []string{"3:own secret words", "3:their secret words"}) {
		t.Errorf("the fork says %q", got)
	}
	if got := find(t, x, db, Request{Query: "secret", Thread: threadID(2), Within: "/mine"}).Hits; len(got) > 0 {
		t.Errorf("another's thread says %q", got[0].Message.Text)
	}
}

func TestTheSameIsFoundOnce(t *testing.T) {
	db := openCache(t)
	copied := in(3, "/w", 9, user("rotate the keys"), answer("more on the keys"))
	copied.Delta.Items[0].Inherited = true
	copied.Delta.Items[0].Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	x := indexOf(t, db, in(1, "/w", 5, user("rotate the keys")), in(2, "/w", 3, user("rotate the keys")), copied)
	if got := texts(find(t, x, db, Request{Query: "rotate keys"})); !slices.Equal(got, []string{"2:rotate the keys", "3:more on the keys"}) {
		t.Errorf("found %q, want the oldest that isn't copied, once", got)
	}
}

func TestDeadItemsAreMarkedAndRankLower(t *testing.T) {
	db := openCache(t)
	b := in(1, "/w", 5, user("deadlock in the invoice job"), user("deadlock in the other job"))
	x := indexOf(t, db, b)
	first := find(t, x, db, Request{Query: "deadlock job"}).Hits[0].Message.Seq
	more := batch(threadID(1), 3, user("go on"))
	more.Facts.Cwd = "/w"
	more.Delta.Dead = []transcript.Dead{{Range: transcript.Range{From: first, To: first}, Offset: 250, Ordinal: 2}}
	commit(t, db, more)
	catchUpWith(t, x, db)
	got := find(t, x, db, Request{Query: "deadlock job"}).Hits
	if len(got) != 2 || got[0].Dead || !got[1].Dead || got[1].Message.Seq != first {
		t.Errorf("found %+v, want the one that was best last and dead", got)
	}
	if got[0].Message.Ref != fmt.Sprintf("om_00000001.%d", 3-first) || got[0].Message.Position != 3-first {
		t.Errorf("placed at %s, %d", got[0].Message.Ref, got[0].Message.Position)
	}
}

func TestNoThreadFillsThePage(t *testing.T) {
	db := openCache(t)
	var items []transcript.Item
	for i := range 12 {
		items = append(items, user(fmt.Sprintf("kafka consumer lag, look %d", i)))
	}
	x := indexOf(t, db, in(1, "/w", 5, items...), in(2, "/w", 5, user("kafka consumer lag elsewhere")), in(3, "/w", 5, user("the lag of a kafka consumer again")))
	got := texts(find(t, x, db, Request{Query: "kafka consumer lag", Limit: 6}))
	for _, th := range []string{"2:", "3:"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, th) }) {
			t.Errorf("thread %s isn't on the page: %q", th, got)
		}
	}
	if got := find(t, x, db, Request{Query: "kafka consumer lag", Limit: 20, Thread: threadID(1)}).Hits; len(got) != 12 {
		t.Errorf("%d hits of a thread with 12", len(got))
	}
}

func TestPagesFitTogether(t *testing.T) {
	x, db, _ := collection(t)
	for _, q := range []string{"test upload", "订单", "role:user", `"the"`, "test -page"} {
		whole := find(t, x, db, Request{Query: q, Limit: 1000})
		if whole.More || len(whole.Hits) < 3 {
			t.Fatalf("%q: %d hits, more %v", q, len(whole.Hits), whole.More)
		}
		var parts []string
		for more := true; more; {
			f := find(t, x, db, Request{Query: q, Limit: 3, Offset: len(parts)})
			more = f.More
			parts = append(parts, texts(f)...)
			if more != (len(parts) < len(whole.Hits)) {
				t.Fatalf("%q: more is %v after %d of %d", q, more, len(parts), len(whole.Hits))
			}
		}
		if !slices.Equal(parts, texts(whole)) {
			t.Errorf("%q: pages of three give %q, one page %q", q, parts, texts(whole))
		}
	}
}

func TestWhatTheIndexLacksIsLookedThrough(t *testing.T) {
	db := openCache(t)
	x := indexOf(t, db, in(1, "/w", 5, user("redis evicts carts"), answer("maxmemory")))
	more := batch(threadID(1), 3, answer("carts of redis moved to noeviction"), user("-"))
	more.Facts.Cwd, more.Facts.Updated = "/w", collectionNow
	commit(t, db, more)
	commit(t, db, in(2, "/w", 6, user("redis and carts, another thread")))
	found := find(t, x, db, Request{Query: "redis carts"})
	if got := texts(found); len(got) != 3 || found.Behind != 0 {
		t.Errorf("found %q, %d behind", got, found.Behind)
	}
	filler := strings.Repeat("nothing of that here ", 50_000) // 1 MB
	commit(t, db, in(3, "/w", 1, user("redis carts long ago"), answer(filler+"a"), answer(filler+"b"), answer(filler+"c"), answer(filler+"d"), answer(filler+"e")))
	var items []transcript.Item
	for i := range 200 {
		items = append(items, answer(fmt.Sprint(filler[:40_000], i)))
	}
	commit(t, db, in(4, "/w", 2, items...))
	found = find(t, x, db, Request{Query: "redis carts"})
	if got := texts(found); len(got) < 3 || found.Behind == 0 {
		t.Errorf("found %q, %d behind, want some", got, found.Behind)
	}
	if other := find(t, x, db, Request{Query: "redis carts", Thread: threadID(1)}); other.Behind != 0 {
		t.Errorf("%d items behind in a thread that was looked through", other.Behind)
	}
}

func FuzzFind(f *testing.F) {
	db := openCache(f)
	x := indexOf(f, db, in(1, "/w", 5, user("the upload fails in retry.go: \"exit\" 失败"), answer("mended * now")))
	for _, q := range []string{"upload", `"`, `"a" OR b NEAR(c, 2) AND NOT`, "a* -b ^c {d e}: f + g", "path:x role:user since:1d tool:y", "\x00\xff*", "''\"\"", "失*", "-\"a\" \"b\"", "said:x", "*", "(", "rowid:1 words MATCH", "\u0080r1", "session:019a0000 model:% workspace:_"} {
		f.Add(q, 0)
	}
	f.Fuzz(func(t *testing.T, q string, offset int) {
		r := Request{Query: q, Offset: offset % 5, Now: collectionNow}
		for range 2 {
			found, err := x.Find(t.Context(), db, r)
			if err != nil {
				t.Fatalf("%q: %v", q, err)
			}
			for _, h := range found.Hits {
				Snippet(h.Message.Body(), h.Words, 80)
				if r.Within != "" {
					t.Errorf("%q finds something in a workspace that isn't there", q)
				}
			}
			r.Within = "/nowhere"
		}
		if _, err := Scan(t.Context(), db, Request{Query: q, Now: collectionNow}); err != nil {
			t.Fatalf("%q without an index: %v", q, err)
		}
	})
}
