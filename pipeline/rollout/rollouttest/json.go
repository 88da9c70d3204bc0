package rollouttest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object writes an object whose keys stand in the order given: name, value,
// name, value… A pair with a nil value is left out.
func object(pairs ...any) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", pairs[i])
		b.Write(value(pairs[i+1]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// value encodes v without the HTML escapes that Codex doesn't write, either.
func value(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("bug: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// optional gives nil for an empty string, so that object leaves it out.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}
