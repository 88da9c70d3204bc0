package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/exe"
)

// A client keeps its MCP server over an upgrade: the answers say so.
func TestServerSaysThatItsProgramWasReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "session-migrator")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, path); err != nil {
		t.Skip("no second name for the test program: ", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, "mcp", "--home", filepath.Join(dir, "data"), "--codex-home", filepath.Join(dir, "codex"))
	cmd.Env = append(os.Environ(), "PATH="+dir) // the scripts' own session-migrator is the same file
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	ask := func(line string) string {
		t.Helper()
		if _, err := in.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	const status = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"migrator_status","arguments":{}}}`
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	// Looked at for the first time only after: a second needn't pass.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("the next version"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := ask(status); !strings.Contains(a, `"update":"session-migrator was updated (file changed at `) {
		t.Error(a)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDaemonOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(there)
	if err != nil {
		t.Fatal(err)
	}
	same := exe.File{Path: there, Size: st.Size(), ModTime: st.ModTime().UTC()}
	other, gone := same, exe.File{Path: filepath.Join(dir, "gone"), Size: 1}
	other.Size++
	old := version
	version = "v1.10.0"
	defer func() { version = old }()
	for name, c := range map[string]struct {
		info daemon.Info
		want string // empty: no fault
	}{
		"the same":        {daemon.Info{Version: version, Program: same}, ""},
		"an older one":    {daemon.Info{Version: "v1.9.2", Program: same}, "the daemon is of version v1.9.2, this program of v1.10.0: " + restart},
		"a newer one":     {daemon.Info{Version: "v1.11.0", Program: same}, "the daemon is of version v1.11.0, this program is older: v1.10.0: update this program, or use the daemon's: " + there},
		"a build":         {daemon.Info{Version: "dev", Program: same}, "the daemon is of version dev, this program of v1.10.0: " + restart},
		"replaced":        {daemon.Info{Version: version, Program: other}, "the program at " + there + " was replaced at "},
		"deleted":         {daemon.Info{Version: version, Program: gone}, "the program that the daemon was started from is gone: " + gone.Path + ": " + restart},
		"one of long ago": {daemon.Info{}, ""},
	} {
		got := ""
		for _, f := range daemonFaults(config.Config{Home: dir}, c.info) {
			if f.name == "daemon version" {
				got += f.what + ": " + f.fix
			}
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
