package daemon

import (
	"context"
	"errors"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/store"
)

// finder is a sink that can tell whether a document lies where a receipt says.
type finder interface {
	Has(name string) (bool, error)
}

// has tells whether a document is there, as far as the sink can tell.
func (o *outlet) has(name string) bool {
	l, ok := o.sink.(finder)
	if !ok || name == "" {
		return true
	}
	there, err := l.Has(name)
	return there || err != nil && !errors.Is(err, sink.ErrPath) // who writes there tells of it
}

// fits tells whether the sink may have written to where a receipt says.
func (o *outlet) fits(name string) bool {
	l, ok := o.sink.(finder)
	if !ok || name == "" {
		return true
	}
	_, err := l.Has(name)
	return !errors.Is(err, sink.ErrPath)
}

// present gives the receipts of documents that are there: lists name no others,
// whoever deleted them. Where the last document of a folder was deleted, the list
// beside it goes too.
func (o *outlet) present(ctx context.Context, receipts map[string]store.Receipt) map[string]store.Receipt {
	out := make(map[string]store.Receipt, len(receipts))
	for id, r := range receipts {
		if o.has(r.Name) {
			out[id] = r
		} else if o.mode != sink.ModeAlways {
			_ = o.sink.Remove(ctx, putReceipt(r)) // what stays is said when the lists are written
		}
	}
	return out
}
