package memory

import (
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// part is one command of a command line.
type part struct {
	text string
	op   string // what stands behind it: ; \n && || | & or nothing
}

// partsOf cuts a command line where the shell does: outside of quotes,
// substitutions and here documents. Brackets that only group are dropped.
func partsOf(cmd string) []part {
	var all []part
	var b strings.Builder
	end := func(op string) {
		if t := strings.TrimSpace(b.String()); t != "" {
			all = append(all, part{t, op})
		}
		b.Reset()
	}
	var until []string // marks that end the here documents begun on this line
	for i := 0; i < len(cmd); {
		c := cmd[i]
		rest := cmd[i:]
		switch {
		case c == '\\' && len(rest) > 1:
			if rest[1] != '\n' {
				b.WriteString(rest[:2])
			}
			i += 2
		case c == '\'' || c == '"' || c == '`':
			n := quotedLen(rest, c)
			b.WriteString(rest[:n])
			i += n
		case strings.HasPrefix(rest, "$("):
			n := bracketLen(rest[1:]) + 1
			b.WriteString(rest[:n])
			i += n
		case strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, "<<<"):
			mark, n := hereMark(rest)
			if mark != "" {
				until = append(until, mark)
			}
			b.WriteString(rest[:n])
			i += n
		case c == '\n':
			end("\n")
			i++
			for _, mark := range until {
				i += hereLen(cmd[i:], mark)
			}
			until = nil
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", cmd[i-1]) >= 0):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||"):
			end(rest[:2])
			i += 2
		case strings.HasPrefix(rest, "|&"):
			end("|")
			i += 2
		case c == ';' || c == '|' && (i == 0 || cmd[i-1] != '>') || c == '&' && (i == 0 || cmd[i-1] != '>' && cmd[i-1] != '<') && !strings.HasPrefix(rest, "&>"):
			end(string(c))
			i++
		case (c == '(' || c == ')') && (strings.TrimSpace(b.String()) == "" || c == ')'):
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	end("")
	return all
}

// quotedLen is the length of the quoted text at the start of s.
func quotedLen(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote != '\'':
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// bracketLen is the length of the bracketed text at the start of s.
func bracketLen(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case '\'', '"':
			i += quotedLen(s[i:], c) - 1
		case '\\':
			i++
		}
	}
	return len(s)
}

var hereHead = pattern.Lazy(`^<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([\w.-]+))`)

// hereMark reads the head of a here document.
func hereMark(s string) (mark string, n int) {
	m := hereHead().FindStringSubmatch(s)
	if m == nil {
		return "", 2
	}
	return m[1] + m[2] + m[3], len(m[0])
}

// hereLen is the length of a here document's body, its last line included.
func hereLen(s, mark string) int {
	n := 0
	for n < len(s) {
		end := strings.IndexByte(s[n:], '\n')
		l := s[n:]
		if end >= 0 {
			l = s[n : n+end]
		}
		n += len(l) + 1
		if strings.TrimSpace(l) == mark {
			break
		}
	}
	return min(n, len(s))
}

// preparing tells commands before the one that counts.
var preparing = pattern.Lazy(`^(cd|pushd|export|source|\.|set|mkdir|\w+=\S*$|true|:)(\s|$)`)

// hiddenBy returns what keeps a command's exit code from telling how the
// command that counts ended; empty if nothing does. That command is the first
// that checks something, else the first that does something.
func hiddenBy(cmd string) string {
	ps := partsOf(cmd)
	at := slices.IndexFunc(ps, func(p part) bool { return checkPattern().MatchString(p.text) })
	if at < 0 {
		at = slices.IndexFunc(ps, func(p part) bool { return !preparing().MatchString(p.text) })
	}
	if at < 0 {
		return ""
	}
	errexit, pipefail, ignored := false, strings.Contains(cmd, "PIPESTATUS"), false
	for i := range ps {
		f := strings.Fields(ps[i].text)
		if len(f) < 2 || f[0] != "set" {
			continue
		}
		pipefail = pipefail || strings.Contains(ps[i].text, "pipefail")
		if i > at {
			continue
		}
		if strings.HasPrefix(f[1], "+") && strings.Contains(f[1], "e") {
			errexit, ignored = false, true
		} else if strings.HasPrefix(f[1], "-") && strings.Contains(f[1], "e") {
			errexit, ignored = true, false
		}
	}
	if ignored {
		return "set +e"
	}
	for i := at; i < len(ps); i++ {
		next := ""
		if i+1 < len(ps) {
			next = ps[i+1].text
		}
		switch ps[i].op {
		case "|":
			if !pipefail {
				return "|"
			}
		case "&":
			return "&"
		case "||":
			if f := strings.Fields(next); len(f) > 0 && (f[0] == "true" || f[0] == ":" || f[0] == "echo" || f[0] == "printf" || next == "exit 0") {
				return "|| " + f[0]
			}
		case ";", "\n":
			if next == "" || closing(next) || passesOn(next, cmd) {
				return ""
			}
			if errexit {
				continue
			}
			if next == "exit 0" {
				return "exit 0"
			}
			return "; " + strings.Fields(next)[0]
		}
	}
	return ""
}

// closing tells the words that end a loop or a condition.
func closing(s string) bool {
	return s == "done" || s == "fi" || s == "esac" || s == "}" || s == "done;" || s == "fi;"
}

// passesOn tells that a command line ends with the exit code it got before.
func passesOn(next, cmd string) bool {
	if strings.HasPrefix(next, "exit $") || strings.HasPrefix(next, `exit "$`) {
		return true
	}
	name, value, ok := strings.Cut(next, "=")
	return ok && strings.HasPrefix(value, "$?") && strings.Contains(cmd, "exit $"+name)
}

// wordsOf cuts one command into words, quotes taken off. A redirection is a
// word of its own.
func wordsOf(s string) []string {
	var out []string
	var b strings.Builder
	open := false
	end := func() {
		if open {
			out = append(out, b.String())
		}
		b.Reset()
		open = false
	}
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\'', '"':
			n := quotedLen(s[i:], c)
			b.WriteString(strings.Trim(s[i:i+n], string(c)))
			open = true
			i += n
		case ' ', '\t', '\n':
			end()
			i++
		case '>':
			fd := b.String()
			if fd != "" && fd != "1" && fd != "2" && fd != "&" {
				end()
				fd = ""
			}
			b.Reset()
			open = false
			n := 1
			for i+n < len(s) && (s[i+n] == '>' || s[i+n] == '|') {
				n++
			}
			out = append(out, fd+">")
			i += n
		default:
			b.WriteByte(c)
			open = true
			i++
		}
	}
	end()
	return out
}

// written is a file that a command writes, and what does it.
type written struct{ path, by string }

// writesIn finds the files that a command line writes by redirection, tee,
// sed -i, perl -i, Set-Content, Add-Content or Out-File. What a variable names
// and what is no file of the work (devices, logs, temporary files) is left out.
func writesIn(cmd, workdir string) []written {
	var all []written
	dir := workdir
	for _, p := range partsOf(cmd) {
		w := wordsOf(p.text)
		if len(w) == 0 {
			continue
		}
		if w[0] == "cd" && len(w) == 2 {
			dir = joined(dir, w[1])
			continue
		}
		add := func(by string, paths ...string) {
			for _, path := range paths {
				if path = joined(dir, path); isFile(path) && !slices.Contains(all, written{path, by}) {
					all = append(all, written{path, by})
				}
			}
		}
		for i := 0; i+1 < len(w); i++ {
			if w[i] == ">" || w[i] == "1>" || w[i] == "&>" {
				add(">", w[i+1])
			}
		}
		if i := slices.IndexFunc(w, func(s string) bool { return strings.HasSuffix(s, ">") }); i >= 0 {
			w = w[:i]
		}
		if len(w) < 2 {
			continue
		}
		switch name := strings.ToLower(w[0][strings.LastIndexByte(w[0], '/')+1:]); name {
		case "tee":
			add("tee", plainWords(w[1:])...)
		case "sed", "perl":
			add(name+" -i", editedInPlace(w[1:])...)
		case "set-content", "add-content", "out-file":
			add(w[0], contentPath(w[1:]))
		}
	}
	return all
}

func plainWords(w []string) []string {
	return slices.DeleteFunc(slices.Clone(w), func(s string) bool { return s == "" || strings.HasPrefix(s, "-") })
}

// editedInPlace returns the files behind sed -i or perl -i; none without the
// flag.
func editedInPlace(w []string) []string {
	inPlace, script := false, false
	var files []string
	for i := 0; i < len(w); i++ {
		switch s := w[i]; {
		case strings.HasPrefix(s, "--in-place"):
			inPlace = true
		case s == "-e" || s == "-f" || s == "--expression":
			script = true
			i++
		case strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") && len(s) > 1:
			flags := s[1:]
			if strings.Contains(flags, "i") {
				inPlace = true
			}
			if strings.HasSuffix(flags, "e") && flags != "e" { // perl -pie '…'
				script = true
				i++
			}
		case s == "" || strings.HasPrefix(s, "--"):
		default:
			files = append(files, s)
		}
	}
	if !script && len(files) > 0 {
		files = files[1:]
	}
	if !inPlace {
		return nil
	}
	return files
}

// contentPath returns the file that a PowerShell cmdlet writes.
func contentPath(w []string) string {
	for i := 0; i < len(w); i++ {
		switch f := strings.ToLower(w[i]); {
		case (f == "-path" || f == "-filepath" || f == "-literalpath") && i+1 < len(w):
			return w[i+1]
		case strings.HasPrefix(f, "-"):
			if f == "-value" || f == "-encoding" {
				i++
			}
		default:
			return w[i]
		}
	}
	return ""
}

// joined puts a path below a folder, unless it stands for itself.
func joined(dir, path string) string {
	if dir == "" || path == "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$") || len(path) > 1 && path[1] == ':' {
		return path
	}
	return strings.TrimRight(dir, `/\`) + "/" + path
}

// passing are files that hold what a program said, not work.
var passing = pattern.Lazy(`(?i)\.(log|out|err|prof|tmp|pid)$`)

func isFile(path string) bool {
	return path != "" && path[0] != '&' && path[0] != '-' && !strings.ContainsAny(path, "$*?<>|(){}\n") && !strings.EqualFold(path, "nul") && path != "." &&
		!passing().MatchString(path) && !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/tmp/") && !strings.HasPrefix(path, "/var/tmp/") && !strings.HasSuffix(path, "/")
}

// reads tells a command line that only looks: each of its commands reads,
// lists or searches, and nothing is written.
func reads(cmd string) bool {
	ps := partsOf(cmd)
	for i := range ps {
		w := wordsOf(ps[i].text)
		if len(w) == 0 || preparing().MatchString(ps[i].text) && w[0] != "mkdir" {
			continue
		}
		if !looking().MatchString(ps[i].text) || len(editedInPlace(w[1:])) > 0 && (w[0] == "sed" || w[0] == "perl") {
			return false
		}
	}
	return len(ps) > 0 && len(writesIn(cmd, "")) == 0
}

var looking = pattern.Lazy(`(?i)^(cat|bat|less|head|tail|sed|nl|wc|sort|uniq|cut|tr|awk|jq|ls|dir|tree|pwd|find|fd|rg|grep|egrep|ag|which|type|file|stat|du|echo|printf|column|xxd|hexdump|realpath|dirname|basename|` +
	`get-content|get-childitem|select-object|select-string|test-path|where\.exe|` +
	`git( -C \S+)?( --no-pager)? (status|diff|log|show|branch|blame|grep|ls-files|rev-parse|remote -v))\b`)
