package daemon_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
	"github.com/session-migrator/session-migrator/store"
)

// importBytes imports a vocabulary for kimi-k2.6 whose tokens are bytes.
func (p *place) importBytes() {
	p.t.Helper()
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	v, err := tokens.Import([]byte(b.String()), "kimi")
	if err != nil {
		p.t.Fatal(err)
	}
	e := vocabs.Entry{Name: "bytes", Models: []string{"kimi-k2*"}, SHA256: v.SHA256, Split: v.Split.String(), Tokens: v.Tokens, Closed: v.Closed}
	if err := vocabs.Save(p.opt.Config.Vocabularies(), e, []byte(b.String())); err != nil {
		p.t.Fatal(err)
	}
}

// kimi gives what is kept ready for kimi-k2.6: the tokens if they are exact,
// else -1.
func (p *place) kimi(db *store.DB, thread string) int {
	p.t.Helper()
	ds, err := db.Decisions(p.t.Context(), thread, "kimi-k2.6")
	if err != nil || len(ds) != 1 {
		return -2
	}
	if !ds[0].Exact {
		return -1
	}
	return ds[0].SessionTokens
}

// A vocabulary counts while the daemon runs from the moment it was imported, and
// no longer than it is there.
func TestRunningDaemonFollowsImports(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("12345").Assistant("678").End()
	p.write(b, -1)
	stop := p.start()
	db := p.reader()
	thread := b.ThreadID()
	if n := p.kimi(db, thread); n != -1 {
		t.Errorf("before: %d", n)
	}
	p.importBytes()
	if took := p.until("counted in what was imported", func() bool { return p.kimi(db, thread) == 8 }); took > 7*time.Second {
		t.Errorf("it took %v", took)
	}
	p.write(b.User("90").End(), -1)
	p.until("what is new is counted too", func() bool { return p.kimi(db, thread) == 10 })
	if err := os.RemoveAll(p.opt.Config.Vocabularies()); err != nil {
		t.Fatal(err)
	}
	p.until("estimated again", func() bool { return p.kimi(db, thread) == -1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// A run that ends by itself counts too.
func TestOnceFollowsImports(t *testing.T) {
	p := newPlace(t)
	b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{}).User("12345").End()
	p.write(b, -1)
	p.importBytes()
	for _, want := range []int{5, 5} {
		if _, err := daemon.Once(t.Context(), p.opt); err != nil {
			t.Fatal(err)
		}
		if n := p.kimi(p.reader(), b.ThreadID()); n != want {
			t.Errorf("%d, want %d", n, want)
		}
	}
	if err := os.RemoveAll(p.opt.Config.Vocabularies()); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Once(t.Context(), p.opt); err != nil {
		t.Fatal(err)
	}
	if n := p.kimi(p.reader(), b.ThreadID()); n != -1 {
		t.Errorf("%d, want an estimate", n)
	}
}
