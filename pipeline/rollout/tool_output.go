package rollout

import (
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// imagePlaceholder stands for a picture in a tool's output.
const imagePlaceholder = "[image]"

// toolResult reads the output of a tool in all its shapes.
func (p *Parser) toolResult(it *item, r *record, d *transcript.Delta) {
	out := transcript.Item{Role: transcript.RoleToolResult, CallID: it.callID.str(), TurnID: p.turnID(it)}
	switch v := it.output; {
	case v.isString():
		out.Text = v.str()
		out.HasExit = unwrap(&out)
	case v.isArray():
		out.Text, out.Images = outputParts(v)
	case v.isObject():
		out.Text = outputObject(v)
	case v == nil && it.tools.isArray():
		out.Text = repair(it.tools)
	case v != nil && !v.isNull():
		out.Text = repair(v)
	}
	if !out.HasExit {
		out.ExitCode, out.HasExit = headerExit(out.Text)
	}
	p.facts.Images += out.Images
	p.add(out, r, d)
	p.m.Last.ViewImage = strings.HasPrefix(out.Text, "attached local image path")
}

// unwrap takes the output out of {"output":…,"metadata":{"exit_code":…}} in a
// string, as written for the shell up to 0.58 and for patches up to 0.128.
func unwrap(out *transcript.Item) bool {
	if !strings.HasPrefix(out.Text, "{") || !strings.HasSuffix(strings.TrimRight(out.Text, " \n"), "}") {
		return false
	}
	v, ok := whole([]byte(out.Text))
	if !ok {
		return false
	}
	var output, metadata raw
	for w := v.members(); ; {
		k, m, more := w.member()
		if !more {
			break
		}
		switch string(k) {
		case "output":
			output = m
		case "metadata":
			metadata = m
		default:
			return false // a program's own JSON
		}
	}
	code := metadata.get("exit_code")
	if !output.isString() || len(code) == 0 || code[0] != '-' && (code[0] < '0' || code[0] > '9') {
		return false
	}
	out.Text, out.ExitCode = output.str(), int(code.integer())
	return true
}

func outputParts(v raw) (text string, images int) {
	var b strings.Builder
	for w := v.elements(); ; {
		e, ok := w.element()
		if !ok {
			return b.String(), images
		}
		t, isImage := partText(e)
		switch {
		case e.isString():
			b.WriteString(e.str())
		case isImage:
			images++
			b.WriteString(imagePlaceholder)
		case t != nil:
			b.WriteString(t.str())
		}
	}
}

func outputObject(v raw) string {
	for _, k := range [...]string{"content", "output", "text"} {
		switch c := v.get(k); {
		case c.isString():
			return c.str()
		case c.isArray():
			text, _ := outputParts(c)
			return text
		}
	}
	return repair(v)
}

// headerLines is how many lines may stand before "Output:".
const headerLines = 8

// headerExit finds the exit code in the lines that Codex puts before a
// program's output, never in the output itself.
func headerExit(text string) (code int, ok bool) {
	rest, failed := text, failureText(text)
	for range headerLines {
		line, after, more := strings.Cut(rest, "\n")
		if len(line) > 400 && !failed {
			return 0, false
		}
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "Output:"):
			return code, ok
		case strings.HasPrefix(line, "Exit code: "):
			code, ok = leadingInt(line[len("Exit code: "):])
		case strings.HasPrefix(line, "Process exited with code "):
			code, ok = leadingInt(line[len("Process exited with code "):])
		case failed:
			if _, n, found := strings.Cut(line, "exit code: "); found {
				return leadingInt(n)
			}
		}
		if !more {
			break
		}
		rest = after
	}
	// Without the line that ends a header these were the program's words.
	return 0, false
}

// failureText tells the texts with which Codex reports that a program failed.
func failureText(s string) bool {
	return strings.HasPrefix(s, "failed in sandbox") || strings.HasPrefix(s, "execution error") ||
		strings.HasPrefix(s, "exec_command failed") || strings.HasPrefix(s, "command failed") ||
		strings.HasPrefix(s, "failed for `") || strings.HasPrefix(s, "shell failed")
}

func leadingInt(s string) (int, bool) {
	n := 0
	if strings.HasPrefix(s, "-") {
		n = 1
	}
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(s[:n])
	return v, err == nil
}
