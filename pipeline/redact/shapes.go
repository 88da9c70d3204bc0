package redact

import "strings"

// maxKeyBlock bounds the search for the end of a private key block, bytes.
const maxKeyBlock = 16 << 10

// privateKey finds a PEM block whose BEGIN stands at i. A block that was cut
// off has no END: its base64 lines are taken. Code that only names the header
// is left alone.
func privateKey(s string, i int) (Finding, bool) {
	const dashes = "-----"
	if i < len(dashes) || s[i-len(dashes):i] != dashes || !hasPrefix(s[i:], "BEGIN ") {
		return Finding{}, false
	}
	head := s[i:min(len(s), i+64)]
	end := strings.Index(head, dashes)
	if end < 0 || !strings.Contains(head[:end], "PRIVATE KEY") {
		return Finding{}, false
	}
	from, body := i-len(dashes), i+end+len(dashes)
	rest := s[body:min(len(s), body+maxKeyBlock)]
	foot := dashes + "END " + head[len("BEGIN "):end] + dashes
	if e := strings.Index(rest, foot); e >= 0 && longestRun(rest[:e]) >= 16 && !strings.Contains(rest[:e], dashes+"BEGIN ") {
		return Finding{KindPrivateKey, from, body + e + len(foot)}, true
	}
	n := 0
	for n < len(rest) && (isBase64(rest[n]) || strings.IndexByte("\r\n\\ \t", rest[n]) >= 0) {
		n++
	}
	if longestRun(rest[:n]) < 16 {
		return Finding{}, false
	}
	return Finding{KindPrivateKey, from, body + len(strings.TrimRight(rest[:n], "\r\n\t \\"))}, true
}

func isBase64(b byte) bool { return isAlnum(b) || b == '+' || b == '/' || b == '=' }

// longestRun is the length of the longest run of base64 characters.
func longestRun(s string) int {
	best, n := 0, 0
	for i := 0; i < len(s); i++ {
		if isBase64(s[i]) {
			n++
			best = max(best, n)
		} else {
			n = 0
		}
	}
	return best
}

// webToken finds a JSON web token: base64url parts joined by dots, the first
// of which decodes to {"…
func webToken(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "eyJ") || !boundary(s, i) {
		return Finding{}, false
	}
	end := span(s, i, dotted)
	parts := strings.Split(s[i:end], ".")
	if len(parts) < 3 || len(parts[0]) < 10 {
		return Finding{}, false
	}
	if !hasPrefix(parts[1], "eyJ") && len(parts[0])+len(parts[1])+len(parts[2]) < 48 {
		return Finding{}, false
	}
	return Finding{KindWebToken, i, i + len(strings.TrimRight(s[i:end], "."))}, true
}

// span returns the end of the run of set that begins at i.
func span(s string, i int, set charset) int {
	for i < len(s) && set.has(s[i]) {
		i++
	}
	return i
}

// urlPassword finds the password of scheme://user:password@host, whose colon
// is at i. User and host stay readable.
func urlPassword(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], "://") || i == 0 || !isAlnum(s[i-1]) {
		return Finding{}, false
	}
	from := i + 3
	end := from
	for end < len(s) && end < from+256 && s[end] > ' ' && strings.IndexByte("\"'<>`\\", s[end]) < 0 {
		end++
	}
	userinfo := s[from:end]
	authority := userinfo
	if cut := strings.IndexAny(userinfo, "/?#"); cut >= 0 {
		authority = userinfo[:cut]
	}
	colon := strings.IndexByte(authority, ':')
	at := strings.LastIndexByte(authority, '@')
	if colon >= 0 && at < 0 && !digits(authority[colon+1:]) {
		// What follows the colon is no port: a password with a slash in it.
		at = strings.IndexByte(userinfo, '@')
	}
	if colon < 0 && at >= 20 && lively(authority[:at]) && span(authority, 0, dotted) == at {
		return Finding{KindURLPassword, from, from + at}, true // a token in place of a user
	}
	if colon < 0 || at <= colon+1 {
		return Finding{}, false
	}
	if placeholder(userinfo[colon+1 : at]) {
		return Finding{}, false
	}
	return Finding{KindURLPassword, from + colon + 1, from + at}, true
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// telegram finds a bot token: 8 to 10 digits, the colon at i, 35 characters.
func telegram(s string, i int) (Finding, bool) {
	if !hasPrefix(s[i:], ":AA") {
		return Finding{}, false
	}
	from := i
	for from > 0 && s[from-1] >= '0' && s[from-1] <= '9' {
		from--
	}
	end := span(s, i+1, dashed)
	if i-from < 8 || i-from > 10 || end-i-1 != 35 {
		return Finding{}, false
	}
	return Finding{KindServiceToken, from, end}, true
}

// bearer finds the token after "Bearer ".
func bearer(s string, i int) (Finding, bool) {
	const name = "bearer"
	if !hasFold(s[i:], name) || !boundary(s, i) {
		return Finding{}, false
	}
	from := skipSpace(s, i+len(name))
	if from == i+len(name) {
		return Finding{}, false
	}
	to := credentialEnd(s, from)
	v := s[from:to]
	if len(v) < 16 || !hasDigit(v) && len(v) < 40 || placeholder(v) {
		return Finding{}, false
	}
	return Finding{KindBearerToken, from, to}, true
}

// authorization finds the value of an Authorization header in its text, JSON
// or source form.
func authorization(s string, i int) (Finding, bool) {
	const name = "authorization"
	if !hasFold(s[i:], name) {
		return Finding{}, false
	}
	sep, ok := separator(s, i+len(name))
	if !ok {
		return Finding{}, false
	}
	from := sep.value
	if sep.quote != "" {
		from += len(sep.quote)
	}
	least, needDigit := 16, true
	for _, scheme := range [...]string{"basic", "bearer", "token", "apikey", "digest", "negotiate", "ssws"} {
		if hasFold(s[from:], scheme) {
			if v := skipSpace(s, from+len(scheme)); v > from+len(scheme) {
				from, least = v, 8
				needDigit = scheme == "token" || scheme == "bearer" // words of prose
				break
			}
		}
	}
	to := credentialEnd(s, from)
	v := s[from:to]
	if len(v) < least || needDigit && !hasDigit(v) && len(v) < 40 || placeholder(v) {
		return Finding{}, false
	}
	return Finding{KindAuthorization, from, to}, true
}

// credentialEnd returns the end of a header's credential that begins at i.
func credentialEnd(s string, i int) int {
	for i < len(s) && (isBase64(s[i]) || strings.IndexByte("._~-:", s[i]) >= 0) {
		i++
	}
	return i
}

// cookie finds the cookies of a header, from the first value that looks like
// a session to the last one.
func cookie(s string, i int) (Finding, bool) {
	const name = "cookie"
	if !hasFold(s[i:], name) {
		return Finding{}, false
	}
	sep, ok := separator(s, i+len(name))
	if !ok || sep.char != ':' {
		return Finding{}, false
	}
	var f Finding
	for at := sep.value + len(sep.quote); at < len(s); {
		end := at
		for end < len(s) && end < at+4096 && s[end] > ' ' && s[end] < 0x7f && strings.IndexByte("\"'`\\;", s[end]) < 0 {
			end++
		}
		if hasPrefix(s[min(end, len(s)):], markOpen) || strings.Contains(s[at:end], markOpen) {
			return Finding{}, false
		}
		if _, v, ok := strings.Cut(s[at:end], "="); ok && len(v) >= 16 && hasDigit(v) && !placeholder(v) {
			if f.Kind == 0 {
				f.Kind, f.From = KindCookie, end-len(v)
			}
			f.To = end
		}
		if end == len(s) || s[end] != ';' {
			break
		}
		at = skipSpace(s, end+1)
	}
	return f, f.Kind != 0
}

// slackHook finds the path of an incoming webhook, which is all one needs to
// post to it.
func slackHook(s string, i int) (Finding, bool) {
	const host = "hooks.slack.com/services/"
	if !hasPrefix(s[i:], host) {
		return Finding{}, false
	}
	from := i + len(host)
	to := from
	for to < len(s) && (isAlnum(s[to]) || s[to] == '/') {
		to++
	}
	if to-from < 20 || !lively(s[from:to]) {
		return Finding{}, false
	}
	return Finding{KindWebhook, from, to}, true
}

func discordHook(s string, i int) (Finding, bool) {
	const path = "webhooks/"
	if !hasPrefix(s[i:], path) {
		return Finding{}, false
	}
	id := i + len(path)
	from := id
	for from < len(s) && s[from] >= '0' && s[from] <= '9' {
		from++
	}
	if from-id < 16 || from == len(s) || s[from] != '/' {
		return Finding{}, false
	}
	from++
	to := span(s, from, dashed)
	if to-from < 50 {
		return Finding{}, false
	}
	return Finding{KindWebhook, from, to}, true
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
