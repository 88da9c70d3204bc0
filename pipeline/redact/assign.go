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
	if kind == KindAPIKey && hasFold(s[end:], "_base") { // of Rails
		end += len("_base")
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
	sep.sure = sep.tight && sep.char == '=' && name == "_authToken"
	if !ok {
		sep, ok = framed(s, start, end)
	}
	if !ok {
		sep, ok = looseSeparator(s, start, end, kind)
	}
	if !ok {
		return Finding{}, false
	}
	from, to, quoted := value(s, unmarked(s, sep))
	if to <= from {
		return Finding{}, false
	}
	v := s[from:to]
	if kind != KindPassword && kind != KindToken && awsSecret(name) {
		kind = KindAWSSecretKey
	}
	env := sep.sure || noLower(name) && (sep.tight && sep.char == '=' || sep.char == ':' && strings.Contains(name, "-")) // FOO=x, FOO-BAR: x
	if hasPrefix(s[to:], markOpen) || !quoted && codeFollows(s, to) || !secretValue(v, kind, quoted, env) {
		return Finding{}, false
	}
	if len(name) <= len("pass") && !quoted && !mixed(v) { // these mean other things, too
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

// awsSecret tells the names that AWS and those who speak its protocol have for
// the secret half of a key.
func awsSecret(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "aws_secret") || strings.Contains(name, "secret_access_key") || strings.Contains(name, "secretaccesskey")
}

// telling returns what the word at i tells of, and its end.
func telling(s string, i int) (Kind, int) {
	rest := s[i:]
	switch rest[0] | 0x20 {
	case 'p':
		for _, w := range [...]string{"password", "passwd", "passphrase", "passcode", "passwort", "pwd"} {
			if hasFold(rest, w) {
				return KindPassword, i + len(w)
			}
		}
		if hasFold(rest, "pass") && i > 0 && s[i-1] == '_' {
			return KindPassword, i + len("pass")
		}
		if i == 0 || !isAlnum(s[i-1]) && s[i-1] != '-' {
			for _, w := range [...]string{"pass", "pw", "PW"} {
				if hasPrefix(rest, w) && len(rest) > len(w) && strings.IndexByte(":= ", rest[len(w)]) >= 0 {
					return KindPassword, i + len(w)
				}
			}
		}
		if hasFold(rest, "passe") && i > 3 && s[i-3:i] == "de " { // mot de passe
			return KindPassword, i + len("passe")
		}
	case 's':
		if hasFold(rest, "secret") {
			return KindSecret, i + len("secret")
		}
		if hasPrefix(rest, "seña") && i >= len("contra") && hasFold(s[i-len("contra"):], "contra") {
			return KindPassword, i + len("seña")
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
		if hasFold(rest, "kennwort") {
			return KindPassword, i + len("kennwort")
		}
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
	for _, w := range [...]string{"api", "access", "secret", "private", "auth", "account", "master", "signing", "encryption", "subscription", "license", "app", "application", "preshared", "shared"} {
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
	sure  bool   // what stands here is a secret, whatever it looks like
}

// separator reads `"] = "` and the like behind a name.
func separator(s string, i int) (sepAt, bool) {
	j := i
	for j < len(s) && j < i+4 && strings.IndexByte("\\\"'`])", s[j]) >= 0 {
		j++
	}
	if j < len(s) && s[j] == '%' {
		return percentSeparator(s, j)
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

// percentSeparator reads %22%3A%22 and the like, the form of URLs.
func percentSeparator(s string, i int) (sepAt, bool) {
	skip := func(codes ...string) bool {
		for _, c := range codes {
			if hasFold(s[i:], c) {
				i += len(c)
				return true
			}
		}
		return false
	}
	for skip("%22", "%27", "%5c", "%5d") {
	}
	sep := sepAt{char: ':', tight: true}
	if !skip("%3a") {
		if sep.char = '='; !skip("%3d") {
			return sepAt{}, false
		}
	}
	for skip("%20", "+") {
	}
	from := i
	for skip("%5c") {
	}
	if skip("%22", "%27") {
		sep.quote = s[from:i]
	}
	sep.value = from
	return sep, true
}

// looseSeparator reads the space of "--password x" and of "login x password y",
// and the verb of "the password is x". The name begins at start and ends at i.
func looseSeparator(s string, start, i int, kind Kind) (sepAt, bool) {
	v := skipSpace(s, i)
	if v == i {
		return sepAt{}, false
	}
	name := s[start:i]
	if hasPrefix(name, "--") || strings.HasSuffix(name, "authtoken") || name == "_authToken" && start > 0 && s[start-1] == ':' {
		return sepAt{char: ' ', value: v, quote: quoteAt(s, v)}, true
	}
	if kind == KindAWSSecretKey {
		return sepAt{}, false
	}
	v = qualified(s, v)
	for _, verb := range [...]string{"is ", "lautet ", "ist ", "est ", "es ", "-> ", "→ "} {
		if hasPrefix(s[v:], verb) {
			v = skipSpace(s, v+len(verb))
			return sepAt{char: 'i', value: v, quote: quoteAt(s, v)}, true
		}
	}
	if kind != KindPassword {
		return sepAt{}, false
	}
	if hasPrefix(s[v:], "to ") { // set the password to x
		to := skipSpace(s, v+len("to "))
		if from, end, quoted := value(s, sepAt{value: to, quote: quoteAt(s, to)}); quoted || mixed(s[from:end]) {
			return sepAt{char: 'i', value: to, quote: quoteAt(s, to)}, true
		}
		return sepAt{}, false
	}
	if q := quoteAt(s, v); q != "" { // the password "x"
		if from, to, closed := value(s, sepAt{value: v, quote: q}); closed && hasDigit(s[from:to]) {
			return sepAt{char: 'i', value: v, quote: q}, true
		}
		return sepAt{}, false
	}
	above := s[max(0, start-200):start]
	line := above[strings.LastIndexByte(above, '\n')+1:]
	sure := inNetrc(above, s[v:])
	if sure || strings.Contains(line, "login ") || strings.TrimSpace(line) == "" && netrcGoesOn(above) && aloneOnLine(s[v:]) { // .netrc
		return sepAt{char: '=', tight: true, value: v, sure: sure}, true
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
		if from+len(rest) == len(s) {
			return from, len(s), true // the text was cut there
		}
	}
	to = from
	for to < len(s) && to < from+maxValue && s[to] > ' ' && s[to] < 0x7f && strings.IndexByte("\"'`,;)}]<>|&\\", s[to]) < 0 {
		if s[to] == '[' && hasPrefix(s[to:], markOpen) || s[to] == '%' && endsForm(s[to:]) {
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

// endsForm tells whether a value in the form of URLs ends here: quotes, &, comma,
// space, end of line, closing brackets.
func endsForm(s string) bool {
	for _, c := range [...]string{"%22", "%27", "%26", "%2c", "%20", "%0a", "%7d", "%5d", "%5c"} {
		if hasFold(s, c) {
			return true
		}
	}
	return false
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
		return (p.digits > 0 || signed(v)) && !isPath(v)
	}
	if kind == KindAWSSecretKey {
		return len(v) >= 30 && p.spaces == 0
	}
	if p.spaces > 0 || isPath(v) || p.letters == 0 {
		return false
	}
	return p.random(kind, quoted, env)
}

// signed tells a password without digits by a sign that neither a name nor a
// type of source code has.
func signed(v string) bool {
	return len(v) >= 8 && strings.ContainsAny(v[1:], "!@#%^~") && !strings.ContainsAny(v, ".:")
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
	if saysSo(v) {
		return true
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

// saysSo tells whether a value has a word in it by which it stands for another.
func saysSo(v string) bool {
	for i := 0; i < len(v); i++ {
		found := false
		switch rest := v[i:]; v[i] | 0x20 {
		case 'y':
			found = hasFold(rest, "your_") || hasFold(rest, "your-")
		case '_' | 0x20, '-':
			found = hasFold(rest[1:], "here")
		case 'p':
			found = hasFold(rest, "placeholder") || hasFold(rest, "process.env")
		case 'r':
			found = hasFold(rest, "redacted")
		case 'o':
			found = hasFold(rest, "os.environ")
		case 'g':
			found = hasFold(rest, "getenv")
		}
		if found {
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
