package redact

import "strings"

// charset is a set of bytes a secret may consist of.
type charset uint8

const (
	alnum  charset = iota + 1 // letters and digits
	upper                     // capital letters and digits
	hexa                      // lower case hex
	word                      // alnum and _
	dashed                    // alnum, _ and -
	dotted                    // alnum, _, - and .
)

func (c charset) has(b byte) bool {
	digit := b >= '0' && b <= '9'
	switch c {
	case alnum:
		return isAlnum(b)
	case upper:
		return digit || b >= 'A' && b <= 'Z'
	case hexa:
		return digit || b >= 'a' && b <= 'f'
	case word:
		return isAlnum(b) || b == '_'
	case dashed:
		return isAlnum(b) || b == '_' || b == '-'
	case dotted:
		return isAlnum(b) || b == '_' || b == '-' || b == '.'
	}
	return false
}

// prefixRule is a key that its vendor marked: prefix, then at least least
// bytes of the set. most bounds the length where it is fixed, 0 otherwise.
type prefixRule struct {
	prefix      string
	kind        Kind
	set         charset
	least, most int
}

// prefixRules are tried in order: of two that share a beginning the longer
// stands first.
var prefixRules = [...]prefixRule{
	{"AKIA", KindAWSAccessKey, upper, 16, 16},
	{"ASIA", KindAWSAccessKey, upper, 16, 16},
	{"ABIA", KindAWSAccessKey, upper, 16, 16},
	{"ACCA", KindAWSAccessKey, upper, 16, 16},
	{"ghp_", KindGitHubToken, word, 30, 0},
	{"gho_", KindGitHubToken, word, 30, 0},
	{"ghu_", KindGitHubToken, word, 30, 0},
	{"ghs_", KindGitHubToken, dotted, 30, 0},
	{"ghr_", KindGitHubToken, word, 30, 0},
	{"github_pat_", KindGitHubToken, word, 22, 0},
	{"glpat-", KindGitLabToken, dotted, 20, 0},
	{"glptt-", KindGitLabToken, dashed, 20, 0},
	{"gldt-", KindGitLabToken, dashed, 20, 0},
	{"glrt-", KindGitLabToken, dotted, 20, 0},
	{"glcbt-", KindGitLabToken, dashed, 20, 0},
	{"gloas-", KindGitLabToken, dashed, 32, 0},
	{"glsa_", KindServiceToken, word, 32, 0}, // grafana
	{"glc_", KindServiceToken, alnum, 40, 0}, // grafana cloud
	{"sk-ant-", KindAnthropicKey, dashed, 20, 0},
	{"sk-proj-", KindOpenAIKey, dashed, 20, 0},
	{"sk-svcacct-", KindOpenAIKey, dashed, 20, 0},
	{"sk-admin-", KindOpenAIKey, dashed, 20, 0},
	{"sk-or-v1-", KindServiceToken, dashed, 20, 0},
	{"sk-lf-", KindServiceToken, dashed, 20, 0},
	{"sk-", KindOpenAIKey, alnum, 20, 0},
	{"xoxa-", KindSlackToken, dashed, 10, 0},
	{"xoxb-", KindSlackToken, dashed, 10, 0},
	{"xoxc-", KindSlackToken, dashed, 10, 0},
	{"xoxd-", KindSlackToken, dashed, 10, 0},
	{"xoxe-", KindSlackToken, dashed, 10, 0},
	{"xoxe.xoxp-", KindSlackToken, dashed, 10, 0},
	{"xoxo-", KindSlackToken, dashed, 10, 0},
	{"xoxp-", KindSlackToken, dashed, 10, 0},
	{"xoxr-", KindSlackToken, dashed, 10, 0},
	{"xoxs-", KindSlackToken, dashed, 10, 0},
	{"xapp-", KindSlackToken, dashed, 20, 0},
	{"AIza", KindGoogleKey, dashed, 35, 0},
	{"GOCSPX-", KindGoogleKey, dashed, 20, 0},
	{"ya29.", KindGoogleKey, dashed, 20, 0},
	{"sk_live_", KindStripeKey, alnum, 16, 0},
	{"sk_test_", KindStripeKey, alnum, 16, 0},
	{"rk_live_", KindStripeKey, alnum, 16, 0},
	{"rk_test_", KindStripeKey, alnum, 16, 0},
	{"whsec_", KindStripeKey, alnum, 20, 0},
	{"npm_", KindNPMToken, alnum, 36, 0},
	{"hf_", KindHuggingFaceToken, alnum, 30, 0},
	{"pypi-AgE", KindServiceToken, dashed, 40, 0},
	{"dop_v1_", KindServiceToken, hexa, 60, 0},
	{"doo_v1_", KindServiceToken, hexa, 60, 0},
	{"dapi", KindServiceToken, hexa, 32, 0}, // databricks
	{"dckr_pat_", KindServiceToken, dashed, 20, 0},
	{"shpat_", KindServiceToken, alnum, 32, 0},
	{"shpss_", KindServiceToken, alnum, 32, 0},
	{"shpca_", KindServiceToken, alnum, 32, 0},
	{"lin_api_", KindServiceToken, alnum, 30, 0},
	{"gsk_", KindServiceToken, alnum, 40, 0},
	{"xai-", KindServiceToken, alnum, 40, 0},
	{"r8_", KindServiceToken, alnum, 30, 0},
	{"pplx-", KindServiceToken, alnum, 30, 0},
	{"tvly-", KindServiceToken, dashed, 20, 0},
	{"nvapi-", KindServiceToken, dashed, 40, 0},
	{"sq0atp-", KindServiceToken, dashed, 20, 0},
	{"sq0csp-", KindServiceToken, dashed, 20, 0},
	{"SG.", KindServiceToken, dotted, 50, 0}, // sendgrid
	{"ATATT3", KindServiceToken, dashed, 50, 0},
	{"AGE-SECRET-KEY-1", KindPrivateKey, upper, 50, 0},
}

// rulesBy holds the numbers of the rules that begin with a byte. It is
// computed once and only read.
var rulesBy = rulesByFirst()

func rulesByFirst() (by [256][]uint8) {
	for i, r := range prefixRules {
		by[r.prefix[0]] = append(by[r.prefix[0]], uint8(i))
	}
	return by
}

// maxBody is how much of a body, in bytes, tells whether it is a key. Looking
// at all of it for each of many prefixes in a row would take for ever.
const maxBody = 1024

// prefixed tries the marked keys at i.
func prefixed(s string, i int) (Finding, bool) {
	border := boundary(s, i)
	for _, r := range rulesBy[s[i]] {
		rule := &prefixRules[r]
		if !hasPrefix(s[i:], rule.prefix) {
			continue
		}
		from := i + len(rule.prefix)
		to := span(s[:min(len(s), from+maxBody)], from, rule.set)
		if to == from+maxBody && rule.most == 0 && lively(s[from:to]) {
			to = span(s, to, rule.set)
		}
		// A full stop or dash at the end is the sentence's.
		for to > from && (s[to-1] == '.' || s[to-1] == '-') {
			to--
		}
		body := s[from:to]
		if len(body) < rule.least || rule.most > 0 && len(body) > rule.most || !lively(body) {
			continue
		}
		// Within a word only what can't be one: a joined prefix before a long
		// body. Encoded binary data has no such joint.
		if joint := rule.prefix[len(rule.prefix)-1]; !border && (joint != '_' && joint != '-' || len(rule.prefix) < 4 || len(body) < 30 || !hasDigit(body)) {
			continue
		}
		return Finding{rule.kind, i, to}, true
	}
	return Finding{}, false
}

// boundary tells whether a word can begin at i. The n of "\n" in a quoted
// string is no letter of that word.
func boundary(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch c := s[i-1]; {
	case !isAlnum(c) && c != '-':
		return true
	case c == '-':
		return i < 2 || !isAlnum(s[i-2])
	default:
		return i > 1 && s[i-2] == '\\' && strings.IndexByte("nrtbf", c) >= 0 || afterEscape(s, i)
	}
}

// lively tells a key from the dummies of documentation, which repeat one or
// two characters, and from names, which have no digit: a body of n random
// characters lacks digits with a chance of (5/6)^n.
func lively(body string) bool {
	var seen [256]bool
	distinct, digit := 0, false
	for i := 0; i < len(body); i++ {
		if !seen[body[i]] {
			seen[body[i]] = true
			distinct++
		}
		digit = digit || body[i] >= '0' && body[i] <= '9'
	}
	return distinct >= 5 && (digit || distinct >= 14)
}

func isAlnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// containsFold tells whether s holds the lower case ASCII word.
func containsFold(s, lower string) bool {
	for i := 0; i+len(lower) <= len(s); i++ {
		if s[i]|0x20 == lower[0]|0x20 && hasFold(s[i:], lower) {
			return true
		}
	}
	return false
}

// hasFold tells whether s begins with the lower case ASCII word.
func hasFold(s, lower string) bool {
	if len(s) < len(lower) {
		return false
	}
	for i := 0; i < len(lower); i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
