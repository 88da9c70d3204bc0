package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// leakless is a test run that fails for goroutines that are left at its end.
type leakless struct{ m *testing.M }

func (l leakless) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){"session-migrator": main})
}

// TestScripts runs the program as people and scripts do. Each script has a
// home of its own, without any Codex home until it makes one.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			for k, v := range map[string]string{
				"HOME": e.WorkDir, "USERPROFILE": e.WorkDir, "TZ": "UTC",
				"GORACE":                "atexit_sleep_ms=10", // with -race each of many programs slept a second at its end
				"CODEX_HOME":            filepath.Join(e.WorkDir, "codex"),
				"SESSION_MIGRATOR_HOME": filepath.Join(e.WorkDir, "data"),
				"LIVE":                  liveThread, "LIVE_ROLLOUT": filepath.Join(e.WorkDir, "codex", filepath.FromSlash(liveRollout)),
			} {
				e.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sample": cmdSample, "exits": cmdExits, "json": cmdJSON, "until": cmdUntil, "append": cmdAppend, "equals": cmdEquals, "replace": cmdReplace, "fill": cmdFill,
			"rewrite": cmdRewrite, "edit": cmdEdit, "previewed": cmdPreviewed, "embedder": cmdEmbedder, "summarizer": cmdSummarizer, "counter": cmdCounter,
		},
	})
}

// cmdSample lays the bundled sample out: sample DIR.
func cmdSample(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sample DIR")
	}
	ts.Check(copySample(ts.MkAbs(args[0])))
}

// cmdExits runs a program that must end with a code: exits CODE PROGRAM ARG….
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdJSON looks into JSON: json FILE PATH WANT, where a path is names and
// indexes joined by dots, "-1" the last element and "len" the length. WANT "*"
// is anything that is there.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	got, err := lookup(v, strings.Split(args[1], "."))
	ok := err == nil && (args[2] == "*" || got == args[2])
	if ok == neg {
		ts.Fatalf("%s is %s (%v), want %s (neg=%t)", args[1], got, err, args[2], neg)
	}
}

func lookup(v any, path []string) (string, error) {
	for _, p := range path {
		switch x := v.(type) {
		case map[string]any:
			child, ok := x[p]
			if !ok {
				return "", fmt.Errorf("no field %q", p)
			}
			v = child
		case []any:
			if p == "len" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(p)
			if err != nil {
				return "", err
			}
			if i < 0 {
				i += len(x)
			}
			if i < 0 || i >= len(x) {
				return "", fmt.Errorf("no element %s of %d", p, len(x))
			}
			v = x[i]
		default:
			return "", fmt.Errorf("%q: %T has no parts", p, v)
		}
	}
	switch x := v.(type) {
	case string:
		return x, nil
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// cmdUntil runs a program again and again until its output holds a text:
// until TEXT PROGRAM ARG….
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	const patience = 20 * time.Second
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		select {
		case <-limit.C:
			ts.Fatalf("%q did not come within %s", args[0], patience)
		case <-tick.C:
		}
	}
}

// cmdAppend appends what Codex would write next to the live session of the
// sample: append.
func cmdAppend(ts *testscript.TestScript, _ bool, _ []string) {
	answer, end, err := liveLines(time.Now())
	ts.Check(err)
	ts.Check(appendTo(ts.Getenv("LIVE_ROLLOUT"), append(answer, end...)))
}

// cmdEquals demands the whole text of a file: equals FILE TEXT.
func cmdEquals(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: equals FILE TEXT")
	}
	if text := ts.ReadFile(args[0]); (text == args[1]) == neg {
		ts.Fatalf("%s is %q, want %q (neg=%t)", args[0], text, args[1], neg)
	}
}

// cmdReplace copies a file with one text in place of another: replace OLD NEW
// FROM TO.
func cmdReplace(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: replace OLD NEW FROM TO")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[2]), args[0], args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(text), 0o600))
}

// cmdFill has a session in use report that its context holds so many of 1,000
// tokens: fill TOKENS. The first time it begins the session.
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: fill TOKENS")
	}
	n, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	path := ts.Getenv("FILL_ROLLOUT")
	if path == "" {
		b := rollouttest.New(rollouttest.Marked, rollouttest.Options{ThreadID: "019b0000-0000-7000-8000-0000000000aa", Start: time.Now(), Window: 1000}).
			User("say it plainly").Assistant("As you wish.").Context(n)
		path = filepath.Join(ts.Getenv("CODEX_HOME"), filepath.FromSlash(b.Path()))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, b.Bytes(), 0o600))
		ts.Setenv("FILL_ROLLOUT", path)
		return
	}
	ts.Check(appendTo(path, fmt.Appendf(nil, `{"timestamp":%q,"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":%d,"total_tokens":%[2]d},"model_context_window":1000},"rate_limits":null}}`+"\n",
		time.Now().UTC().Format(time.RFC3339Nano), n)))
}

// cmdRewrite puts one text in place of another in all files of a folder: rewrite
// DIR OLD NEW.
func cmdRewrite(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: rewrite DIR OLD NEW")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), args[1], args[2])), 0o600)
	}))
}

// cmdEdit appends a line to the first document of a folder: edit DIR TEXT.
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: edit DIR TEXT")
	}
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "2*.md"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no document in %s", args[0])
	}
	ts.Check(appendTo(files[0], []byte(args[1]+"\n")))
}

// cmdPreviewed demands that each file of a preview has the text foreseen:
// previewed FILE.
func cmdPreviewed(ts *testscript.TestScript, _ bool, args []string) {
	var p previewJSON
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	if len(p.Files) == 0 {
		ts.Fatalf("no file")
	}
	for _, f := range p.Files {
		if text := ts.ReadFile(f.Path); f.Text == nil || text != *f.Text {
			ts.Fatalf("%s is %q, foreseen was %v", f.Path, text, f.Text)
		}
	}
}
