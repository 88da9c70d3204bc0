package tail_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/session-migrator/session-migrator/watch/tail"
)

// forms are the two ways the same content lies on disk.
var forms = []struct{ name, ext string }{{"plain", ".jsonl"}, {"zstd", ".jsonl.zst"}}

func compress(t testing.TB, content []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(content, nil)
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if strings.HasSuffix(path, ".zst") {
		content = compress(t, content)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string, from tail.Cursor, opt tail.Options) *tail.Reader {
	t.Helper()
	r, err := tail.Open(path, from, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// drain reads to io.EOF.
func drain(t testing.TB, r *tail.Reader) []tail.Line {
	t.Helper()
	var lines []tail.Line
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Bytes = bytes.Clone(line.Bytes)
		lines = append(lines, line)
	}
}

func texts(lines []tail.Line) []string {
	var s []string
	for _, l := range lines {
		s = append(s, string(l.Bytes))
	}
	return s
}

func TestLines(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
		pending       int64
	}{
		{"empty file", "", nil, 0},
		{"one line", "a\n", []string{"a"}, 0},
		{"torn tail stays", "a\nbc", []string{"a"}, 2},
		{"crlf", "a\r\nb\r\n", []string{"a", "b"}, 0},
		{"only the cr before the newline goes", "a\r\r\n\rb\n", []string{"a\r", "\rb"}, 0},
		{"blank lines", "\n\r\na\n\n", []string{"", "", "a", ""}, 0},
		{"mark on line 1", "\ufeffa\n\ufeffb\n", []string{"a", "\ufeffb"}, 0},
		{"only a mark", "\ufeff\n", []string{""}, 0},
		{"mark without a line", "\ufeff", nil, 3},
		{"half a mark", "\xef\xbba\n", []string{"\xef\xbba"}, 0},
		{"nul block", "a\n" + strings.Repeat("\x00", 512) + "\nb\n", []string{"a", strings.Repeat("\x00", 512), "b"}, 0},
		{"longer than the buffer", strings.Repeat("x", 20_000) + "\r\nb\n", []string{strings.Repeat("x", 20_000), "b"}, 0},
		{"longer than the buffer, torn", "a\n" + strings.Repeat("x", 20_000), []string{"a"}, 20_000},
		{"longer than the buffer, with mark", "\ufeff" + strings.Repeat("x", 20_000) + "\n", []string{strings.Repeat("x", 20_000)}, 0},
	}
	for _, form := range forms {
		for _, test := range tests {
			t.Run(form.name+"/"+test.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "r"+form.ext)
				write(t, path, []byte(test.content))
				r := open(t, path, tail.Cursor{}, tail.Options{HeadBytes: 16, BufferBytes: 1})
				lines := drain(t, r)
				if got := texts(lines); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
					t.Errorf("lines = %q, want %q", got, test.want)
				}
				var off int64
				for i, l := range lines {
					if l.Number != int64(i+1) || l.Offset != off || !l.Whole || l.TooLong || l.Want != tail.WantAll {
						t.Errorf("line %d = %+v, want number %d, offset %d, whole", i, l, i+1, off)
					}
					off += l.Size
				}
				if c := r.Cursor(); c.Offset != off || c.Line != int64(len(lines)) {
					t.Errorf("cursor = %d, line %d, want %d, line %d", c.Offset, c.Line, off, len(lines))
				}
				if got := r.Pending(); got != test.pending {
					t.Errorf("Pending() = %d, want %d", got, test.pending)
				}
				if got := r.Size(); got != int64(len(test.content)) {
					t.Errorf("Size() = %d, want %d", got, len(test.content))
				}
			})
		}
	}
}

func TestClassify(t *testing.T) {
	long := strings.Repeat("h", 30_000)
	content := "none\n" + "none" + long + "\n" + "head" + long + "\n" + "head\n" + "all\n" + "all" + long + "\nend\n"
	classify := func(head []byte, whole bool) tail.Want {
		if len(head) > 512 {
			t.Errorf("Classify was given %d bytes, want at most 512", len(head))
		}
		if whole != (len(head) < 512) {
			t.Errorf("Classify(%.8q…, %v) for a head of %d bytes", head, whole, len(head))
		}
		switch {
		case bytes.HasPrefix(head, []byte("none")):
			return tail.WantNone
		case bytes.HasPrefix(head, []byte("head")):
			return tail.WantHead
		}
		return tail.WantAll
	}
	type row struct {
		want           tail.Want
		size           int64
		bytes          int
		whole, tooLong bool
	}
	cut := []row{
		{tail.WantNone, 5, 4, true, false},
		{tail.WantNone, 30_005, 512, false, false},
		{tail.WantHead, 30_005, 600, false, false},
		{tail.WantHead, 5, 4, true, false},
		{tail.WantAll, 4, 3, true, false},
		{tail.WantAll, 30_004, 512, false, true},
		{tail.WantAll, 4, 3, true, false},
	}
	for _, form := range forms {
		for _, buffer := range []int{1, 1 << 20} {
			t.Run(fmt.Sprintf("%s/buffer %d", form.name, buffer), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "r"+form.ext)
				write(t, path, []byte(content))
				r := open(t, path, tail.Cursor{}, tail.Options{
					MaxLine: 30_002, HeadBytes: 600, BufferBytes: buffer, Classify: classify})
				lines, want := drain(t, r), slices.Clone(cut)
				if len(lines) != len(want) {
					t.Fatalf("%d lines, want %d", len(lines), len(want))
				}
				for i, l := range lines {
					if fits := buffer > 30_005; fits && !l.TooLong { // no copy: all of it, wanted or not
						want[i].bytes, want[i].whole = int(l.Size)-1, true
					}
					got := row{l.Want, l.Size, len(l.Bytes), l.Whole, l.TooLong}
					if got != want[i] {
						t.Errorf("line %d = %+v, want %+v", i+1, got, want[i])
					}
					if !strings.HasPrefix(content[l.Offset:], string(l.Bytes)) {
						t.Errorf("line %d holds other bytes than the file at %d", i+1, l.Offset)
					}
				}
			})
		}
	}
}

func TestGrowingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	long := strings.Repeat("y", 50_000)
	write(t, path, []byte("one\ntw"))
	r := open(t, path, tail.Cursor{}, tail.Options{HeadBytes: 16, BufferBytes: 1})
	steps := []struct {
		add     string
		want    []string
		pending int64
	}{
		{"", []string{"one"}, 2},
		{"", nil, 2},
		{"o\n" + long, []string{"two"}, 50_000},
		{"", nil, 50_000},
		{long + "\nx", []string{long + long}, 1},
		{"\n", []string{"x"}, 0},
	}
	for i, s := range steps {
		appendTo(t, path, s.add)
		if got := texts(drain(t, r)); fmt.Sprint(got) != fmt.Sprint(s.want) {
			t.Fatalf("step %d: %d lines, want %d or other bytes", i, len(got), len(s.want))
		}
		if r.Pending() != s.pending {
			t.Errorf("step %d: Pending() = %d, want %d", i, r.Pending(), s.pending)
		}
	}
	if got, want := r.Cursor().Offset, r.Size(); got != want {
		t.Errorf("cursor at %d, want the size %d", got, want)
	}
}

func TestOpenChecksWhatWasRead(t *testing.T) {
	base := "head line\n" + strings.Repeat("0123456789\n", 1000)
	tests := []struct {
		name    string
		content string
		want    error
	}{
		{"same", base, nil},
		{"grown", base + "more\n", nil},
		{"cut", base[:len(base)-1], tail.ErrTruncated},
		{"emptied", "", tail.ErrTruncated},
		{"other head", "HEAD" + base[4:], tail.ErrReplaced},
		{"end of the head changed", base[:4095] + "#" + base[4096:], tail.ErrReplaced},
		{"other bytes before the cursor", base[:len(base)-60] + "#" + base[len(base)-59:], tail.ErrReplaced},
		{"rewritten and longer", strings.Repeat("z\n", len(base)), tail.ErrReplaced},
	}
	for _, from := range forms {
		for _, to := range forms {
			first := filepath.Join(t.TempDir(), "r"+from.ext)
			write(t, first, []byte(base))
			r := open(t, first, tail.Cursor{}, tail.Options{})
			drain(t, r)
			for _, test := range tests {
				t.Run(from.name+" to "+to.name+"/"+test.name, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "r"+to.ext)
					write(t, path, []byte(test.content))
					again, err := tail.Open(path, r.Cursor(), tail.Options{})
					if !errors.Is(err, test.want) {
						t.Fatalf("Open() error = %v, want %v", err, test.want)
					}
					if err != nil {
						return
					}
					defer again.Close()
					if again.Cursor() != r.Cursor() {
						t.Errorf("cursor = %+v, want %+v", again.Cursor(), r.Cursor())
					}
					want := strings.Count(test.content[len(base):], "\n")
					if got := len(drain(t, again)); got != want {
						t.Errorf("%d new lines, want %d", got, want)
					}
				})
			}
		}
	}
}

// A rewrite may begin as the file did and have the same last line where the
// cursor is: what is before that line tells.
func TestRewriteWithTheSameLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	content := func(words string) []byte {
		return []byte(strings.Repeat("be good ", 600) + "\n" + words + "\n" + strings.Repeat("the same ", 20) + "\n")
	}
	write(t, path, content("one"))
	r, err := tail.Open(path, tail.Cursor{}, tail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, r)
	c := r.Cursor()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path, append(content("two"), "more\n"...))
	if _, err := tail.Open(path, c, tail.Options{}); !errors.Is(err, tail.ErrReplaced) {
		t.Errorf("Open gives %v, want ErrReplaced", err)
	}
}

func TestOpenRefusesImpossibleCursors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	write(t, path, []byte("abc\n"))
	for _, c := range []tail.Cursor{
		{Offset: -1}, {Line: -1}, {HeadLen: 1}, {Offset: 4, HeadLen: 5}, {Offset: 9000, HeadLen: 5000},
		{Offset: 4, TailLen: 5}, {Offset: 2000, TailLen: 1025}, {Offset: 4, HeadLen: -1}, {Offset: 4, TailLen: -1},
	} {
		if r, err := tail.Open(path, c, tail.Options{}); !errors.Is(err, tail.ErrReplaced) {
			t.Errorf("Open(%+v) = %v, %v, want ErrReplaced", c, r, err)
		}
	}
	if _, err := tail.Open(path, tail.Cursor{}, tail.Options{MaxLine: -1}); err == nil {
		t.Error("Open accepted a negative MaxLine")
	}
	if _, err := tail.Open(path+"x", tail.Cursor{}, tail.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of a missing file = %v, want os.ErrNotExist", err)
	}
}

// A file cut while it is open must not be waited on for its old length.
func TestCutWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	write(t, path, []byte("one\ntwo\nthr"))
	r := open(t, path, tail.Cursor{}, tail.Options{})
	drain(t, r)
	before := r.Cursor()
	if err := os.Truncate(path, 4); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, tail.ErrTruncated) {
			t.Errorf("Next() error = %v, want ErrTruncated", err)
		}
	}
	if r.Cursor() != before {
		t.Error("cursor moved on an error")
	}
}

func TestDamagedZstd(t *testing.T) {
	var content bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&content, "line %d %x\n", i, i*i*7919)
	}
	packed := compress(t, content.Bytes())
	garbage := bytes.Clone(packed)
	copy(garbage[len(garbage)/2:], bytes.Repeat([]byte{0xA5}, 1000))
	tests := []struct {
		name string
		file []byte
	}{
		{"no bytes at all", nil},
		{"cut in the magic", packed[:3]},
		{"cut in the middle", packed[:len(packed)/2]},
		{"last byte missing", packed[:len(packed)-1]},
		{"bytes overwritten", garbage},
		{"not zstd", content.Bytes()},
		{"window of 256 MiB", []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x90, 0x01, 0x00, 0x00}},
		{"second frame is garbage", append(bytes.Clone(packed), "garbage after the frame"...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.jsonl.zst")
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			r := open(t, path, tail.Cursor{}, tail.Options{})
			var off int64
			var err error
			for {
				var line tail.Line
				if line, err = r.Next(); err != nil {
					break
				}
				off += line.Size
			}
			if !errors.Is(err, tail.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("Next() error = %v, want ErrCorrupt that names the file", err)
			}
			c := r.Cursor()
			if c.Offset != off {
				t.Errorf("cursor at %d, want %d, the lines returned", c.Offset, off)
			}
			// The cursor is good: the same file, mended, continues there.
			write(t, path, content.Bytes())
			whole := open(t, path, c, tail.Options{})
			rest := drain(t, whole)
			if end := whole.Cursor(); end.Offset != int64(content.Len()) || end.Line != 20_000 {
				t.Errorf("mended file ends at %d, line %d after %d lines", end.Offset, end.Line, len(rest))
			}
			// And one that breaks before the cursor moves nothing.
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			if test.name == "second frame is garbage" {
				return // all the content is there
			}
			if _, err := tail.Open(path, whole.Cursor(), tail.Options{}); !errors.Is(err, tail.ErrCorrupt) {
				t.Errorf("Open() error = %v, want ErrCorrupt", err)
			}
		})
	}
}

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{"folder": filepath.Join(dir, "folder.jsonl")}
	if err := os.Mkdir(paths["folder"], 0o700); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "target.jsonl")
	write(t, target, []byte("a\n"))
	link := filepath.Join(dir, "link.jsonl")
	if err := os.Symlink(target, link); err == nil {
		paths["link"] = link
	}
	for name, path := range paths {
		if _, err := tail.Open(path, tail.Cursor{}, tail.Options{}); !errors.Is(err, tail.ErrNotRegular) {
			t.Errorf("Open of a %s = %v, want ErrNotRegular", name, err)
		}
		if _, err := tail.StatFile(path); !errors.Is(err, tail.ErrNotRegular) {
			t.Errorf("StatFile of a %s = %v, want ErrNotRegular", name, err)
		}
	}
	if _, err := tail.StatFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("StatFile of nothing = %v, want os.ErrNotExist", err)
	}
}

func TestStat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	write(t, path, []byte("abc\n"))
	byPath, err := tail.StatFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path, tail.Cursor{}, tail.Options{})
	byHandle, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if byPath != byHandle || byPath.Size != 4 || byPath.ModTime.IsZero() {
		t.Errorf("StatFile = %+v, Reader.Stat = %+v, want the same with size 4", byPath, byHandle)
	}
}

func TestClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	write(t, path, []byte("abc\ndef\n"))
	r, err := tail.Open(path, tail.Cursor{}, tail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next() after Close = %v, want os.ErrClosed", err)
	}
	if c := r.Cursor(); c.Offset != 4 {
		t.Errorf("cursor after Close at %d, want 4", c.Offset)
	}
	if _, err := r.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Stat() after Close = %v, want os.ErrClosed", err)
	}
}

func TestWantNames(t *testing.T) {
	for want, name := range map[tail.Want]string{tail.WantAll: "all", tail.WantHead: "head", tail.WantNone: "none", 9: "want(9)"} {
		if got, err := want.MarshalText(); err != nil || string(got) != name || want.String() != name {
			t.Errorf("Want(%d) is %q, %v, want %q", uint8(want), got, err, name)
		}
	}
}

// Who reads is asked before a long line takes memory, and can say no.
func TestReserve(t *testing.T) {
	full := errors.New("no room")
	for _, form := range forms {
		for _, refuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/refuse=%v", form.name, refuse), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "r"+form.ext)
				write(t, path, []byte("short\n"+strings.Repeat("x", 100_000)+"\nshort\n"))
				var most int64
				r := open(t, path, tail.Cursor{}, tail.Options{HeadBytes: 16, BufferBytes: 1, Reserve: func(n int64) error {
					if most = max(most, n); refuse {
						return full
					}
					return nil
				}})
				var err error
				lines := 0
				for ; err == nil; lines++ {
					_, err = r.Next()
				}
				if refuse && (!errors.Is(err, full) || lines != 2) || !refuse && (!errors.Is(err, io.EOF) || lines != 4 || most < 100_000) {
					t.Errorf("%d lines, %v, asked for %d", lines-1, err, most)
				}
			})
		}
	}
}
