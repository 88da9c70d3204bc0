package pipeline_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
)

// scrub checks every rollout and gives what differed.
func (b *bench) scrub() (differs []string, skipped int) {
	b.t.Helper()
	all, _, err := b.db.LeastChecked(b.t.Context(), 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cp := range all {
		f := cp.File
		if n, ok := watch.ParseName(filepath.Base(f.Path)); ok {
			f.Stamp, f.ThreadID, f.RolloutID = n.Stamp, n.ThreadID, n.RolloutID
		}
		s, err := b.pipe.Scrub(b.t.Context(), f)
		if err != nil {
			b.t.Fatal(err)
		}
		if s.Skipped {
			skipped++
		}
		for _, d := range s.Differs {
			differs = append(differs, fmt.Sprint(filepath.Base(cp.Path), ": ", d))
		}
	}
	return differs, skipped
}

func TestScrubFindsNothingInAWholeCache(t *testing.T) {
	homes, err := filepath.Glob(filepath.Join("testdata", "homes", "*"))
	if err != nil || len(homes) == 0 {
		t.Fatalf("%q, %v", homes, err)
	}
	for _, home := range homes {
		t.Run(filepath.Base(home), func(t *testing.T) {
			b := newBench(t)
			b.ingest(home, true)
			if d, _ := b.scrub(); len(d) > 0 {
				t.Errorf("differs: %q", d)
			}
		})
	}
	texts, err := filepath.Glob(filepath.Join("testdata", "lines", "*.jsonl"))
	if err != nil || len(texts) == 0 {
		t.Fatalf("%q, %v", texts, err)
	}
	for _, name := range texts {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text := lines(t, filepath.Base(name))
			for _, step := range []int{len(text), 1 + len(text)/5} {
				b := newBench(t)
				home, path := inHome(t, threadOf(t, text), nil)
				for at := 0; at < len(text); at += step {
					appendTo(t, path, text[at:min(at+step, len(text))])
					b.ingest(home, false)
				}
				if d, skipped := b.scrub(); len(d) > 0 || skipped > 0 {
					t.Errorf("taken in by %d: %d skipped, differs: %q", step, skipped, d)
				}
			}
		})
	}
}

// change edits the cache behind the back of the program.
func (b *bench) change(query string, args ...any) {
	b.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	r, err := db.ExecContext(b.t.Context(), query, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		b.t.Fatalf("%s changed %d rows, %v", query, n, err)
	}
}

// mixed is a thread with a bit of everything.
func mixed(thread string) *rollouttest.Rollout {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: thread})
	for i := range 6 {
		r.User(fmt.Sprint("question ", i)).Call("shell", `{"cmd":"ls"}`, strings.Repeat(fmt.Sprint("file ", i, "\n"), 9)).
			Assistant(fmt.Sprint("answer ", i)).Tokens(1000, 10, 20, 5).End()
	}
	return r.Raw(`{"timestamp":"2026-09-01T09:00:00Z","type":"no such kind","payload":{}}`).Raw("no JSON at all").Rollback(1)
}

// silent are changes that SQLite can't see.
var silent = map[string]string{
	"a text":             "UPDATE item SET text='other' WHERE text='answer 2'",
	"a token count":      "UPDATE item SET tok_o200k=tok_o200k+1 WHERE text='answer 2'",
	"another count":      "UPDATE item SET tok_cl100k=tok_cl100k+1 WHERE text='answer 2'",
	"a role":             "UPDATE item SET role=1 WHERE text='answer 2'",
	"a time":             "UPDATE item SET ts_ns=ts_ns+1 WHERE text='answer 2'",
	"a turn of an item":  "UPDATE item SET turn=9 WHERE text='answer 2'",
	"an item is missing": "DELETE FROM item WHERE text='answer 2'",
	"an item's number":   "UPDATE item SET id=id+1000 WHERE text='answer 2'",
	"one taken back":     "UPDATE item SET dead_off=5 WHERE text='answer 2'",
	"one not taken back": "UPDATE item SET dead_off=NULL WHERE text='answer 5'",
	"a generation":       "UPDATE item SET gen=7 WHERE text='answer 2'",
	"one of before":      "UPDATE item SET gen=0 WHERE text='answer 2'",
	"a turn":             "UPDATE turn SET state=state+1 WHERE number=2",
	"a turn is missing":  "DELETE FROM turn WHERE number=2",
	"damage":             "UPDATE damage SET size=size+1",
	"an unknown kind":    "UPDATE unknown SET count=count+1",
	"where it was first": "UPDATE unknown SET line=line+1",
	"facts":              "UPDATE rollout SET facts=replace(facts, 'Cwd', 'Xwd')",
	"facts are no JSON":  "UPDATE rollout SET facts='{'",
	"sums":               `UPDATE rollout SET sums=replace(sums, '"o":', '"o":1')`,
	"a checksum's name":  `UPDATE rollout SET sums=replace(sums, '"parsed":', '"pbrsed":')`,
	"the cursor":         "UPDATE rollout SET off=off-1",
	"one past the end":   "UPDATE rollout SET off=off+1000",
	"one at the start":   "UPDATE rollout SET off=0",
	"one before it":      "UPDATE rollout SET off=-off",
	"a fingerprint":      "UPDATE rollout SET tail=zeroblob(length(tail))",
	"the parser":         `UPDATE rollout SET parser=CAST(replace(CAST(parser AS TEXT), '"seq":', '"seq":1') AS BLOB)`,
	"the numbers":        "UPDATE rollout SET gen_seq=3",
	"the last number":    "UPDATE rollout SET last_seq=3",
	"the thread":         "UPDATE rollout SET thread_id='nobody'",
	"the stamp":          "UPDATE rollout SET stamp='2025-09-01T09-00-00'",
	"the thread's body":  `UPDATE thread SET body=replace(body, '"o200k_base":', '"o200k_base":1')`,
	"no body":            "UPDATE thread SET body='{'",
	"the title":          "UPDATE thread SET title='other'",
	"the workspace":      "UPDATE thread SET workspace='/elsewhere'",
	"a verdict":          "UPDATE decision SET verdict=3-verdict",
	"a decision's count": "UPDATE decision SET tokens=tokens+1",
	"a target":           "UPDATE target SET body=replace(body, 'window', 'wimdow') WHERE id=1",
}

func TestScrubRepairsSilentChanges(t *testing.T) {
	reliability.Fault(t, 44, "values changed in the rows themselves, which SQLite can't see")
	clean := newBench(t)
	r := mixed(id("101"))
	home, _ := inHome(t, id("101"), r.Bytes())
	clean.ingest(home, false)
	want := clean.dump()
	for name, change := range silent {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ingest(home, false)
			ref := b.ref("answer 4")
			b.change(change)
			if b.dump() == want {
				t.Fatal("nothing was changed")
			}
			d, _ := b.scrub()
			if len(d) == 0 {
				t.Error("not found")
			}
			if _, err := b.db.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.dump(); got != want {
				t.Errorf("found %q, but now it is\n%s\nwant\n%s", d, got, want)
			}
			if now := b.ref("answer 4"); now != ref {
				t.Errorf("the ref was %s and is %s", ref, now)
			}
			if d, _ := b.scrub(); len(d) > 0 {
				t.Errorf("found again: %q", d)
			}
		})
	}
}

// A damaged cursor must not make the file look rewritten.
func TestDamagedCursorIsNoRewrite(t *testing.T) {
	b := newBench(t)
	r := mixed(id("102"))
	home, path := inHome(t, id("102"), r.Bytes())
	b.ingest(home, false)
	before := r.Size()
	b.change("UPDATE rollout SET tail=zeroblob(length(tail))")
	r.User("one more").Assistant("yes").End()
	appendTo(t, path, r.Bytes()[before:])
	b.ingest(home, false)
	if got := b.said(id("102")); !strings.HasSuffix(got, "answer 4 | one more | yes") {
		t.Errorf("said %q", got)
	}
	if gone, err := b.db.Rewritten(t.Context(), id("102")); err != nil || len(gone) > 0 {
		t.Errorf("%d items count as rewritten, %v", len(gone), err)
	}
}

func TestRewrittenTextIsNoDifference(t *testing.T) {
	b := newBench(t)
	r := mixed(id("103"))
	home, path := inHome(t, id("103"), r.Bytes())
	b.ingest(home, false)
	other := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("103")}).User("another beginning").Assistant("yes").End()
	write(t, path, other.Bytes())
	if _, skipped := b.scrub(); skipped != 1 {
		t.Error("a file that was rewritten and not taken in yet was compared")
	}
	b.ingest(home, false)
	if d, skipped := b.scrub(); len(d) > 0 || skipped > 0 {
		t.Errorf("%d skipped, differs: %q", skipped, d)
	}
	gone, err := b.db.Rewritten(t.Context(), id("103"))
	if err != nil || len(gone) == 0 {
		t.Fatalf("%d rewritten items, %v", len(gone), err)
	}
	// Damage in the new lines takes nothing of the old ones away.
	b.change("UPDATE item SET tok_o200k=99 WHERE text='another beginning'")
	b.change("UPDATE rollout SET gen_seq=1")
	if d, _ := b.scrub(); len(d) == 0 {
		t.Error("not found")
	}
	again, err := b.db.Rewritten(t.Context(), id("103"))
	if err != nil || len(again) != len(gone) {
		t.Errorf("%d rewritten items of %d, %v", len(again), len(gone), err)
	}
	if got := b.said(id("103")); got != "another beginning | yes" {
		t.Errorf("said %q", got)
	}
}

// An answer about a thread whose rows disagree is read from the file.
func TestDamageIsNotServed(t *testing.T) {
	for _, name := range []string{"a text", "a token count", "another count", "a role", "an item is missing", "one taken back", "sums", "the thread's body"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			home, _ := inHome(t, id("104"), mixed(id("104")).Bytes())
			b.ingest(home, false)
			want, err := b.pipe.View(t.Context(), id("104"))
			if err != nil || want.Fresh.Rederived {
				t.Fatalf("%+v, %v", want.Fresh, err)
			}
			b.change(silent[name])
			var told []string
			pipe, err := pipeline.New(t.Context(), b.db, pipeline.Options{Suspect: func(thread string) { told = append(told, thread) }})
			if err != nil {
				t.Fatal(err)
			}
			got, err := pipe.View(t.Context(), id("104"))
			if err != nil || !got.Fresh.Rederived || !slices.Contains(told, id("104")) {
				t.Fatalf("%+v, told of %q, %v", got.Fresh, told, err)
			}
			if a, b := flat(got), flat(want); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// flat is what is answered from a view.
func flat(v pipeline.View) string {
	for i := range v.Messages {
		v.Messages[i].ID = 0
	}
	t := v.Thread
	return fmt.Sprintf("%v %v %v %d %d %d %d\n%+v", t.Tokens, t.ShrunkTokens, t.Counts, t.Migrated, t.Turns, t.LastSeq, t.State, v.Messages)
}

// ref is the ref of a text.
func (b *bench) ref(text string) string {
	b.t.Helper()
	for _, thread := range b.threads() {
		ms, err := b.db.Messages(b.t.Context(), thread.ID, 0, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, m := range ms {
			if m.Text == text {
				return m.Ref
			}
		}
	}
	return ""
}

func (b *bench) threads() []transcript.Thread {
	b.t.Helper()
	list, _, err := b.db.Threads(b.t.Context(), store.Filter{Archived: true, Subagents: true})
	if err != nil {
		return nil
	}
	return list
}

// dump is every table that is derived, clocks and counters of changes left out.
func (b *bench) dump() string {
	b.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+b.path+"?mode=ro")
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, q := range []string{
		"SELECT rollout_id, thread_id, stamp, home, form, archived, gen, gen_seq, last_seq, off, line, head_len, hex(head), tail_len, hex(tail), state, facts, CAST(parser AS TEXT), sums FROM rollout ORDER BY rollout_id",
		"SELECT id&4294967295, gen, role, turn, ts_ns, off, size, ordinal, inherited, dead_off, dead_ord, phase, exit_code, images, tok_o200k, tok_cl100k, tok_shrunk, key, hex(hash), turn_id, name, call_id, args, text FROM item ORDER BY id",
		"SELECT number, turn_id, started_ns, ended_ns, state, error FROM turn ORDER BY rollout, number",
		"SELECT line, off, size, cause, detail, salvaged FROM damage ORDER BY rollout, line",
		"SELECT kind, name, version, count, line FROM unknown ORDER BY rollout, kind, name",
		"SELECT thread_id, workspace, parent, subagent, archived, gone, state, created_ns, updated_ns, tokens, title, body FROM thread ORDER BY thread_id",
		"SELECT t.thread_id, g.model, g.body, d.verdict, d.strategy, d.fit, d.tokens, d.target_tokens, d.budget, d.messages, d.through_seq FROM decision d LEFT JOIN thread t ON t.id=d.thread LEFT JOIN target g ON g.id=d.target ORDER BY 1, 2",
	} {
		printRows(b.t, db, q, &out)
	}
	return out.String()
}

func BenchmarkGoal10Scrub(b *testing.B) {
	dir := b.TempDir()
	db, err := store.Open(b.Context(), filepath.Join(dir, "cache.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	pipe, err := pipeline.New(b.Context(), db, pipeline.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("105")})
	for i := range 400 {
		r.User(fmt.Sprint("question ", i)).Call("shell", `{"cmd":"ls"}`, strings.Repeat(fmt.Sprintf("-rw-r--r-- 1 dana dana %d main_%d.go\n", i*37, i), 100)).
			Assistant(strings.Repeat(fmt.Sprint("an answer of some length, number ", i, ". "), 8)).End()
	}
	path := filepath.Join(dir, "rollout-2026-09-01T09-00-00-"+id("105")+".jsonl")
	if err := os.WriteFile(path, r.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	f := store.File{RolloutID: id("105"), ThreadID: id("105"), Stamp: "2026-09-01T09-00-00", Home: dir, Path: path, Form: store.FormPlain, Size: r.Size()}
	if _, err := pipe.Ingest(b.Context(), f); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(r.Size())
	var n int
	begun := time.Now()
	for b.Loop() {
		s, err := pipe.Scrub(b.Context(), f)
		if err != nil || s.Skipped || len(s.Differs) > 0 {
			b.Fatalf("%+v, %v", s, err)
		}
		n++
	}
	each := time.Since(begun) / time.Duration(n)
	begun = time.Now()
	const asks = 50
	for range asks {
		if err := pipe.Verify(b.Context(), id("105")); err != nil {
			b.Fatal(err)
		}
	}
	reliability.Figure(b, 10, "%.1f MB of rollout compared in %s; a thread of that size that is asked for: its rows in %s",
		float64(r.Size())/1e6, each.Round(time.Millisecond), (time.Since(begun) / asks).Round(10*time.Microsecond))
}

// A run may end when a thread was read that a fork waits for, and before the
// fork is read again.
func TestForkThatWaitsIsReadAfterARestart(t *testing.T) {
	b := newBench(t)
	parent := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: id("106")}).User("first").Assistant("yes").End()
	fork := parent.Fork(rollouttest.Options{ThreadID: id("107")}).User("in the fork").Assistant("yes, too").End()
	home := t.TempDir()
	write(t, filepath.Join(home, fork.Path()), fork.Bytes())
	b.ingest(home, false)
	cp, err := b.db.Rollout(t.Context(), id("107"))
	if err != nil || cp.AwaitsParent != id("106") {
		t.Fatalf("awaits %q, %v", cp.AwaitsParent, err)
	}
	// The parent is read by a run that ends before it looks for who waits.
	b.change("UPDATE rollout SET awaits_parent=''")
	write(t, filepath.Join(home, parent.Path()), parent.Bytes())
	b.ingest(home, false)
	b.change("UPDATE rollout SET awaits_parent=? WHERE rollout_id=?", id("106"), id("107"))
	known, err := b.db.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.pipe.Reunite(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if stale := pipeline.Stale(known, []store.File{cp.File}); len(stale) != 1 {
		t.Fatalf("%d files are to be read", len(stale))
	}
	b.ingest(home, false)
	if got := b.said(id("107")); got != "^first | ^yes | in the fork | yes, too" {
		t.Errorf("said %q", got)
	}
}

func TestWhatNoFileHoldsIsProved(t *testing.T) {
	b := newBench(t)
	home, path := inHome(t, id("108"), mixed(id("108")).Bytes())
	b.ingest(home, false)
	cp, err := b.db.Rollout(t.Context(), id("108"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := b.pipe.Gone(t.Context(), cp.File); err != nil {
		t.Fatal(err)
	}
	home, path = inHome(t, id("109"), mixed(id("109")).Bytes())
	b.ingest(home, false)
	write(t, path, rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id("109")}).User("another beginning").Assistant("yes").End().Bytes())
	b.ingest(home, false)
	if to, err := b.db.Backup(t.Context()); err != nil || to == "" {
		t.Fatalf("no backup at %q, %v", to, err)
	}
	if d, _ := b.scrub(); len(d) > 0 {
		t.Fatalf("differs: %q", d)
	}
	want := b.dump()
	for name, change := range map[string]string{
		"a text of a gone thread": "UPDATE item SET text='other' WHERE text='answer 3' AND id>>32=1",
		"a count of it":           "UPDATE item SET tok_shrunk=77 WHERE text='answer 3' AND id>>32=1",
		"its sums":                `UPDATE rollout SET sums=replace(sums, '"o":', '"o":1') WHERE state=3`,
		"its thread":              `UPDATE thread SET body=replace(body, '"o200k_base":', '"o200k_base":1') WHERE gone=1`,
		"an item of it":           "DELETE FROM item WHERE text='answer 3' AND id>>32=1",
		"a rewritten text":        "UPDATE item SET text='other' WHERE text='answer 3' AND id>>32=2",
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.change(change)
			d, _ := b.scrub()
			if len(d) != 1 {
				t.Errorf("found %q", d)
			}
			if name == "an item of it" { // nothing tells that it was ever there but the sums
				if _, _, err := b.db.Restore(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.scrub()
			}
			if got := b.dump(); got != want {
				t.Errorf("found %q, now it is\n%s\nwant\n%s", d, got, want)
			}
			if d, _ := b.scrub(); len(d) > 0 {
				t.Errorf("found again: %q", d)
			}
		})
	}
}

// While a long file is read anew, batch by batch, its thread's figures are those
// of before: no damage.
func TestReadingAnewLooksLikeNoDamage(t *testing.T) {
	b := newBench(t)
	r := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: id("110")})
	for i := range 3000 {
		r.User(fmt.Sprint("question ", i)).Assistant("answer").End()
	}
	home, _ := inHome(t, id("110"), r.Bytes())
	b.ingest(home, false)
	if err := b.db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.ingest(home, false)
	}()
	asked := 0
	for reading := true; reading; asked++ {
		select {
		case <-done:
			reading = false
		default:
		}
		if err := b.pipe.Verify(t.Context(), id("110")); err != nil {
			t.Errorf("asked %d times: %v", asked, err)
			break
		}
	}
	<-done
	if got := b.thread(id("110")).Turns; got != 3000 {
		t.Errorf("%d turns", got)
	}
}

func TestScrubEndsWhenToldTo(t *testing.T) {
	b := newBench(t)
	r := rollouttest.New(rollouttest.Legacy, rollouttest.Options{ThreadID: id("111")})
	for i := range 6000 {
		r.User(fmt.Sprint("question ", i)).Assistant("answer").End()
	}
	home, _ := inHome(t, id("111"), r.Bytes())
	b.ingest(home, false)
	cp, err := b.db.Rollout(t.Context(), id("111"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	begun := time.Now()
	s, err := b.pipe.Scrub(ctx, cp.File)
	if !errors.Is(err, context.DeadlineExceeded) || len(s.Differs) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("it went on for %v", took)
	}
}

// printRows prints what a query gives, a row a line.
func printRows(t *testing.T, db *sql.DB, query string, out *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(out, row...)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
