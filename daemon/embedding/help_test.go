package embedding

import (
	"io"
	"net/http"
	"strings"
)

// readTo gives the request's body, and keeps what is read of it.
func readTo(r *http.Request, into *strings.Builder) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, into), r.Body}
}
