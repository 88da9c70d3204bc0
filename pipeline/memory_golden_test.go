package pipeline_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

var updateMemory = flag.Bool("update", false, "rewrite the golden files")

// Documents of whole rollouts, as every era writes them. -update rewrites
// them; they were read by eye.
func TestMemoryOfRollouts(t *testing.T) {
	opt := func(n string) rollouttest.Options {
		return rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-0000000000" + n, BranchName: "main", Cwd: "/home/dana/code/tidetab"}
	}
	const wrapped = "# Context from my IDE setup:\n\n## Active file: src/cli/mod.rs\n\n## Open tabs:\n- mod.rs: src/cli/mod.rs\n\n## My request for Codex:\nAdd a --list flag that prints all ports. Don't change the output of the other flags.\n"
	rolled := rollouttest.New(rollouttest.Marked, opt("02")).
		User("Print the ports as a table.").Assistant("Done, as a table.").End().
		User("Now as YAML.").Call("shell", `{"command":["bash","-lc","echo x > ports.yaml"]}`, "").Assistant("Done, as YAML.").End().
		Rollback(1).
		User("No, as JSON.").Assistant("Done, as JSON.").End()
	slow := rollouttest.New(rollouttest.Paginated, opt("04")).User("Run the slow tests.")
	slow.RawOutput(slow.CallOnly("exec_command", `{"cmd":"cargo test --release"}`), `"Chunk ID: 1\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\nrunning 400 tests\n"`)
	slow.RawOutput(slow.CallOnly("write_stdin", `{"session_id":7,"chars":""}`), `"Chunk ID: 2\nWall time: 5.0 seconds\nProcess exited with code 101\nOutput:\ntest result: FAILED. 399 passed; 1 failed\n"`)
	for name, r := range map[string]*rollouttest.Rollout{
		"ide": rollouttest.New(rollouttest.Legacy, opt("01")).Inject("environment_context", "<cwd>/home/dana/code/tidetab</cwd>").
			User(wrapped).
			Call("apply_patch", "*** Begin Patch\n*** Update File: src/cli/mod.rs\n@@\n-a\n+b\n+c\n*** End Patch", "Success. Updated the following files:\nM src/cli/mod.rs\n").
			Call("shell", `{"command":["bash","-lc","cargo test -q"],"workdir":"/home/dana/code/tidetab"}`, "48 passed\n").
			Assistant("`--list` prints all ports; 48 tests pass.").End(),
		"rolled-back": rolled,
		"fork":        rolled.Fork(rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000003", ForkedFrom: "019a0000-0000-7000-8000-000000000002", Cwd: "/home/dana/code/tidetab"}).User("And now as CSV.").Abort(),
		"paginated":   slow.Fail("stream disconnected"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			home, _ := inHome(t, r.ThreadID(), r.Bytes())
			b.ingest(home, false)
			v, err := b.pipe.View(t.Context(), r.ThreadID())
			if err != nil {
				t.Fatal(err)
			}
			got := memoryOf(t, b, v)
			file := filepath.Join("testdata", "memory", name+".md")
			if *updateMemory {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (-update rewrites it); got\n%s", file, got)
			}
		})
	}
}

func TestBriefOfAView(t *testing.T) {
	b, v := given(t, "hostile-text-instructions-in-history.jsonl")
	g, err := b.pipe.Brief(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if g.Lang != "en" || g.Result == "" || strings.Contains(g.Result, "\n") {
		t.Errorf("%+v", g)
	}
	in, err := b.db.Turns(t.Context(), v.Thread.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := memory.Brief(memory.Build(memory.Input{Thread: v.Thread, Messages: v.Messages, Turns: in})); want.Result != g.Result || want.Open != g.Open || want.Next != g.Next {
		t.Errorf("%+v, want %+v", g, want)
	}
	if _, err := b.pipe.Brief(t.Context(), pipeline.View{}); err != nil {
		t.Errorf("an empty view: %v", err)
	}
}
