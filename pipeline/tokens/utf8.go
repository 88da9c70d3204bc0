package tokens

import "unicode/utf8"

// appendValid appends text to dst as valid UTF-8: each maximal ill-formed part
// becomes one U+FFFD, as the WHATWG decoder and Rust have it and the reference
// counts assume. Package utf8 would write one for each byte. If more is to
// come, the start of a rune at the end of text is left: rest.
func appendValid(dst, text []byte, more bool) (valid, rest []byte) {
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] < utf8.RuneSelf {
			n++
		}
		if dst, text = append(dst, text[:n]...), text[n:]; len(text) == 0 {
			break
		}
		n, ok := wellFormed(text)
		switch {
		case ok:
			dst = append(dst, text[:n]...)
		case more && n == len(text):
			return dst, text
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		text = text[n:]
	}
	return dst, nil
}

// wellFormed returns the length of the rune that text starts with, or of the
// longest start of one, at least 1, and false.
func wellFormed(text []byte) (int, bool) {
	// Only the second byte has limits that hang on the first.
	low, high := byte(0x80), byte(0xbf)
	var size int
	switch b := text[0]; {
	case b < 0x80:
		return 1, true
	case b < 0xc2:
		return 1, false
	case b < 0xe0:
		size = 2
	case b < 0xf0:
		size = 3
		switch b {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case b < 0xf5:
		size = 4
		switch b {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	default:
		return 1, false
	}
	for n := 1; n < size; n++ {
		if n == len(text) || text[n] < low || text[n] > high {
			return n, false
		}
		low, high = 0x80, 0xbf
	}
	return size, true
}
