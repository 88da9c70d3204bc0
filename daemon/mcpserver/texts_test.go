package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/store"
)

func serverBeside(running bool) *server {
	return &server{now: time.Now, deps: Deps{Status: func(context.Context) (DaemonStatus, error) { return DaemonStatus{Running: running}, nil }}}
}

// A time that isn't known is left out of the sentence.
func TestFreshnessSaysNoEmptyTime(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		running bool
		last    time.Time
		want    string
	}{
		{true, at, "1.0 kB behind: this is the state of 2026-11-20T09:00:00Z, the daemon is still reading."},
		{true, time.Time{}, "1.0 kB behind: the daemon is still reading."},
		{false, at, "1.0 kB behind: this is the state of 2026-11-20T09:00:00Z, the daemon is not running. `session-migrator run`"},
		{false, time.Time{}, "1.0 kB behind: the daemon is not running. `session-migrator run`"},
	} {
		if got := serverBeside(c.running).freshness(t.Context(), pipeline.Freshness{Behind: 1000, LastItem: c.last}).Note; got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Beside a daemon nobody has to do anything about the cache.
func TestTheDaemonMakesTheCacheAnew(t *testing.T) {
	const wait = "The daemon is making the cache anew: ask again in a few seconds."
	for _, kind := range []error{store.ErrNone, store.ErrDamaged, store.ErrForeign} {
		err := fmt.Errorf("open cache /x: %w", kind)
		if got, ours := serverBeside(true).explain(t.Context(), err); got != wait || ours {
			t.Errorf("%v beside a daemon: %q, %t", kind, got, ours)
		}
		if got, _ := serverBeside(false).explain(t.Context(), err); got == wait || !strings.Contains(got, "session-migrator r") {
			t.Errorf("%v without a daemon: %q", kind, got)
		}
	}
	if got, ours := serverBeside(true).explain(t.Context(), store.ErrFolder); !strings.Contains(got, "session-migrator doctor") || ours {
		t.Errorf("%q, %t", got, ours)
	}
}

// Clients keep a server for days: each kind of answer says that another is
// installed by now, in the form that the client shows.
func TestAnswersSayThatTheProgramWasReplaced(t *testing.T) {
	note := ""
	s := &server{deps: Deps{Updated: func() string { return note }}}
	data, err := dataResult(map[string]any{"a": []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	page, failed := result{text: "session x\n…"}, result{text: "No session matches.", failed: true}
	for _, r := range []result{data, page, failed} {
		if got := s.dated(r); !reflect.DeepEqual(got, r) {
			t.Errorf("nothing happened: %+v", got)
		}
	}
	note = "session-migrator was updated (v1.2.0 → v1.3.0)"
	const all = "session-migrator was updated (v1.2.0 → v1.3.0); restart this MCP server or the agent to use it"
	got := s.dated(data)
	var shown, carried struct {
		A      []int
		Update string
	}
	if err := errors.Join(json.Unmarshal(got.data, &carried), json.Unmarshal([]byte(got.text), &shown)); err != nil || !reflect.DeepEqual(shown, carried) || carried.Update != all || len(carried.A) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, r := range []result{page, failed} {
		if got := s.dated(r); got.text != all+".\n"+r.text || got.data != nil || got.failed != r.failed {
			t.Errorf("%+v", got)
		}
	}
}

func TestStatusTellsOfADaemonOfAnotherVersion(t *testing.T) {
	d := Deps{Version: "v1.3.0", Status: func(context.Context) (DaemonStatus, error) {
		return DaemonStatus{Running: true, Version: "v1.2.0"}, nil
	}}
	note := func() string {
		r, err := runMigratorStatus(t.Context(), newServer(d), call{})
		var out statusAnswer
		if err := errors.Join(err, json.Unmarshal(r.data, &out)); err != nil {
			t.Fatal(err)
		}
		return out.Note
	}
	if n := note(); !strings.HasPrefix(n, "The daemon is of version v1.2.0, this server of v1.3.0.") || !strings.Contains(n, "service restart") {
		t.Error(n)
	}
	d.Version = "v1.2.0"
	if n := note(); n != "" {
		t.Error(n)
	}
}
