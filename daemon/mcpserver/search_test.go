package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

type hits struct {
	Hits []struct {
		ID                           string `json:"session_id"`
		Title, Ref, Role, Time, Tool string
		Snippet                      string
		TakenBack                    bool `json:"taken_back"`
	}
	Next string `json:"next_cursor"`
	Note string
}

func (h hits) ids() (ids []string) {
	for _, r := range h.Hits {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// index makes the search index of the world's cache, as the daemon does.
func (w *world) index() string {
	w.t.Helper()
	path := filepath.Join(filepath.Dir(w.db), "search.db")
	db, err := store.OpenReader(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	x, err := search.Open(w.t.Context(), path)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := x.CatchUp(w.t.Context(), db, nil); err != nil {
		w.t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestSearchSessions(t *testing.T) {
	w := projects(t)
	indexed, bare := w.deps(), w.deps()
	indexed.SearchPath = w.index()
	bare.SearchPath = filepath.Join(t.TempDir(), "none.db")
	for form, c := range map[string]*client{"indexed": legacy(t, indexed), "without an index": legacy(t, bare)} {
		for _, tt := range []struct {
			name, args string
			want       []string
		}{
			{"this folder", `{"query":"waits too short"}`, []string{projID}},
			{"not of this folder", `{"query":"planned in the dark"}`, nil},
			{"all", `{"query":"planned in the dark","workspace":"all"}`, []string{otherID}},
			{"by other names", `{"q":"planned","cwd":"/srv/secret-project/"}`, []string{otherID}},
			{"in a session", `{"query":"planned dark","session":"` + otherID + `"}`, []string{otherID}},
			{"in another session", `{"query":"planned dark","session":"` + projID + `"}`, nil},
			{"since", `{"query":"planned dark","workspace":"all","since":"2026-09-05"}`, nil},
			{"as a string", `"{\"query\":\"renamed\",\"limit\":\"1\"}"`, []string{twinID}},
			{"a call", `{"query":"go test ./upload"}`, []string{projID}},
		} {
			var got hits
			if c.data("search_sessions", tt.args, &got); !slices.Equal(got.ids(), tt.want) {
				t.Errorf("%s, %s: %v, want %v", form, tt.name, got.ids(), tt.want)
			}
			if tt.want == nil && !strings.Contains(got.Note, "Nothing matches") {
				t.Errorf("%s, %s: no word of it: %q", form, tt.name, got.Note)
			}
		}
		var got hits
		c.data("search_sessions", `{"query":"waits too short"}`, &got)
		h := got.Hits[0]
		if h.Title != "Fix the flaky upload test please" || h.Role != "assistant" || h.Time == "" || !strings.Contains(h.Snippet, "The test waits too short.") {
			t.Errorf("%s: hit %+v", form, h)
		}
		if text := c.good("get_omitted_original", `{"ref":"`+h.Ref+`"}`).text(); !strings.Contains(text, "The test waits too short.") {
			t.Errorf("%s: the ref leads to %s", form, text)
		}
		r := c.good("search_sessions", `{"query":"test"}`)
		var text, data any
		if json.Unmarshal([]byte(r.text()), &text) != nil || json.Unmarshal(r.Structured, &data) != nil || fmt.Sprint(text) != fmt.Sprint(data) {
			t.Errorf("%s: text %s\ndata %s", form, r.text(), r.Structured)
		}
		c.refused("search_sessions", `{}`, `"query" is missing`)
		c.refused("search_sessions", `{"query":"x","since":"yesterday"}`, "7d")
		c.refused("search_sessions", `{"query":"x","cursor":"xyz"}`, "Start again without cursor")
		c.refused("search_sessions", `{"query":"x","session":"nosuchthing"}`, "No session matches")
		c.refused("search_sessions", `{"query":"`+strings.Repeat("x", 2001)+`"}`, "2,001 characters")
		c.good("search_sessions", `{"query":"\" OR * NEAR( -- ; DROP"}`)
	}
}

// No secret comes out, whole or in part, nor can it be asked for bit by bit.
func TestSearchKeepsSecrets(t *testing.T) {
	w := projects(t)
	d := w.deps()
	d.SearchPath = w.index()
	c := legacy(t, d)
	for _, query := range []string{"OPENAI_API_KEY", "export", "FAIL TestUpload", secret, secret[:12], secret[8:20], secret[len(secret)-8:]} {
		q, err := json.Marshal(map[string]string{"query": query, "workspace": "all"})
		if err != nil {
			t.Fatal(err)
		}
		r := c.good("search_sessions", string(q))
		for i := 8; i+6 <= len(secret); i++ {
			if strings.Contains(r.text(), secret[i:i+6]) {
				t.Fatalf("%q: part of the secret left: %s", query, r.text())
			}
		}
		var got hits
		if err := json.Unmarshal(r.Structured, &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(secret, query) && len(got.Hits) > 0 {
			t.Errorf("%q: an item answers by its secret: %+v", query, got.Hits)
		}
		if query == "OPENAI_API_KEY" && len(got.Hits) != 1 {
			t.Errorf("%q: %d hits", query, len(got.Hits))
		}
	}
}

func TestSearchPagesNameEachHitOnce(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)})
	for i := range 23 {
		r.User(fmt.Sprintf("walrus number %d", i)).Assistant(strings.Repeat("长的回答 ", 200)).End()
	}
	w := newWorld(t, r)
	d := w.deps()
	d.SearchPath = w.index()
	c := legacy(t, d)
	seen := map[string]int{}
	cursor, pages := "", 0
	for pages < 20 {
		var got hits
		c.data("search_sessions", `{"query":"walrus","limit":5,"cursor":"`+cursor+`"}`, &got)
		for _, h := range got.Hits {
			seen[h.Ref]++
			if n := utf8.RuneCountInString(h.Snippet); n > 240 || strings.ContainsAny(h.Snippet, "\n\r") {
				t.Errorf("snippet of %d characters: %q", n, h.Snippet)
			}
		}
		pages++
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 23 || pages != 5 {
		t.Errorf("%d hits on %d pages, want 23 on 5", len(seen), pages)
	}
	for ref, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", ref, n)
		}
	}
}

// A cursor goes on with its own question only.
func TestSearchRefusesTheCursorOfAnotherQuestion(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)})
	for i := range 9 {
		r.User(fmt.Sprintf("walrus number %d", i)).Assistant("yes").End()
	}
	c := legacy(t, newWorld(t, r).deps())
	var got hits
	c.data("search_sessions", `{"query":"walrus","limit":5,"since":"3650d"}`, &got)
	cursor := `,"cursor":"` + got.Next + `"}`
	for _, args := range []string{`{"query":"yes"`, `{"query":"walrus","session":"` + projID + `"`, `{"query":"walrus","workspace":"all"`, `{"query":"walrus","since":"30d"`} {
		c.refused("search_sessions", args+cursor, "Start again without cursor")
	}
	for _, args := range []string{`{"query":"walrus"`, `{"query":"walrus","workspace":"/home/dana/proj/","since":"3650d"`} {
		if c.data("search_sessions", args+cursor, &got); len(got.Hits) != 4 {
			t.Errorf("%s: %d hits, want the last 4", args, len(got.Hits))
		}
	}
}

// What nobody has taken in is told of.
func TestSearchTellsOfLinesItDidNotSearch(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).User("one walrus").Assistant("two").End()
	w := newWorld(t, r)
	running := w.deps()
	running.Status = func(context.Context) (mcpserver.DaemonStatus, error) {
		return mcpserver.DaemonStatus{Running: true}, nil
	}
	c, live := legacy(t, w.deps()), legacy(t, running)
	note := func(c *client, args string, want bool) {
		t.Helper()
		var got hits
		if c.data("search_sessions", args, &got); strings.Contains(got.Note, "1 session has lines that were not searched: no daemon is running") != want {
			t.Errorf("%s: note %q", args, got.Note)
		}
	}
	note(c, `{"query":"narwhal"}`, false)
	w.write(r.User("a narwhal").Assistant("four").End())
	note(c, `{"query":"narwhal"}`, true)
	note(c, `{"query":"walrus","session":"`+projID+`"}`, true)
	note(c, `{"query":"narwhal","workspace":"/nowhere"}`, false)
	note(live, `{"query":"narwhal"}`, false)
}

// Nothing of another workspace may be found by any question.
func TestSearchIsIsolated(t *testing.T) {
	w := projects(t)
	path := filepath.Join(w.home, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: otherID, Start: at(4)}).Path())
	open := w.deps()
	open.SearchPath = w.index()
	all := legacy(t, open)
	var first hits
	all.data("search_sessions", `{"query":"planned takeover the","workspace":"all","limit":1}`, &first)
	if len(first.Hits) != 1 {
		t.Fatalf("what is to be hidden isn't there to begin with: %+v", first)
	}
	cursors := []string{first.Next}
	for _, args := range []map[string]any{{"session": otherID}, {"workspace": "/srv/secret-project"}, {"workspace": "all"}} {
		cur := map[string]any{"t": "search_sessions", "q": "planned", "o": 0}
		for k, v := range args {
			cur[k[:1]] = v
		}
		cursors = append(cursors, encoded(t, cur))
	}
	for _, index := range []string{open.SearchPath, ""} {
		d := w.deps()
		d.Workspace, d.Cwd, d.SearchPath = "/home/dana/proj/", "/srv/secret-project", index
		c := legacy(t, d)
		c.meta = map[string]any{"threadId": otherID}
		calls := []string{`{"query":"planned"}`, `{"query":"planned","workspace":"all"}`, `{"query":"takeover dark planned the"}`, `{"query":"om_0000b002"}`, `{"query":"secret-project"}`, `{"query":"session:` + otherID + `"}`, `{"query":"session:` + otherID + ` planned"}`, `{"query":"workspace:/srv/secret-project planned"}`, `{"query":"path:secret-project planned"}`, `{"query":"role:user -walrus"}`,
			`{"query":"planned","workspace":"/srv/secret-project"}`, `{"query":"planned","since":"2000-01-01","limit":50}`}
		for _, session := range []string{otherID, "0000b002", otherID[:12], path, "current"} {
			calls = append(calls, `{"query":"planned","session":"`+session+`"}`)
		}
		for _, cursor := range cursors {
			calls = append(calls, `{"query":"planned","cursor":"`+cursor+`"}`)
		}
		for _, args := range calls {
			r := c.tool("search_sessions", args)
			if text := r.text() + string(r.Structured); strings.Contains(text, "takeover") || strings.Contains(text, "dark") || strings.Contains(text, `"session_id":"`+otherID) || strings.Contains(text, `"om_0000b002`) {
				t.Errorf("%s: %s", args, text)
			}
		}
		var own hits
		if c.data("search_sessions", `{"query":"waits too short"}`, &own); !slices.Equal(own.ids(), []string{projID}) {
			t.Errorf("its own: %v", own.ids())
		}
	}
}

// An index that is older than the cache, damaged, or replaced while the server
// runs never makes an answer wrong.
func TestSearchWithAnyIndex(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).User("one walrus").Assistant("two").End()
	w := newWorld(t, r)
	d := w.deps()
	d.SearchPath = w.index()
	c := legacy(t, d)
	count := func(query string, want int, when string) {
		t.Helper()
		var got hits
		if c.data("search_sessions", `{"query":"`+query+`"}`, &got); len(got.Hits) != want {
			t.Errorf("%s: %d hits, want %d", when, len(got.Hits), want)
		}
	}
	count("walrus", 1, "current")
	w.write(r.User("another walrus").Assistant("four").End())
	w.ingest()
	count("walrus", 2, "older than the cache")
	if err := os.Remove(d.SearchPath); err != nil {
		t.Fatal(err)
	}
	count("walrus", 2, "deleted")
	w.index()
	count("walrus", 2, "made anew")
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(d.SearchPath + suffix) // there or not
	}
	if err := os.WriteFile(d.SearchPath+".new", []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.SearchPath+".new", d.SearchPath); err != nil {
		t.Fatal(err)
	}
	count("walrus", 2, "junk in its place")
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
