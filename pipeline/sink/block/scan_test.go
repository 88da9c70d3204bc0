package block

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testdata/commonmark.jsonl has random documents and what commonmark.js 0.31.2
// says of them: which lines "M", standing for a marker, are in a code fence,
// and in which line the first "# " heading is that isn't in a list or quote.
// Of 400,000 such documents 22 were read otherwise: text in the first column
// right below a heading or a fence two levels down in a list.
func TestLinesAreReadAsCommonMarkDoes(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "commonmark.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	docs, inCode := 0, 0
	in := bufio.NewScanner(f)
	for in.Scan() {
		var d struct {
			Doc   string
			Code  []int
			Title int
		}
		if err := json.Unmarshal(in.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		docs++
		inCode += len(d.Code)
		for _, eol := range []string{"\n", "\r\n", "\r"} {
			var s scanner
			code, title := []int{}, 0
			for i, l := range strings.Split(strings.TrimSuffix(d.Doc, "\n"), "\n") {
				text := l
				if l == "M" {
					text = endMark
				}
				data := []byte(text + eol)
				end, _ := nextLine(data, 0)
				if in := s.step(data[:end], i+1); in && l == "M" {
					code = append(code, i+1)
				}
				if s.headline && title == 0 {
					title = i + 1
				}
			}
			if !slices.Equal(code, d.Code) || title != d.Title {
				t.Errorf("%q: markers in code %v, want %v; title in line %d, want %d", d.Doc, code, d.Code, title, d.Title)
			}
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	if docs != 500 || inCode < 100 {
		t.Errorf("%d documents, %d markers in code", docs, inCode)
	}
}

// So much of one thing takes as many steps as any other: each line is
// looked at once. Squared, one of these would take minutes.
func TestHostileFiles(t *testing.T) {
	const size = hostileSize
	for _, piece := range []string{
		"\n", "\r", "`", "```\n", "~", "# ", "# a\n", "- ", "- a\n", "> ", "<!--", "<!--\n", "<pre", "<pre>\n", "---\n", " ", "\t", "1",
		endMark, endMark + "\n", beginMark("00000000") + "\n", beginMark("00000000") + "\n" + endMark + "\n",
		"<!-- session-migrator:begin", "<!-- session-migrator:entry 00000000@t1 -->\n", "<!-- session-migrator:entry 00000000@t", "😀", "a\n",
	} {
		hostile := bytes.Repeat([]byte(piece), size/len(piece))
		for _, data := range [][]byte{
			hostile,
			append([]byte("---\n```\n"), hostile...),
			slices.Concat([]byte(beginMark("00000000")+"\n"), hostile, []byte("\n"+endMark+"\n")),
		} {
			for _, r := range []Result{Set(data, "- a", "", Limits{Units: 2 * size, Bytes: 2 * size, Lines: 2 * size}), Remove(data)} {
				switch r.Outcome {
				case Written:
				case Malformed, Absent, NoRoom, Unchanged:
					if !bytes.Equal(r.Data, data) {
						t.Errorf("%.30q: %v, and changed", data, r.Outcome)
					}
				}
			}
			Look(data)
			if e := (Entry{ID8: "0000000f", Turn: 1}); Append(data, e, "") == nil {
				t.Errorf("%.30q: no entry", data)
			}
		}
	}
	Set(nil, strings.Repeat(endMark, size/len(endMark)), "", Limits{})
}
