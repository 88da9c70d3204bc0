package reliability

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Read gives the records in a folder, one for each test and text: the last.
func Read(dir string) ([]Record, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	written := map[string]time.Time{}
	for _, name := range names {
		st, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("list records: %w", err)
		}
		written[name] = st.ModTime()
	}
	slices.SortFunc(names, func(a, b string) int { return written[a].Compare(written[b]) })
	type key struct {
		fault, goal int
		test, text  string
	}
	last := map[key]Record{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read records: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for n := 1; lines.Scan(); n++ {
			var r Record
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return nil, fmt.Errorf("read record %s:%d: %w", name, n, err)
			}
			k := key{r.Fault, r.Goal, r.Package + "." + r.Test, r.Text}
			if r.Goal > 0 {
				k.text = "" // figures differ from run to run
			}
			last[k] = r
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read records %s: %w", name, err)
		}
	}
	var out []Record
	for _, r := range last {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Goal, b.Goal), cmp.Compare(a.Package, b.Package), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Text, b.Text))
	})
	return out, nil
}

const intro = `# What can go wrong, and what happens then

Made by ` + "`make reliability`" + ` from what the tests recorded: do not edit. Every row is a test that can fail; "not here" says what a Linux machine can't show.

`

// Page is the documentation of records, which Read gave. missing are the faults
// and goals without a record that one is expected of.
func Page(records []Record) (page []byte, missing []string) {
	var b bytes.Buffer
	b.WriteString(intro)
	b.WriteString("## Faults\n\n| # | fault | must happen | how it is injected | test | result |\n|---|---|---|---|---|---|\n")
	for _, f := range Faults() {
		mine := filter(records, func(r Record) bool { return r.Fault == f.N })
		row(&b, f, f.Expected, mine)
		if len(mine) == 0 && !f.Later {
			missing = append(missing, fmt.Sprintf("fault %d: %s", f.N, f.What))
		}
	}
	b.WriteString("\n## Goals\n\nTimes are of a shared machine with two cores, under load.\n\n| # | goal | measured | test | result |\n|---|---|---|---|---|\n")
	for _, g := range Goals() {
		mine := filter(records, func(r Record) bool { return r.Goal == g.N })
		row(&b, g, "", mine)
		if len(mine) == 0 && !g.Later {
			missing = append(missing, fmt.Sprintf("goal %d: %s", g.N, g.What))
		}
	}
	return b.Bytes(), missing
}

func filter(records []Record, want func(Record) bool) (out []Record) {
	for _, r := range records {
		if want(r) {
			out = append(out, r)
		}
	}
	return out
}

// row writes one line of a table.
func row(b *bytes.Buffer, f Row, expected string, mine []Record) {
	var how, tests, results []string
	for _, r := range mine {
		how = append(how, cell(r.Text))
		tests = append(tests, "`"+r.Package+"` "+r.Test)
		results = append(results, r.Result)
	}
	if f.Elsewhere != "" {
		results = append(results, "not here: "+cell(f.Elsewhere))
	}
	if len(results) == 0 {
		results = []string{"**no test**"}
	}
	const br = "<br>"
	fmt.Fprintf(b, "| %d | %s |", f.N, cell(f.What))
	if expected != "" {
		fmt.Fprintf(b, " %s |", cell(expected))
	}
	fmt.Fprintf(b, " %s | %s | %s |\n", strings.Join(how, br), strings.Join(tests, br), strings.Join(results, br))
}

func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
