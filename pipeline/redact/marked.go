package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Keys that are marked by something else than their beginning, and what is set
// in base64.

// azureSecret finds a client secret: three characters, a digit at i, Q~ and
// the rest.
func azureSecret(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i+1:], "Q~") || i < 3 {
		return Finding{}, false
	}
	from, to := i-3, i+3
	for to < len(s) && (dotted.has(s[to]) || s[to] == '~') {
		to++
	}
	n := len(strings.TrimRight(s[i+3:to], ".-"))
	if n < 31 || n > 40 || !lively(s[i+3:to]) || strings.ContainsAny(s[from:i], " \t\n\"'=:") {
		return Finding{}, false
	}
	to = i + 3 + n
	return Finding{KindServiceToken, from, to}, true
}

// devOps finds a token of Azure DevOps, which has its mark near the end.
func devOps(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "AZDO") {
		return Finding{}, false
	}
	from, to := i, span(s[:min(len(s), i+16)], i, alnum)
	for from > 0 && i-from < 100 && isAlnum(s[from-1]) {
		from--
	}
	if i-from < 60 || to-i != 8 || !lively(s[from:i]) {
		return Finding{}, false
	}
	return Finding{KindServiceToken, from, to}, true
}

// firebase finds a server key: its sender before the colon, the rest at i.
func firebase(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "APA91b") || i == 0 || s[i-1] != ':' {
		return Finding{}, false
	}
	from, to := i-1, span(s, i, dashed)
	for from > 0 && i-from < 24 && dashed.has(s[from-1]) {
		from--
	}
	if to-i < 100 {
		return Finding{}, false
	}
	return Finding{KindServiceToken, from, to}, true
}

// graphToken finds a token of Facebook or Square. In base64 it would be a row of
// zeros, with more of them behind it.
func graphToken(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "EAA") || !boundary(s, i) || i > 0 && s[i-1] == '+' {
		return Finding{}, false
	}
	to := span(s, i, dashed)
	if body := s[i:to]; len(body) < 58 || strings.Contains(body, "AAAAA") || distinct(body) < 20 || !hasDigit(body) || to < len(s) && (s[to] == '+' || s[to] == '/') {
		return Finding{}, false
	}
	return Finding{KindServiceToken, i, to}, true
}

// twilio finds an API key: SK and 32 hex digits.
func twilio(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "SK") || !boundary(s, i) {
		return Finding{}, false
	}
	to := span(s[:min(len(s), i+36)], i+2, hexa)
	if to-i != 34 || to < len(s) && word.has(s[to]) || !lively(s[i+2:to]) {
		return Finding{}, false
	}
	return Finding{KindServiceToken, i, to}, true
}

// mailgun finds key- and 32 hex digits, if it is no part of a longer name.
func mailgun(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "key-") || i > 0 && dotted.has(s[i-1]) {
		return Finding{}, false
	}
	to := span(s[:min(len(s), i+40)], i+4, hexa)
	if to-i != 36 || to < len(s) && dashed.has(s[to]) || !lively(s[i+4:to]) {
		return Finding{}, false
	}
	return Finding{KindServiceToken, i, to}, true
}

// mailchimp finds 32 hex digits before the name of a data centre at i.
func mailchimp(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "-us") || i < 32 {
		return Finding{}, false
	}
	from := i - 32
	to := i + 3
	for to < len(s) && to < i+6 && s[to] >= '0' && s[to] <= '9' {
		to++
	}
	if to == i+3 || to < len(s) && word.has(s[to]) || span(s, from, hexa) != i || !boundary(s, from) || !lively(s[from:i]) {
		return Finding{}, false
	}
	return Finding{KindServiceToken, from, to}, true
}

// terraform finds a token by the mark in its middle.
func terraform(s string, i int) (Finding, bool) {
	const mark = ".atlasv1."
	if !hasPrefix(s[i:], mark) {
		return Finding{}, false
	}
	from, to := i, span(s, i+len(mark), wide)
	for from > 0 && i-from < 20 && isAlnum(s[from-1]) {
		from--
	}
	if i-from < 10 || to-i < 50 {
		return Finding{}, false
	}
	return Finding{KindServiceToken, from, to}, true
}

// airtable finds pat, 14 characters, a dot and 64 hex digits.
func airtable(s string, i int) (Finding, bool) {
	const dot = len("pat") + 14
	if i+dot >= len(s) || s[i+dot] != '.' || !hasPrefix(s[i:], "pat") || !boundary(s, i) || span(s, i, alnum) != i+dot {
		return Finding{}, false
	}
	to := span(s, i+dot+1, hexa)
	if to-i-dot < 60 {
		return Finding{}, false
	}
	return Finding{KindServiceToken, i, to}, true
}

// discordBot finds the token of a bot: its number in base64, and two parts
// more.
func discordBot(s string, i int) (Finding, bool) {
	if !boundary(s, i) {
		return Finding{}, false
	}
	dot := span(s[:min(len(s), i+30)], i, alnum)
	if dot-i < 22 || dot-i > 28 || dot+8 > len(s) || s[dot] != '.' || s[dot+7] != '.' || span(s[:dot+7], dot+1, dashed) != dot+7 {
		return Finding{}, false
	}
	to := span(s[:min(len(s), dot+60)], dot+8, dashed)
	if n := to - dot - 8; n < 27 || n > 45 {
		return Finding{}, false
	}
	return Finding{KindServiceToken, i, to}, true
}

// maxWrapped bounds how much of a text in base64 is looked at, bytes.
const maxWrapped = 16 << 10

// wrapped finds base64 that holds a private key, or JSON with a secret in it.
// It is looked at from the beginning of the run only: what stands within other
// data is no text.
func wrapped(s string, i int) (Finding, bool) {
	key := hasPrefix(s[i:], "LS0tLS1CRUdJTi")
	if !key && !hasPrefix(s[i:], "eyJ") && !hasPrefix(s[i:], "ewo") || i > 0 && s[i-1] != '=' && (isBase64(s[i-1]) || dashed.has(s[i-1])) {
		return Finding{}, false
	}
	to := i
	for to < len(s) && to < i+maxWrapped && s[to] != '=' && (isBase64(s[to]) || dashed.has(s[to])) {
		to++
	}
	if to-i < 24 {
		return Finding{}, false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s[i:to], "-_") {
		enc = base64.RawURLEncoding
	}
	text, _ := enc.DecodeString(s[i : to-(to-i)%4]) // what is whole; a cut one has an end that isn't
	end := to
	for end < len(s) && s[end] == '=' {
		end++
	}
	if key {
		if head := string(text[:min(len(text), 64)]); strings.Contains(head, "PRIVATE KEY") {
			return Finding{KindPrivateKey, i, end}, true
		}
		return Finding{}, false
	}
	if rest, err := enc.DecodeString(s[i:to]); err == nil {
		text = rest
	}
	if len(text) == 0 || len(plain(string(text))) == 0 {
		return Finding{}, false
	}
	return Finding{KindSecret, i, end}, true
}

// dockerAuth finds "auth": user and password in base64.
func dockerAuth(s string, i int) (Finding, bool) {
	const name = "auth"
	if !hasPrefix(s[i:], name) || i == 0 || s[i-1] != '"' {
		return Finding{}, false
	}
	sep, ok := separator(s, i+len(name))
	if !ok || sep.char != ':' || sep.quote == "" {
		return Finding{}, false
	}
	from, to, quoted := value(s, sep)
	if !quoted || to-from < 8 {
		return Finding{}, false
	}
	if !userPass(s[from:to]) {
		return Finding{}, false
	}
	return Finding{KindPassword, from, to}, true
}

// userPass tells whether v is user:password in base64. What decodes to no text is
// a key that has a colon by chance.
func userPass(v string) bool {
	text, err := base64.StdEncoding.DecodeString(v)
	user, pass, cut := strings.Cut(string(text), ":")
	noText := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
	return err == nil && cut && user != "" && pass != "" && utf8.Valid(text) && bytes.IndexFunc(text, noText) < 0
}

// namedAuth finds what follows a name that ends in _auth: user and password in
// base64, as npm has them; a key only where the name is npm's.
func namedAuth(s string, i int) (Finding, bool) {
	end := i + len("auth")
	if i == 0 || s[i-1] != '_' || !hasFold(s[i:], "auth") || end < len(s) && word.has(s[end]) {
		return Finding{}, false
	}
	start := i
	for start > 0 && i-start < 64 && word.has(s[start-1]) {
		start--
	}
	sep, ok := separator(s, end)
	if v := skipSpace(s, end); !ok && v > end && start > 0 && s[start-1] == ':' { // npm config set //host/:_auth x
		sep, ok = sepAt{char: ' ', value: v, quote: quoteAt(s, v)}, true
	}
	if !ok {
		return Finding{}, false
	}
	from, to, quoted := value(s, sep)
	v := s[from:to]
	if len(v) < 8 || placeholder(v) || hasPrefix(s[to:], markOpen) || !quoted && codeFollows(s, to) {
		return Finding{}, false
	}
	if userPass(v) {
		return Finding{KindPassword, from, to}, true
	}
	name, p := strings.ToLower(s[start:end]), profileOf(v)
	if name != "_auth" && !strings.Contains(name, "npm") || p.length < 20 || p.changes*4 < p.length || span(v, 0, wide) < len(v) || strings.Contains(v, ".") {
		return Finding{}, false
	}
	return Finding{KindToken, from, to}, true
}
