//go:build linux && faults

package pipeline_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store"
)

// hugeEnv holds the home that the process measured ingests, and the folder of
// its cache.
const hugeEnv = "SESSION_MIGRATOR_TEST_HUGE"

// writeHuge makes a rollout of 1 GiB: turns of an ordinary kind, and in the
// middle an output of 50 MiB and an answer of 100 MiB.
func writeHuge(t *testing.T, path string) (messages int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	n := 0
	var line []byte
	put := func(format string, args ...any) {
		line = append(fmt.Appendf(line[:0], format, args...), '\n')
		n += len(line)
		_, _ = w.Write(line) // Flush gives the error
	}
	output := strings.Repeat(`ok  \tgithub.com/example/project/pkg\t0.014s\n`, 150)
	event := strings.Repeat("stdout of the same command once more, ", 600)
	huge := func(kind string, size int) {
		put(`{"timestamp":"2026-09-01T09:00:03.000Z","type":"response_item","payload":{%s"%s"}}`, kind, strings.Repeat(output, size/len(output)))
	}
	put(`{"timestamp":"2026-09-01T09:00:00.000Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-09-01T09:00:00.000Z","cwd":"/w"}}`, openThread)
	for i := 0; n < 1<<30; i++ {
		put(`{"timestamp":"2026-09-01T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"question %d"}]}}`, i)
		put(`{"timestamp":"2026-09-01T09:00:02.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"make\",\"%d\"]}","call_id":"c%d"}}`, i, i)
		put(`{"timestamp":"2026-09-01T09:00:02.000Z","type":"event_msg","payload":{"type":"exec_command_end","call_id":"c%d","stdout":%q}}`, i, event)
		put(`{"timestamp":"2026-09-01T09:00:03.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c%d","output":"%s"}}`, i, output)
		put(`{"timestamp":"2026-09-01T09:00:04.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer %d"}]}}`, i)
		messages += 2
		if i == 10_000 {
			huge(`"type":"function_call_output","call_id":"c10000","output":`, 50<<20)
			huge(`"type":"message","role":"assistant","content":`, 100<<20)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return messages
}

// TestFaultHugeChild is the process that TestFaultHugeRollout measures.
func TestFaultHugeChild(t *testing.T) {
	home := os.Getenv(hugeEnv)
	if home == "" {
		t.Skip("runs as a part of TestFaultHugeRollout")
	}
	b := &bench{t: t, path: filepath.Join(home, "cache.db")}
	b.reopen()
	begun := time.Now()
	r := b.take(home, filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl"))
	took := time.Since(begun)
	ingest := peakMemory(t)
	v, err := b.pipe.View(t.Context(), openThread)
	if err != nil {
		t.Fatal(err)
	}
	memoryOf(t, b, v)
	fmt.Printf("\nHUGE %s %d %d %s\n", ingest, took.Milliseconds(), r.Bytes, peakMemory(t))
}

// peakMemory is the most memory that this process had resident, in KiB.
func peakMemory(t *testing.T) (peak string) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			peak = strings.TrimSuffix(strings.TrimSpace(rest), " kB")
		}
	}
	return peak
}

func TestFaultHugeRollout(t *testing.T) {
	reliability.Fault(t, 21, "a rollout of 1 GiB with an output of 50 MiB and an answer of 100 MiB, taken in by a process of its own")
	home := t.TempDir()
	messages := writeHuge(t, filepath.Join(home, "sessions", "2026", "09", "01", "rollout-2026-09-01T09-00-00-"+openThread+".jsonl"))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultHugeChild$")
	cmd.Env = append(os.Environ(), hugeEnv+"="+home, reliability.DirEnv+"=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, rest, ok := bytes.Cut(out, []byte("\nHUGE "))
	f := strings.Fields(string(rest))
	if !ok || len(f) < 4 {
		t.Fatalf("said %s", out)
	}
	peak, _ := strconv.Atoi(f[0])
	ms, _ := strconv.Atoi(f[1])
	read, _ := strconv.Atoi(f[2])
	told, _ := strconv.Atoi(f[3])
	db, err := store.Open(t.Context(), filepath.Join(home, "cache.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	th, err := db.Thread(t.Context(), openThread)
	if err != nil || th.Counts.User+th.Counts.Assistant != messages || th.Counts.ToolResults != messages/2+1 || th.Counts.DamagedLines != 1 {
		t.Errorf("%+v of %d messages, %v", th.Counts, messages, err)
	}
	odd, err := db.Oddities(t.Context(), openThread)
	if err != nil || len(odd.Damage) != 1 || odd.Damage[0].Size < 99<<20 || odd.Damage[0].Detail != "response_item/message" {
		t.Errorf("named: %.300v, %v", odd.Damage, err)
	}
	reliability.Figure(t, 14, "1 GiB with lines of 50 and 100 MiB: peak memory %d MiB, taken in at %d MB/s; %d MiB when its memory file is made, which needs the whole conversation", peak>>10, read/1000/max(ms, 1), told>>10)
	if peak>>10 > 200 {
		t.Errorf("peak memory of %d MiB, more than 200", peak>>10)
	}
}
