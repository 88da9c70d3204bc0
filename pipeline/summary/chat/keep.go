package chat

import (
	"context"
	"net/http"

	"github.com/session-migrator/session-migrator/pipeline/wire"
)

// kept is of an answer what go-openai doesn't hand on.
type kept struct {
	header http.Header
	body   []byte
}

type keptKey struct{}

func keep(ctx context.Context) (context.Context, *kept) {
	k := new(kept)
	return context.WithValue(ctx, keptKey{}, k), k
}

// keeper is the transport that go-openai is given.
type keeper struct{ wire *wire.Wire }

// RoundTrip implements http.RoundTripper.
func (k keeper) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := k.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if to, ok := req.Context().Value(keptKey{}).(*kept); ok {
		to.header = res.Header
		if b, ok := res.Body.(*wire.Body); ok {
			to.body = b.Bytes
		}
	}
	return res, nil
}
