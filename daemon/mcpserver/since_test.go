package mcpserver_test

import (
	"database/sql"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

var newPart = regexp.MustCompile(`new=(\S+)`)

// newOf is the cursor on a last page that later gives what was added.
func newOf(t *testing.T, text string) string {
	t.Helper()
	head, _, _ := strings.Cut(text, "\n")
	m := newPart.FindStringSubmatch(head)
	if m == nil {
		t.Fatalf("no new= in %q", head)
	}
	return m[1]
}

func TestNewTurnsSinceTheLastRead(t *testing.T) {
	for _, format := range []string{"memory", "messages", "summary", "handoff"} {
		r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).User("first question").Assistant("first answer").End()
		w := newWorld(t, r)
		c := legacy(t, w.deps())
		ask := func(cursor string) string {
			t.Helper()
			return c.good("get_session_context", `{"session":"`+projID+`","cursor":"`+cursor+`"}`).text()
		}
		cursor := newOf(t, c.good("get_session_context", `{"session":"`+projID+`","target_model":"gpt-5.5","format":"`+format+`"}`).text())
		text := ask(cursor)
		if !strings.Contains(text, "nothing new since your last read") || strings.Contains(text, "first answer") || newOf(t, text) != cursor {
			t.Errorf("%s: nothing new: %s", format, text)
		}
		// Not committed yet, and of another server, which has the cursor alone.
		w.write(r.User("second question").Call("exec_command", `{"cmd":"x"}`, strings.Repeat("Zeile ü\n", 900)).Assistant("second answer").End())
		c = legacy(t, w.deps())
		text = ask(cursor)
		head, quoted, _ := pageOf(t, text)
		if !strings.Contains(head, "new since your last read: 4 messages") || strings.Contains(quoted, "first answer") ||
			!strings.Contains(quoted, "second question") || !strings.Contains(quoted, "second answer") {
			t.Errorf("%s: what is new: %s", format, text)
		}
		if short := strings.Contains(quoted, "left out: om_"); short == (format == "messages") {
			t.Errorf("%s: long output shortened: %t", format, short)
		}
		if format == "messages" {
			for l := range strings.Lines(quoted) {
				if !json.Valid([]byte(l)) {
					t.Errorf("not JSON: %s", l)
				}
			}
		}
		w.ingest()
		if text = ask(newOf(t, text)); !strings.Contains(text, "nothing new") {
			t.Errorf("%s: after the second read: %s", format, text)
		}
	}
}

// What is new is given in pages, too, which go on after a restart.
func TestNewTurnsInPages(t *testing.T) {
	w := newWorld(t, long(2))
	c := legacy(t, w.deps())
	cursor := newOf(t, c.good("get_session_context", `{"session":"latest","format":"messages"}`).text())
	w.write(long(90))
	seen, pages := map[int64]int{}, 0
	var next string
	for cursor != "" && pages < 100 {
		if pages == 1 {
			w.write(long(95))
			w.ingest()
			c = legacy(t, w.deps())
		}
		text := c.good("get_session_context", `{"cursor":"`+cursor+`"}`).text()
		head, quoted, follow := pageOf(t, text)
		if pages > 1 && !strings.Contains(head, "grew since page 1") {
			t.Errorf("page %d: %s", pages, head)
		}
		for l := range strings.Lines(quoted) {
			var m line
			if err := json.Unmarshal([]byte(l), &m); err != nil {
				t.Fatal(err)
			}
			seen[m.Seq]++
		}
		if cursor = follow; cursor == "" {
			next = newOf(t, text)
		}
		pages++
	}
	if len(seen) != 88*4 || pages < 2 {
		t.Errorf("%d messages on %d pages, want %d", len(seen), pages, 88*4)
	}
	head, _, _ := pageOf(t, c.good("get_session_context", `{"cursor":"`+next+`"}`).text())
	if !strings.Contains(head, "new since your last read: 20 messages") {
		t.Errorf("what came while it was read: %s", head)
	}
}

func TestTurnsTakenBackAreNotNew(t *testing.T) {
	options := rollouttest.Options{ThreadID: projID, Start: at(3)}
	w := newWorld(t, rollouttest.New(rollouttest.Paginated, options).User("one").Assistant("two").End().User("three").Assistant("four").End())
	cursor := newOf(t, legacy(t, w.deps()).good("get_session_context", `{"session":"latest"}`).text())
	other := newWorld(t, rollouttest.New(rollouttest.Paginated, options).User("one").Assistant("two").End().User("other").Assistant("way").End())
	legacy(t, other.deps()).refused("get_session_context", `{"cursor":"`+cursor+`"}`, "turns were taken back", "Start again without cursor")
	d := w.deps()
	d.Workspace = "/srv/secret-project"
	legacy(t, d).refused("get_session_context", `{"cursor":"`+cursor+`"}`, "No session")
	legacy(t, w.deps()).refused("get_session_context", `{"session":"nosuchthing","cursor":"`+cursor+`"}`, "No session")
}

// Every answer about a session says what it rests on.
func TestAnswersSayHowFreshTheyAre(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	var d struct {
		Fresh bool
		Read  int64  `json:"read_bytes"`
		AsOf  string `json:"as_of"`
		Age   string
		URI   string `json:"memory_uri"`
	}
	c.data("get_migration_decision", `{"session":"latest","target_model":"gpt-5.5"}`, &d)
	if !d.Fresh || d.Read == 0 || !strings.HasPrefix(d.AsOf, "2026-09-03T") || !strings.HasSuffix(d.Age, "d") || d.URI != "migrator://session/"+projID+"/memory.md" {
		t.Errorf("decision %+v", d)
	}
	head, _, _ := pageOf(t, c.good("get_session_context", `{"session":"`+d.URI+`"}`).text())
	if !regexp.MustCompile(`fresh: [0-9.]+ (bytes|kB) read, newest line 2026-09-03T\S+, \d+d old`).MatchString(head) || !strings.Contains(head, projID) {
		t.Errorf("header %s", head)
	}
	var list struct {
		Sessions []struct {
			Age    string
			Behind int64 `json:"behind_bytes"`
		}
		Note string
	}
	c.data("list_sessions", `{}`, &list)
	if r := list.Sessions[0]; !strings.HasSuffix(r.Age, "d") || r.Behind != 0 || list.Note != "" {
		t.Errorf("list %+v", list)
	}
	w.write(rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).
		User("Fix the flaky upload test\nplease").
		Call("exec_command", `{"cmd":"go test ./upload"}`, "FAIL: TestUpload\n```\nexport OPENAI_API_KEY="+secret+"\n").
		Assistant("The test waits too short.").End().User("more").Assistant("of it").End())
	c.data("list_sessions", `{}`, &list)
	if list.Sessions[0].Behind == 0 || !strings.Contains(list.Note, "the daemon is not running") {
		t.Errorf("list of a session that went on %+v", list)
	}
}

// What is told of a tail that isn't committed can be fetched as a whole.
func TestOriginalsOfWhatIsNotCommittedYet(t *testing.T) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: projID, Start: at(3)}).User("one").Assistant("two").End()
	w := newWorld(t, r)
	c := legacy(t, w.deps())
	cursor := newOf(t, c.good("get_session_context", `{"session":"latest"}`).text())
	output := strings.Repeat("a line of output\n", 200)
	w.write(r.User("three").Call("exec_command", `{"cmd":"x"}`, output).Assistant("four").End())
	_, quoted, _ := pageOf(t, c.good("get_session_context", `{"cursor":"`+cursor+`"}`).text())
	ref := regexp.MustCompile(`left out: (om_[0-9a-f]{8}\.\d+)`).FindStringSubmatch(quoted)
	if ref == nil {
		t.Fatalf("no ref in %s", quoted)
	}
	if text := c.good("get_omitted_original", `{"ref":"`+ref[1]+`"}`).text(); !strings.Contains(text, output) {
		t.Errorf("%s: %s", ref[1], text)
	}
	text := c.good("get_omitted_original", `{"session":"latest","ref":"t1-t2"}`).text()
	if !strings.Contains(text, "two") || !strings.Contains(text, "four") {
		t.Errorf("t1-t2: %s", text)
	}
	c.refused("get_omitted_original", `{"session":"latest","ref":"t3"}`, "no turn t3")
	d := w.deps()
	d.Workspace = "/srv/secret-project"
	legacy(t, d).refused("get_omitted_original", `{"ref":"`+ref[1]+`"}`, "Nothing in the cache answers")
}

// A program that is newer than the server may change the cache's form below it.
func TestCacheOfANewerProgram(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	c.good("list_sessions", `{}`)
	db, err := sql.Open("sqlite3", "file:"+w.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{"PRAGMA user_version=999", "INSERT INTO meta VALUES('min_reader','999') ON CONFLICT DO UPDATE SET value='999'"} {
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	const what = "The cache was written by a newer session-migrator (schema 999); this server is 1.2.3 (reads up to "
	for _, c := range []*client{c, legacy(t, w.deps())} {
		c.refused("list_sessions", `{}`, what, "Reconnect this MCP server or restart the agent")
		c.missing("migrator://session/latest/memory.md", -32603, what)
		if list, _ := c.resources("resources/list"); len(list) != 3 {
			t.Errorf("listed %+v", list)
		}
		var s struct{ Cache string }
		if c.data("migrator_status", `{}`, &s); !strings.Contains(s.Cache, what) {
			t.Errorf("status %s", s.Cache)
		}
		c.good("model_context_window", `{"model":"gpt-5.5"}`)
	}
}
