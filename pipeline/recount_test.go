package pipeline_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/calibration"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

// importBytes imports a vocabulary whose tokens are bytes.
func importBytes(t *testing.T, dir string, models ...string) {
	t.Helper()
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	v, err := tokens.Import([]byte(b.String()), "kimi")
	if err != nil {
		t.Fatal(err)
	}
	e := vocabs.Entry{Name: "bytes", Models: models, SHA256: v.SHA256, Split: v.Split.String(), Tokens: v.Tokens, Closed: v.Closed}
	if err := vocabs.Save(dir, e, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
}

const kimiTarget = "kimi-k2.6"

// shelved gives the bench a folder for imported vocabularies.
func (b *bench) shelved() (dir string) {
	b.t.Helper()
	dir = filepath.Join(b.t.TempDir(), "vocabularies")
	shelf, err := vocabs.Open(dir)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.pipe, err = pipeline.New(b.t.Context(), b.db, pipeline.Options{Vocabularies: shelf}); err != nil {
		b.t.Fatal(err)
	}
	return dir
}

// follow takes imports in, as the daemon does, and tells whether there were any.
func (b *bench) follow() bool {
	b.t.Helper()
	changed, err := b.pipe.Follow(b.t.Context())
	if err == nil && changed {
		err = b.pipe.DecideAnew(b.t.Context())
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return changed
}

// recount tells whether there was something to count.
func (b *bench) recount(thread string) bool {
	b.t.Helper()
	done, err := b.pipe.Recount(b.t.Context(), thread)
	if err != nil {
		b.t.Fatal(err)
	}
	return done
}

// kimi checks what is kept ready for a model: exact with so many tokens, or
// estimated with 0.
func (b *bench) kimi(thread string, exact int) {
	b.t.Helper()
	ds, err := b.db.Decisions(b.t.Context(), thread, kimiTarget)
	if err != nil || len(ds) != 1 {
		b.t.Fatalf("%d decisions, %v", len(ds), err)
	}
	d := ds[0]
	if exact == 0 {
		if d.Exact || d.Encoding != "o200k_base" || d.Factor <= 1 || d.Count.Method != tokens.Estimated {
			b.t.Errorf("not estimated: %+v", d)
		}
	} else if !d.Exact || d.Encoding != "bytes" || d.Factor != 1 || d.SessionTokens != exact || d.Count.Hi != int64(exact) || d.Count.Method != tokens.Exact {
		b.t.Errorf("not exactly %d: %+v", exact, d)
	}
	th := b.thread(thread)
	if err := b.pipe.Recall(b.t.Context(), &th); err != nil {
		b.t.Fatal(err)
	}
	now := b.pipe.Decide(th, kimiTarget, decide.Options{})
	now.ComputedAt, now.Usual = d.ComputedAt, d.Usual
	if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", now) {
		b.t.Errorf("stored\n%+v\nwant\n%+v", d, now)
	}
}

func TestStoredDecisionsFollowImports(t *testing.T) {
	b := newBench(t)
	dir := b.shelved()
	r := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("12345").Assistant("678").End()
	home, path := inHome(t, r.ThreadID(), r.Bytes())
	b.ingest(home, false)
	thread := r.ThreadID()
	if b.recount(thread) || b.follow() {
		t.Error("something was imported")
	}
	b.kimi(thread, 0)

	importBytes(t, dir, "kimi-k2*")
	if !b.follow() || b.follow() {
		t.Error("the import is not seen once")
	}
	b.kimi(thread, 0) // until it is counted
	if !b.recount(thread) || b.recount(thread) {
		t.Error("it isn't counted once")
	}
	b.kimi(thread, 8)

	grow := func(more func()) {
		t.Helper()
		before := len(r.Bytes())
		more()
		appendTo(t, path, r.Bytes()[before:])
		b.ingest(home, false)
		b.kimi(thread, 0)
		if !b.recount(thread) {
			t.Error("what changed isn't counted")
		}
	}
	grow(func() { r.User("90").End() })
	b.kimi(thread, 10)
	grow(func() { r.User("taken back").End() })
	b.kimi(thread, 20)
	grow(func() { r.Rollback(1) })
	b.kimi(thread, 10)
	grow(func() { r.User("abc").Rollback(1).User("d").End() })
	b.kimi(thread, 11)

	// After a restart nothing is counted again.
	shelf, err := vocabs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.pipe, err = pipeline.New(t.Context(), b.db, pipeline.Options{Vocabularies: shelf}); err != nil {
		t.Fatal(err)
	}
	if b.recount(thread) {
		t.Error("counted again after a restart")
	}
	b.kimi(thread, 11)

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !b.follow() {
		t.Error("the removal is not seen")
	}
	b.kimi(thread, 0)
	if err := b.pipe.ForgetCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := b.db.Counted(t.Context(), thread); err != nil || len(left) != 0 {
		t.Errorf("counts left: %+v, %v", left, err)
	}
}

// Threads that are counted and threads that aren't yet are kept side by side.
func TestDecisionsWaitingForACount(t *testing.T) {
	b := newBench(t)
	dir := b.shelved()
	one := rollouttest.New(rollouttest.Marked, rollouttest.Options{ThreadID: id("001")}).User("12345").End()
	other := rollouttest.New(rollouttest.Marked, rollouttest.Options{ThreadID: id("002")}).User("678").End()
	for _, r := range []*rollouttest.Rollout{one, other} {
		home, _ := inHome(t, r.ThreadID(), r.Bytes())
		b.ingest(home, false)
	}
	importBytes(t, dir, "kimi-k2*")
	b.follow()
	b.recount(one.ThreadID())
	b.kimi(one.ThreadID(), 5)
	b.kimi(other.ThreadID(), 0)
	b.recount(other.ThreadID())
	b.kimi(one.ThreadID(), 5)
	b.kimi(other.ThreadID(), 3)
}

func TestAnswersFollowImports(t *testing.T) {
	b := newBench(t)
	dir := b.shelved()
	r := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("12345").End()
	home, path := inHome(t, r.ThreadID(), r.Bytes())
	b.ingest(home, false)
	importBytes(t, dir, "kimi-k2*")
	b.follow()
	ask := func() decide.Decision {
		t.Helper()
		v, err := b.pipe.View(t.Context(), r.ThreadID())
		if err == nil {
			err = b.pipe.CountFor(t.Context(), &v, kimiTarget)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.pipe.Decide(v.Thread, kimiTarget, decide.Options{})
	}
	if d := ask(); !d.Exact || d.SessionTokens != 5 {
		t.Errorf("counted when asked: %+v", d)
	}
	b.recount(r.ThreadID())
	if d := ask(); !d.Exact || d.SessionTokens != 5 {
		t.Errorf("as it is kept: %+v", d)
	}
	before := len(r.Bytes())
	appendTo(t, path, r.User("67").Bytes()[before:])
	if d := ask(); !d.Exact || d.SessionTokens != 7 {
		t.Errorf("with lines that aren't committed yet: %+v", d)
	}
	if err := os.Remove(filepath.Join(dir, "bytes.vocab")); err != nil {
		t.Fatal(err)
	}
	b.follow()
	if d := ask(); d.Exact || d.Encoding != "o200k_base" {
		t.Errorf("with its file removed: %+v", d)
	}
}

// What a vendor counted is what a family is estimated by, from then on.
func TestStoredDecisionsFollowCalibrations(t *testing.T) {
	b := newBench(t)
	home := t.TempDir()
	book, err := calibration.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	if b.pipe, err = pipeline.New(t.Context(), b.db, pipeline.Options{Calibrations: book}); err != nil {
		t.Fatal(err)
	}
	r := rollouttest.New(rollouttest.Marked, rollouttest.Options{}).User("one two three").End()
	codex, _ := inHome(t, r.ThreadID(), r.Bytes())
	b.ingest(codex, false)
	check := func(model string, high float64, source string) {
		t.Helper()
		ds, err := b.db.Decisions(t.Context(), r.ThreadID(), model)
		if err != nil || len(ds) != 1 || ds[0].Factor != high || ds[0].CountSource != source || ds[0].Count.Source != source {
			t.Errorf("%s: %+v, %v; want × %v %q", model, ds, err, high, source)
		}
	}
	check("claude-opus-5-5", 1.6, "")
	e := calibration.Entry{Family: "claude", Model: "m", Vendor: "anthropic", Date: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Samples: 9, Low: 1.4, Typical: 1.5, High: 1.55}
	if err := calibration.Save(home, e); err != nil {
		t.Fatal(err)
	}
	if !b.follow() || b.follow() {
		t.Error("the calibration is not seen once")
	}
	check("claude-opus-5-5", 1.55, "calibrated 2026-11-30")
	check("claude-sonnet-5-5", 1.55, "calibrated 2026-11-30")
	check("claude-sonnet-4-6", 1.3, "")
	check("gpt-5.5", 1, "")
	if err := os.Remove(filepath.Join(home, calibration.Name)); err != nil {
		t.Fatal(err)
	}
	if !b.follow() {
		t.Error("the removal is not seen")
	}
	check("claude-opus-5-5", 1.6, "")
}
