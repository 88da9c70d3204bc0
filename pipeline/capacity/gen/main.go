//go:build ignore

// Command gen makes the embedded capacity table from the sources under data:
//
//	[1] data/models.jsonl   figures checked by hand, one surface and model a line
//	[2] data/modelsdev.tsv  extract of models.dev, one host and model a line
//	[3] table.json          [1] and what vendors say of their own models in [2]
//	[4] hosts.z             all of [2], deflated; read only for names not in [3]
//
// Run it with "go generate" in pipeline/capacity after changing a source.
package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row has the short keys of table.json; the package that reads it has the same.
type row struct {
	Surface    string `json:"s,omitempty"` // api if absent
	Host       string `json:"h"`
	ID         string `json:"i"`
	Vendor     string `json:"v,omitempty"`
	Window     int    `json:"w"`
	Input      int    `json:"n,omitempty"`
	MaxOutput  int    `json:"o,omitempty"`
	Percent    int    `json:"p,omitempty"`
	Confidence string `json:"c,omitempty"` // medium if absent
	Basis      string `json:"b,omitempty"` // the table's if absent
	Date       string `json:"d,omitempty"` // the table's if absent
	Note       string `json:"t,omitempty"`
}

type table struct {
	Basis string   `json:"basis"`
	Date  string   `json:"date"`
	Hosts []string `json:"hosts"`
	Rows  []row    `json:"rows"`
}

// checked is a line of models.jsonl.
type checked struct {
	Surface, Host, ID, Vendor, Confidence, Basis, Date, Note string
	Window, Input                                            int
	MaxOutput                                                int `json:"max_output"`
	EffectivePercent                                         int `json:"effective_percent"`
}

// firstParty lists, in order of preference, which rows of which host are the
// vendor's own word. Hosts that also resell others name a pattern.
var firstParty = []struct{ host, vendor, pattern string }{
	{"openai", "openai", ``},
	{"anthropic", "anthropic", ``},
	{"google", "google", `^gem(ini|ma)`},
	{"deepseek", "deepseek", ``},
	{"alibaba", "alibaba", `^q(wen|wq|vq)`},
	{"alibaba-cn", "alibaba", `^q(wen|wq|vq)`},
	{"moonshotai", "moonshot", ``},
	{"zai", "zhipu", `^glm`},
	{"zhipuai", "zhipu", `^glm`},
	{"minimax", "minimax", ``},
	{"xai", "xai", ``},
	{"mistral", "mistral", `stral`},
	{"llama", "meta", `^llama`},
	{"meta", "meta", ``},
	{"volcengine", "bytedance", `^doubao`},
	{"tencent-tokenhub", "tencent", ``},
	{"xiaomi", "xiaomi", ``},
	{"stepfun", "stepfun", `^step-`},
	{"cohere", "cohere", ``},
	{"amazon-bedrock", "amazon", `^amazon\.nova`},
	{"perplexity", "perplexity", ``},
	{"ai21", "ai21", ``},
	{"inception", "inception", ``},
	{"upstage", "upstage", ``},
	{"longcat", "longcat", ``},
}

// notChat names what takes no conversation.
var notChat = regexp.MustCompile(`embed|rerank|whisper|transcri|-tts|tts-|-asr|image|video|veo-|lyria|imagen|moderation|-ocr`)

const (
	minWindow, maxWindow = 1_024, 10_000_000
	sourceDate           = "2026-09-28"
	copilotHost          = "github-copilot"
)

func main() {
	data := flag.String("data", "data", "folder of the sources")
	out := flag.String("out", ".", "folder to write to")
	flag.Parse()
	if err := generate(*data, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func generate(data, out string) error {
	rows, err := readChecked(filepath.Join(data, "models.jsonl"))
	if err != nil {
		return err
	}
	all, err := readHosts(filepath.Join(data, "modelsdev.tsv"))
	if err != nil {
		return err
	}
	t := table{Basis: "models.dev", Date: sourceDate, Rows: append(rows, ownWords(all, rows)...)}
	for _, r := range all {
		if len(t.Hosts) == 0 || t.Hosts[len(t.Hosts)-1] != r.Host {
			t.Hosts = append(t.Hosts, r.Host)
		}
	}
	if err := writeTable(filepath.Join(out, "table.json"), t); err != nil {
		return err
	}
	return writeHosts(filepath.Join(out, "hosts.z"), all)
}

// [1]
func readChecked(path string) ([]row, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read checked models: %w", err)
	}
	var rows []row
	for n, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		var c checked
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("read %s line %d: %w", path, n+1, err)
		}
		if c.Window < minWindow || c.Window > maxWindow || c.Surface == "" || c.Date == "" || c.Confidence == "" || c.Basis == "" {
			return nil, fmt.Errorf("read %s line %d: %q is incomplete", path, n+1, c.ID)
		}
		r := row{c.Surface, c.Host, c.ID, c.Vendor, c.Window, c.Input, c.MaxOutput, c.EffectivePercent, c.Confidence, c.Basis, c.Date, c.Note}
		if r.Surface == "api" {
			r.Surface = ""
		}
		if r.Confidence == "medium" {
			r.Confidence = ""
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// [2] Rows of models that take no conversation or have no window are left out.
func readHosts(path string) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read host rows: %w", err)
	}
	defer f.Close()
	var rows []row
	for in := bufio.NewScanner(f); ; {
		if !in.Scan() {
			return rows, in.Err()
		}
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		c := append(strings.Split(in.Text(), "\t"), "", "", "")
		var figures [3]int
		for i := range figures {
			if c[2+i] == "" {
				continue
			}
			if figures[i], err = strconv.Atoi(c[2+i]); err != nil {
				return nil, fmt.Errorf("read %s: %q: %w", path, in.Text(), err)
			}
		}
		r := row{Host: c[0], ID: c[1], Window: figures[0], Input: figures[1], MaxOutput: figures[2]}
		if r.Window < minWindow || r.Window > maxWindow || notChat.MatchString(strings.ToLower(r.ID)) {
			continue
		}
		if r.Input < minWindow || r.Input >= r.Window {
			r.Input = 0
		}
		// An output as large as the window is a placeholder.
		if r.MaxOutput < 256 || r.MaxOutput*10 >= r.Window*9 {
			r.MaxOutput = 0
		}
		rows = append(rows, r)
	}
}

var dated = regexp.MustCompile(`-(latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{6}|\d{4})$`)

func dashed(id string) string { return strings.ReplaceAll(strings.ToLower(id), ".", "-") }

// [3] ownWords returns the first-party rows that no checked row speaks for: a
// checked model speaks for its snapshots, a checked snapshot only for itself.
func ownWords(all, checked []row) []row {
	seen, taken := map[string]bool{}, map[string]bool{}
	for _, r := range checked {
		seen[r.Surface+" "+dashed(r.ID)] = true
	}
	var rows []row
	take := func(r row) {
		id := dashed(r.ID)
		if seen[r.Surface+" "+id] || taken[r.Surface+" "+id] {
			return
		}
		if bare := dated.ReplaceAllString(id, ""); bare != id && seen[r.Surface+" "+bare] {
			return
		}
		taken[r.Surface+" "+id] = true
		rows = append(rows, r)
	}
	for _, p := range firstParty {
		pattern := regexp.MustCompile(p.pattern)
		for _, r := range all {
			if r.Host == p.host && pattern.MatchString(strings.ToLower(r.ID)) {
				r.Vendor = p.vendor
				take(r)
			}
		}
	}
	for _, r := range all {
		if r.Host == copilotHost {
			r.Surface, r.Confidence, r.Note = "copilot", "low", "depends on the plan"
			take(r)
		}
	}
	return rows
}

func writeTable(path string, t table) error {
	var b bytes.Buffer
	head, err := json.Marshal(t.Hosts)
	if err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	fmt.Fprintf(&b, "{\"basis\":%q,\"date\":%q,\n\"hosts\":%s,\n\"rows\":[\n", t.Basis, t.Date, head)
	for i, r := range t.Rows {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write table: %w", err)
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// [4] One line a row, "id\twindow\tinput\toutput" without trailing zeros,
// under a line "#host" a host. Figures repeat so much that deflate alone does.
func writeHosts(path string, all []row) error {
	var text bytes.Buffer
	host := ""
	for _, r := range all {
		if r.Host != host {
			host = r.Host
			fmt.Fprintf(&text, "#%s\n", host)
		}
		figures := []int{r.Window, r.Input, r.MaxOutput}
		for len(figures) > 1 && figures[len(figures)-1] == 0 {
			figures = slices.Delete(figures, len(figures)-1, len(figures))
		}
		text.WriteString(r.ID)
		for _, f := range figures {
			text.WriteByte('\t')
			if f != 0 {
				text.WriteString(strconv.Itoa(f))
			}
		}
		text.WriteByte('\n')
	}
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.BestCompression)
	if err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	return os.WriteFile(path, z.Bytes(), 0o644)
}
