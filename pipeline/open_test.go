package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/watch"
	"github.com/session-migrator/session-migrator/watch/tail"
)

const openThread = "019a0000-0000-7000-8000-0000000000d1"

// spoken gives a header and a line for each text, user and assistant in turn.
func spoken(texts ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"timestamp":"2026-09-01T09:00:00.000Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-09-01T09:00:00.000Z","cwd":"/w"}}`+"\n", openThread)
	b.Write(more(texts...))
	return b.Bytes()
}

func more(texts ...string) []byte {
	var b bytes.Buffer
	for i, s := range texts {
		fmt.Fprintf(&b, `{"timestamp":"2026-09-01T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"x","text":%q}]}}`+"\n", [2]string{"user", "assistant"}[i%2], s)
	}
	return b.Bytes()
}

func numbered(from, to int) (texts []string) {
	for i := from; i < to; i++ {
		texts = append(texts, fmt.Sprintf("message %d", i))
	}
	return texts
}

// fileAt is a rollout as a listing would see it now.
func fileAt(t testing.TB, home, path string) store.File {
	t.Helper()
	n, ok := watch.ParseName(filepath.Base(path))
	st, err := tail.StatFile(path)
	if !ok || err != nil {
		t.Fatal(path, err)
	}
	return store.File{
		RolloutID: n.RolloutID, ThreadID: n.ThreadID, Stamp: n.Stamp, Home: home, Path: path, Form: store.Form(n.Form), Archived: strings.Contains(path, "archived_"),
		Size: st.Size, ModTimeNs: st.ModTime.UnixNano(), ChangeTimeNs: st.CTimeNs, Dev: st.Dev, Ino: st.Ino,
	}
}

// take ingests one path and gives how many bytes were parsed.
func (b *bench) take(home, path string) pipeline.Result {
	b.t.Helper()
	r, err := b.pipe.Ingest(b.t.Context(), fileAt(b.t, home, path))
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// holds fails unless exactly these messages are on the current branch and those
// in gone are kept as rewritten.
func (b *bench) holds(want []string, gone ...string) {
	b.t.Helper()
	if got := b.said(openThread); got != strings.Join(want, " | ") {
		b.t.Errorf("said %q\nwant %q", got, strings.Join(want, " | "))
	}
	old, err := b.db.Rewritten(b.t.Context(), openThread)
	if err != nil || dialogue(old) != strings.Join(gone, " | ") {
		b.t.Errorf("rewritten away: %q, want %q, %v", dialogue(old), strings.Join(gone, " | "), err)
	}
}

func opened(t *testing.T, texts ...string) (b *bench, home, path string) {
	t.Helper()
	b = newBench(t)
	home, path = inHome(t, openThread, spoken(texts...))
	b.take(home, path)
	b.holds(texts)
	return b, home, path
}

func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	tmp := path + ".tmp"
	write(t, tmp, text)
	if err := os.Rename(tmp, path); err != nil {
		t.Fatal(err)
	}
}

func TestSameLookIsNotOpened(t *testing.T) {
	b, home, path := opened(t, "one", "two")
	if os.Geteuid() != 0 { // root may read it all the same
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	f := fileAt(t, home, path)
	known, err := b.db.Checkpoints(t.Context())
	if err != nil || len(pipeline.Stale(known, []store.File{f})) != 0 && os.Geteuid() == 0 {
		t.Errorf("an unchanged file is stale: %v", err)
	}
	if r := b.take(home, path); r.Changed || r.Bytes != 0 {
		t.Errorf("%+v", r)
	}
}

func TestReplacedBySameBeginningGoesOn(t *testing.T) {
	reliability.Fault(t, 25, "a temporary file with the same beginning and one more line, moved over the rollout")
	texts := numbered(0, 40)
	b, home, path := opened(t, texts...)
	again := more("new")
	replace(t, path, append(spoken(texts...), again...))
	r := b.take(home, path)
	if r.Bytes != int64(len(again)) {
		t.Errorf("%d bytes were parsed, %d are new", r.Bytes, len(again))
	}
	b.holds(append(texts, "new"))
	reliability.Figure(t, 13, "replaced with the same beginning: 0 bytes parsed twice (%d parsed, %d new), 0 rows twice", r.Bytes, len(again))
}

// pack writes a rollout compressed, as Codex does: under another name, with the
// old time, then the plain one goes.
func pack(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	replace(t, path+".zst", enc.EncodeAll(text, nil))
	if err := errors.Join(os.Chtimes(path+".zst", st.ModTime(), st.ModTime()), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	return path + ".zst"
}

// unpack is the way back: a temporary, linked to the plain name, with the old
// time put back; between sees both names.
func unpack(t *testing.T, packed string, between func(path string)) string {
	t.Helper()
	path := strings.TrimSuffix(packed, ".zst")
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(packed)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	if text, err = dec.DecodeAll(text, nil); err != nil {
		t.Fatal(err)
	}
	tmp := path + ".decompress.1.1.tmp"
	write(t, tmp, text)
	if err := errors.Join(os.Link(tmp, path), os.Chtimes(path, st.ModTime(), st.ModTime())); err != nil {
		t.Fatal(err)
	}
	between(path)
	if err := errors.Join(os.Remove(tmp), os.Remove(packed)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompressedAndBackGoesOn(t *testing.T) {
	reliability.Fault(t, 27, "compressed and decompressed the way Codex does it: other inode, hard link, old time put back; then appended")
	texts := numbered(0, 40)
	b, home, path := opened(t, texts...)
	var parsed int64
	packed := pack(t, path)
	parsed += b.take(home, packed).Bytes
	b.holds(texts)
	path = unpack(t, packed, func(path string) {
		parsed += b.take(home, path).Bytes
		parsed += b.take(home, packed).Bytes // an older event, delivered late
		b.holds(texts)
	})
	parsed += b.take(home, path).Bytes
	b.holds(texts)
	if parsed != 0 {
		t.Errorf("%d bytes were parsed, none is new", parsed)
	}
	add := more("new")
	appendTo(t, path, add)
	if r := b.take(home, path); r.Bytes != int64(len(add)) {
		t.Errorf("%d bytes were parsed, %d are new", r.Bytes, len(add))
	}
	b.holds(append(texts, "new"))
	reliability.Figure(t, 13, "plain to compressed and back: %d bytes parsed twice, 0 rows twice", parsed)
}

func TestArchivedAndBackReadsNothingAgain(t *testing.T) {
	reliability.Fault(t, 29, "moved to archived_sessions with half a line, completed there, moved back")
	texts := numbered(0, 10)
	b, home, path := opened(t, texts...)
	half := more("the torn one")
	appendTo(t, path, half[:40])
	b.take(home, path)
	archived := filepath.Join(home, "archived_sessions", filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(archived), 0o700), os.Rename(path, archived)); err != nil {
		t.Fatal(err)
	}
	if r := b.take(home, archived); r.Bytes != 0 || !b.thread(openThread).Archived {
		t.Errorf("%+v", r)
	}
	appendTo(t, archived, half[40:])
	if r := b.take(home, archived); r.Bytes != int64(len(half)) {
		t.Errorf("%d bytes were parsed, want %d", r.Bytes, len(half))
	}
	if err := os.Rename(archived, path); err != nil {
		t.Fatal(err)
	}
	if r := b.take(home, path); r.Bytes != 0 || b.thread(openThread).Archived {
		t.Errorf("%+v", r)
	}
	b.holds(append(texts, "the torn one"))
	reliability.Figure(t, 13, "archived and back: 0 bytes parsed twice, 0 rows twice")
}

func TestVanishedPathIsNoDeletion(t *testing.T) {
	reliability.Fault(t, 30, "moved after it was listed, before it was opened")
	b, home, path := opened(t, "one", "two")
	appendTo(t, path, more("three"))
	f := fileAt(t, home, path)
	archived := filepath.Join(home, "archived_sessions", filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(archived), 0o700), os.Rename(path, archived)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pipe.Ingest(t.Context(), f); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	cp, err := b.db.Rollout(t.Context(), openThread)
	if err != nil || cp.State != store.FileOK {
		t.Errorf("state %s, %v", cp.State, err)
	}
	b.take(home, archived)
	b.holds([]string{"one", "two", "three"})
}

// rewrites are the ways in which a file stops being the one that was read.
func TestRewrittenFileStartsAGeneration(t *testing.T) {
	old := numbered(0, 6) // longer than the fingerprint of the start
	for i := range old {
		old[i] += strings.Repeat(".", 1500)
	}
	long := numbered(100, 140)
	for _, c := range []struct {
		name  string
		fault int
		how   string
		do    func(t *testing.T, path string)
		want  []string
		gone  []string
	}{
		{"cut and written anew", 23, "cut to 0 bytes, looked at, written anew with less", func(t *testing.T, path string) { write(t, path, spoken("fresh", "start")) }, []string{"fresh", "start"}, old},
		{"cut and grown past the cursor", 24, "cut, and grown past the cursor with other content in one go", func(t *testing.T, path string) { write(t, path, spoken(long...)) }, long, old},
		{"grown with the same beginning", 24, "the same first 4 KiB, other content before the cursor, longer than before", func(t *testing.T, path string) {
			write(t, path, spoken(append(append([]string{}, old[:5]...), long...)...))
		}, append(append([]string{}, old[:5]...), long...), old[5:]},
		{"deleted and made anew", 26, "deleted and made anew until the inode was the same", func(t *testing.T, path string) { recreate(t, path, spoken("fresh", "start")) }, []string{"fresh", "start"}, old},
		{"same size and time", 26, "other content of the same size, the old time put back", func(t *testing.T, path string) {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, bytes.ReplaceAll(spoken(old...), []byte(`"message `), []byte(`"MESSAGE `)))
			if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, strings.Split(strings.ReplaceAll(strings.Join(old, "|"), "message", "MESSAGE"), "|"), old},
		{"most of it written anew", 23, "written anew with the same beginning and another end, shorter", func(t *testing.T, path string) {
			write(t, path, spoken(old[0], old[1], old[2], "other"))
		}, []string{old[0], old[1], old[2], "other"}, old[3:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			reliability.Fault(t, c.fault, c.how)
			b, home, path := opened(t, old...)
			if c.name == "cut and written anew" {
				write(t, path, nil)
				b.take(home, path)
				b.holds(old) // until there is something else
				write(t, path, spoken()[:30])
				b.take(home, path)
				b.holds(old)
			}
			c.do(t, path)
			b.take(home, path)
			b.holds(c.want, c.gone...)
			for i, text := range old {
				ms, err := b.db.Original(t.Context(), openThread[28:], int64(i+1), "")
				if err != nil || ms[0].Text != text || ms[0].Gone != slices.Contains(c.gone, text) {
					t.Errorf("message %d: %+v, %v", i+1, ms, err)
				}
			}
			b.reopen()
			if r := b.take(home, path); r.Changed {
				t.Errorf("read again: %+v", r)
			}
		})
	}
}

// recreate makes path anew with the inode it had, where the file system gives
// numbers out again.
func recreate(t *testing.T, path string, text []byte) {
	t.Helper()
	was, err := tail.StatFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
		if now, err := tail.StatFile(path); err != nil || now.Ino == was.Ino {
			return
		}
	}
	t.Log("the file system gives no inode out again: an ordinary new one")
}

// A rewrite is seen with the rows that come from it: no reader finds the thread
// empty in between.
func TestReadersSeeNoGapInARewrite(t *testing.T) {
	b, home, path := opened(t, numbered(0, 50)...)
	reader, err := store.OpenReader(t.Context(), b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan error, 1)
	looks := 0
	go func() {
		defer close(seen)
		for ctx.Err() == nil {
			ms, err := reader.Messages(context.WithoutCancel(ctx), openThread, 0, 0)
			looks++
			if err != nil {
				seen <- err
				return
			}
			if n := len(ms); n == 0 {
				seen <- errors.New("the thread is empty")
				return
			} else if n != 50 && n != 30 || strings.HasPrefix(ms[0].Text, "new") != (n == 30) {
				seen <- fmt.Errorf("%d messages, the first is %q", n, ms[0].Text)
				return
			}
		}
	}()
	for i := range 20 {
		write(t, path, nil)
		b.take(home, path)
		if i%2 == 0 {
			texts := numbered(0, 30)
			texts[0] = "new"
			write(t, path, spoken(texts...))
		} else {
			write(t, path, spoken(numbered(0, 50)...))
		}
		b.take(home, path)
	}
	cancel()
	if err := <-seen; err != nil {
		t.Error(err)
	}
	reliability.Figure(t, 13, "20 rewrites with a reader that looked %d times: old or new, never an empty moment", looks)
}

// An upgrade reads all files again. What a file no longer holds is not lost by
// that.
func TestReadingAgainKeepsWhatWasRewrittenAway(t *testing.T) {
	b, home, path := opened(t, "one", "two", "three")
	write(t, path, spoken("short"))
	if err := b.db.Forget(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b.take(home, path)
	b.holds([]string{"short"}, "one", "two", "three")
}

func TestTwoFilesOfOneThread(t *testing.T) {
	reliability.Fault(t, 32, "a rollout in two homes, plain and compressed: one holds the other, both hold the same, they parted at the start, in the middle, at the end")
	base := numbered(0, 20)
	for _, c := range []struct {
		name          string
		first, second []string
		read          string // first or second
		told          bool   // both are named in status
	}{
		{"the second holds the first", base[:10], base, "second", false},
		{"the first holds the second", base, base[:10], "first", false},
		{"the same", base, base, "first", false},
		{"longer, but another way", base[:10], append(numbered(50, 60), numbered(0, 40)...), "first", true},
		{"shorter, and another way", base, numbered(50, 55), "first", true},
		{"parted in the middle, longer", base, append(append([]string{}, base[:10]...), numbered(70, 99)...), "first", true},
		{"parted in the middle, shorter", base, append(append([]string{}, base[:10]...), "other"), "first", true},
	} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/packed=%v", c.name, packed), func(t *testing.T) {
				b := newBench(t)
				var homes, paths [2]string
				for i, texts := range [][]string{c.first, c.second} {
					homes[i], paths[i] = inHome(t, openThread, spoken(texts...))
					if packed {
						paths[i] = pack(t, paths[i])
					}
				}
				want := map[string][]string{"first": c.first, "second": c.second}[c.read]
				for range 3 {
					for i := range paths {
						b.take(homes[i], paths[i])
					}
					b.holds(want)
					b.reopen()
				}
				problems, err := b.db.Problems(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var named []string
				for _, p := range problems {
					named = append(named, p.Path)
				}
				slices.Sort(named)
				both := slices.Sorted(slices.Values(paths[:]))
				if c.told && !slices.Equal(named, both) || !c.told && len(named) > 0 {
					t.Errorf("named are %+v", problems)
				}
				if c.told { // the second goes: nothing to tell any more
					if err := os.Remove(paths[1]); err != nil {
						t.Fatal(err)
					}
					if problems, err = b.db.Problems(t.Context()); err != nil || len(problems) > 0 {
						t.Errorf("still named: %+v, %v", problems, err)
					}
				}
			})
		}
	}
}

func TestUnfinishedLineIsToldAfterADay(t *testing.T) {
	reliability.Fault(t, 15, "written in pieces; half a line left for two days, then completed")
	b, home, path := opened(t, "one", "two")
	whole := int64(len(spoken("one", "two")))
	line := more("three")
	for i := range line[:len(line)-1] { // byte by byte
		if i%7 == 0 {
			appendTo(t, path, line[i:min(i+7, len(line)-1)])
			b.take(home, path)
		}
	}
	b.holds([]string{"one", "two"})
	problems, err := b.db.Problems(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("told while it is being written: %+v, %v", problems, err)
	}
	// The change time can't be set: the cache is told what it would have been.
	f := fileAt(t, home, path)
	old := time.Now().Add(-2 * store.TornAfter).UnixNano()
	f.ModTimeNs, f.ChangeTimeNs = old, old
	if _, err := b.pipe.Ingest(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	problems, err = b.db.Problems(t.Context())
	if err != nil || len(problems) != 1 || problems[0].TornBytes != int64(len(line)-1) || problems[0].TornOffset != whole || problems[0].TornSince.UnixNano() != old {
		t.Errorf("told: %+v, %v", problems, err)
	}
	if r, err := b.pipe.Ingest(t.Context(), f); err != nil || r.Changed {
		t.Errorf("looked at again and again: %+v, %v", r, err)
	}
	appendTo(t, path, line[len(line)-1:])
	b.take(home, path)
	b.holds([]string{"one", "two", "three"})
	if problems, err = b.db.Problems(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("still told: %+v, %v", problems, err)
	}
}

// What an edit of bytes that were read long ago costs to find: nothing looks at
// them again while size, times and the bytes at both ends are the same.
func TestEditBeforeTheFingerprints(t *testing.T) {
	texts := numbered(0, 200)
	b, home, path := opened(t, texts...)
	edited := slices.Clone(texts)
	edited[100] = "MESSAGE 100"
	write(t, path, spoken(edited...))
	b.take(home, path)
	b.holds(texts)
	if err := b.db.Forget(t.Context(), []string{openThread}); err != nil { // as the daily check does
		t.Fatal(err)
	}
	b.take(home, path)
	b.holds(edited)
}

func TestUnreadableCopySpoilsNothing(t *testing.T) {
	b, _, _ := opened(t, "one", "two")
	home, path := inHome(t, openThread, spoken("one"))
	packed := path + ".zst"
	write(t, packed, []byte("no zstd"))
	f := fileAt(t, home, packed)
	if _, err := b.pipe.Ingest(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	b.holds([]string{"one", "two"})
	cp, err := b.db.Rollout(t.Context(), openThread)
	if err != nil || cp.State != store.FileOK || cp.Path == packed {
		t.Errorf("%s %s, %v", cp.State, cp.Path, err)
	}
}
