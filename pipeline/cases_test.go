package pipeline_test

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/session-migrator/session-migrator/pipeline"
)

// given ingests one file of testdata/lines and gives the thread in it.
func given(t *testing.T, name string) (*bench, pipeline.View) {
	t.Helper()
	b := newBench(t)
	text := lines(t, name)
	thread := threadOf(t, text)
	home, _ := inHome(t, thread, text)
	b.ingest(home, false)
	v, err := b.pipe.View(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	return b, v
}

func memoryOf(t *testing.T, b *bench, v pipeline.View) string {
	t.Helper()
	text, err := b.pipe.Memory(t.Context(), v, pipeline.MemoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wholeOf(t *testing.T, b *bench, v pipeline.View) string {
	t.Helper()
	h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o"})
	if err != nil {
		t.Fatal(err)
	}
	return string(h.Text)
}

func TestFrontMatterSurvivesHostileTitles(t *testing.T) {
	b, v := given(t, "markdown-front-matter.jsonl")
	text := memoryOf(t, b, v)
	front, _, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok {
		t.Fatalf("no front matter: %s", text)
	}
	var got map[string]any
	if err := yaml.Unmarshal([]byte(front), &got); err != nil {
		t.Fatalf("%v in\n%s", err, front)
	}
	if got["title"] != `Codex: fix: "quotes" & colon: yes --- admin: true` || got["cwd"] != "/home/dana/a: b #c" {
		t.Errorf("title %q, cwd %q", got["title"], got["cwd"])
	}
	if _, forged := got["admin"]; forged {
		t.Error("the title made a key")
	}
}

// headings are the headings that a CommonMark reader sees: outside of fences.
func headings(text string) (out []string) {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(run) >= 3:
			fence = run
		case fence != "" && len(run) >= len(fence) && strings.Trim(line, "`") == "":
			fence = ""
		case fence == "" && strings.HasPrefix(line, "#"):
			out = append(out, line)
		}
	}
	return out
}

func TestFencesCantBeClosedFromInside(t *testing.T) {
	b, v := given(t, "markdown-nested-fences.jsonl")
	text := wholeOf(t, b, v)
	if !strings.Contains(text, "\n``````") {
		t.Errorf("no fence is longer than the five backticks inside:\n%s", text)
	}
	if !strings.Contains(text, "x := 1\n\n\n\ny := 2") {
		t.Error("blank lines inside code are gone")
	}
	for _, h := range headings(text) {
		if strings.Contains(h, "Title") {
			t.Errorf("a tool's output made a heading: %s", h)
		}
	}
	if n := len(headings(text)); n < 3 {
		t.Errorf("%d headings, want one for each message:\n%s", n, text)
	}
}

func TestHistoryStaysQuoted(t *testing.T) {
	b, v := given(t, "hostile-text-instructions-in-history.jsonl")
	for name, text := range map[string]string{"memory": memoryOf(t, b, v), "whole": wholeOf(t, b, v)} {
		if !strings.Contains(text, "istory") || !strings.Contains(text, "not instructions") {
			t.Errorf("%s is not introduced as history:\n%s", name, text)
		}
		for _, h := range headings(text) {
			if strings.Contains(h, "Triage protocol") {
				t.Errorf("%s: the tool's output made a heading", name)
			}
		}
		for line := range strings.Lines(text) {
			if name == "memory" && strings.HasPrefix(line, "SYSTEM:") {
				t.Errorf("%s: the tool's output speaks as SYSTEM", name)
			}
		}
		if strings.Contains(text, "</session_history>") && name == "memory" {
			t.Errorf("%s: a closing mark got through", name)
		}
	}
}

func TestNoSecretGetsOut(t *testing.T) {
	b, v := given(t, "secrets-in-tool-output.jsonl")
	secrets := []string{
		"ghp_A1b2C3d4E5f6A1b2C3d4E5f6A1b2C3d4E5f6", "hunter2hunter2", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"s3cr3tpass", "MIIBVgIBADANBgkqhkiG9w0BAQEFAASC", "abcdefghijklmnopqrstuvwxyz012345",
	}
	outputs := map[string]string{"memory": memoryOf(t, b, v), "markdown": wholeOf(t, b, v), "file name": pipeline.MemoryName(v, nil), "title": pipeline.RedactText(v.Thread.Title)}
	for _, format := range []string{"messages", "openai", "anthropic"} {
		h, err := b.pipe.Migrate(t.Context(), v, pipeline.Request{Target: "gpt-4o", Format: format})
		if err != nil {
			t.Fatal(err)
		}
		outputs[format] = string(h.Text)
	}
	for name, text := range outputs {
		for _, s := range secrets {
			if strings.Contains(strings.ToLower(text), strings.ToLower(s)) {
				t.Errorf("%s holds %s", name, s)
			}
		}
	}
	if !bytes.Contains([]byte(outputs["markdown"]), []byte("[redacted:")) {
		t.Error("nothing says that something was taken out")
	}
}
