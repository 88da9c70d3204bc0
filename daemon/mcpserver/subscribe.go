package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/store"
)

const (
	// lookEvery is how often the cache is looked at for subscribers.
	lookEvery = time.Second
	// tellEvery is how often a client hears of the same resource at most, and
	// listEvery of the list of resources.
	tellEvery = 2 * time.Second
	listEvery = 30 * time.Second
	// maxSubscribed bounds the addresses that one stream follows.
	maxSubscribed = 200
)

// watcher tells those who listen of what changed. It looks at nothing while
// nobody does.
type watcher struct {
	s    *server
	tell func(notice) // writes to the client
	wake chan struct{}

	mu        sync.Mutex // guards the fields below
	listeners map[string]*listener
	followed  map[string]*followed
	list      followed // of resources
	unsure    bool     // something is followed that the last look wasn't at
}

// listener is a stream of notices: that of all old-era subscriptions, or one of
// the new era, which has an id.
type listener struct {
	id   json.RawMessage // nil: the old era
	uris map[string]bool
	list bool // follows the list of resources, too
}

// followed is what was told of a resource.
type followed struct {
	state string
	stale bool      // it changed and nobody was told
	told  time.Time // when it was last told of
}

// notice is one line to a client.
type notice struct {
	method       string
	subscription json.RawMessage // nil: the old era
	uri          string          // empty: not of one resource
	agreed       any             // what is followed, in the first notice of a stream
}

// subscriptionKey names the stream that a notice of the new era belongs to.
const subscriptionKey = "io.modelcontextprotocol/subscriptionId"

func (n notice) line() ([]byte, error) {
	params := map[string]any{}
	if n.subscription != nil {
		params["_meta"] = map[string]any{subscriptionKey: n.subscription}
	}
	if n.uri != "" {
		params["uri"] = n.uri
	}
	if n.agreed != nil {
		params["notifications"] = n.agreed
	}
	return marshal(map[string]any{"jsonrpc": "2.0", "method": n.method, "params": params})
}

func newWatcher(s *server, tell func(notice)) *watcher {
	return &watcher{s: s, tell: tell, wake: make(chan struct{}, 1), listeners: map[string]*listener{}, followed: map[string]*followed{}}
}

// legacyStream is the key of the one stream of the old era.
const legacyStream = ""

// wish is a resource that is to be followed, and its state when that was asked.
type wish struct{ uri, state string }

// wish looks at a resource before it is followed. An *advice means that there is
// no such resource.
func (w *watcher) wish(ctx context.Context, uri string) (wish, error) {
	state, err := w.look(ctx, uri)
	return wish{uri, state}, err
}

// follow adds resources to a stream, and the list if it is given as it was.
// What changed since the wish is told, too.
func (w *watcher) follow(stream string, wishes []wish, list []resource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.stream(stream)
	for _, x := range wishes {
		if len(l.uris) == maxSubscribed {
			break
		}
		l.uris[x.uri] = true
		if w.followed[x.uri] == nil {
			w.followed[x.uri] = &followed{state: x.state}
		}
	}
	if list != nil {
		if !w.listed() {
			w.list = followed{state: listState(list), told: w.s.now()}
		}
		l.list = true
	}
	w.unsure = true
	w.nudge()
}

// look gives the state of a resource now.
func (w *watcher) look(ctx context.Context, uri string) (string, error) {
	h, release, err := w.s.cache.use(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	version, err := h.db.DataVersion(ctx)
	if err != nil {
		return "", err
	}
	return w.s.state(ctx, h, uri, version)
}

// listState is the same for the same resources in any order: a session that
// goes on is no news for a list.
func listState(rs []resource) string {
	var all []string
	for _, r := range rs {
		all = append(all, r.uri+" "+r.title)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (w *watcher) stream(key string) *listener {
	l := w.listeners[key]
	if l == nil {
		l = &listener{uris: map[string]bool{}}
		if key != legacyStream {
			l.id = json.RawMessage(key)
		}
		w.listeners[key] = l
	}
	return l
}

// unsubscribe takes an address from the stream of the old era.
func (w *watcher) unsubscribe(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.listeners[legacyStream]; l != nil {
		delete(l.uris, uri)
	}
	w.forget()
}

// end ends a stream.
func (w *watcher) end(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.listeners, stream)
	w.forget()
}

// forget drops what nobody follows any more.
func (w *watcher) forget() {
	for uri := range w.followed {
		if !slices.ContainsFunc(w.all(), func(l *listener) bool { return l.uris[uri] }) {
			delete(w.followed, uri)
		}
	}
}

func (w *watcher) all() []*listener {
	var out []*listener
	for _, l := range w.listeners {
		out = append(out, l)
	}
	return out
}

func (w *watcher) listed() bool {
	return slices.ContainsFunc(w.all(), func(l *listener) bool { return l.list })
}

func (w *watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// every is how long to wait for the next look; 0: nobody listens.
func (w *watcher) every() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.followed) > 0:
		return lookEvery
	case w.listed():
		return listEvery
	}
	return 0
}

// start runs the watcher until what it returns is called, which waits for it;
// but not long for one that a client that doesn't read keeps from its end.
func (w *watcher) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx)
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(abandonAfter):
			w.s.log.Warn("a notice was abandoned at the end")
		}
	}
}

// run looks and tells until ctx ends.
func (w *watcher) run(ctx context.Context) {
	var last seen
	for {
		var due <-chan time.Time
		var timer *time.Timer
		if d := w.every(); d > 0 {
			timer = time.NewTimer(d)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-due:
			w.round(ctx, &last)
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// seen is what the last look was at.
type seen struct {
	db      *store.DB
	version int64
}

// round looks once. A cache that can't be looked at has nothing to tell; those
// who ask are told why.
func (w *watcher) round(ctx context.Context, last *seen) {
	h, release, err := w.s.cache.use(ctx)
	if err != nil {
		return
	}
	defer release()
	version, err := h.db.DataVersion(ctx)
	if err != nil {
		return
	}
	now := seen{h.db, version}
	if w.takeUnsure() || now != *last {
		*last = now
		w.compare(ctx, h, version)
	}
	for _, n := range w.due() {
		w.tell(n)
	}
}

func (w *watcher) takeUnsure() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	unsure := w.unsure
	w.unsure = false
	return unsure
}

// compare finds what changed.
func (w *watcher) compare(ctx context.Context, h *handle, version int64) {
	w.mu.Lock()
	uris := make([]string, 0, len(w.followed))
	for uri := range w.followed {
		uris = append(uris, uri)
	}
	listed := w.listed()
	w.mu.Unlock()
	for _, uri := range uris {
		state, err := w.s.state(ctx, h, uri, version)
		if err != nil {
			state = "gone"
		}
		w.mu.Lock()
		if f := w.followed[uri]; f != nil && f.state != state {
			f.state, f.stale = state, true
		}
		w.mu.Unlock()
	}
	if !listed {
		return
	}
	newest, err := w.s.newestMemories(ctx, h)
	if err != nil {
		return
	}
	state := listState(append(fixedResources(), newest...))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list.state != state {
		w.list.state, w.list.stale = state, true
	}
}

// due gives what is to be told now: what was told lately waits.
func (w *watcher) due() []notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []notice
	now := w.s.now()
	for uri, f := range w.followed {
		if !f.stale || now.Sub(f.told) < tellEvery {
			continue
		}
		f.stale, f.told = false, now
		for _, l := range w.listeners {
			if l.uris[uri] {
				out = append(out, notice{method: "notifications/resources/updated", subscription: l.id, uri: uri})
			}
		}
	}
	if w.list.stale && now.Sub(w.list.told) >= listEvery {
		w.list.stale, w.list.told = false, now
		for _, l := range w.listeners {
			if l.list {
				out = append(out, notice{method: "notifications/resources/list_changed", subscription: l.id})
			}
		}
	}
	return out
}
