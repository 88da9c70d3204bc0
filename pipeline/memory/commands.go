package memory

import (
	"encoding/json"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// commandOf returns the shell command of a call and the folder it runs in;
// empty if it runs none.
func commandOf(m *transcript.Message) (cmd, workdir string) {
	if !strings.HasPrefix(m.Args, "{") {
		if s := scripted().FindStringSubmatch(m.Args); s != nil && m.Name == "exec" {
			var text string
			if json.Unmarshal([]byte(s[1]), &text) == nil {
				return strings.TrimSpace(text), ""
			}
		}
		return "", ""
	}
	var args struct {
		Cmd     string          `json:"cmd"`
		Command json.RawMessage `json:"command"`
		Workdir string          `json:"workdir"`
		Folder  string          `json:"working_directory"`
	}
	if json.Unmarshal([]byte(m.Args), &args) != nil {
		return "", ""
	}
	workdir = first(args.Workdir, args.Folder)
	if args.Cmd != "" {
		return strings.TrimSpace(args.Cmd), workdir
	}
	var line string
	if json.Unmarshal(args.Command, &line) == nil {
		return strings.TrimSpace(line), workdir
	}
	var words []string
	if json.Unmarshal(args.Command, &words) != nil || len(words) == 0 {
		return "", ""
	}
	if n := len(words); n >= 3 && strings.HasPrefix(words[n-2], "-") && strings.HasSuffix(strings.ToLower(words[n-2]), "c") {
		return strings.TrimSpace(words[n-1]), workdir // bash -lc "…"
	}
	if n := len(words); n >= 3 && strings.EqualFold(words[n-2], "-command") {
		return strings.TrimSpace(words[n-1]), workdir // powershell -Command "…"
	}
	return strings.TrimSpace(strings.Join(words, " ")), workdir
}

// scripted finds the command in a script that calls the shell tool, as a
// string in double quotes.
var scripted = pattern.Lazy(`(?s)tools\.(?:exec_command|shell_command|shell)\(\s*\{[^{}]*?\b(?:cmd|command):\s*("(?:[^"\\\n]|\\.)*")`)

// checkPattern finds what tests, builds or lints.
var checkPattern = pattern.Lazy(`(?i)(^|[;&|(\s/])(` +
	`go (test|vet|build)|cargo (test|build|check|clippy|nextest)|(npm|pnpm|yarn|bun|deno)( run)? (test|build|lint|check|typecheck)\S*|` +
	`(python3? -m )?(pytest|unittest|tox|nox|mypy|ruff|flake8|pylint)|(make|just|task)( [\w-]*(test|check|build|lint|verify|all)[\w-]*|$|\s*$)|` +
	`(\./)?(mvnw?|gradlew?)( [\w:.=-]+)* (test|check|build|verify|lint\w*|compile\w*|package|assemble\w*)|ctest|cmake --build|ninja|jest|vitest|playwright test|tsc|eslint|prettier --check|golangci-lint|` +
	`dotnet (test|build)|swift (test|build)|xcodebuild|bazel (test|build)|phpunit|rspec|rake (test|spec)|mix test|javac|gcc|clang` +
	`)(\s|$|;)`)

// Check is the newest run of a command that tests, builds or lints.
type Check struct {
	Command  string
	Exit     int
	HasExit  bool
	HiddenBy string // what makes Exit worthless; empty: it counts
	LastLine string // of the output
	Turn     int

	seq     int
	outcome outcome
}

// Failure is a command that failed and was not seen to pass afterwards.
type Failure struct {
	Command string
	Exit    int
	Line    string // the line of the output that tells most
	Missing bool   // the program isn't on that machine
	Turn    int
	// Instead is the other command that passed after it for the same purpose;
	// empty if none was seen.
	Instead     string
	InsteadTurn int
}

// run is one command with its result.
type run struct {
	command string
	result  *transcript.Message // nil: none recorded
	turn    int
	seq     int
	check   bool // it tests, builds or lints
}

// outcome is how a command ended.
type outcome uint8

const (
	outcomeNone    outcome = iota + 1 // no result
	outcomeExit                       // with its exit code
	outcomeNoExit                     // a result without one
	outcomeRunning                    // it ran on
	outcomeTimeout
	outcomeAborted
)

func outcomeOfRun(m *transcript.Message) outcome {
	if m == nil {
		return outcomeNone
	}
	if m.HasExit {
		return outcomeExit
	}
	head := cutUnits(m.Text, 400)
	switch {
	case stillRunning().MatchString(head):
		return outcomeRunning
	case strings.Contains(head, "timed out"):
		return outcomeTimeout
	case strings.Contains(head, "aborted by user"):
		return outcomeAborted
	}
	return outcomeNoExit
}

// stillRunning finds the number by which a command that runs on is asked
// again.
var stillRunning = pattern.Lazy(`(?m)^Process running with session ID (\d+)`)

// continued finds the command that a call of write_stdin goes on with, among
// those that ran on.
func continued(m *transcript.Message, runs []run) *run {
	var args struct {
		Session json.Number `json:"session_id"`
	}
	if m.Name != "write_stdin" || json.Unmarshal([]byte(m.Args), &args) != nil || args.Session == "" {
		return nil
	}
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		if r.result == nil || r.result.HasExit {
			continue
		}
		if s := stillRunning().FindStringSubmatch(cutUnits(r.result.Text, 400)); s != nil && s[1] == args.Session.String() {
			return r
		}
	}
	return nil
}

// searches end with 1 if they find nothing.
var searches = pattern.Lazy(`^\s*(rg|grep|git grep|egrep|find|test|\[|which|command -v|diff|git diff|ls|where\.exe|pgrep)\b`)

const (
	maxCommand = 160 // UTF-16 units shown of a command
	maxLine    = 140 // and of an output's line
)

// checksOf returns the newest run of each check, newest first.
func checksOf(runs []run, show func(string) string) []Check {
	var all []Check
	seen := make(map[string]bool)
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		if !r.check {
			continue
		}
		key := strings.Join(strings.Fields(r.command), " ")
		if seen[key] {
			continue
		}
		seen[key] = true
		c := Check{Command: show(r.command), HiddenBy: hiddenBy(clean(r.command)), Turn: r.turn, seq: r.seq, outcome: outcomeOfRun(r.result)}
		if r.result != nil {
			c.Exit, c.HasExit = r.result.ExitCode, r.result.HasExit
			c.LastLine = lastLine(show(r.result.Text))
		}
		all = append(all, c)
	}
	return all
}

// isCheck tells a command line with a part that tests, builds or lints.
func isCheck(cmd string) bool {
	for _, p := range partsOf(cmd) {
		if checkPattern().MatchString(p.text) && !searches().MatchString(p.text) && !looking().MatchString(p.text) {
			return true
		}
	}
	return false
}

// failuresOf returns the commands that failed last, newest first. What passed
// later, and checks, which are listed themselves, are left out.
func failuresOf(runs []run, show func(string) string) []Failure {
	var all []Failure
	seen := make(map[string]bool)
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		key := strings.Join(strings.Fields(r.command), " ")
		if seen[key] || r.result == nil {
			continue
		}
		seen[key] = true
		missing := notFound(r)
		if !failedRun(r) || searches().MatchString(r.command) || !missing && r.check || strings.Contains(r.command, patchBegin) {
			continue
		}
		f := Failure{Command: show(r.command), Exit: r.result.ExitCode, Line: tellingLine(show(r.result.Text)), Missing: missing, Turn: r.turn}
		if other := insteadOf(runs, i); other != nil {
			f.Instead, f.InsteadTurn = show(other.command), other.turn
		}
		all = append(all, f)
	}
	return all
}

func failedRun(r *run) bool { return r.result != nil && r.result.HasExit && r.result.ExitCode != 0 }

// notFound tells that the program isn't on that machine.
func notFound(r *run) bool {
	return failedRun(r) && (r.result.ExitCode == 127 || strings.Contains(cutUnits(r.result.Text, 2000), "is not recognized as"))
}

// insteadWithin is how many commands later the one that serves the same
// purpose is looked for.
const insteadWithin = 8

// insteadOf finds the command that passed after runs[i] had failed and has so
// much in common with it that it was made in its place: the program, or what
// it was to work on.
func insteadOf(runs []run, i int) *run {
	failed := keywords(runs[i].command)
	for j := i + 1; j < len(runs) && j <= i+insteadWithin; j++ {
		r := &runs[j]
		if r.turn > runs[i].turn+1 {
			break
		}
		if r.result == nil || !r.result.HasExit || r.result.ExitCode != 0 || hiddenBy(r.command) != "" || reads(r.command) && !reads(runs[i].command) {
			continue
		}
		common := 0
		other := keywords(r.command)
		for w := range failed {
			if other[w] {
				common++
			}
		}
		if common > 0 && common*3 >= min(len(failed), len(other)) {
			return r
		}
	}
	return nil
}

// generic are words that commands of every purpose have. The map is only read.
var generic = map[string]bool{
	"python": true, "python3": true, "node": true, "npx": true, "npm": true, "pnpm": true, "yarn": true, "bun": true, "deno": true, "go": true, "cargo": true, "make": true,
	"docker": true, "git": true, "bash": true, "sh": true, "zsh": true, "pwsh": true, "powershell": true, "sudo": true, "env": true, "uv": true, "poetry": true, "pip": true, "pip3": true,
	"run": true, "exec": true, "install": true, "add": true, "get": true, "build": true, "true": true, "echo": true, "time": true, "timeout": true, "if": true, "then": true, "do": true, "for": true,
}

// keywords are the words of a command that say what it is about.
func keywords(cmd string) map[string]bool {
	out := make(map[string]bool)
	for _, p := range partsOf(cmd) {
		if preparing().MatchString(p.text) {
			continue
		}
		for i, w := range wordsOf(p.text) {
			if w = strings.ToLower(w); i > 0 && strings.HasPrefix(w, "-") || len(w) < 2 || strings.HasSuffix(w, ">") || generic[w] {
				continue
			}
			out[w] = true
		}
	}
	return out
}

// lastLine returns the last line of an output that says something.
func lastLine(s string) string {
	for s != "" {
		i := strings.LastIndexByte(s, '\n')
		if l := strings.TrimSpace(s[i+1:]); strings.Trim(l, "-=_*.~ ") != "" && !wrapping(l) {
			return l
		}
		s = s[:max(i, 0)]
	}
	return ""
}

// wrapping tells the lines that the agent's program puts around an output.
func wrapping(l string) bool {
	return l == "Output:" || strings.HasPrefix(l, "Exit code: ") || strings.HasPrefix(l, "Wall time: ") ||
		strings.HasPrefix(l, "Process exited with code ") || strings.HasPrefix(l, "Process running with session ID ") || strings.HasPrefix(l, "Chunk ID: ") || strings.HasPrefix(l, "Original token count: ")
}

// errorWords is only read.
var errorWords = [...]string{"error", "fatal", "panic", "exception", "not found", "denied", "failed", "no such"}

// tellingLine returns the last line with an error word, else the last line.
func tellingLine(s string) string {
	rest := s
	for n := 0; rest != "" && n < 200; n++ {
		i := strings.LastIndexByte(rest, '\n')
		l := strings.ToLower(rest[i+1:])
		for _, w := range errorWords {
			if strings.Contains(l, w) {
				return strings.TrimSpace(rest[i+1:])
			}
		}
		rest = rest[:max(i, 0)]
	}
	return lastLine(s)
}
