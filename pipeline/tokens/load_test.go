package tokens_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

const (
	// idleProcess is set in the process that TestIdleProcessLoadsNothing starts.
	idleProcess = "TOKENS_TEST_IDLE_PROCESS"
	// idleMost is what may be allocated where nothing is counted, in bytes. A
	// counter's caches take 1 MB, an inflated vocabulary half of that or more.
	idleMost = 64 << 10
)

// TestIdleProcessLoadsNothing: to be linked into a program and to make counters
// costs a process nothing. Only one that has counted nothing yet can tell, so
// the test starts itself again, in a runtime that tells what the packages
// allocate before main.
func TestIdleProcessLoadsNothing(t *testing.T) {
	if os.Getenv(idleProcess) != "" {
		idle(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestIdleProcessLoadsNothing$", "-test.count=1")
	child.Env = append(os.Environ(), idleProcess+"=1", "GODEBUG=inittrace=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	found := regexp.MustCompile(`(?m)^init \S+/pipeline/tokens @.* (\d+) bytes,`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("the runtime does not tell what the package allocates before main:\n%s", out)
	}
	if n, err := strconv.Atoi(string(found[1])); err != nil || n > idleMost {
		t.Errorf("the package allocates %s bytes before main, want at most %d", found[1], idleMost)
	}
}

// idle makes counters, which is to load nothing, and then counts.
func idle(t *testing.T) {
	t.Helper()
	start := allocated()
	var last *tokens.Counter
	for _, enc := range []tokens.Encoding{tokens.R50kBase, tokens.P50kBase, tokens.Cl100kBase, tokens.O200kBase} {
		c, err := tokens.New(enc)
		if err != nil {
			t.Fatal(err)
		}
		c.CountString("")
		c.Release()
		last = c
	}
	tokens.Release()
	if n := allocated() - start; n > idleMost || tokens.Loaded() {
		t.Errorf("counters that count nothing allocated %d bytes, want at most %d; vocabulary loaded: %t", n, idleMost, tokens.Loaded())
	}
	last.CountString("x")
	if n := allocated() - start; n < 4<<20 || !tokens.Loaded() {
		t.Errorf("after a count: %d bytes allocated, vocabulary loaded: %t", n, tokens.Loaded())
	}
}

// allocated is what this process has allocated in all.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
