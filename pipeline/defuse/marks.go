package defuse

import "strings"

// Marks puts round brackets in place of the ones by which models and the
// programs around them tell their own marks from text: "(|im_start|)". The
// text stays as long as it was.
func Marks(s string) string {
	if strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '[') < 0 && !strings.Contains(s, escaped) {
		return s
	}
	var out []byte // nil: nothing changed yet
	for i := 0; i < len(s); i++ {
		var end int
		switch s[i] {
		case '<', '[', '\\':
			end = markAt(s, i)
		}
		if end == 0 {
			continue
		}
		if out == nil {
			out = []byte(s)
		}
		blunt(out[i:end])
		i = end - 1
	}
	if out == nil {
		return s
	}
	return string(out)
}

// escaped is how JSON writers put "<" for the sake of HTML.
const escaped = `\u003c`

// blunt replaces the brackets of a mark.
func blunt(b []byte) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '<', '[':
			b[i] = '('
		case '>', ']':
			b[i] = ')'
		case '\\':
			if i+6 <= len(b) && b[i+1] == 'u' && b[i+2] == '0' && b[i+3] == '0' && b[i+4] == '3' {
				switch b[i+5] | 0x20 {
				case 'c':
					b[i+4], b[i+5] = '2', '8'
				case 'e':
					b[i+4], b[i+5] = '2', '9'
				}
			}
		}
	}
}

// maxMark bounds a mark, bytes.
const maxMark = 120

// squares are marks in square brackets, without them and without a slash.
var squares = [...]string{"INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "gMASK", "sMASK"}

// elements are the names of elements that programs around models set
// themselves, in lower case. Those that end in memory or memory_content, and
// those with a prefix of families, belong here, too.
var elements = [...]string{
	"system-reminder", "system_reminder", "system-prompt", "system_prompt", "system_instructions", "system_instruction",
	"start_of_turn", "end_of_turn", "bos", "eos", "s", "sys", "think", "thinking", "tool_call", "tool_calls", "tool_response", "tool_result", "tool_results",
	"function_call", "function_calls", "function_results", "invoke", "user_query", "session_history", "conversation_history",
	"environment_context", "user_instructions", "turn_aborted", "subagent_notification", "codex_internal_context", "hook_prompt",
	"collaboration_mode", "model_switch", "permissions", "skills_instructions", "user_shell_command", "user_action", "local-command-stdout",
	"command-name", "command-message", "task-notification",
}

var families = [...]string{"antml:", "external_", "workbuddymemory", "working_memory", "user_memory", "userlocalmemory", "usermemory", "workingmemory"}

// markAt returns the end of the mark that begins at i, 0 if none does.
func markAt(s string, i int) int {
	rest := s[i:min(len(s), i+maxMark)]
	if rest[0] == '[' {
		name := strings.TrimPrefix(rest[1:], "/")
		for _, m := range squares {
			if strings.HasPrefix(name, m) && strings.HasPrefix(name[len(m):], "]") {
				return i + len(rest) - len(name) + len(m) + 1
			}
		}
		return 0
	}
	open := 1
	if rest[0] == '\\' {
		if open = len(escaped); !foldPrefix(rest, escaped) {
			return 0
		}
	}
	body := rest[open:]
	for _, bar := range [...]string{"|", "｜"} { // <|im_start|>
		if n := barred(body, bar); n > 0 {
			return i + open + n
		}
	}
	if strings.HasPrefix(body, "!-- session-migrator:") {
		return i + open // ours: a reader of files must not take it for a block
	}
	return element(i, open, body)
}

// barred returns the length of "|name|>" at the beginning of s, 0 if it isn't there.
func barred(s, bar string) int {
	if !strings.HasPrefix(s, bar) {
		return 0
	}
	end := strings.Index(s[len(bar):], bar)
	if end < 1 || end > 48 || strings.ContainsAny(s[len(bar):len(bar)+end], " \n<>(){};\"'=") {
		return 0
	}
	end += 2 * len(bar)
	if n := closing(s[end:]); n > 0 {
		return end + n
	}
	return 0
}

// closing returns the length of the ">" at the beginning of s.
func closing(s string) int {
	switch {
	case strings.HasPrefix(s, ">"):
		return 1
	case foldPrefix(s, `\u003e`):
		return 6
	}
	return 0
}

// element returns the end of a tag whose name is one of the elements. Of a tag
// that isn't closed nearby the bracket alone counts.
func element(i, open int, body string) int {
	from := 0
	for from < len(body) && (body[from] == '/' || body[from] == '<') { // <</SYS>>
		from++
	}
	to := from
	for to < len(body) && nameByte(body[to]) {
		to++
	}
	if !known(strings.ToLower(body[from:to])) {
		return 0
	}
	// A short name may be a variable: x<s && s>y.
	telling := strings.ContainsAny(body[from:to], "-_:")
	end := to
	for (telling || foldPrefix(body[from:], "invoke ") || foldPrefix(body[from:], "permissions ")) && end < len(body) && body[end] != '>' && body[end] != '\\' && body[end] != '\n' && body[end] != '<' {
		end++
	}
	if end == to || body[to] == ' ' || body[to] == '/' || body[to] == '\t' {
		n := 0
		for end < len(body) && closing(body[end:]) > 0 && n < 2 {
			end += closing(body[end:])
			n++
		}
		if n > 0 {
			return i + open + end
		}
	}
	if !telling {
		return 0
	}
	return i + open + from
}

func nameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == ':'
}

func known(name string) bool {
	if name == "" {
		return false
	}
	for _, e := range elements {
		if name == e {
			return true
		}
	}
	for _, f := range families {
		if strings.HasPrefix(name, f) {
			return true
		}
	}
	return strings.HasSuffix(name, "-memory") || strings.HasSuffix(name, "_memory") || strings.HasSuffix(name, "memory_content") || strings.HasSuffix(name, "-reminder")
}

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
