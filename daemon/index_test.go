package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

// indexed tells whether the search index alone has so many messages, all that
// the cache has.
func (p *place) indexed(db *store.DB, want int64) bool {
	p.t.Helper()
	x, err := search.OpenReader(p.t.Context(), p.opt.Config.Search())
	if err != nil {
		return false
	}
	defer func() { _ = x.Close() }() // only read
	items, err := x.Items(p.t.Context())
	behind, bErr := x.Behind(p.t.Context(), db)
	return err == nil && bErr == nil && items == want && behind == 0
}

// answers gives the texts of what answers a question by the index.
func (p *place) answers(db *store.DB, query string) (texts []string) {
	p.t.Helper()
	x, err := search.OpenReader(p.t.Context(), p.opt.Config.Search())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = x.Close() }() // only read
	found, err := x.Find(p.t.Context(), db, search.Request{Query: query, Now: time.Now()})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, h := range found.Hits {
		texts = append(texts, h.Message.Text)
	}
	return texts
}

func TestTheDaemonKeepsTheSearchIndex(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	b.User("why is the upload flaky").Assistant("it waits too short").End()
	p.write(b, -1)
	stop := p.start()
	db := p.reader()
	p.until("the backfill is in the index", func() bool { return p.indexed(db, 2) })
	b.User("and the download").Assistant("zanzibar").End()
	p.write(b, -1)
	took := p.until("a live turn is in the index", func() bool { return p.indexed(db, 4) })
	t.Logf("indexed after %v", took)
	if got := p.answers(db, "zanzibar"); len(got) != 1 || got[0] != "zanzibar" {
		t.Errorf("answers %q", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Whoever deletes the index, or puts something else in its place, gets a new one.
func TestTheSearchIndexIsMadeAnew(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	b.User("why is the upload flaky").Assistant("it waits too short").End()
	p.write(b, -1)
	stop := p.start()
	db := p.reader()
	path := p.opt.Config.Search()
	p.until("the backfill is in the index", func() bool { return p.indexed(db, 2) })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	took := p.until("a deleted index is there again", func() bool { return p.indexed(db, 2) })
	t.Logf("after %v", took)
	if err := stop(); err != nil {
		t.Error(err)
	}
	for name, junk := range map[string][]byte{"text": []byte("no database at all, but long enough to look at: " + fmt.Sprint(make([]int, 600))), "nothing": {}} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + suffix); err != nil && suffix == "" {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, junk, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.Once(t.Context(), p.opt); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !p.indexed(db, 2) {
			t.Errorf("%s in its place: it isn't made anew", name)
		}
	}
}

// A new cache numbers its rows anew: the index of the one before would name
// others.
func TestANewCacheGetsANewSearchIndex(t *testing.T) {
	p := newPlace(t)
	for i := range 3 {
		p.write(talk(i), -1)
	}
	p.once()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(p.opt.Config.DB() + suffix); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	p.write(talk(9), -1)
	p.once()
	db := p.reader()
	if !p.indexed(db, 8) {
		t.Error("the index isn't that of the new cache")
	}
	for _, n := range []int{0, 1, 2, 9} {
		if got := p.answers(db, fmt.Sprint("answer ", n)); len(got) == 0 || got[0] != fmt.Sprint("answer ", n) {
			t.Errorf("answer %d: %q", n, got)
		}
	}
	if _, err := daemon.Rebuild(t.Context(), p.opt, nil); err != nil {
		t.Fatal(err)
	}
	if !p.indexed(db, 8) {
		t.Error("the index isn't whole after a rebuild")
	}
}

// A folder that the index can't be made in is told, and holds up nothing else.
func TestASearchIndexThatCantBeMadeIsTold(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{})
	b.User("first question").Assistant("first answer").End()
	p.write(b, -1)
	if err := os.MkdirAll(p.opt.Config.Search()+"/kept", 0o700); err != nil {
		t.Fatal(err)
	}
	stop := p.start()
	db := p.reader()
	p.until("the trouble is told", func() bool {
		info, err := daemon.Inspect(p.opt.Config)
		return err == nil && len(info.Problems) == 1
	})
	b.User("second question").Assistant("second answer").End()
	p.write(b, -1)
	p.until("a live turn is in the cache", func() bool {
		return p.said(db, b.ThreadID()) == "first question|first answer|second question|second answer"
	})
	if err := os.RemoveAll(p.opt.Config.Search()); err != nil {
		t.Fatal(err)
	}
	p.until("the index is made when it can be", func() bool { return p.indexed(db, 4) })
	p.until("the trouble is over", func() bool {
		info, err := daemon.Inspect(p.opt.Config)
		return err == nil && len(info.Problems) == 0
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Error(err)
	}
}

// A stop while the index is being made is as quick as any other.
func TestStopWhileTheSearchIndexIsMade(t *testing.T) {
	p := newPlace(t)
	p.large()
	stop := p.start()
	p.until("the index has begun", func() bool { _, err := os.Stat(p.opt.Config.Search()); return err == nil })
	begun := time.Now()
	if err := stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	took := time.Since(begun)
	t.Logf("stopped after %v", took)
	if took > 2*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	if !p.indexed(p.reader(), 2000) {
		t.Error("the next run doesn't finish the index")
	}
}

// large writes 2,000 messages that the index takes some seconds for.
func (p *place) large() {
	p.t.Helper()
	for i := range 100 {
		b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", i)})
		for n := range 10 {
			b.User(fmt.Sprint("question ", n)).Assistant(longAnswer(n)).End()
		}
		p.write(b, -1)
	}
}

func longAnswer(n int) (s string) {
	for i := range 100 {
		s += fmt.Sprintf("word%d_%d 测试 ", n, i)
	}
	return s
}
