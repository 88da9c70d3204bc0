// Package redact takes secrets out of text that is about to leave: memory
// files, MCP answers, requests to a summarizer, log lines, titles, file names.
// What is stored stays as it is; the original is in the source file only.
//
// The way of the data, one pass over the bytes:
//
//	[1] a rolling trigram, case folded, is looked up in a bit table: nearly all
//	    text ends here, at the cost of one table read a byte
//	[2] at a hit the rules that begin so are tried; each has an anchor (a
//	    prefix, a scheme, a name followed by "="), never a pattern that floats
//	[3] text with terminal colours or zero-width characters is looked at once
//	    more without them: they may stand in the middle of a secret
//	[4] the secret is replaced by a typed mark: [redacted:github-token]
//
// What carries no anchor is left alone, however random it looks: commit and
// file hashes, UUIDs, paths and base64 data survive. Values after a telling
// name ("password=") are judged by name and shape together.
//
// Redacting twice gives the same as redacting once. Callers redact before they
// cut: half a key would no longer be recognised.
package redact

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Finding is one secret: bytes From up to To of the text it was found in.
type Finding struct {
	Kind     Kind
	From, To int
}

// Text returns s with every secret replaced by its mark. Text without secrets
// is returned as it is, without a copy. Where colours or zero-width characters
// break up a secret, all of the text comes back without such characters;
// otherwise they stay.
func Text(s string) string {
	// A secret that was glued to another one shows its beginning only when
	// the other is gone. Each pass removes at least one secret.
	for {
		text, found := look(s)
		if len(found) == 0 {
			return s
		}
		s = echoes(replace(text, found), text, found)
	}
}

// echoes takes the passwords that were found in text out of s wherever they
// stand: said once more, nothing tells what they are. Not those that may be a
// word or a number of another meaning.
func echoes(s, text string, found []Finding) string {
	var pairs []string // value, mark
	known := map[string]bool{}
	for _, f := range found {
		if v := text[f.From:f.To]; f.Kind == KindPassword && !known[v] && mixed(v) {
			known[v] = true
			pairs = append(pairs, v, marks[f.Kind])
		}
	}
	if pairs == nil {
		return s
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// look returns the secrets of s and the text they are in: s itself, or s
// without what isn't shown.
func look(s string) (string, []Finding) {
	found := plain(s)
	if text, all, more := reveal(s, found); more {
		return text, all
	}
	return s, found
}

func replace(s string, found []Finding) string {
	size, last := len(s), 0
	for _, f := range found {
		size += len(marks[f.Kind]) - (f.To - f.From)
	}
	var out strings.Builder
	out.Grow(size)
	for _, f := range found {
		out.WriteString(s[last:f.From])
		out.WriteString(marks[f.Kind])
		last = f.To
	}
	out.WriteString(s[last:])
	return out.String()
}

// Bytes is Text for bytes. The result is b itself if nothing was found; b is
// never written to.
func Bytes(b []byte) []byte {
	s := string(b)
	text, found := look(s)
	if len(found) == 0 {
		return b
	}
	return []byte(Text(replace(text, found)))
}

// Find returns the secrets of s in order; they don't overlap. What is glued to
// a secret without a border is seen only once that is gone, and what colours or
// zero-width characters break up only once those are, as Text does it.
func Find(s string) []Finding { return plain(s) }

// Count returns how many secrets of each kind s holds, those that colours or
// zero-width characters break up included; nil if it holds none.
func Count(s string) map[Kind]int {
	var n map[Kind]int
	_, found := look(s)
	for _, f := range found {
		if n == nil {
			n = make(map[Kind]int)
		}
		n[f.Kind]++
	}
	return n
}

// plain finds the secrets of a text as it is written.
func plain(s string) []Finding {
	var all []Finding
	for f, ok := next(s, 0); ok; f, ok = next(s, f.To) {
		all = append(all, f)
	}
	return all
}

const (
	markOpen  = "[redacted:"
	markClose = "]"
)

// marks are the marks of all kinds. They are computed once and only read.
var marks = allMarks()

func allMarks() (m [len(kindNames)]string) {
	for k := range m {
		m[k] = markOpen + Kind(k).String() + markClose
	}
	return m
}

// next returns the first secret that lies wholly behind the byte at.
func next(s string, at int) (Finding, bool) {
	if len(s)-at < 3 {
		return Finding{}, false
	}
	// [1] h holds the low five bits of the last three bytes: enough to tell
	// letters apart, upper and lower case alike.
	h := uint(s[at]&31)<<5 | uint(s[at+1]&31)
	for i := at + 2; i < len(s); i++ {
		h = (h<<5 | uint(s[i]&31)) & trigramMask
		if anchors[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		start := i - 2
		if end := skipMark(s, start); end > 0 {
			// What stands in a mark was judged before.
			i = end - 1
			continue
		}
		// [2]
		f, ok := match(s, start)
		if !ok || f.From < at || f.To <= f.From {
			continue
		}
		// A mark is nobody's secret, and what ends at one was judged when
		// the mark was made.
		if strings.Contains(s[f.From:f.To], markOpen) || hasPrefix(s[f.To:], markOpen) || inMark(s, f.From) {
			continue
		}
		return f, true
	}
	return Finding{}, false
}

// inMark tells whether i lies within a mark.
func inMark(s string, i int) bool {
	open := strings.LastIndexByte(s[max(0, i-40):i], '[')
	if open < 0 {
		return false
	}
	open += max(0, i-40)
	return hasPrefix(s[open:], markOpen) && strings.IndexByte(s[open:i], ']') < 0
}

// skipMark returns the end of the mark whose "red" begins at i, 0 if none does.
func skipMark(s string, i int) int {
	if i == 0 || s[i-1] != '[' || !hasPrefix(s[i-1:], markOpen) {
		return 0
	}
	for j := i - 1 + len(markOpen); j < len(s) && j < i+40; j++ {
		switch c := s[j]; {
		case c == ']':
			return j + 1
		case c != '-' && (c < 'a' || c > 'z'):
			return 0
		}
	}
	return 0
}

const trigramMask = 1<<15 - 1

// anchors has a bit for each trigram by which a rule begins. It is computed
// once and only read.
var anchors = trigrams()

func trigrams() (t [(trigramMask + 1) / 64]uint64) {
	set := func(a string) {
		h := uint(a[0]&31)<<10 | uint(a[1]&31)<<5 | uint(a[2]&31)
		t[h>>6] |= 1 << (h & 63)
	}
	for _, r := range prefixRules {
		set(r.prefix)
	}
	for _, a := range wordAnchors {
		set(a)
	}
	for n := range 90 { // discord bots begin with the base64 of a number
		set(base64.StdEncoding.EncodeToString(strconv.AppendInt(nil, int64(10+n), 10)))
	}
	return t
}

// wordAnchors begin the rules that are more than a prefix. match knows each.
var wordAnchors = [...]string{
	"red",                             // a mark of ours
	"begin",                           // -----BEGIN … PRIVATE KEY-----
	"eyJ",                             // JSON web token
	"://",                             // user and password in a URL
	":AA",                             // telegram bot
	"bearer",                          //
	"auth",                            // Authorization: …
	"cookie",                          //
	"hooks.",                          // slack
	"webhooks/",                       // discord
	"sig",                             // signed URLs
	" -u",                             // curl
	"key",                             // api_key = …
	"pas", "pwd", "pw ", "pw:", "pw=", // password = …
	"secret", "token", "credential",
	"kennwort",
	"0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~", // azure
	"EAA", "APA91b", "AZDO", "-us", ".atlasv1.", // marked at their end or in their middle
	"SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf", // twilio
	"pat",                   // airtable
	" -p",                   // passwords of commands
	":54",                   // .pgpass
	"@tcp(",                 // data source names
	"@unix(",                //
	"LS0tLS1CRUdJTi", "ewo", // base64 of a key block, of JSON
	"密码", "口令", "パスワード", "비밀번호", "令牌", // labelled
}

// match tries the rules that can begin with the three bytes at i.
func match(s string, i int) (Finding, bool) {
	switch c := s[i]; c {
	case 'b', 'B':
		return either(s, i, privateKey, bearer, prefixed)
	case 'e':
		return either(s, i, webToken, wrapped, prefixed)
	case ':':
		return either(s, i, urlPassword, telegram, pgpass)
	case 'a', 'A':
		return either(s, i, authorization, dockerAuth, namedAuth, devOps, firebase, prefixed)
	case 'c', 'C':
		return either(s, i, cookie, prefixed, assignment)
	case 'h':
		return either(s, i, slackHook, prefixed)
	case 'w':
		return either(s, i, discordHook, prefixed)
	case ' ':
		return either(s, i, curlUser, optionP)
	case 's', 'S':
		return either(s, i, signature, twilio, prefixed, assignment)
	case 'k', 'K':
		return either(s, i, mailgun, prefixed, assignment)
	case 'p', 'P':
		return either(s, i, airtable, prefixed, assignment)
	case 't', 'T':
		return either(s, i, prefixed, assignment)
	case '.':
		return terraform(s, i)
	case '-':
		return mailchimp(s, i)
	case '@':
		return sourceName(s, i)
	case 'E':
		return either(s, i, graphToken, prefixed)
	case 'L':
		return either(s, i, wrapped, prefixed)
	case 'M', 'N', 'O':
		return either(s, i, discordBot, prefixed)
	case 0xe3, 0xe4, 0xe5, 0xeb:
		return labelled(s, i)
	default:
		if c >= '0' && c <= '9' {
			return either(s, i, azureSecret, prefixed)
		}
	}
	return prefixed(s, i)
}

// either returns what the first of the rules finds.
func either(s string, i int, rules ...func(string, int) (Finding, bool)) (Finding, bool) {
	for _, r := range rules {
		if f, ok := r(s, i); ok {
			return f, true
		}
	}
	return Finding{}, false
}
