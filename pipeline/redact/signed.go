package redact

import "strings"

// signature finds the signature of a signed URL, or of its query alone.
func signature(s string, i int) (Finding, bool) {
	if !hasFold(s[i:], "sig") {
		return Finding{}, false
	}
	from, least, alone, coded := i+len("sig="), 32, false, false
	switch {
	case hasFold(s[i:], "sig="):
		alone = !inQuery(s, i)
	case hasFold(s[i:], "sig%3d") && i > 2 && (hasFold(s[i-3:], "%26") || hasFold(s[i-3:], "%3f")): // a URL in a URL
		from, coded = i+len("sig%3d"), true
	case hasFold(s[i:], "signature=") && i > 0 && (inQuery(s, i) || s[i-1] == '-'):
		from = i + len("signature=")
	default:
		return Finding{}, false
	}
	to := from
	for to < len(s) && (isBase64(s[to]) || strings.IndexByte("%_-", s[to]) >= 0) && !(coded && hasFold(s[to:], "%26")) {
		to++
	}
	switch of := hasFold(s[i:], "sig=") && ofAzure(s, i, to); {
	case alone && (!boundary(s, i) || !of && !hmac256(s[from:to])):
		return Finding{}, false
	case of:
		least = 16
	}
	if to-from < least || !lively(s[from:to]) {
		return Finding{}, false
	}
	return Finding{KindURLSignature, from, to}, true
}

// inQuery tells whether a parameter of a URL begins at i.
func inQuery(s string, i int) bool {
	return i > 0 && (s[i-1] == '?' || s[i-1] == '&') || i > 5 && (s[i-6:i] == `\u0026` || s[i-5:i] == "&amp;")
}

// maxQuery bounds how far from a signature its query is looked at, bytes.
const maxQuery = 256

// ofAzure tells whether the query around the parameter from from to to has what
// Azure signs: a version, an end or permissions.
func ofAzure(s string, from, to int) bool {
	const ends = " \t\r\n\"'`<>"
	before, after := s[max(0, from-maxQuery):from], s[to:min(len(s), to+maxQuery)]
	before = before[strings.LastIndexAny(before, ends)+1:]
	if n := strings.IndexAny(after, ends); n >= 0 {
		after = after[:n]
	}
	has := func(q string, first bool) bool {
		for k := 0; k+2 < len(q); k++ {
			if q[k] == 's' && q[k+2] == '=' && strings.IndexByte("vep", q[k+1]) >= 0 && (k == 0 && first || inQuery(q, k)) {
				return true
			}
		}
		return false
	}
	return has(before, true) || has(after, false)
}

// hmac256 tells whether v has the form of an HMAC-SHA256 in base64.
func hmac256(v string) bool {
	n := len(v) - 2*strings.Count(v, "%")
	return n == 44 && (v[len(v)-1] == '=' || hasFold(v[len(v)-3:], "%3d"))
}
