package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/store"
)

// A client gives a server about a second: what it asks first builds no
// vocabulary and opens no cache.
func TestFirstAnswersBuildNothing(t *testing.T) {
	s := newServer(Deps{OpenStore: func(context.Context) (*store.DB, error) { return nil, errors.New("opened") }})
	defer s.close()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"prompts/list"}
{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}`)
	var out bytes.Buffer
	tr := newTransport(in, &out, s.log)
	session, err := newSDK(s, newWatcher(s, tr.notify)).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"result":`); n != 4 {
		t.Errorf("%d answers: %s", n, out.String())
	}
	if s.cache.bare != nil || s.cache.cur != nil {
		t.Error("a pipeline was made for the first answers")
	}
}

// Agents start a server each and wait for it: what it is made of stays small.
func TestStartAllocatesLittle(t *testing.T) {
	s := newServer(Deps{})
	defer s.close()
	w := newWatcher(s, nil)
	newSDK(s, w) // what is made once a process
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	newSDK(s, w)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100<<10 {
		t.Errorf("%d bytes for a server's tools and prompts", got)
	}
}
