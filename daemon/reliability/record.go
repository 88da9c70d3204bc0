package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// DirEnv names the folder that results are appended to; unset: they aren't.
const DirEnv = "RELIABILITY_DIR"

// Record is one result as it lies in the folder.
type Record struct {
	Fault   int    `json:"fault,omitempty"` // 0 for a figure
	Goal    int    `json:"goal,omitempty"`  // 0 for a fault
	Package string `json:"package"`         // folder in the repository
	Test    string `json:"test"`
	Text    string `json:"text"`   // how it was injected, or what was measured
	Result  string `json:"result"` // pass, fail or skip
}

// Fault says that the test injects fault n, and how.
func Fault(t testing.TB, n int, how string) {
	t.Helper()
	if n < 1 || n > len(Faults()) {
		t.Fatalf("bug: no fault %d", n)
	}
	record(t, Record{Fault: n, Text: how})
}

// Figure gives what the test or benchmark measured for goal n.
func Figure(t testing.TB, n int, format string, args ...any) {
	t.Helper()
	if n < 1 || n > len(Goals()) {
		t.Fatalf("bug: no goal %d", n)
	}
	text := fmt.Sprintf(format, args...)
	t.Logf("G%d: %s", n, text)
	record(t, Record{Goal: n, Text: text})
}

// record appends r when the test has ended.
func record(t testing.TB, r Record) {
	t.Helper()
	dir := os.Getenv(DirEnv)
	if dir == "" {
		return
	}
	r.Package, r.Test = caller(), t.Name()
	t.Cleanup(func() {
		r.Result = "pass"
		switch {
		case t.Failed():
			r.Result = "fail"
		case t.Skipped():
			r.Result = "skip"
		}
		if err := appendRecord(dir, r); err != nil {
			t.Errorf("record the result: %v", err)
		}
	})
}

func appendRecord(dir string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", os.Getpid())), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // where the caller says
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		_ = f.Close() // the first error tells more
		return err
	}
	return f.Close()
}

// caller is the package folder of the test that called Fault or Figure.
func caller() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.File, "_test.go") {
			const module = "github.com/session-migrator/session-migrator/"
			name, _, _ := strings.Cut(strings.TrimPrefix(f.Function, module), ".")
			return strings.TrimSuffix(name, "_test")
		}
		if !more {
			return ""
		}
	}
}
