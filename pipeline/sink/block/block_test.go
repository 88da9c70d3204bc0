package block_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
)

const (
	body  = "## Codex sessions\n- 2026-02-11 **blocked** freeze golden invoices → `codex/a.md`\n- more: `codex/INDEX.md`"
	later = "## Codex sessions\n- 2026-02-12 answered page breaks → `codex/b.md`\n- more: `codex/INDEX.md`"
	end   = "<!-- session-migrator:end -->"
)

func begin(body string) string {
	return "<!-- session-migrator:begin v=1 hash=" + block.HashOf(body) + " -->"
}

// lines is a block as it stands in a file, without the end of its last line.
func lines(body string) string { return begin(body) + "\n" + body + "\n" + end }

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func set(t *testing.T, file, body string) string {
	t.Helper()
	r := block.Set([]byte(file), body, "Notes", block.Limits{})
	if r.Outcome != block.Written && r.Outcome != block.Unchanged {
		t.Fatalf("%q: %v, %s", file, r.Outcome, r.Why)
	}
	return string(r.Data)
}

func remove(t *testing.T, file string) string {
	t.Helper()
	r := block.Remove([]byte(file))
	if r.Outcome != block.Written {
		t.Fatalf("%q: %v, %s", file, r.Outcome, r.Why)
	}
	return string(r.Data)
}

// Rules 2 and 4: the place, byte order marks, line ends, the final newline. And
// rule 8: the block goes without a trace.
func TestPlaceAndWayBack(t *testing.T) {
	b := lines(body)
	for name, c := range map[string]struct{ file, want string }{
		"title, blank line":       {"# T\n\n## Rules\n- a\n", "# T\n\n" + b + "\n\n## Rules\n- a\n"},
		"title, text":             {"# T\ntext\n", "# T\n" + b + "\n\ntext\n"},
		"title alone":             {"# T\n", "# T\n\n" + b + "\n"},
		"title, no final newline": {"# T", "# T\n\n" + b},
		"text":                    {"text\n", b + "\n\ntext\n"},
		"text, no final newline":  {"text", b + "\n\ntext"},
		"blank line first":        {"\ntext", b + "\n\n\ntext"},
		"one blank line":          {"\n", b + "\n\n\n"},
		"mark, title":             {"\ufeff# T\n", "\ufeff# T\n\n" + b + "\n"},
		"mark, text":              {"\ufefftext\n", "\ufeff" + b + "\n\ntext\n"},
		"front matter, title":     {"---\na: 1\n# no title\n---\n\n# T\n\ntext", "---\na: 1\n# no title\n---\n\n# T\n\n" + b + "\n\ntext"},
		"front matter, text":      {"---\na: 1\n---\ntext\n", "---\na: 1\n---\n" + b + "\n\ntext\n"},
		"front matter alone":      {"---\na: 1\n...", "---\na: 1\n...\n\n" + b},
		"mark, front matter":      {"\ufeff---\na: 1\n---\n\ntext\n", "\ufeff---\na: 1\n---\n\n" + b + "\n\ntext\n"},
		"rules, no front matter":  {"---\n\ntext\n---\n", b + "\n\n---\n\ntext\n---\n"},
		"front matter too long":   {"---\n" + strings.Repeat("a\n", 199) + "---\n", b + "\n\n---\n" + strings.Repeat("a\n", 199) + "---\n"},
		"front matter not closed": {"---\na: 1\n\ntext\n", b + "\n\n---\na: 1\n\ntext\n"},
		"CRLF":                    {"# T\r\n\r\ntext\r\n", "# T\r\n\r\n" + crlf(b) + "\r\n\r\ntext\r\n"},
		"CRLF, no final newline":  {"a\r\n# T", "a\r\n# T\r\n\r\n" + crlf(b)},
		"mostly CRLF":             {"# T\r\n\na\r\nb\r\n", "# T\r\n\r\n" + crlf(b) + "\r\n\na\r\nb\r\n"},
		"mostly LF":               {"# T\r\n\na\nb\n", "# T\r\n\n" + b + "\n\na\nb\n"},
		"as many, LF first":       {"# T\n\r\n", "# T\n\n" + b + "\n\r\n"},
		"as many, CRLF first":     {"# T\r\n\n", "# T\r\n\r\n" + crlf(b) + "\r\n\n"},
		"CR":                      {"# T\rtext\r", "# T\r" + b + "\n\ntext\r"},
		"CR, blank line":          {"# T\r\rtext\r", "# T\r" + b + "\n\n\rtext\r"},
		"heading in a fence":      {"```\n# no\n```\n# T\n", "```\n# no\n```\n# T\n\n" + b + "\n"},
		"heading in a comment":    {"<!--\n# no\n-->\n# T\n", "<!--\n# no\n-->\n# T\n\n" + b + "\n"},
		"heading of level two":    {"## S\n\ntext\n# T\n", "## S\n\ntext\n# T\n\n" + b + "\n"},
		"heading far down":        {strings.Repeat("a\n", 20) + "# S\n", b + "\n\n" + strings.Repeat("a\n", 20) + "# S\n"},
		"last line for a title":   {strings.Repeat("a\n", 19) + "# T\n", strings.Repeat("a\n", 19) + "# T\n\n" + b + "\n"},
		"no heading":              {"#T\n#\n", b + "\n\n#T\n#\n"},
		"blanks behind the title": {"# T\n \t\ntext\n", "# T\n\n" + b + "\n \t\ntext\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := set(t, c.file, body)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if again := set(t, got, body); again != got {
				t.Errorf("set again: %q", again)
			}
			if back := set(t, set(t, got, later), body); back != got {
				t.Errorf("renewed and back: %q", back)
			}
			if was := remove(t, got); was != c.file {
				t.Errorf("removed: %q, was %q", was, c.file)
			}
		})
	}
}

func TestNewFile(t *testing.T) {
	for name, c := range map[string]struct {
		data        []byte
		title, want string
	}{
		"new":               {nil, "Notes", "# Notes\n\n" + lines(body) + "\n"},
		"heading as title":  {nil, "# Notes", "# Notes\n\n" + lines(body) + "\n"},
		"without title":     {nil, "", lines(body) + "\n"},
		"empty":             {[]byte{}, "Notes", "# Notes\n\n" + lines(body) + "\n"},
		"mark alone":        {[]byte("\ufeff"), "Notes", "\ufeff# Notes\n\n" + lines(body) + "\n"},
		"title of two rows": {nil, "a\n" + end, "# a " + strings.Replace(end, "<", "&lt;", 1) + "\n\n" + lines(body) + "\n"},
		"not empty":         {[]byte("a\n"), "Notes", lines(body) + "\n\na\n"},
	} {
		r := block.Set(c.data, body, c.title, block.Limits{})
		if r.Outcome != block.Written || string(r.Data) != c.want {
			t.Errorf("%s: %v, %q", name, r.Outcome, r.Data)
		}
	}
	// The title stays: whether the file goes is for those who know who made it.
	if got := remove(t, "\ufeff# Notes\n\n"+lines(body)+"\n"); got != "\ufeff# Notes\n" {
		t.Errorf("%q", got)
	}
	if got := remove(t, lines(body)+"\n"); got != "" {
		t.Errorf("%q", got)
	}
}

// Rule 3: what can't be told apart is left alone, with the reason.
func TestMalformedFilesAreLeftAlone(t *testing.T) {
	b, hash := lines(body), block.HashOf(body)
	for name, c := range map[string]struct{ file, why string }{
		"two blocks":            {b + "\n\n" + lines(later) + "\n", "there are two blocks, in lines 1 and 7"},
		"end missing":           {"# T\n" + begin(body) + "\n" + body + "\n", "the block that line 2 begins has no end"},
		"begin missing":         {body + "\n" + end + "\n", "line 4 ends a block that was not begun"},
		"reversed":              {end + "\n" + begin(body) + "\n", "line 1 ends a block that was not begun"},
		"nested":                {begin(body) + "\n" + b + "\n" + end + "\n", "line 2 begins a block inside the block that line 1 begins"},
		"two ends":              {b + "\n" + end + "\n", "line 6 ends a block that was not begun"},
		"newer version":         {strings.Replace(b, "v=1", "v=2", 1), "the marker in line 1 is not one that this version writes"},
		"more in the marker":    {strings.Replace(b, " -->", " x=1 -->", 1), "the marker in line 1 is not one"},
		"short hash":            {strings.Replace(b, hash, hash[1:], 1), "the marker in line 1 is not one"},
		"hash of other letters": {strings.Replace(b, hash, "ABCDEF01", 1), "the marker in line 1 is not one"},
		"text behind a marker":  {"a\n" + b + " and more\n", "the marker in line 6 is not one"},
		"blank behind a marker": {b + " \n", "the marker in line 5 is not one"},
		"indented":              {"  " + strings.ReplaceAll(b, "\n", "\n  "), "the marker in line 1 is not one"},
		"close comment":         {strings.Replace(b, "<!-- ", "<!--", 1), "the marker in line 1 is not one"},
		"end in a fence":        {begin(body) + "\n```\n" + end + "\n```\n", "the block that line 1 begins has no end"},
		"fence not closed":      {"# T\n```sh\n" + b + "\n", "the code fence in line 2 is not closed; the marker in line 3 is inside"},
		"fence in the block":    {strings.Replace(b, "\n- ", "\n~~~\n- ", 1), "the code fence in line 3 is not closed; the marker in line 6 is inside"},
		"in front matter, half": {"---\n" + end + "\n---\n", "line 2 ends a block that was not begun"},
		"UTF-16":                {"\xff\xfe#\x00", "the file is UTF-16, not UTF-8"},
		"UTF-16, big end first": {"\xfe\xff\x00#", "the file is UTF-16, not UTF-8"},
		"UTF-32":                {"\xff\xfe\x00\x00", "the file is UTF-32, not UTF-8"},
		"NUL":                   {"a\r\nb\x00\n", "there is a NUL byte in line 2"},
		"Latin-1":               {"a\nM\xfcller\n", "line 2 is not valid UTF-8"},
	} {
		v := block.Look([]byte(c.file))
		if v.Has || !strings.HasPrefix(v.Problem, c.why) {
			t.Errorf("%s: %+v", name, v)
		}
		for what, r := range map[string]block.Result{
			"set":    block.Set([]byte(c.file), later, "T", block.Limits{}),
			"empty":  block.Set([]byte(c.file), "", "T", block.Limits{}),
			"remove": block.Remove([]byte(c.file)),
		} {
			if r.Outcome != block.Malformed || string(r.Data) != c.file || r.Why != v.Problem {
				t.Errorf("%s, %s: %v, %s, %q", name, what, r.Outcome, r.Why, r.Data)
			}
		}
	}
}

// Rules 2 and 3: inside a fence or a line there are no markers.
func TestTextThatLooksLikeMarkers(t *testing.T) {
	b := lines(later)
	for name, file := range map[string]string{
		"fence":                      "# T\n\n```\n" + b + "\n```\n",
		"tildes":                     "# T\n\n~~~ html `x`\n" + end + "\n~~~\n",
		"longer fence":               "# T\n\n````\n```\n" + end + "\n```\n````\n",
		"closed by a longer one":     "# T\n\n```\n" + end + "\n`````  \n",
		"the other kind inside":      "# T\n\n~~~\n```\n" + end + "\n~~~\n",
		"info text closes nothing":   "# T\n\n```\n```sh\n" + end + "\n```\n",
		"indented fence":             "# T\n\n   ```\n" + end + "\n  ```\n",
		"closed too far in":          "# T\n\n```\n    ```\n" + end + "\n```\n",
		"fence in a list":            "# T\n\n- a\n  ```\n  " + end + "\n  ```\n",
		"quote":                      "# T\n\n> ```\n> " + end + "\n> ```\n",
		"inline":                     "# T\n\nsee " + end + " there\n",
		"code span":                  "# T\n\n`" + end + "`\n",
		"list":                       "# T\n\n- " + end + "\n",
		"indented code":              "# T\n\n    " + end + "\n\t" + end + "\n",
		"another comment of ours":    "# T\n\n<!-- session-migrator:entry b7d20e63@t4 -->\n",
		"not closed, without marker": "# T\n\n```\ntext\n",
	} {
		got := set(t, file, body)
		if want := "# T\n\n" + lines(body) + strings.TrimPrefix(file, "# T\n"); got != strings.Replace(want, end, end+"\n", 1) {
			t.Errorf("%s: %q", name, got)
		}
		if was := remove(t, got); was != file {
			t.Errorf("%s: removed: %q", name, was)
		}
	}
}

// No fence is open where these seem to open one, so the block is found.
func TestNoFence(t *testing.T) {
	for name, head := range map[string]string{
		"two backticks":           "``\n",
		"backtick in the info":    "``` a`b\n",
		"too far in":              "    ```\n",
		"tab":                     "\t```\n",
		"quote that ends":         "> ```\n> text\n",
		"list that ends":          "- ```\n  text\n",
		"numbered list that ends": "1. a\n   ```\n   text\n",
		"in a comment":            "<!-- note\n```\n-->\n",
		"in pre":                  "<pre>\n```\n</pre>\n",
		"in front matter":         "---\na: |\n```\n---\n",
		"closed":                  "```\n```\n",
		"closed with blanks":      "~~~\n~~~~ \t\n",
	} {
		file := head + lines(body) + "\n"
		if v := block.Look([]byte(file)); !v.Has || v.Edited || v.Body != body || v.Hash != block.HashOf(body) {
			t.Errorf("%s: %+v", name, v)
		}
		if got, want := set(t, file, later), head+lines(later)+"\n"; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Rule 5: what somebody wrote into the block moves below it, once.
func TestEditedBlock(t *testing.T) {
	rows := strings.Split(body, "\n")
	file := func(inner ...string) string {
		return "# T\n\n" + begin(body) + "\n" + strings.Join(inner, "\n") + "\n" + end + "\n\n## Rules\n"
	}
	for name, c := range map[string]struct{ file, moved string }{
		"line added":           {file(rows[0], rows[1], "mine", rows[2]), "mine\n"},
		"on top":               {file("mine", rows[0], rows[1], rows[2]), "mine\n"},
		"in two places":        {file(rows[0], "a", rows[1], rows[2], "b"), "a\nb\n"},
		"with a blank line":    {file(rows[0], rows[1], rows[2], "", "a", "", "b"), "a\n\nb\n"},
		"code added":           {file(rows[0], rows[1], rows[2], "```", "a", "```"), "```\na\n```\n"},
		"a marker in code":     {file(rows[0], rows[1], rows[2], "```", end, "```"), "```\n" + end + "\n```\n"},
		"in a long block":      {file(append([]string{rows[0], rows[1], rows[2]}, strings.Split(strings.Repeat("x,", 20)+"x", ",")...)...), strings.Repeat("x\n", 21)},
		"only blank lines":     {file(rows[0], "", rows[1], rows[2]), ""},
		"line changed":         {file(rows[0], rows[1]+" now", rows[2]), rows[1] + " now\n"},
		"line taken out":       {file(rows[0], rows[2]), ""},
		"changed and added":    {file("mine", rows[1]+" now", rows[2]), "mine\n" + rows[1] + " now\n"},
		"all taken out":        {"# T\n\n" + begin(body) + "\n" + end + "\n\n## Rules\n", ""},
		"the marker's hash":    {"# T\n\n" + begin("x") + "\n" + later + "\n" + end + "\n\n## Rules\n", ""},
		"mine, the marker's":   {"# T\n\n" + begin("x") + "\n" + later + "\nmine\n" + end + "\n\n## Rules\n", "mine\n"},
		"blanks behind a line": {file(rows[0]+"  ", rows[1], rows[2]), "-"},
	} {
		v := block.Look([]byte(c.file))
		if !v.Has || v.Edited != (c.moved != "-") {
			t.Errorf("%s: %+v", name, v)
		}
		got := set(t, c.file, later)
		want := "# T\n\n" + lines(later) + "\n\n## Rules\n"
		if c.moved != "" && c.moved != "-" {
			want = "# T\n\n" + lines(later) + "\n\n" + c.moved + "\n## Rules\n"
		}
		if got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
		if again := set(t, got, later); again != got {
			t.Errorf("%s, again: %q", name, again)
		}
	}
}

func TestEditedBlockAtTheEndOfTheFile(t *testing.T) {
	inner := body + "\nmine\n"
	for file, want := range map[string]string{
		"# T\n\n" + begin(body) + "\n" + inner + end:               "# T\n\n" + lines(later) + "\n\nmine",
		"# T\n\n" + begin(body) + "\n" + inner + end + "\n":        "# T\n\n" + lines(later) + "\n\nmine\n",
		"# T\n\n" + begin(body) + "\n" + inner + end + "\ntext":    "# T\n\n" + lines(later) + "\n\nmine\n\ntext",
		crlf("# T\n\n" + begin(body) + "\n" + inner + end + "\n"):  crlf("# T\n\n" + lines(later) + "\n\nmine\n"),
		"\ufeff" + begin(body) + "\n" + inner + end + "\n\ntext\n": "\ufeff" + lines(later) + "\n\nmine\n\ntext\n",
	} {
		if got := set(t, file, later); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", file, got, want)
		}
	}
}

// Lines in the block that would turn all that follows it into code stay there.
func TestMovedLinesOpenNothing(t *testing.T) {
	file := "# T\n\n" + begin(body) + "\n" + body + "\n- a\n  ```\n  b\n" + end + "\n\nrules\n"
	for _, r := range []block.Result{block.Set([]byte(file), later, "", block.Limits{}), block.Remove([]byte(file))} {
		if r.Outcome != block.Malformed && !strings.Contains(string(r.Data), "- a\n  ```\n  b\n") {
			t.Errorf("%v, %q", r.Outcome, r.Data)
		}
	}
	// Without the list item that held it, the fence would be open.
	file = "# T\n\n" + begin(body) + "\n" + strings.Replace(body, "- more", "  ```\n- more", 1) + "\n" + end + "\n\nrules\n"
	for _, r := range []block.Result{block.Set([]byte(file), later, "", block.Limits{}), block.Remove([]byte(file))} {
		if r.Outcome != block.Malformed || string(r.Data) != file || r.Why == "" {
			t.Errorf("%v, %q", r.Outcome, r.Data)
		}
	}
}

func TestRemoveKeepsWhatIsTheirs(t *testing.T) {
	rows := strings.Split(body, "\n")
	for name, c := range map[string]struct{ inner, want string }{
		"added":   {body + "\nmine\n", "# T\n\nmine\n\ntext\n"},
		"changed": {rows[0] + "\nmine\n", "# T\n\n" + rows[0] + "\nmine\n\ntext\n"},
		"blank":   {body + "\n\n\n", "# T\n\ntext\n"},
	} {
		if got := remove(t, "# T\n\n"+begin(body)+"\n"+c.inner+end+"\n\ntext\n"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := remove(t, "# T\n\n"+begin(body)+"\n"+body+"\nmine\n"+end); got != "# T\n\nmine" {
		t.Errorf("%q", got)
	}
	for _, file := range []string{"", "# T\n", "```\n" + lines(body) + "\n```\n"} {
		if r := block.Remove([]byte(file)); r.Outcome != block.Absent || string(r.Data) != file {
			t.Errorf("%q: %v, %q", file, r.Outcome, r.Data)
		}
	}
}

// A block that its owner moved stays where it is, and its surroundings too.
func TestMovedBlockStaysWhereItIs(t *testing.T) {
	rules := "---\n" + lines(body) + "\n\n- a\n  ```\n  " + end + "\n  ```\n\n---\n"
	if got := remove(t, rules); got != strings.Replace(rules, lines(body)+"\n\n", "", 1) {
		t.Errorf("between rules: %q", got)
	}
	file := "# T\n\na\n\n" + lines(body) + "\n\nb\n"
	got := set(t, file, later)
	if want := "# T\n\na\n\n" + lines(later) + "\n\nb\n"; got != want {
		t.Errorf("%q", got)
	}
	if got := remove(t, got); got != "# T\n\na\n\nb\n" {
		t.Errorf("%q", got)
	}
}

// Rule 7: no file is made larger than its reader takes.
func TestRoom(t *testing.T) {
	file := "# T\n\n😀 ü\n"
	full := set(t, file, body)
	units := len([]rune(full)) + 1 // the emoji has two
	count := strings.Count(full, "\n")
	for _, c := range []struct {
		lim  block.Limits
		want string // what Why has; empty: there is room
	}{
		{block.Limits{}, ""},
		{block.Limits{Units: units, Bytes: len(full), Lines: count}, ""},
		{block.Limits{Units: units - 1}, fmt.Sprintf("%d UTF-16 units, its limit is %d", units, units-1)},
		{block.Limits{Bytes: len(full) - 1}, fmt.Sprintf("%d bytes, its limit is %d", len(full), len(full)-1)},
		{block.Limits{Lines: count - 1}, fmt.Sprintf("%d lines, its limit is %d", count, count-1)},
	} {
		r := block.Set([]byte(file), body, "", c.lim)
		if c.want == "" && (r.Outcome != block.Written || string(r.Data) != full) {
			t.Errorf("%+v: %v, %s", c.lim, r.Outcome, r.Why)
		}
		if c.want != "" && (r.Outcome != block.NoRoom || string(r.Data) != file || !strings.Contains(r.Why, c.want)) {
			t.Errorf("%+v: %v, %s, %q", c.lim, r.Outcome, r.Why, r.Data)
		}
	}
	if r := block.Set(nil, body, "T", block.Limits{Lines: 2}); r.Outcome != block.NoRoom || len(r.Data) != 0 {
		t.Errorf("new file: %v, %q", r.Outcome, r.Data)
	}
	// A block that is there stays as long as the file keeps the limit …
	long := body + "\n- one more session"
	lim := block.Limits{Bytes: len(full) + 3}
	if r := block.Set([]byte(full), long, "", lim); r.Outcome != block.NoRoom || string(r.Data) != full {
		t.Errorf("no room for more: %v, %q", r.Outcome, r.Data)
	}
	// … and goes when others have filled it, even if it is current.
	grown := full + "- a rule\n"
	for _, b := range []string{body, long} {
		r := block.Set([]byte(grown), b, "", lim)
		if r.Outcome != block.NoRoom || string(r.Data) != file+"- a rule\n" {
			t.Errorf("grown: %v, %q", r.Outcome, r.Data)
		}
		if again := block.Set(r.Data, b, "", lim); again.Outcome != block.NoRoom || string(again.Data) != string(r.Data) {
			t.Errorf("grown, again: %v, %q", again.Outcome, again.Data)
		}
	}
	if r := block.Set([]byte(grown), "- one", "", lim); r.Outcome != block.Written || len(r.Data) > lim.Bytes {
		t.Errorf("a shorter block: %v, %q", r.Outcome, r.Data)
	}
}

// Rule 1: equal sessions give equal bytes, and whatever a session's text is, it
// ends neither the block nor what follows it.
func TestBodyIsMadeSafe(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc\n\n":             "a\nb\nc",
		"\n a  \n\t\nb\t\n":         " a\n\nb",
		end:                         "&lt;!-- session-migrator:end -->",
		"a <!-- b":                  "a &lt;!-- b",
		"```sh\nx\n```":             "\\```sh\nx\n\\```",
		"  ~~~":                     "  \\~~~",
		"a ``` b":                   "a ``` b",
		"<pre>\n<STYLE>\n<b>":       "&lt;pre>\n&lt;STYLE>\n<b>",
		"<?php\n<!DOCTYPE x":        "&lt;?php\n&lt;!DOCTYPE x",
		"a\x00b\x1b[31mc\x7f\u0085": "a b [31mc",
		"a\u2028b\u2029c":           "a b c",
		"M\xfcller":                 "M\ufffdller",
	} {
		file := "# T\n\nrules\n"
		got := set(t, file, in)
		v := block.Look([]byte(got))
		if v.Body != want || v.Edited || v.Hash != block.HashOf(in) || v.Hash != block.HashOf(want) {
			t.Errorf("%q: %+v", in, v)
		}
		if was := remove(t, got); was != file {
			t.Errorf("%q: removed: %q", in, was)
		}
	}
}

func TestEmptyBodyTakesTheBlockOut(t *testing.T) {
	for _, b := range []string{"", "\n \n"} {
		if r := block.Set([]byte("# T\n\n"+lines(body)+"\n"), b, "", block.Limits{}); r.Outcome != block.Written || string(r.Data) != "# T\n" {
			t.Errorf("%v, %q", r.Outcome, r.Data)
		}
		if r := block.Set([]byte("# T\n"), b, "", block.Limits{}); r.Outcome != block.Unchanged || string(r.Data) != "# T\n" {
			t.Errorf("%v, %q", r.Outcome, r.Data)
		}
	}
}

// A file that was converted has not been edited, and is not written for that.
func TestConvertedFileIsUnchanged(t *testing.T) {
	file := crlf(set(t, "# T\n\ntext\n", body))
	if v := block.Look([]byte(file)); !v.Has || v.Edited || v.Body != body {
		t.Errorf("%+v", v)
	}
	if r := block.Set([]byte(file), body, "", block.Limits{}); r.Outcome != block.Unchanged || string(r.Data) != file {
		t.Errorf("%v, %q", r.Outcome, r.Data)
	}
	if got := set(t, file, later); got != crlf(set(t, "# T\n\ntext\n", later)) {
		t.Errorf("%q", got)
	}
}

// Rule 6 is for the caller: a block that is gone is plainly not there.
func TestGoneBlockIsNotThere(t *testing.T) {
	for _, file := range []string{"", "# T\n", body + "\n"} {
		if v := block.Look([]byte(file)); v != (block.View{}) {
			t.Errorf("%q: %+v", file, v)
		}
	}
}

func TestOutcomeNames(t *testing.T) {
	seen := map[string]bool{}
	for o := block.Unchanged; o <= block.Absent; o++ {
		if s := o.String(); s == "" || strings.HasPrefix(s, "outcome") || seen[s] {
			t.Errorf("outcome %d is %q", o, s)
		}
		seen[o.String()] = true
	}
	if s := block.Outcome(99).String(); s != "outcome 99" {
		t.Error(s)
	}
}
