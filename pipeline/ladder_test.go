package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/watch/tail"
)

// damaged is a rollout that is damaged at random, with what must come of it.
type damaged struct {
	bytes.Buffer
	rng    *rand.Rand
	n      int
	want   []string // texts of the whole records, in order
	hidden int      // of them on a line with damage
	taken  int64    // bytes of all whole records
	blank  int64    // bytes of line ends, marks and white space
}

func (d *damaged) message(text string) string {
	d.n++
	return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:%02d.%03dZ","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"x","text":"%s"}]}}`,
		d.n/1000%60, d.n%1000, [2]string{"user", "assistant"}[d.n%2], text)
}

// record is a whole record; told is the text that it says, empty for none.
func (d *damaged) record() (text, told string) {
	told = fmt.Sprintf("record %d %s", d.n, strings.Repeat("word ", d.rng.IntN(40)))
	switch d.rng.IntN(120) {
	case 0, 12, 13, 14, 15, 33, 34, 35, 36, 37: // not needed, and longer than what it is recognised by
		d.n++
		return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","n":%d,"item":{"type":"CommandExecution","x":%q}}}`, d.n, strings.Repeat("x", 600)), ""
	case 1: // longer than the buffer
		return d.message(told + strings.Repeat("y", 300<<10)), told + strings.Repeat("y", 300<<10)
	case 2: // not needed and longer than the buffer
		return fmt.Sprintf(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"world_state","payload":{"full":true,"x":%q}}`, strings.Repeat("z", 300<<10)), ""
	case 3, 8, 20, 21, 22, 23: // invalid UTF-8
		return d.message(told + "\xff\xc0\xaf"), told + "\uFFFD\uFFFD\uFFFD"
	case 4, 9, 24, 25, 26: // a lone surrogate
		return d.message(told + `\ud83d!`), told + "\uFFFD!"
	case 5, 10, 27, 28, 29: // a key twice: the last one counts
		s := d.message(told)
		return strings.Replace(s, `"payload":{`, `"payload":{"type":"message","role":"user","content":[]},"payload":{`, 1), told
	case 6, 11, 30, 31, 32: // a number that no float holds
		return strings.TrimSuffix(d.message(told), "}") + `,"metadata":{"n":1e400}}`, told
	case 7, 38: // 5,000 levels
		return strings.TrimSuffix(d.message(told), "}") + `,"metadata":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`, told
	}
	return d.message(told), told
}

func (d *damaged) put(hidden bool) {
	text, told := d.record()
	d.WriteString(text)
	d.taken += int64(len(text))
	if told == "" {
		return
	}
	d.want = append(d.want, told)
	if hidden {
		d.hidden++
	}
}

func (d *damaged) end() {
	ending := [4]string{"\n", "\r\n", "\n\n", " \t\n"}[d.rng.IntN(4)]
	d.WriteString(ending)
	d.blank += int64(len(ending))
}

// torn gives the first bytes of a record, at least one and never all.
func (d *damaged) torn() (head, rest string) {
	text, _ := d.record()
	if d.rng.IntN(4) == 0 && d.Len()/4096 < (d.Len()+len(text)-1)/4096 {
		n := 4096 - d.Len()%4096 // torn where a page ends, as by a crash
		return text[:n], text[n:]
	}
	n := 1 + d.rng.IntN(len(text)-1)
	return text[:n], text[n:]
}

func (d *damaged) nuls() {
	n := 1 + d.rng.IntN(5_000)
	if d.rng.IntN(2) == 0 {
		n = 4096 - d.Len()%4096 // up to the end of the page
	}
	d.Write(make([]byte, n))
}

// line adds one line; damaged says that a part of it is lost.
func (d *damaged) line() {
	switch d.rng.IntN(16) / 2 {
	case 0: // written anew behind the part that a crash left
		head, _ := d.torn()
		d.WriteString(head)
		d.put(true)
	case 1: // twice
		for range 2 {
			head, _ := d.torn()
			d.WriteString(head)
		}
		d.put(true)
	case 2: // NULs where a record was to be
		d.nuls()
		d.put(true)
	case 3: // lost line ends
		for range 2 + d.rng.IntN(3) {
			d.put(true)
		}
	case 4: // another writer in the middle
		head, rest := d.torn()
		for json.Valid([]byte(head + "{}" + rest)) { // that would be one sound record
			head, rest = d.torn()
		}
		d.WriteString(head)
		d.put(true)
		d.WriteString(rest)
	case 5: // a record, NULs, a record
		d.put(true)
		d.nuls()
		d.put(true)
	case 6: // more levels than a strict parser takes
		if d.rng.IntN(10) > 0 {
			d.put(false)
			break
		}
		d.WriteString(`{"timestamp":"x","type":"event_msg","payload":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`)
	default:
		d.put(false)
	}
	d.end()
}

func newDamaged(seed uint64, lines int) *damaged {
	d := &damaged{rng: rand.New(rand.NewPCG(seed, 12))}
	if seed%2 == 0 {
		d.WriteString("\ufeff")
		d.blank += 3
	}
	d.put(false)
	d.end()
	for range lines {
		d.line()
	}
	return d
}

// readBack reads a file as ingest does.
func readBack(t *testing.T, path string) (transcript.Delta, int64) {
	t.Helper()
	r, err := tail.Open(path, tail.Cursor{}, tailOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var delta transcript.Delta
	p := rollout.NewParser(rollout.State{}, rollout.Options{})
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return delta, r.Cursor().Offset
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Line(lineOf(&l), &delta)
	}
}

func packed(t testing.TB, text []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(text, nil)
}

func TestEveryWholeRecordIsRecovered(t *testing.T) {
	reliability.Fault(t, 16, "torn records, some torn where a page ends, with one or two repetitions glued to them")
	reliability.Fault(t, 17, "runs of NULs in front of records and between them, some up to the end of a page")
	reliability.Fault(t, 18, "two to four records on a line")
	reliability.Fault(t, 19, "a record written into the middle of another")
	reliability.Fault(t, 20, "each of them in records at random; 5,000 and 10,001 levels")
	reliability.Fault(t, 22, "a byte order mark; line ends with carriage return, blanks and empty lines at random")
	hidden, records, damages := 0, 0, 0
	for seed := range uint64(18) {
		d := newDamaged(seed, 400)
		for _, form := range []string{".jsonl", ".jsonl.zst"} {
			text := d.Bytes()
			if form != ".jsonl" {
				if seed > 2 {
					continue
				}
				text = packed(t, text)
			}
			path := filepath.Join(t.TempDir(), "r"+form)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			delta, cursor := readBack(t, path)
			var got []string
			for _, it := range delta.Items {
				got = append(got, it.Text)
			}
			if !slices.Equal(got, d.want) {
				t.Errorf("seed %d%s: %d records, want %d; first difference at %d", seed, form, len(got), len(d.want), difference(got, d.want))
			}
			var lost int64
			for _, x := range delta.Damage {
				lost += x.Size
			}
			if d.taken+lost+d.blank != int64(d.Len()) || cursor != int64(d.Len()) {
				t.Errorf("seed %d%s: %d bytes taken, %d named as damage, %d blank of %d; cursor at %d", seed, form, d.taken, lost, d.blank, d.Len(), cursor)
			}
			hidden, records, damages = hidden+d.hidden, records+len(got), damages+len(delta.Damage)
		}
	}
	if hidden < 7_500 {
		t.Errorf("%d hidden records, want 7,500", hidden)
	}
	reliability.Figure(t, 12, "%d of %d records on damaged lines recovered, 0 invented of %d; %d damaged lines, all counted; bytes taken and bytes named as damage add up to the file", hidden, hidden, records, damages)
}

func difference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
