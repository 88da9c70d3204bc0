package memory

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// commandOf returns the shell command of a call, empty if it runs none.
func commandOf(m *transcript.Message) string {
	if !strings.HasPrefix(m.Args, "{") {
		return ""
	}
	var args struct {
		Cmd     string          `json:"cmd"`
		Command json.RawMessage `json:"command"`
	}
	if json.Unmarshal([]byte(m.Args), &args) != nil {
		return ""
	}
	if args.Cmd != "" {
		return strings.TrimSpace(args.Cmd)
	}
	var line string
	if json.Unmarshal(args.Command, &line) == nil {
		return strings.TrimSpace(line)
	}
	var words []string
	if json.Unmarshal(args.Command, &words) != nil || len(words) == 0 {
		return ""
	}
	if n := len(words); n >= 3 && strings.HasPrefix(words[n-2], "-") && strings.HasSuffix(words[n-2], "c") {
		return strings.TrimSpace(words[n-1]) // bash -lc "…"
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// checkPattern finds what tests, builds or lints.
var checkPattern = regexp.MustCompile(`(?i)(^|[;&|(\s/])(` +
	`go (test|vet|build)|cargo (test|build|check|clippy|nextest)|(npm|pnpm|yarn|bun|deno)( run)? (test|build|lint|check|typecheck)\S*|` +
	`(python3? -m )?(pytest|unittest|tox|nox|mypy|ruff|flake8|pylint)|(make|just|task)( [\w-]*(test|check|build|lint|verify|all)[\w-]*|$|\s*$)|` +
	`(\./)?(mvnw?|gradlew?|mvn|gradle) |ctest|cmake --build|ninja|jest|vitest|playwright test|tsc|eslint|prettier --check|golangci-lint|` +
	`dotnet (test|build)|swift (test|build)|xcodebuild|bazel (test|build)|phpunit|rspec|rake (test|spec)|mix test|javac|gcc|clang` +
	`)(\s|$|;)`)

// hiddenBy returns what keeps a command's exit code from telling the truth,
// empty if nothing does.
func hiddenBy(cmd string) string {
	switch {
	case strings.Contains(cmd, "|| true") || strings.Contains(cmd, "||true"):
		return "|| true"
	case strings.Contains(cmd, "|| :"):
		return "|| :"
	case strings.Contains(cmd, "exit 0"):
		return "exit 0"
	case strings.Contains(cmd, "set +e"):
		return "set +e"
	case strings.Contains(strings.ReplaceAll(cmd, "||", ""), "|") && !strings.Contains(cmd, "pipefail"):
		return "|"
	case strings.Contains(cmd, "; echo"):
		return "; echo"
	}
	return ""
}

// Check is the newest run of a command that tests, builds or lints.
type Check struct {
	Command  string
	Exit     int
	HasExit  bool
	HiddenBy string // what makes Exit worthless; empty: it counts
	LastLine string // of the output
	Turn     int

	seq int
}

// Failure is a command that failed and was not seen to pass afterwards.
type Failure struct {
	Command string
	Exit    int
	Line    string // the line of the output that tells most
	Turn    int
}

// run is one command with its result.
type run struct {
	command string
	result  *transcript.Message // nil: none recorded
	turn    int
	seq     int
}

// searches end with 1 if they find nothing.
var searches = regexp.MustCompile(`^\s*(rg|grep|git grep|egrep|find|test|\[|which|command -v|diff|git diff|ls|where\.exe|pgrep)\b`)

const (
	maxCommand = 160 // UTF-16 units shown of a command
	maxLine    = 140 // and of an output's line
)

// checksOf returns the newest run of each check, newest first.
func checksOf(runs []run) []Check {
	var all []Check
	seen := make(map[string]bool)
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		if !checkPattern.MatchString(r.command) || strings.Contains(r.command, patchBegin) || searches.MatchString(r.command) {
			continue
		}
		key := strings.Join(strings.Fields(r.command), " ")
		if seen[key] {
			continue
		}
		seen[key] = true
		c := Check{Command: clean(r.command), HiddenBy: hiddenBy(r.command), Turn: r.turn, seq: r.seq}
		if r.result != nil {
			c.Exit, c.HasExit = r.result.ExitCode, r.result.HasExit
			c.LastLine = lastLine(clean(r.result.Text))
		}
		all = append(all, c)
	}
	return all
}

// failuresOf returns the commands that failed last, newest first. What passed
// later, and checks, which are listed themselves, are left out.
func failuresOf(runs []run) []Failure {
	var all []Failure
	seen := make(map[string]bool)
	for i := len(runs) - 1; i >= 0; i-- {
		r := &runs[i]
		key := strings.Join(strings.Fields(r.command), " ")
		if seen[key] || r.result == nil {
			continue
		}
		seen[key] = true
		if !r.result.HasExit || r.result.ExitCode == 0 || searches.MatchString(r.command) || checkPattern.MatchString(r.command) || strings.Contains(r.command, patchBegin) {
			continue
		}
		all = append(all, Failure{Command: clean(r.command), Exit: r.result.ExitCode, Line: tellingLine(clean(r.result.Text)), Turn: r.turn})
	}
	return all
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
		strings.HasPrefix(l, "Process exited with code ") || strings.HasPrefix(l, "Chunk ID: ") || strings.HasPrefix(l, "Original token count: ")
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
