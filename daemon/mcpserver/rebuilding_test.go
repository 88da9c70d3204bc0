package mcpserver_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

// filling says in the cache that it is being made anew; nil: no longer.
func (w *world) filling(r *pipeline.Rebuild) {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := pipeline.SetRebuilding(w.t.Context(), db, r); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnswersSayThatTheCacheIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.filling(&pipeline.Rebuild{Since: time.Now(), Reason: "damaged", FilesDone: 12, Files: 340, BytesDone: 3e6, Bytes: 90e6})
	c := legacy(t, w.deps())
	const far = "12 of 340 files read (3 of 90 MB)"
	var list struct {
		Total int
		Note  string
	}
	c.data("list_sessions", `{}`, &list)
	if !strings.Contains(list.Note, far) || !strings.Contains(list.Note, "Not all sessions are here yet") {
		t.Errorf("list_sessions of an empty cache says %q", list.Note)
	}
	for _, args := range []string{`{"session":"latest","target_model":"gpt-5.5"}`, `{"session":"019a0000-0000-7000-8000-000000000999","target_model":"gpt-5.5"}`} {
		c.refused("get_migration_decision", args, far, "Try again")
	}
	c.refused("get_session_context", `{"session":"latest"}`, far)
	var s struct{ Cache string }
	c.data("migrator_status", `{}`, &s)
	if !strings.HasPrefix(s.Cache, "rebuilding: ") || !strings.Contains(s.Cache, far) {
		t.Errorf("migrator_status says %q", s.Cache)
	}
	w.filling(nil)
	if c.data("migrator_status", `{}`, &s); s.Cache != "ready" {
		t.Errorf("afterwards migrator_status says %q", s.Cache)
	}
	if c.data("list_sessions", `{}`, &list); strings.Contains(list.Note, "not all") {
		t.Errorf("afterwards list_sessions says %q", list.Note)
	}
}

// Between the old cache and the new one there is none for a moment.
func TestNoCacheWhileTheDaemonRuns(t *testing.T) {
	d := mcpserver.Deps{
		OpenStore: func(context.Context) (*store.DB, error) { return nil, store.ErrNone }, Version: "1.2.3", Cwd: "/",
		Status: func(context.Context) (mcpserver.DaemonStatus, error) {
			return mcpserver.DaemonStatus{Running: true}, nil
		},
	}
	legacy(t, d).refused("list_sessions", `{}`, "ask again in a few seconds")
}

func TestDamagedSessionIsAnsweredFromItsRollout(t *testing.T) {
	w := projects(t)
	c := legacy(t, w.deps())
	const ask = `{"session":"latest","target_model":"gpt-5.5"}`
	var before, after struct {
		Session int `json:"session_tokens"`
		Fresh   bool
		Note    string
	}
	c.data("get_migration_decision", ask, &before)
	db, err := sql.Open("sqlite3", "file:"+w.db)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE item SET tok_o200k=tok_o200k+100"); err != nil {
		t.Fatal(err)
	}
	c.data("get_migration_decision", ask, &after)
	if after.Session != before.Session || !after.Fresh || !strings.Contains(after.Note, "disagreed") {
		t.Errorf("got %+v, before %+v", after, before)
	}
	if text := c.good("get_session_context", `{"session":"latest"}`).text(); !strings.Contains(text, "disagreed") {
		t.Errorf("the context doesn't say so: %.300s", text)
	}
	// A stored decision that is not what is decided is not given out.
	if _, err := db.ExecContext(t.Context(), "UPDATE item SET tok_o200k=tok_o200k-100"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE decision SET tokens=tokens+7"); err != nil {
		t.Fatal(err)
	}
	if c.data("get_migration_decision", ask, &after); after.Session != before.Session {
		t.Errorf("a damaged decision says %d tokens, not %d", after.Session, before.Session)
	}
}

// An emptied cache under a server that lives on is no empty list of sessions.
func TestServerOutlivesTheCache(t *testing.T) {
	reliability.Fault(t, 45, "another cache is put in its place under an MCP server that lives on")
	w := projects(t)
	c := legacy(t, w.deps())
	var got sessions
	if c.data("list_sessions", `{"workspace":"all"}`, &got); got.Total != 3 {
		t.Fatalf("total %d", got.Total)
	}
	if _, err := store.SetAside(w.db, time.Now()); err != nil {
		t.Fatal(err)
	}
	c.refused("list_sessions", `{"workspace":"all"}`, "No session cache yet")
	w.ingest()
	if c.data("list_sessions", `{"workspace":"all"}`, &got); got.Total != 3 {
		t.Errorf("total %d with the new cache", got.Total)
	}
}

func TestDamageIsToldToTheDaemon(t *testing.T) {
	w := projects(t)
	d := w.deps()
	var told []error
	d.Damaged = func(err error) { told = append(told, err) }
	if err := os.WriteFile(w.db, []byte(strings.Repeat("no cache ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	legacy(t, d).refused("list_sessions", `{}`, "The cache is damaged", "by itself")
	if len(told) != 1 || !errors.Is(told[0], store.ErrDamaged) {
		t.Errorf("told %v", told)
	}
}
