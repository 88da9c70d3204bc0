package daemon_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// sql changes the cache behind the program's back.
func (p *place) sql(text string, args ...any) {
	p.t.Helper()
	db, err := sql.Open("sqlite3", p.opt.Config.DB())
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(p.t.Context(), text, args...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) once() daemon.Summary {
	p.t.Helper()
	s, err := daemon.Once(p.t.Context(), p.opt)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// A run that was killed after it wrote documents, and before the indexes that
// name them, leaves the indexes to the next run, which has no document to write.
func TestIndexesOfACutRunAreMadeUpFor(t *testing.T) {
	p := newPlace(t)
	p.write(rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("one").Assistant("two").End(), -1)
	p.once()
	index := filepath.Join(p.opt.Config.MemoryDir, "index.json")
	want, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	p.sql("UPDATE meta SET value='no' WHERE key='clean_shutdown'")
	p.once()
	if got, err := os.ReadFile(index); err != nil || string(got) != string(want) {
		t.Errorf("index is %q, %v", got, err)
	}
}

// A fork that still waits for a parent which is here, because the run that read
// the parent was killed right then, is read again by the next run.
func TestForkOfACutRunIsReunited(t *testing.T) {
	p := newPlace(t)
	parent := rollouttest.New(rollouttest.Legacy, rollouttest.Options{}).User("of the parent").Assistant("an answer")
	fork := parent.Fork(rollouttest.Options{}).Wait(time.Minute).User("of the fork").Assistant("an answer")
	p.write(parent, -1)
	p.write(fork, -1)
	p.once()
	p.sql("UPDATE rollout SET awaits_parent=? WHERE rollout_id=?", parent.ThreadID(), fork.ThreadID())
	if s := p.once(); s.Lines == 0 {
		t.Error("the fork was not read again")
	}
	if s := p.once(); s.Lines != 0 {
		t.Errorf("%d lines are read again and again", s.Lines)
	}
}
