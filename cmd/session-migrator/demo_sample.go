package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// sample is a small Codex home: four invented sessions of four formats.
//
//go:embed all:sample
var sample embed.FS

// The session of the sample that a live answer is appended to.
const (
	liveThread  = "01a27c3e-9b40-7f11-a6d8-5e20c47b91d3"
	liveRollout = "sessions/2026/11/20/rollout-2026-11-20T09-05-44-" + liveThread + ".jsonl"
	liveTurn    = "01a27c3e-9b40-7f11-a6d8-000000abc007"
	liveText    = "Left before a deploy: 1. the office must agree to /var/tmp as the place of the copy (it holds 96 MB); 2. report.py still opens harbor.db itself: the call of snapshot() is to be put into __main__.py; 3. run tools/compare.py once on the server's copy. All tests pass, nothing was deployed."
)

// copySample lays the sample out as a Codex home.
func copySample(to string) error {
	root, err := fs.Sub(sample, "sample")
	if err != nil {
		return fmt.Errorf("open the sample: %w", err)
	}
	return fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the sample: %w", err)
		}
		dest := filepath.Join(to, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o700)
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return fmt.Errorf("read the sample: %w", err)
		}
		return os.WriteFile(dest, text, 0o600)
	})
}

// liveLines are what Codex would write next: the answer, and the end of the
// turn.
func liveLines(now time.Time) (answer, end []byte, err error) {
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Type    string    `json:"type"`
		Role    string    `json:"role"`
		Content []content `json:"content"`
	}
	type complete struct {
		Type string `json:"type"`
		Turn string `json:"turn_id"`
		Last string `json:"last_agent_message"`
	}
	answer, err = rolloutLine(now, "response_item", message{"message", "assistant", []content{{"output_text", liveText}}})
	if err != nil {
		return nil, nil, err
	}
	end, err = rolloutLine(now, "event_msg", complete{"task_complete", liveTurn, liveText})
	return answer, end, err
}

func rolloutLine(now time.Time, kind string, payload any) ([]byte, error) {
	line, err := json.Marshal(struct {
		Timestamp string `json:"timestamp"`
		Type      string `json:"type"`
		Payload   any    `json:"payload"`
	}{now.UTC().Format("2006-01-02T15:04:05.000Z"), kind, payload})
	if err != nil {
		return nil, fmt.Errorf("write a rollout line: %w", err)
	}
	return append(line, '\n'), nil
}

// appendTo adds bytes to a file the way Codex does: one write a line.
func appendTo(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("append to the sample: %w", err)
	}
	if _, err := f.Write(line); err != nil {
		_ = f.Close() // the write's error is what counts
		return fmt.Errorf("append to the sample: %w", err)
	}
	return f.Close()
}
