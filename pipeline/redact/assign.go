package redact

import "strings"

// maxValue bounds an assigned value, bytes.
const maxValue = 512

// assignment finds the value of name = value, name: value, "name": "value",
// --name value, where the name ends in a word that tells of a secret and the
// word begins at i.
func assignment(s string, i int) (Finding, bool) {
	kind, end := telling(s, i)
	if kind == 0 {
		return Finding{}, false
	}
	// Digits may follow (PASSWORD2); a name that goes on means something
	// else: token_count, password_hash, secretName.
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end < len(s) && (isAlnum(s[end]) || s[end] == '_') {
		return Finding{}, false
	}
	if end+1 < len(s) && s[end] == '-' && isAlnum(s[end+1]) {
		return Finding{}, false
	}
	start := i
	for start > 0 && i-start < 64 && (isAlnum(s[start-1]) || s[start-1] == '_' || s[start-1] == '-') {
		start--
	}
	name := s[start:end]
	if kind == KindPassword && (name == "PWD" || name == "OLDPWD") {
		return Finding{}, false
	}

	sep, ok := separator(s, end)
	if !ok {
		sep, ok = looseSeparator(s, end, kind, hasPrefix(name, "--"))
	}
	if !ok {
		return Finding{}, false
	}
	from, to, quoted := value(s, sep)
	if to <= from {
		return Finding{}, false
	}
	v := s[from:to]
	if kind != KindPassword && kind != KindToken && (containsFold(name, "aws_secret") || containsFold(name, "secret_access_key") || containsFold(name, "secretaccesskey")) {
		kind = KindAWSSecretKey
	}
	env := sep.tight && sep.char == '=' && noLower(name)
	if hasPrefix(s[to:], markOpen) || !quoted && codeFollows(s, to) || !secretValue(v, kind, quoted, env) {
		return Finding{}, false
	}
	// The value may tell itself what it is.
	if f, ok := prefixed(s, from); ok && f.To == to {
		return f, true
	}
	if f, ok := webToken(s, from); ok && f.To == to {
		return f, true
	}
	return Finding{kind, from, to}, true
}

// telling returns what the word at i tells of, and its end.
func telling(s string, i int) (Kind, int) {
	rest := s[i:]
	switch rest[0] | 0x20 {
	case 'p':
		for _, w := range [...]string{"password", "passwd", "passphrase", "passcode", "pwd"} {
			if hasFold(rest, w) {
				return KindPassword, i + len(w)
			}
		}
		if hasFold(rest, "pass") && i > 0 && s[i-1] == '_' {
			return KindPassword, i + len("pass")
		}
	case 's':
		if hasFold(rest, "secret") {
			return KindSecret, i + len("secret")
		}
	case 't':
		if hasFold(rest, "token") {
			return KindToken, i + len("token")
		}
	case 'c':
		for _, w := range [...]string{"credentials", "credential"} {
			if hasFold(rest, w) {
				return KindSecret, i + len(w)
			}
		}
	case 'k':
		if hasFold(rest, "key") && keyOf(s, i) {
			return KindAPIKey, i + len("key")
		}
	}
	return 0, 0
}

// keyOf tells whether the "key" at i is the key of something that opens:
// api_key, accessKey, private-key. A bare key is the word of every map.
func keyOf(s string, i int) bool {
	j := i
	if j > 0 && (s[j-1] == '_' || s[j-1] == '-' || s[j-1] == ' ') {
		j--
	}
	for _, w := range [...]string{"api", "access", "secret", "private", "auth", "account", "master", "signing", "encryption", "subscription", "license"} {
		if j >= len(w) && hasFold(s[j-len(w):], w) {
			return true
		}
	}
	return false
}

// sepAt is the place between a name and its value.
type sepAt struct {
	char  byte   // '=' or ':', ' ' for a command line option, 'i' for "is"
	tight bool   // no space around it
	value int    // where the value begins, its quote included
	quote string // with the backslashes before it; empty for a bare value
}

// separator reads `"] = "` and the like behind a name.
func separator(s string, i int) (sepAt, bool) {
	j := i
	for j < len(s) && j < i+4 && strings.IndexByte("\\\"'`])", s[j]) >= 0 {
		j++
	}
	k := skipSpace(s, j)
	if k >= len(s) || k-j > 24 {
		return sepAt{}, false
	}
	sep := sepAt{tight: k == j}
	switch s[k] {
	case '=':
		sep.char = '='
		k++
		if k < len(s) && (s[k] == '>' || s[k] == '=') {
			k++
		}
	case ':':
		sep.char = ':'
		k++
		if k < len(s) && s[k] == '=' {
			sep.char = '='
			k++
		}
	default:
		return sepAt{}, false
	}
	v := skipSpace(s, k)
	sep.tight = sep.tight && v == k
	sep.value, sep.quote = v, quoteAt(s, v)
	return sep, true
}

// looseSeparator reads the space of "--password x" and the verb of "the
// password is x".
func looseSeparator(s string, i int, kind Kind, option bool) (sepAt, bool) {
	v := skipSpace(s, i)
	if v == i {
		return sepAt{}, false
	}
	switch {
	case option:
		return sepAt{char: ' ', value: v, quote: quoteAt(s, v)}, true
	case kind != KindAWSSecretKey && hasPrefix(s[v:], "is "):
		v = skipSpace(s, v+3)
		return sepAt{char: 'i', value: v, quote: quoteAt(s, v)}, true
	}
	return sepAt{}, false
}

// quoteAt returns the quote at i with its escapes, empty if there is none.
func quoteAt(s string, i int) string {
	j := i
	for j < len(s) && j < i+4 && s[j] == '\\' {
		j++
	}
	if j < len(s) && strings.IndexByte("\"'`", s[j]) >= 0 {
		return s[i : j+1]
	}
	return ""
}

// value returns the bytes of the value at sep, without quotes.
func value(s string, sep sepAt) (from, to int, quoted bool) {
	from = sep.value
	if sep.quote != "" {
		from += len(sep.quote)
		rest := s[from:min(len(s), from+maxValue)]
		if line := strings.IndexByte(rest, '\n'); line >= 0 {
			rest = rest[:line]
		}
		if e := strings.Index(rest, sep.quote); e >= 0 {
			return from, from + e, true
		}
	}
	to = from
	for to < len(s) && to < from+maxValue && s[to] > ' ' && s[to] < 0x7f && strings.IndexByte("\"'`,;)}]<>|&\\", s[to]) < 0 {
		if s[to] == '[' && hasPrefix(s[to:], markOpen) {
			break
		}
		to++
	}
	// The full stop of a sentence.
	if to > from && s[to-1] == '.' {
		to--
	}
	return from, to, false
}

// codeFollows tells that a bare value goes on as an expression.
func codeFollows(s string, i int) bool {
	return i < len(s) && (s[i] == '(' || s[i] == '[' || s[i] == '{')
}

// secretValue judges a value by its kind and shape. Source code assigns to
// such names all day, so a bare value needs more than a quoted one.
func secretValue(v string, kind Kind, quoted, env bool) bool {
	if placeholder(v) || strings.Contains(v, markOpen) || strings.Contains(v, "://") {
		return false
	}
	if !quoted && strings.ContainsAny(v, "({[$") {
		return false
	}
	p := profileOf(v)
	if kind == KindPassword {
		switch {
		case p.spaces > 0:
			return quoted && p.digits > 0 && len(v) >= 8 && p.spaces <= 4
		case len(v) < 6:
			return false
		case quoted || env:
			return true
		}
		return p.digits > 0 && !isPath(v)
	}
	if kind == KindAWSSecretKey {
		return len(v) >= 30 && p.spaces == 0
	}
	if p.spaces > 0 || isPath(v) || p.letters == 0 {
		return false
	}
	return p.random(kind, quoted, env)
}

// profile counts what a value consists of.
type profile struct {
	length, digits, letters, spaces int
	changes                         int // between lower, upper and digit
	distinct                        int
}

func profileOf(v string) profile {
	p := profile{length: len(v)}
	var seen [256]bool
	last := byte(0)
	for i := 0; i < len(v); i++ {
		c := v[i]
		class := byte(0)
		switch {
		case c >= '0' && c <= '9':
			p.digits++
			class = 'd'
		case c >= 'a' && c <= 'z':
			p.letters++
			class = 'l'
		case c >= 'A' && c <= 'Z':
			p.letters++
			class = 'u'
		case c == ' ' || c == '\t':
			p.spaces++
		}
		if class != 0 {
			if last != 0 && class != last {
				p.changes++
			}
			last = class
		}
		if !seen[c] {
			seen[c] = true
			p.distinct++
		}
	}
	return p
}

// random tells a generated value from a name. Names change between letters
// and digits seldom, generated values all the time.
func (p profile) random(kind Kind, quoted, env bool) bool {
	if p.length < 8 || p.distinct < 6 {
		return false
	}
	switch {
	case p.digits == 0:
		// No digit: only long and mixed like no camelCase name is.
		return (quoted || env) && p.length >= 20 && p.changes*5 >= p.length*2
	case p.length >= 24:
		return p.changes >= 2 || p.digits >= 4
	case kind == KindSecret || env:
		return p.changes >= 2
	}
	return p.changes >= 3 && p.digits >= 2
}

func isPath(v string) bool {
	return hasPrefix(v, "/") || hasPrefix(v, "./") || hasPrefix(v, "../") || hasPrefix(v, "~") ||
		len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/')
}

// placeholder tells values that stand for a secret.
func placeholder(v string) bool {
	if v == "" || strings.IndexByte("$<{%*.", v[0]) >= 0 || hasPrefix(v, markOpen) {
		return true
	}
	if strings.Trim(v, v[:1]) == "" { // xxxx, ----
		return true
	}
	for _, w := range [...]string{"your_", "your-", "<your", "_here", "-here", "placeholder", "redacted", "process.env", "os.environ", "getenv"} {
		if containsFold(v, w) {
			return true
		}
	}
	if len(v) > 24 {
		return false
	}
	v = strings.Trim(v, "!?. ")
	for _, w := range placeholders {
		if len(v) == len(w) && hasFold(v, w) {
			return true
		}
	}
	return false
}

// placeholders is only read.
var placeholders = [...]string{
	"string", "password", "passwd", "secret", "token", "required", "optional", "none", "null", "nil",
	"true", "false", "undefined", "unknown", "empty", "missing", "invalid", "hidden", "current-password",
	"new-password", "prompt", "boolean", "integer", "number", "default", "disabled", "enabled", "username",
}

func noLower(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'a' && s[i] <= 'z' {
			return false
		}
	}
	return true
}
