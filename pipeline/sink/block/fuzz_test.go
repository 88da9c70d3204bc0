package block

import (
	"bytes"
	"strings"
	"testing"
)

// fuzzSeeds are files that came up in thought or in practice.
func fuzzSeeds() []string {
	b := "<!-- session-migrator:begin v=1 hash=" + HashOf("- a") + " -->\n- a\n" + endMark
	return []string{
		"", "\n", "\r", "\ufeff", "# T", "# T\n\ntext\n", "# T\rtext", "---\na: 1\n---\n# T\n", "---\n" + b + "\n---\n",
		b, "# T\n\n" + b + "\n", strings.ReplaceAll("# T\n\n"+b+"\n\nx\n", "\n", "\r\n"), b + "\n" + b, endMark, strings.Replace(b, "- a", "- b", 1),
		strings.Replace(b, "- a", "- a\nmine", 1), strings.Replace(b, "v=1", "v=2", 1), " " + b, "```\n" + b + "\n```\n", "~~~\n" + b, "- ```\n" + b,
		"> ```\n" + b, "<!--\n```\n-->\n" + b, "<pre>\n" + b, "\xff\xfe#\x00", "a\x00", "\xff", "# T\n\n- x\n  ```\n  " + endMark + "\n  ```\n",
		"<!-- session-migrator:entry 0123abcd@t3 -->\n## 09:26 a\n", "```\n<!-- session-migrator:entry 0123abcd@t3 -->\n",
	}
}

// FuzzSet: whatever the bytes, a file is left alone to the byte, or has one
// block with the body, is stable, keeps the limits and can be taken back.
func FuzzSet(f *testing.F) {
	for i, s := range fuzzSeeds() {
		f.Add([]byte(s), []string{"- a", "- b\n- c", "```\n<!-- x", "<pre>\n\n---"}[i%4], "T", (i%3)*40)
	}
	f.Fuzz(func(t *testing.T, data []byte, body, title string, limit int) {
		was := bytes.Clone(data)
		r := Set(data, body, title, Limits{})
		v := Look(data)
		if !bytes.Equal(was, data) {
			t.Fatal("the bytes given were written to")
		}
		switch r.Outcome {
		case Written, Unchanged:
			if v.Problem != "" {
				t.Errorf("%v, though %s", r.Outcome, v.Problem)
			}
			now := Look(r.Data)
			if clean(body) == "" {
				if now.Has {
					t.Errorf("%q has a block", r.Data)
				}
				return
			}
			if !now.Has || now.Edited || now.Hash != HashOf(body) || HashOf(now.Body) != now.Hash {
				t.Errorf("%q: %+v", r.Data, now)
			}
			if again := Set(r.Data, body, title, Limits{}); again.Outcome != Unchanged || !bytes.Equal(again.Data, r.Data) {
				t.Errorf("again: %v, %q, was %q", again.Outcome, again.Data, r.Data)
			}
			if gone := Remove(r.Data); !v.Has && (gone.Outcome != Written || !bytes.HasPrefix(gone.Data, data) ||
				len(bytes.TrimPrefix(data, []byte(bom))) > 0 && !bytes.Equal(gone.Data, data)) {
				t.Errorf("removed: %v, %q, was %q", gone.Outcome, gone.Data, data)
			}
		case Malformed:
			if !bytes.Equal(r.Data, data) || r.Why == "" {
				t.Errorf("%s, %q", r.Why, r.Data)
			}
			if v.Problem == "" && !v.Edited {
				t.Errorf("%q: no block can be put in: %s", data, r.Why)
			}
		case NoRoom, Absent:
			t.Errorf("%v", r.Outcome)
		}
		lim := Limits{Units: limit, Bytes: limit, Lines: limit}
		if l := Set(data, body, title, lim); l.Outcome == Written && clean(body) != "" && lim.over(l.Data) != "" {
			t.Errorf("%+v: %q", lim, l.Data)
		}
	})
}

// FuzzAppend: an entry is appended once, and is found whatever stands before it.
func FuzzAppend(f *testing.F) {
	for i, s := range fuzzSeeds() {
		f.Add([]byte(s), []string{"0123abcd", "0000000f", "x"}[i%3], i%5, "09:26", "a\n"+endMark, "```\nb")
	}
	f.Fuzz(func(t *testing.T, data []byte, id string, turn int, clock, heading, bullet string) {
		e := Entry{ID8: id, Turn: turn, Clock: clock, Heading: heading, Bullets: []string{bullet, "open: a"}}
		before := Entries(data)
		text := Append(data, e, "D")
		if text == nil {
			newest, there := before[id]
			good := len(id) == hashLen && isHex(id) && turn >= 0
			if good && Unfit(data) == "" && !(there && newest >= turn) {
				t.Errorf("%q: nothing to append", data)
			}
			return
		}
		log := append(bytes.Clone(data), text...)
		after := Entries(log)
		if after[id] < turn || len(after) < len(before) || Append(log, e, "D") != nil {
			t.Errorf("%q: entries %v", log, after)
		}
		for k, n := range before {
			if after[k] < n {
				t.Errorf("%q: entry %s of turn %d is gone", log, k, n)
			}
		}
		if !bytes.HasSuffix(log, []byte("\n")) || bytes.Count(text, []byte("<!--")) != 1 {
			t.Errorf("appended %q", text)
		}
		// Neither a block nor what stands behind is in its way.
		if v, now := Look(data), Look(log); v != now {
			t.Errorf("%q: %+v, was %+v", log, now, v)
		}
	})
}
