package compress

import (
	"encoding/json"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// staleResults marks the results whose text the thread itself overtook: files
// that were read and patched later, reads that were made again, and outputs
// that came once more byte for byte. The newest of each is not stale.
func staleResults(ms []transcript.Message, units []unit) map[int]bool {
	stale := make(map[int]bool)
	patched := make(map[string]bool) // paths patched later on
	read := make(map[string]bool)    // commands and whole files read later on
	seen := make(map[string]bool)    // hashes of later outputs
	for k := len(units) - 1; k >= 0; k-- {
		u := units[k]
		call := &ms[u.first]
		if call.Role != transcript.RoleToolCall {
			continue
		}
		if u.result >= 0 && staleResult(call, &ms[u.result], patched, read, seen) {
			stale[u.result] = true
		}
		for _, p := range patchedPaths(call.Args) {
			patched[p] = true
		}
	}
	return stale
}

// staleResult judges one result and notes what it makes stale in turn.
func staleResult(call, result *transcript.Message, patched, read, seen map[string]bool) bool {
	stale := false
	if result.Hash != "" && len(result.Text) > shrinkAbove/4 {
		stale = seen[result.Hash]
		seen[result.Hash] = true
	}
	cmd := commandOf(call)
	paths, whole := readPaths(cmd)
	if len(paths) == 0 {
		return stale
	}
	key := "\x00" + cmd
	again, changed := read[key], true
	read[key] = true
	for _, p := range paths {
		again = again || read[p]
		changed = changed && isPatched(patched, p)
	}
	if whole && len(paths) == 1 {
		read[paths[0]] = true
	}
	return stale || again || changed
}

// isPatched compares by the path's end: patches name files relative to the
// working folder, commands from wherever they run.
func isPatched(patched map[string]bool, p string) bool {
	if patched[p] {
		return true
	}
	for q := range patched {
		if strings.HasSuffix(p, "/"+q) || strings.HasSuffix(q, "/"+p) {
			return true
		}
	}
	return false
}

// commandOf returns the shell command of a call, empty if it is none.
func commandOf(m *transcript.Message) string {
	if m.Args == "" || m.Args[0] != '{' {
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
		return args.Cmd
	}
	var line string
	if json.Unmarshal(args.Command, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(args.Command, &words) != nil || len(words) == 0 {
		return ""
	}
	return words[len(words)-1] // of bash -lc "…" the script; of cat x the file, which reads nothing
}

// readPaths returns the files a command prints, and whether it prints the
// whole of them. Only plain reads are recognised; anything with more to it
// reads nothing that can be told stale.
func readPaths(cmd string) (paths []string, whole bool) {
	cmd = strings.TrimSpace(cmd)
	if cmd == "" || strings.ContainsAny(cmd, "|&;<>`$\n*?(") {
		return nil, false
	}
	words := strings.Fields(cmd)
	args := words[1:]
	switch words[0] {
	case "cat", "type", "Get-Content", "gc", "bat":
		whole = true
	case "nl":
		whole = true
	case "head", "tail":
		args = dropOptions(args, "-n", "-c")
	case "sed":
		if len(args) < 3 || args[0] != "-n" {
			return nil, false
		}
		args = args[2:]
	default:
		return nil, false
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			paths = append(paths, strings.TrimPrefix(strings.Trim(a, `'"`), "./"))
		}
	}
	return paths, whole
}

// dropOptions removes the options that take a value, and the value.
func dropOptions(args []string, valued ...string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		skip := false
		for _, v := range valued {
			skip = skip || args[i] == v
		}
		if skip {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// patchedPaths returns the files that a patch in the arguments of a call
// changes, whatever form the arguments have: the markers of the patch format
// stand in all of them.
func patchedPaths(args string) []string {
	var paths []string
	for _, head := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
		for rest := args; ; {
			_, after, ok := strings.Cut(rest, head)
			if !ok {
				break
			}
			end := strings.IndexAny(after, "\n\\\"'")
			if end < 0 {
				end = len(after)
			}
			paths = append(paths, strings.TrimSpace(after[:end]))
			rest = after[end:]
		}
	}
	return paths
}
