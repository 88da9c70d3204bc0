package sinktest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var hashLine = regexp.MustCompile(`(?m)^hash: "([0-9a-f]{16})"\n`)

// Proven tells whether a document is whole and as it was written: its front
// matter has the hash of all but that line.
func Proven(text []byte) bool {
	at := hashLine.FindSubmatchIndex(text)
	if at == nil || !bytes.HasPrefix(text, []byte("---\n")) {
		return false
	}
	sum := sha256.Sum256(append(bytes.Clone(text[:at[0]]), text[at[1]:]...))
	return string(text[at[2]:at[3]]) == hex.EncodeToString(sum[:8])
}
