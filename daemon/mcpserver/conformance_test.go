//go:build e2e

package mcpserver

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// isFixture is set for a process that is the server of the suite.
const isFixture = "SESSION_MIGRATOR_TEST_FIXTURE"

// TestConformance runs the official suite (E2E_CONFORMANCE: its program) against
// our transport and our options. What the suite wants of servers on HTTP, and
// of parts of the protocol that we don't offer, is in testdata/conformance.yml:
// a failure that isn't, or that is no failure any more, fails.
func TestConformance(t *testing.T) {
	if os.Getenv(isFixture) != "" {
		if err := fixture(t.Context()); err != nil {
			t.Fatal(err)
		}
		os.Exit(0) // no word of the test on stdout
	}
	suite := os.Getenv("E2E_CONFORMANCE")
	if suite == "" {
		t.Skip("the suite is not installed (E2E_CONFORMANCE)")
	}
	b := &bridge{t: t, argv: []string{os.Args[0], "-test.run=^TestConformance$"}, env: isFixture + "=1", sessions: map[string]*child{}}
	defer b.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	baseline, err := filepath.Abs(filepath.Join("testdata", "conformance.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), "node", suite, "server", "--url", "http://"+l.Addr().String()+"/mcp", "--requirements", revision,
				"--timeout", "15000", "--expected-failures", baseline, "-o", t.TempDir())
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out[max(0, len(out)-8000):])
			}
			if i := bytes.LastIndex(out, []byte("Total:")); i >= 0 {
				t.Logf("%s", bytes.TrimSpace(out[i:]))
			} else {
				t.Errorf("the suite counted nothing\n%s", out)
			}
		})
	}
}

// TestInspector lets the Inspector (E2E_INSPECTOR: its program) look at our
// tools as strictly as it can, in both eras.
func TestInspector(t *testing.T) {
	inspector, binary := os.Getenv("E2E_INSPECTOR"), os.Getenv("E2E_BINARY")
	if inspector == "" || binary == "" {
		t.Skip("the Inspector is not installed (E2E_INSPECTOR)")
	}
	home := t.TempDir()
	for _, era := range []string{"legacy", "modern"} {
		for _, method := range [][]string{{"tools/list", "--strict"}, {"prompts/list"}, {"resources/templates/list"}} {
			args := append([]string{inspector, "--cli", binary, "mcp", "--home", filepath.Join(home, "data"), "--codex-home", filepath.Join(home, "codex"),
				"--protocol-era", era, "-q", "--format", "json", "--method"}, method...)
			c := exec.CommandContext(t.Context(), "node", args...)
			c.Dir = home
			c.Env = append(os.Environ(), "HOME="+home)
			var out, diag bytes.Buffer
			c.Stdout, c.Stderr = &out, &diag
			if err := c.Run(); err != nil || diag.Len() > 0 {
				t.Errorf("%s %v: %v\n%s\n%s", era, method, err, diag.String(), out.String())
			}
			if method[0] == "tools/list" && bytes.Count(out.Bytes(), []byte(`"inputSchema"`)) != len(tools(false)) {
				t.Errorf("%s: not %d tools: %s", era, len(tools(false)), out.String())
			}
		}
	}
}
