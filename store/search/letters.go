package search

import (
	"unicode"
	"unicode/utf8"
)

// class is what a character does in a text.
type class uint8

const (
	none   class = iota // ends a word
	lower               // a letter, of scripts that know no case too
	upper               // a capital
	digit               //
	joiner              // may join the parts of a name
	dense               // of a script that puts no space between words
	unseen              // is passed over: invisible, or an accent
)

// ascii is the class of a byte; of one that isn't ASCII it is none.
var ascii = func() (t [256]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		case c == '_' || c == '-' || c == '.':
			t[c] = joiner
		}
	}
	return t
}()

// classOf gives the class of any character.
func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return ascii[r]
	case r >= 0x2e80 && isDense(r):
		return dense
	case r < 0x2e80:
		return western(r)
	case r >= 0xff01 && r <= 0xff5e: // full width
		if c := ascii[r-fullWidth]; c != joiner {
			return c
		}
		return none
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xe0000 && r <= 0xe01ef:
		return unseen
	}
	return general(r)
}

func western(r rune) class {
	switch {
	case r < 0xc0:
		switch r {
		case 0xad: // a soft hyphen
			return unseen
		case 0xaa, 0xb5, 0xba:
			return lower
		}
		return none
	case r < 0x100:
		switch {
		case r == 0xd7 || r == 0xf7:
			return none
		case r < 0xdf:
			return upper
		}
		return lower
	case r >= 0x430 && r <= 0x45f:
		return lower
	case r >= 0x400 && r < 0x430:
		return upper
	case r >= 0x300 && r <= 0x36f, // accents
		r >= 0x591 && r <= 0x5c7 && r != 0x5be && r != 0x5c0 && r != 0x5c3 && r != 0x5c6, // Hebrew points
		r >= 0x64b && r <= 0x65f, r == 0x670, r == 0x640, // Arabic vowels, and what only makes longer
		r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f: // without width
		return unseen
	case r >= 0xe01 && r <= 0xe4e && r != 0xe3f, r >= 0xe81 && r <= 0xece, // Thai, Lao
		r >= 0x1000 && r <= 0x103f,                               // Myanmar
		r >= 0x1100 && r <= 0x11ff,                               // Hangul in pieces
		r >= 0x1780 && r <= 0x17d3 && r != 0x17b4 && r != 0x17b5: // Khmer
		return dense
	}
	return general(r)
}

func general(r rune) class {
	switch {
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	}
	return none
}

// isDense tells of the characters of China, Japan and Korea.
func isDense(r rune) bool {
	switch {
	case r >= 0x4e00 && r <= 0x9fff, r >= 0x3400 && r <= 0x4dbf:
		return true
	case r >= 0x3041 && r <= 0x30ff:
		return r != 0x3097 && r != 0x3098 && r != 0x309b && r != 0x309c && r != 0x30a0 && r != 0x30fb
	case r >= 0xac00 && r <= 0xd7ff:
		return true
	case r >= 0x3005 && r <= 0x3007, r >= 0x3021 && r <= 0x3029, r >= 0x3031 && r <= 0x3035, r >= 0x3038 && r <= 0x303c:
		return true
	case r >= 0x3105 && r <= 0x312f, r >= 0x3131 && r <= 0x318e, r >= 0x31a0 && r <= 0x31bf, r >= 0x31f0 && r <= 0x31ff:
		return true
	case r >= 0x2e80 && r <= 0x2fd5, r >= 0xf900 && r <= 0xfaff, r >= 0xa000 && r <= 0xa48c, r >= 0xa960 && r <= 0xa97f:
		return true
	case r >= 0xff66 && r <= 0xffdc: // half width
		return true
	}
	return r >= 0x1b000 && r <= 0x1b16f || r >= 0x20000 && r <= 0x3ffff
}

const fullWidth = 0xff01 - '!'

// What letters are without their accents: from U+00C0 and from U+1E00 on. A dot
// stands for those that lower says something else of.
const (
	latin = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllll." +
		".llnnnnnn.nnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs" +
		"bb..............................oo.............uu..............." +
		".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa..oo" +
		"aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............" +
		"...b............"
	latinMore = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)

// fold appends a letter or digit as it is looked for.
func fold(b []byte, r rune) []byte {
	var c byte = '.'
	switch {
	case r >= 0xc0 && r < 0xc0+rune(len(latin)):
		c = latin[r-0xc0]
	case r >= 0x1e00 && r < 0x1e00+rune(len(latinMore)):
		c = latinMore[r-0x1e00]
	case r >= 0xff01 && r <= 0xff5e:
		r -= fullWidth
	}
	if c != '.' {
		return append(b, c)
	}
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return append(b, "ss"...)
	case 'æ':
		return append(b, "ae"...)
	case 'œ':
		return append(b, "oe"...)
	case 0xfb00, 0xfb01, 0xfb02, 0xfb03, 0xfb04, 0xfb05, 0xfb06: // one piece of type
		return append(b, [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[r-0xfb00]...)
	case 'й', 'ѝ':
		r = 'и'
	case 'ё', 'ѐ':
		r = 'е'
	case 'ї':
		r = 'і'
	case 'ў':
		r = 'у'
	case 'ά':
		r = 'α'
	case 'έ':
		r = 'ε'
	case 'ή':
		r = 'η'
	case 'ί', 'ϊ', 'ΐ':
		r = 'ι'
	case 'ό':
		r = 'ο'
	case 'ύ', 'ϋ', 'ΰ':
		r = 'υ'
	case 'ώ':
		r = 'ω'
	case 'ς':
		r = 'σ'
	case 0x622, 0x623, 0x625: // alef with something on it
		r = 0x627
	case 0x624:
		r = 0x648
	case 0x626:
		r = 0x64a
	case 'µ':
		r = 'μ'
	}
	return utf8.AppendRune(b, r)
}

// compose gives the dense character at text[i:], put together from its pieces as
// far as names of files on a Mac need it, and the bytes that it takes.
func compose(text string, i int) (rune, int) {
	r, n := utf8.DecodeRuneInString(text[i:])
	switch {
	case r >= 0x3041 && r <= 0x30ff: // kana with a voiced mark
		switch mark, m := utf8.DecodeRuneInString(text[i+n:]); {
		case mark != 0x3099 && mark != 0x309a:
		case mark == 0x3099 && (r == 0x3046 || r == 0x30a6):
			return r + 0x4e, n + m
		case mark == 0x3099 && voiced(r):
			return r + 1, n + m
		case mark == 0x309a && voiced(r):
			return r + 2, n + m
		}
	case r >= 0x1100 && r <= 0x1112: // Hangul: first, middle and last
		v, m := utf8.DecodeRuneInString(text[i+n:])
		if v < 0x1161 || v > 0x1175 {
			break
		}
		r, n = 0xac00+((r-0x1100)*21+v-0x1161)*28, n+m
		if t, m := utf8.DecodeRuneInString(text[i+n:]); t > 0x11a7 && t <= 0x11c2 {
			r, n = r+t-0x11a7, n+m
		}
	}
	return r, n
}

// voiced tells whether a voiced form of the kana follows it.
func voiced(r rune) bool {
	if r >= 0x30a0 {
		r -= 0x60 // hiragana
	}
	switch {
	case r >= 0x304b && r <= 0x3061:
		return r%2 == 1
	case r >= 0x3064 && r <= 0x3068:
		return r%2 == 0
	}
	return r >= 0x306f && r <= 0x307b && (r-0x306f)%3 == 0
}
