package rollout

import (
	"math"
	"time"
)

// parseTime reads a time as Codex writes it (RFC 3339) or as a few other
// writers do (seconds or milliseconds since 1970); zero if it is none.
func parseTime(v raw) time.Time {
	if !v.isString() {
		f := v.float()
		if math.Abs(f) >= 1e11 {
			f /= 1000
		}
		if f <= 0 || f > 1e11 {
			return time.Time{}
		}
		sec := math.Floor(f)
		return time.Unix(int64(sec), int64((f-sec)*1e9)).UTC()
	}
	return parseStamp(v[1 : len(v)-1])
}

// parseStamp reads RFC 3339. The form with milliseconds and Z, on every line
// of every version, is read without the general parser.
func parseStamp(b []byte) time.Time {
	if len(b) == 24 && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[23] == 'Z' {
		y, ok1 := digits(b[0:4])
		mo, ok2 := digits(b[5:7])
		d, ok3 := digits(b[8:10])
		h, ok4 := digits(b[11:13])
		mi, ok5 := digits(b[14:16])
		s, ok6 := digits(b[17:19])
		ms, ok7 := digits(b[20:23])
		if ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && mo >= 1 && mo <= 12 && h < 24 && mi < 60 && s < 60 {
			if t := time.Date(y, time.Month(mo), d, h, mi, s, ms*1e6, time.UTC); t.Day() == d {
				return t
			}
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

func digits(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// idTime gives the time inside a version 7 UUID; zero for any other id.
func idTime(id string) time.Time {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7' {
		return time.Time{}
	}
	var ms int64
	for i := range 13 {
		if i == 8 {
			continue
		}
		d, ok := hexDigit(id[i])
		if !ok {
			return time.Time{}
		}
		ms = ms<<4 | d
	}
	return time.UnixMilli(ms).UTC()
}

func hexDigit(c byte) (int64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int64(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int64(c-'A') + 10, true
	}
	return 0, false
}
