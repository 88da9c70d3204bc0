package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The faults that show the crash test able to fail are kept as patches. Whoever
// changes what they change mends them in the same go.
func TestMutantsStillApply(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	for _, tool := range []string{"bash", "patch", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is missing")
		}
	}
	patches, err := filepath.Glob(filepath.Join("..", "..", ".ci", "mutants.d", "*.patch"))
	if err != nil || len(patches) < 3 {
		t.Fatalf("%d patches, %v", len(patches), err)
	}
	if out, err := exec.Command("bash", filepath.Join("..", "..", ".ci", "mutants"), "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
