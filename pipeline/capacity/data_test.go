package capacity

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Names in use are resolved and compared with another catalogue. The figures
// are floors: a change of the rules must not make answers rarer or worse.
func TestResolutionOfRealNames(t *testing.T) {
	text, err := os.ReadFile("testdata/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var all, resolved, agree, over int
	for line := range strings.Lines(string(text)) {
		asked, figure, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		theirs, err := strconv.Atoi(figure)
		if err != nil {
			t.Fatal(err)
		}
		all++
		m, err := Default().Lookup(asked)
		if err != nil {
			continue
		}
		resolved++
		switch near := func(ours int) bool { return ours*100 > theirs*88 && ours*100 < theirs*112 }; {
		case near(m.Window), near(m.takes()), near(m.Window - m.MaxOutput):
			agree++
		case m.takes() > theirs:
			over++
		}
	}
	t.Logf("of %d names %d resolved, %d agree, %d are over", all, resolved, agree, over)
	if resolved*100 < all*65 {
		t.Errorf("only %d of %d names resolved", resolved, all)
	}
	if agree*100 < resolved*75 {
		t.Errorf("only %d of %d resolved names agree", agree, resolved)
	}
	if over*100 > resolved*12 {
		t.Errorf("%d of %d resolved names have too large a window", over, resolved)
	}
}

func TestTableIsSound(t *testing.T) {
	c := Default().core
	if len(c.rows) < 350 {
		t.Fatalf("%d rows", len(c.rows))
	}
	for _, m := range c.rows {
		if m.Window < minWindow || m.Window > maxWindow || m.Input < 0 || m.Input >= m.Window || m.MaxOutput < 0 || m.MaxOutput >= m.Window {
			t.Errorf("%s %s at %s: figures %d %d %d", m.Surface, m.ID, m.Host, m.Window, m.Input, m.MaxOutput)
		}
		if _, err := time.Parse(time.DateOnly, m.Date); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if m.Vendor == "" && m.Surface != SurfaceCopilot || m.Basis == "" || m.Encoding == 0 || m.FactorLow <= 0 || m.Factor < m.FactorLow || m.FactorHigh < m.Factor || m.CountExact && m.FactorHigh != 1 {
			t.Errorf("row is incomplete: %+v", m)
		}
	}
	h := Default().hosts()
	if len(h.rows) < 7_000 || len(h.of) < 100 {
		t.Errorf("%d rows of %d hosts", len(h.rows), len(h.of))
	}
	for _, r := range h.rows {
		if f := r.figures(); f[0] < minWindow || f[0] > maxWindow || f[1] >= f[0] || f[2] >= f[0] {
			t.Errorf("%s at %s: figures %d", r.id, r.host, f)
		}
	}
}

// The small table must answer without the large one being decoded.
func TestKnownNamesDoNotReadTheHosts(t *testing.T) {
	table := &Table{core: Default().core, hosts: func() *hosts {
		t.Error("the large table was read")
		return &hosts{}
	}}
	for _, id := range append(DefaultTargets(), "claude-opus-4.6", "anthropic/claude-opus-4.6", "gpt-5-2025-08-07", "codex/gpt-5.4", "models/gemini-2.5-pro", "gpt-4") {
		if _, err := table.Lookup(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	// A thread may have no model yet, and mostly none is asked for.
	if _, err := table.Lookup(""); !errors.Is(err, ErrUnknown) {
		t.Errorf("no name: %v", err)
	}
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the generator")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), goTool, "run", "gen/main.go", "-out", dir).CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}
	for file, ours := range map[string][]byte{"table.json": tableJSON, "hosts.z": hostsDeflated} {
		made, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".z") {
			// Compressed bytes may differ between versions of Go.
			made, ours = inflate(t, made), inflate(t, ours)
		}
		if !bytes.Equal(made, ours) {
			t.Errorf("%s is not what the sources give: run go generate", file)
		}
	}
	if n := len(hostsDeflated) + len(tableJSON); n > 200_000 {
		t.Errorf("embedded tables have %d bytes", n)
	}
}

func inflate(t *testing.T, z []byte) []byte {
	t.Helper()
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(z)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNameParts(t *testing.T) {
	tests := []struct{ asked, surface, host, canon string }{
		{"gpt-5.5", "", "", "gpt-5-5"},
		{"Codex/GPT-5.5", "codex", "", "gpt-5-5"},
		{"github_copilot/gpt-4.1", "copilot", "", "gpt-4-1"},
		{"openrouter/anthropic/claude-opus-4.6:extended", "", "openrouter", "claude-opus-4-6"},
		{"eu.anthropic.claude-opus-4-6-v1", "", "amazon-bedrock", "claude-opus-4-6"},
		{"us-gov.anthropic.claude-3-haiku-20240307-v1:0", "", "amazon-bedrock", "claude-3-haiku-20240307"},
		{"azure/us/gpt-5.1", "", "azure", "gpt-5-1"},
		{"accounts/fireworks/models/deepseek-v3p1", "", "fireworks-ai", "deepseek-v3-1"},
		{"projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "", "google-vertex", "gemini-2-5-pro"},
		{"claude-sonnet-4-5@20250929", "", "", "claude-sonnet-4-5-20250929"},
		{"claude-sonnet-4-5@default", "", "", "claude-sonnet-4-5"},
		{"zai-org/GLM-4.6-FP8", "", "zai", "glm-4-6"},
		{"gpt_oss-120b-gguf", "", "", "gpt-oss-120b"},
	}
	for _, tt := range tests {
		t.Run(tt.asked, func(t *testing.T) {
			n := Default().core.name(tt.asked)
			if n.surface != tt.surface || n.host != tt.host || n.canon != tt.canon {
				t.Errorf("got %q %q %q, want %q %q %q", n.surface, n.host, n.canon, tt.surface, tt.host, tt.canon)
			}
		})
	}
}

// Parts of ids are taken off by hand; patterns would say it like this.
func TestPartsAreTakenOffAsPatternsWould(t *testing.T) {
	region := regexp.MustCompile(`^(us|eu|apac|jp|au|ca|sa|in|global|us-gov)\.([a-z0-9]+\.)`)
	revision := regexp.MustCompile(`-v\d+:\d+$`)
	parts := []string{"us", "us-gov", "in", ".", "..", "anthropic.", "x1", "X", "-", "-v", "1", "20", ":", ":0", "v", "é", "\n"}
	rnd := rand.New(rand.NewPCG(1, 2))
	check := func(id string) {
		if got, want := withoutRegion(id), region.ReplaceAllString(id, "$2"); got != want {
			t.Errorf("%q: region off: %q, want %q", id, got, want)
		}
		if got, want := withoutRevision(id), revision.ReplaceAllString(id, ""); got != want {
			t.Errorf("%q: revision off: %q, want %q", id, got, want)
		}
	}
	for _, r := range Default().hosts().rows {
		check(r.id)
	}
	for range 20_000 {
		id := ""
		for range rnd.IntN(8) {
			id += parts[rnd.IntN(len(parts))]
		}
		check(id)
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Default().Lookup("anthropic/claude-opus-4.6"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	b.Run("models", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parseCore(tableJSON)
		}
	})
	b.Run("hosts", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parseHosts(hostsDeflated)
		}
	})
}
