// Package tokens counts the tokens of a text exactly, as the models' own
// encodings cut it, without network: the vocabularies are part of the program.
//
//		text ─▶ valid UTF-8 ─▶ pieces ─▶ tokens of each ─▶ sum
//		         utf8.go       split*.go   cache.go, merge.go
//
//	 1. What is not UTF-8 is made so, in the way of WHATWG and Rust.
//	 2. The split pattern of the encoding cuts the text into pieces. The patterns
//	    are worked out by hand, with a path for ASCII and one for any rune.
//	 3. A piece of up to 240 bytes is looked up in the counter's cache.
//	 4. What is not there is cut into tokens by the merge core, in time linear in
//	    the piece, with long runs of one byte shortened first (runs.go).
//
// The fast engine serves o200k_base and cl100k_base. p50k_base and r50k_base,
// which only models no longer sold use, are counted by tiktoken-go from the same
// embedded data; it is slow and takes quadratic time on long pieces.
//
// Counts add up over texts that a model is given as separate messages. They do
// not add up over parts of one text cut anywhere: CountReader knows where to cut.
//
// Vocabularies are built on first use and shared by all counters. Release lets
// go of them after idle: counters that hold one go on with it.
//
// A text that an imported vocabulary counts (import.go) goes the same way, with
// the split its file asks for and, where merging is not closed, with the merges
// done one by one (rankmerge.go).
package tokens
