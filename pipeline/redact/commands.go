package redact

import "strings"

// Passwords that commands and connection files take by their place.

// curlUser finds the password of curl -u user:password.
func curlUser(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], " -u ") && !hasPrefix(s[i:], " -u'") && !hasPrefix(s[i:], ` -u"`) {
		return Finding{}, false
	}
	line := s[max(0, i-300):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if !strings.Contains(line, "curl") {
		return Finding{}, false
	}
	from := i + 3
	for from < len(s) && strings.IndexByte(` '"\`, s[from]) >= 0 {
		from++
	}
	to := from
	for to < len(s) && s[to] > ' ' && strings.IndexByte(`'"\`, s[to]) < 0 {
		to++
	}
	user, pass, ok := strings.Cut(s[from:to], ":")
	if !ok || len(pass) < 4 || placeholder(pass) {
		return Finding{}, false
	}
	return Finding{KindPassword, from + len(user) + 1, to}, true
}

// optionP finds the password of "sshpass -p x", "docker login -p x" and
// "mysql -px".
func optionP(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], " -p") {
		return Finding{}, false
	}
	line := s[max(0, i-300):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	from := i + len(" -p")
	switch spaced := from < len(s) && s[from] == ' '; {
	case strings.HasSuffix(line, "sshpass"):
	case strings.Contains(line, "docker login") || strings.Contains(line, "podman login"):
	case !spaced && (strings.Contains(line, "mysql") || strings.Contains(line, "mariadb")):
		if len(s) > from && s[from] == 'a' && hasPrefix(s[from:], "assword") {
			return Finding{}, false
		}
	default:
		return Finding{}, false
	}
	for from < len(s) && strings.IndexByte(" '\"\\=", s[from]) >= 0 {
		from++
	}
	to := from
	for to < len(s) && s[to] > ' ' && s[to] < 0x7f && strings.IndexByte("'\"\\;|&)<>", s[to]) < 0 {
		to++
	}
	if to-from < 4 || placeholder(s[from:to]) || isPath(s[from:to]) {
		return Finding{}, false
	}
	return Finding{KindPassword, from, to}, true
}

// pgpass finds the last field of host:port:database:user:password, whose port,
// one of PostgreSQL, follows the colon at i.
func pgpass(s string, i int) (Finding, bool) {
	if i == 0 || !hasPrefix(s[i:], ":54") || i+5 >= len(s) || s[i+5] != ':' || !digits(s[i+1:i+5]) || !dotted.has(s[i-1]) && s[i-1] != '*' && s[i-1] != ']' {
		return Finding{}, false
	}
	at := i + 5
	for range 2 { // database, user
		end := at + 1
		for end < len(s) && (dotted.has(s[end]) || s[end] == '*') {
			end++
		}
		if end == at+1 || end >= len(s) || s[end] != ':' {
			return Finding{}, false
		}
		at = end
	}
	from := at + 1
	to := from
	for to < len(s) && to < from+maxValue && s[to] > ' ' && strings.IndexByte("\"'`", s[to]) < 0 {
		to++
	}
	if to-from < 4 || placeholder(s[from:to]) {
		return Finding{}, false
	}
	return Finding{KindPassword, from, to}, true
}

// sourceName finds the password of user:password@tcp(host), whose @ is at i.
func sourceName(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "@tcp(") && !hasPrefix(s[i:], "@unix(") {
		return Finding{}, false
	}
	from := i
	for from > 0 && i-from < 128 && s[from-1] > ' ' && s[from-1] < 0x7f && strings.IndexByte(":\"'`", s[from-1]) < 0 {
		from--
	}
	if from == i || from < 2 || s[from-1] != ':' || !dotted.has(s[from-2]) || placeholder(s[from:i]) {
		return Finding{}, false
	}
	return Finding{KindPassword, from, i}, true
}

// labels are the words for a password in scripts without spaces.
var labels = [...]struct {
	word string
	kind Kind
}{
	{"密码", KindPassword}, {"密碼", KindPassword}, {"口令", KindPassword}, {"パスワード", KindPassword}, {"비밀번호", KindPassword},
	{"密钥", KindSecret}, {"密鑰", KindSecret}, {"令牌", KindToken},
}

// links stand between such a word and the value.
var links = [...]string{"：", ":", "＝", "=", "是", "为", "為", "は", "는", "「", "“", "\"", "'", "`", "改成", "设为", "設為", " "}

// labelled finds the value after a label: 密码是…
func labelled(s string, i int) (Finding, bool) {
	for _, l := range labels {
		if !hasPrefix(s[i:], l.word) {
			continue
		}
		from := i + len(l.word)
		quoted := false
		for n := 0; n < 4; {
			n++
			for _, k := range links {
				if hasPrefix(s[from:], k) {
					quoted = quoted || strings.Contains("「“\"'`", k)
					from += len(k)
					n--
					break
				}
			}
			if n > 0 || from-i > 48 {
				break
			}
		}
		if from == i+len(l.word) {
			return Finding{}, false
		}
		to := from
		for to < len(s) && to < from+maxValue && s[to] > ' ' && s[to] < 0x7f && strings.IndexByte("\"'`,;)}]<>|&\\[", s[to]) < 0 {
			to++
		}
		for to > from && s[to-1] == '.' {
			to--
		}
		if hasPrefix(s[to:], markOpen) || codeFollows(s, to) || !secretValue(s[from:to], l.kind, quoted, false) {
			return Finding{}, false
		}
		return Finding{l.kind, from, to}, true
	}
	return Finding{}, false
}

// netrcGoesOn tells whether what stands above ends like an entry of a .netrc over
// several lines.
func netrcGoesOn(above string) bool {
	words := strings.Fields(above)
	n := len(words)
	if n < 2 {
		return n == 1 && words[0] == "default"
	}
	switch words[n-2] {
	case "machine", "login", "user", "account":
		return true
	}
	return words[n-1] == "default"
}

// inNetrc tells whether words can only be an entry of a .netrc up to its password,
// with rest behind: prose has such words, but not in pairs back to the machine.
func inNetrc(words, rest string) bool {
	if !strings.Contains(words, "machine ") && !strings.Contains(words, "default") {
		return false
	}
	fields := strings.Fields(words)
	named := false
	for n := len(fields); n > 0; n -= 2 {
		if fields[n-1] == "default" {
			return named && startsLine(words, "default") && aloneOnLine(rest)
		}
		if n == 1 {
			return false
		}
		value := fields[n-1]
		switch strings.TrimLeft(fields[n-2], "\"'`+-") {
		case "login", "user", "account":
			named = true
		case "machine":
			host := strings.ContainsAny(value, ".:-_0123456789") || value == "localhost" || startsLine(words, "machine")
			return host && (named || aloneOnLine(rest) || strings.Contains(rest[:min(len(rest), maxValue)], " login "))
		default:
			return false
		}
	}
	return false
}

// startsLine tells whether the last line of words with word in it begins so.
func startsLine(words, word string) bool {
	i := strings.LastIndex(words, word)
	return i >= 0 && strings.TrimSpace(words[strings.LastIndexByte(words[:i], '\n')+1:i]) == ""
}

// aloneOnLine tells whether one word is all that is left of the line.
func aloneOnLine(s string) bool {
	line := s[:min(len(s), maxValue)]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return !strings.ContainsAny(strings.TrimSpace(line), " \t")
}
