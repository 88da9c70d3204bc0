package block

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// HashOf returns the hash that the marker of a block with this body has: the
// first 8 hex digits of a SHA-256. It looks at the lines alone, not at how
// they end or at blanks behind them, so a file that is converted to CRLF has
// not been edited.
func HashOf(body string) string { return hashClean(clean(body)) }

func hashClean(body string) string { return hashOf(strings.Split(body, "\n")) }

// hashOf hashes lines that are trimmed on the right. Blank ones at either end
// don't count.
func hashOf(lines []string) string {
	sum := sha256.Sum256(join(nil, lines))
	return hex.EncodeToString(sum[:])[:hashLen]
}

// join appends the lines to out, with LF between them, as they are hashed.
func join(out []byte, lines []string) []byte {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if i > 0 {
			out = append(out, '\n')
		}
		out = append(out, l...)
	}
	return out
}

// clean makes a body that can end nothing but itself: no markers and other
// comments, no code fences, no HTML that goes on until it is closed, no
// control characters. Lines end with LF, have no blanks behind them, and blank
// ones at either end are left out.
func clean(body string) string {
	body = escapes.Replace(printable(body))
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		lines[i] = cleanLine(l)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

var escapes = strings.NewReplacer("\r\n", "\n", "\r", "\n", "<!--", "&lt;!--")

func cleanLine(l string) string {
	l = strings.TrimRight(l, " \t")
	text := strings.TrimLeft(l, " \t")
	before := l[:len(l)-len(text)]
	switch {
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		return before + `\` + text
	case strings.HasPrefix(text, "<") && htmlEnd([]byte(text)) != "":
		return before + "&lt;" + text[1:]
	}
	return l
}

// printable replaces what is no UTF-8, and characters that control a terminal
// or end a line only for some.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return r
		case unicode.IsControl(r), r == 0x2028, r == 0x2029:
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// oneLine is clean for text that stands within a line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(printable(s), "<!--", "&lt;!--")), " ")
}

// inside is a line of a block as it stands in the file.
type inside struct {
	raw  []byte // its end included
	text string // trimmed on the right
}

func insideOf(data []byte) (lines []inside, texts []string) {
	for pos := 0; pos < len(data); {
		textEnd, end := nextLine(data, pos)
		text := string(bytes.TrimRight(data[pos:textEnd], " \t"))
		lines, texts = append(lines, inside{data[pos:end], text}), append(texts, text)
		pos = end
	}
	return lines, texts
}

// theirs returns the lines of an edited block that somebody else wrote, as far
// as that can be told, and of those only what the new body doesn't say too.
// Blank lines stay between lines that stay.
func theirs(data []byte, hash, body string) []byte {
	lines, texts := insideOf(data)
	said := map[string]bool{}
	for _, l := range strings.Split(body, "\n") {
		said[l] = true
	}
	added := additions(texts, len(data), hash)
	var out, blanks []byte
	for i, l := range lines {
		switch {
		case added != nil && !added[i]:
		case l.text == "":
			blanks = append(blanks, l.raw...)
		case !said[l.text]:
			if out != nil {
				out = append(out, blanks...)
			}
			out, blanks = append(out, l.raw...), nil
		}
	}
	return out
}

// How large an edited block may be to look for what was added to it.
const (
	anyLines  = 12 // lines; any of them may have been added: 4,096 hashes
	runLines  = 64 // lines; some that follow each other: 2,080 hashes
	triedSize = 8 << 10
)

// additions returns which lines were added, given the hash of the others; nil
// if lines were changed or taken out, or there are too many to find out.
func additions(texts []string, size int, hash string) []bool {
	n := len(texts)
	if size > triedSize || n > runLines {
		return nil
	}
	want, err := hex.DecodeString(hash)
	if err != nil {
		return nil
	}
	added := make([]bool, n)
	left, buf := make([]string, 0, n), make([]byte, 0, size)
	fits := func() bool {
		left = left[:0]
		for i, t := range texts {
			if !added[i] {
				left = append(left, t)
			}
		}
		buf = join(buf[:0], left)
		sum := sha256.Sum256(buf)
		return bytes.HasPrefix(sum[:], want)
	}
	for from := range n {
		for to := from + 1; to <= n; to++ {
			for i := range added {
				added[i] = i >= from && i < to
			}
			if fits() {
				return added
			}
		}
	}
	if n > anyLines {
		return nil
	}
	for set := 1; set < 1<<n; set++ {
		for i := range added {
			added[i] = set>>i&1 == 1
		}
		if fits() {
			return added
		}
	}
	return nil
}
