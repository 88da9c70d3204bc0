// Package block keeps a few generated lines inside a file that somebody else
// owns: a managed block, or entries of a daily log. It is pure: bytes in, bytes
// out.
package block

// Limits bound the whole file after the block is in it; 0 means no limit. A
// file that would be larger gets no block.
type Limits struct {
	Units int // UTF-16 units
	Bytes int
	Lines int
}
