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
	wide                      // dotted, + / and =
)

// charsets has a bit for each set that a byte is in. It is computed once and
// only read.
var charsets = charsetBits()

func charsetBits() (t [256]uint8) {
	const others = "_-.+/="
	for b := range 256 {
		c := byte(b)
		digit, sign := c >= '0' && c <= '9', strings.IndexByte(others, c)
		for set, in := range [...]bool{
			alnum: isAlnum(c), upper: digit || c >= 'A' && c <= 'Z', hexa: digit || c >= 'a' && c <= 'f',
			word: isAlnum(c) || sign == 0, dashed: isAlnum(c) || sign == 0 || sign == 1,
			dotted: isAlnum(c) || sign >= 0 && sign <= 2, wide: isAlnum(c) || sign >= 0,
		} {
			if in {
				t[b] |= 1 << set
			}
		}
	}
	return t
}

func (c charset) has(b byte) bool { return charsets[b]&(1<<c) != 0 }

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
	{"sk-kimi-", KindServiceToken, dashed, 20, 0},
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
	{"1//0", KindGoogleKey, dashed, 36, 0},    // refresh token
	{"LTAI", KindServiceToken, alnum, 16, 28}, // alibaba cloud
	{"AKID", KindServiceToken, alnum, 32, 36}, // tencent cloud
	{"AKLT", KindServiceToken, wide, 30, 80},  // volcengine
	{"bce-v3/ALTAK-", KindServiceToken, wide, 40, 0},
	{"HRKU-", KindServiceToken, dashed, 36, 0}, // heroku
	{"fm2_", KindServiceToken, wide, 40, 0},    // fly
	{"fm1r_", KindServiceToken, wide, 40, 0},
	{"fo1_", KindServiceToken, wide, 40, 0},
	{"sbp_", KindServiceToken, hexa, 40, 0}, // supabase
	{"sb_secret_", KindServiceToken, word, 20, 0},
	{"pscale_pw_", KindServiceToken, dotted, 30, 0},
	{"pscale_tkn_", KindServiceToken, dotted, 30, 0},
	{"pscale_oauth_", KindServiceToken, dotted, 30, 0},
	{"rubygems_", KindServiceToken, hexa, 40, 0},
	{"dor_v1_", KindServiceToken, hexa, 60, 0},
	{"dckr_oat_", KindServiceToken, dashed, 20, 0},
	{"shppa_", KindServiceToken, alnum, 32, 0},
	{"lin_oauth_", KindServiceToken, alnum, 30, 0},
	{"sntrys_", KindServiceToken, wide, 40, 0}, // sentry
	{"sntryu_", KindServiceToken, hexa, 60, 0},
	{"NRAK-", KindServiceToken, upper, 27, 0}, // new relic
	{"ntn_", KindServiceToken, alnum, 40, 0},  // notion
	{"secret_", KindServiceToken, alnum, 43, 43},
	{"figd_", KindServiceToken, dashed, 36, 0},
	{"ATBB", KindServiceToken, alnum, 28, 40}, // bitbucket
	{"ATCTT3", KindServiceToken, dashed, 50, 0},
	{"hvs.", KindServiceToken, dashed, 24, 0}, // vault
	{"hvb.", KindServiceToken, dashed, 24, 0},
	{"hvr.", KindServiceToken, dashed, 24, 0},
	{"tskey-", KindServiceToken, dashed, 20, 0}, // tailscale
	{"PMAK-", KindServiceToken, dashed, 50, 0},  // postman
	{"dp.pt.", KindServiceToken, alnum, 40, 0},  // doppler
	{"dp.st.", KindServiceToken, dotted, 40, 0},
	{"dp.sa.", KindServiceToken, alnum, 40, 0},
	{"pat-na1-", KindServiceToken, dashed, 36, 0}, // hubspot
	{"pat-eu1-", KindServiceToken, dashed, 36, 0},
	{"CCIPAT_", KindServiceToken, word, 40, 0}, // circleci
	{"nfp_", KindServiceToken, alnum, 36, 0},   // netlify
	{"AKCp", KindServiceToken, alnum, 60, 0},   // artifactory
	{"xkeysib-", KindServiceToken, dashed, 70, 0},
	{"xsmtpsib-", KindServiceToken, dashed, 70, 0},
	{"ops_eyJ", KindServiceToken, wide, 100, 0}, // 1password
	{"lsv2_pt_", KindServiceToken, word, 40, 0}, // langsmith
	{"lsv2_sk_", KindServiceToken, word, 40, 0},
	{"sk_", KindServiceToken, hexa, 48, 48}, // elevenlabs
	{"jina_", KindServiceToken, word, 40, 0},
	{"pul-", KindServiceToken, hexa, 40, 40}, // pulumi
	{"bkua_", KindServiceToken, hexa, 40, 0}, // buildkite
	{"tfp_", KindServiceToken, dashed, 40, 0},
	{"phx_", KindServiceToken, alnum, 40, 0}, // posthog
	{"api_org_", KindHuggingFaceToken, alnum, 34, 0},
}

// rulesBy finds the rules by how they begin. It is computed once and only read.
var rulesBy = rulesByBeginning()

// ruleLists holds numbers of rules, counted from 1: the first that begins so, and
// behind each rule the next; 0 is none. A slice for each beginning would be made
// in every process.
type ruleLists struct {
	first [1024]uint8
	next  [len(prefixRules) + 1]uint8
}

func rulesByBeginning() (by ruleLists) {
	for i := len(prefixRules); i > 0; i-- {
		r := prefixRules[i-1]
		n := beginning(r.prefix[0], r.prefix[1])
		by.next[i], by.first[n] = by.first[n], uint8(i)
	}
	return by
}

// beginning is a number for two bytes, of few others too.
func beginning(a, b byte) uint { return uint(a&31)<<5 | uint(b&31) }

// maxBody is how much of a body, in bytes, tells whether it is a key. Looking
// at all of it for each of many prefixes in a row would take for ever.
const maxBody = 1024

// prefixed tries the marked keys at i.
func prefixed(s string, i int) (Finding, bool) {
	if i+3 > len(s) {
		return Finding{}, false
	}
	for r := rulesBy.first[beginning(s[i], s[i+1])]; r > 0; r = rulesBy.next[r] {
		rule := &prefixRules[r-1]
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
		if len(body) < rule.least || rule.most > 0 && len(body) > rule.most || !lively(body) && (rule.set != upper || distinct(body) < 6) {
			continue
		}
		// Within a word only what can't be one: a joined prefix before a long
		// body. Encoded binary data has no such joint.
		if joint := rule.prefix[len(rule.prefix)-1]; !boundary(s, i) && (joint != '_' && joint != '-' || len(rule.prefix) < 4 || len(body) < 30 || !hasDigit(body)) {
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
		return i > 1 && s[i-2] == '\\' && strings.IndexByte("nrtbf", c) >= 0 || i > 5 && s[i-6:i-2] == `\u00` || afterEscape(s, i)
	}
}

// lively tells a key from the dummies of documentation, which repeat one or
// two characters, and from names, which have no digit: a body of n random
// characters lacks digits with a chance of (5/6)^n.
func lively(body string) bool {
	n := distinct(body)
	return n >= 5 && (n >= 14 || hasDigit(body))
}

// distinct counts the different bytes of s.
func distinct(s string) (n int) {
	var seen [256]bool
	for i := 0; i < len(s); i++ {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

func isAlnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

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
