package tokens

import "math/bits"

const (
	lanes = 0x0101010101010101
	highs = 0x8080808080808080
)

// notLower returns a word with the high bit set in each byte that is not a-z.
// Zero bytes are not, so what is read beyond the end of a text ends a run.
func notLower(word uint64) uint64 {
	// In each lane with the high bit clear: the sum sets the high bit from
	// the byte named on. No lane carries into the next.
	low := word &^ highs
	fromA := low + (0x80-'a')*lanes
	afterZ := low + (0x7f-'z')*lanes
	return (^(fromA &^ afterZ) | word) & highs
}

// notLetter is notLower for a-z and A-Z.
func notLetter(word uint64) uint64 { return notLower(word | 0x20*lanes) }

// lowerRun returns the end of the run of a-z at i. It looks at eight bytes at
// a time: the length of a word is not foreseeable, so a loop over its bytes
// costs a mispredicted branch a word, more than all the rest of the splitting.
func lowerRun(text []byte, i int) int {
	for {
		if others := notLower(load8(text, i)); others != 0 {
			return i + bits.TrailingZeros64(others)>>3
		}
		i += 8
	}
}
