package block_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

var entry = block.Entry{
	ID8: "b7d20e63", Turn: 4, Clock: "09:26", Heading: "Codex: freeze golden invoices (blocked)",
	Bullets: []string{"did: `internal/render/page.go`", "open: 3 steps"},
}

const entryText = "<!-- session-migrator:entry b7d20e63@t4 -->\n## 09:26 Codex: freeze golden invoices (blocked)\n- did: `internal/render/page.go`\n- open: 3 steps\n"

func TestAppend(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want string // what is appended
	}{
		"new":                    {"", "# 2026-02-11\n\n" + entryText},
		"mark alone":             {"\ufeff", "# 2026-02-11\n\n" + entryText},
		"text":                   {"# 2026-02-11\n\n- a\n", "\n" + entryText},
		"blank line at the end":  {"# 2026-02-11\n\n", entryText},
		"two of them":            {"a\n\n\n", entryText},
		"one line end":           {"\n", entryText},
		"no final newline":       {"# 2026-02-11\n\n- a", "\n\n" + entryText},
		"no line end":            {"a", "\n\n" + entryText},
		"CRLF":                   {"# D\r\n\r\n- a\r\n", "\r\n" + crlf(entryText)},
		"CRLF, no final newline": {"# D\r\n\r\n- a", "\r\n\r\n" + crlf(entryText)},
		"CRLF, blank line":       {"# D\r\n\r\n", crlf(entryText)},
		"CR":                     {"a\r", "\n" + entryText},
		"another turn":           {strings.Replace(entryText, "t4", "t3", 1), "\n" + entryText},
		"another thread":         {strings.Replace(entryText, "b7", "a7", 1), "\n" + entryText},
		"marker in a fence":      {"```\n" + entry.Marker() + "\n```\n", "\n" + entryText},
		"marker in a line":       {"a " + entry.Marker() + "\n", "\n" + entryText},
		"fence not closed":       {"# D\n\n```sh\nmake\n", "\n" + entryText},
		"comment not closed":     {"<!-- a\n", "\n" + entryText},
	} {
		log := []byte(c.log)
		got := block.Append(log, entry, "2026-02-11")
		if string(got) != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		log = append(log, got...)
		if n := block.Entries(log)[entry.ID8]; n != entry.Turn {
			t.Errorf("%s: entry of turn %d in %q", name, n, log)
		}
		if again := block.Append(log, entry, "2026-02-11"); again != nil {
			t.Errorf("%s: appended again: %q", name, again)
		}
		next := entry
		next.Turn = 9
		log = append(log, block.Append(log, next, "2026-02-11")...)
		if n := block.Entries(log)[entry.ID8]; n != 9 || strings.Count(string(log), "@t9") != 1 {
			t.Errorf("%s: newest turn %d in %q", name, n, log)
		}
	}
	if got := block.Append(nil, entry, ""); string(got) != entryText {
		t.Errorf("without a title: %q", got)
	}
	if got := block.Append(nil, entry, "# 2026-02-11"); string(got) != "# 2026-02-11\n\n"+entryText {
		t.Errorf("heading as title: %q", got)
	}
}

func TestNothingIsAppended(t *testing.T) {
	for name, log := range map[string]string{
		"it is there":           entryText,
		"in a fence not closed": "```\n" + entryText,
		"CRLF":                  crlf("# D\n\n" + entryText),
		"UTF-16":                "\xff\xfe#\x00",
		"NUL":                   "a\x00",
		"Latin-1":               "M\xfcller\n",
	} {
		if got := block.Append([]byte(log), entry, "T"); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, e := range []block.Entry{
		{ID8: "b7d20e6", Turn: 1}, {ID8: "B7D20E63", Turn: 1}, {ID8: "b7d20e63", Turn: -1}, {ID8: "b7d20e63 -->\n", Turn: 1}, {},
	} {
		if got := block.Append(nil, e, "T"); got != nil {
			t.Errorf("%+v: %q", e, got)
		}
	}
}

// What a session says can't end its line, its entry, or what stands behind.
func TestEntryIsMadeSafe(t *testing.T) {
	e := block.Entry{
		ID8: "b7d20e63", Turn: 4, Clock: "09:26", Heading: "a\n" + entry.Marker() + "\n# b\x1b[0m",
		Bullets: []string{"```\nrm -rf", "", "<pre>", "a\r\n" + end, " \n", "~~~", "c\u2028d\xff"},
	}
	want := entry.Marker() + "\n## 09:26 a &lt;!-- session-migrator:entry b7d20e63@t4 --> # b [0m\n" +
		"- \\``` rm -rf\n- &lt;pre>\n- a &lt;!-- session-migrator:end -->\n- \\~~~\n- c d\ufffd\n"
	if got := block.Append(nil, e, ""); string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := block.Append(nil, block.Entry{ID8: "b7d20e63"}, ""); string(got) != "<!-- session-migrator:entry b7d20e63@t0 -->\n##\n" {
		t.Errorf("%q", got)
	}
}

func TestEntries(t *testing.T) {
	log := "\ufeff# D\n\n" + strings.Join([]string{
		"<!-- session-migrator:entry b7d20e63@t4 -->", "## a",
		"<!-- session-migrator:entry b7d20e63@t12 -->", "## b",
		"<!-- session-migrator:entry b7d20e63@t9 -->", "## c",
		"<!-- session-migrator:entry 0000000a@t0 -->",
		"```", "<!-- session-migrator:entry 00000001@t1 -->", "```",
		"- ```", "  <!-- session-migrator:entry 00000002@t1 -->", "  ```",
		"a <!-- session-migrator:entry 00000003@t1 -->",
		" <!-- session-migrator:entry 00000004@t1 -->",
		"<!-- session-migrator:entry 00000005@t1 --> ",
		"<!-- session-migrator:entry 00000006@t01 -->",
		"<!-- session-migrator:entry 00000007@t-1 -->",
		"<!-- session-migrator:entry 00000008@t99999999999999999999 -->",
		"<!-- session-migrator:entry 0000009@t1 -->",
		"<!-- session-migrator:entry 00000009 -->",
		"<!-- session-migrator:begin v=2 -->",
		"~~~", "<!-- session-migrator:entry 0000000b@t7 -->",
	}, "\n")
	want := map[string]int{"b7d20e63": 12, "0000000a": 0, "0000000b": 7}
	for _, l := range []string{log, crlf(log), log + "\n"} {
		if got := block.Entries([]byte(l)); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for _, l := range []string{"", "\xff\xfe", "a\x00\n" + entryText} {
		if got := block.Entries([]byte(l)); got == nil || len(got) != 0 {
			t.Errorf("%q: %v", l, got)
		}
	}
}

// A log may also be a file with a block: neither is in the other's way.
func TestBlockAndEntriesInOneFile(t *testing.T) {
	log := string(block.Append(nil, entry, "D"))
	with := set(t, log, body)
	if n := block.Entries([]byte(with))["b7d20e63"]; n != 4 {
		t.Errorf("turn %d in %q", n, with)
	}
	if got := remove(t, with); got != log {
		t.Errorf("%q", got)
	}
}
