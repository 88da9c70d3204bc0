package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// listening is a client that takes what comes at any time, in a bubble of its
// own time.
type listening struct {
	*client
	mu   sync.Mutex
	came []string // notices: seconds, stream, what
	from time.Time
	rest chan answer
}

// listen starts to take what comes.
func listen(c *client) *listening {
	l := &listening{client: c, from: time.Now(), rest: make(chan answer, 100)}
	go func() {
		for {
			text, err := c.lines.ReadString('\n')
			if err != nil {
				return
			}
			var a struct {
				answer
				Params struct {
					Meta          map[string]any `json:"_meta"`
					URI           string
					Notifications json.RawMessage
				}
			}
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				c.t.Errorf("not a message: %s", text)
			}
			if a.Method == "" {
				l.rest <- a.answer
				continue
			}
			what := strings.TrimPrefix(a.Method, "notifications/")
			l.mu.Lock()
			l.came = append(l.came, fmt.Sprintf("%.0fs %v %s %s%s", time.Since(l.from).Seconds(), a.Params.Meta["io.modelcontextprotocol/subscriptionId"], what, a.Params.URI, a.Params.Notifications))
			l.mu.Unlock()
		}
	}()
	return l
}

// after waits and gives what came since it was asked last.
func (l *listening) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := strings.Join(l.came, "\n")
	l.came = nil
	return out
}

// ask sends a request and waits for its answer.
func (l *listening) ask(method string, params map[string]any) answer {
	l.t.Helper()
	l.nextID++
	if l.meta != nil {
		params["_meta"] = l.meta
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.nextID, "method": method, "params": params})
	if err != nil {
		l.t.Fatal(err)
	}
	l.send(string(b))
	return <-l.rest
}

// inBubble runs a test in which time passes at once.
func inBubble(t *testing.T, w *world, start func(testing.TB, mcpserver.Deps) *client, test func(*listening)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, w.deps())
		test(listen(c))
	})
}

func say(w *world, id string, words ...string) {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: id, Start: at(3)})
	for _, word := range words {
		r.User(word).Assistant("ok").End()
	}
	w.write(r)
	w.ingest()
}

func TestSubscriptionsOfTheOldEra(t *testing.T) {
	w := newWorld(t)
	say(w, projID, "one")
	say(w, otherID, "one")
	inBubble(t, w, legacy, func(l *listening) {
		uri := "migrator://session/" + projID + "/memory.md"
		if a := l.ask("resources/subscribe", map[string]any{"uri": uri}); a.Error != nil {
			t.Fatalf("subscribe: %+v", a.Error)
		}
		if a := l.ask("resources/subscribe", map[string]any{"uri": "migrator://session/nosuchthing/memory.md"}); a.Error == nil || a.Error.Code != -32002 {
			t.Errorf("subscribed to nothing: %+v", a.Error)
		}
		if got := l.after(10 * time.Second); got != "" {
			t.Errorf("without a change: %s", got)
		}
		say(w, otherID, "one", "two")
		if got := l.after(10 * time.Second); got != "" {
			t.Errorf("another session changed: %s", got)
		}
		say(w, projID, "one", "two")
		if got := l.after(1500 * time.Millisecond); got != "21s <nil> resources/updated "+uri {
			t.Errorf("a change: %s", got)
		}
		for i := range 4 { // four changes within two seconds are told once more
			say(w, projID, append([]string{"one", "two"}, make([]string, i+1)...)...)
			time.Sleep(400 * time.Millisecond)
		}
		if got := l.after(5 * time.Second); got != "23s <nil> resources/updated "+uri && got != "23s <nil> resources/updated "+uri+"\n25s <nil> resources/updated "+uri {
			t.Errorf("many changes: %s", got)
		}
		if a := l.ask("resources/unsubscribe", map[string]any{"uri": uri}); a.Error != nil {
			t.Fatalf("unsubscribe: %+v", a.Error)
		}
		say(w, projID, "one", "two", "three")
		if got := l.after(10 * time.Second); got != "" {
			t.Errorf("after the end: %s", got)
		}
	})
}

func TestListChangesAreToldAtMostEveryHalfMinute(t *testing.T) {
	w := newWorld(t)
	say(w, projID, "one")
	inBubble(t, w, legacy, func(l *listening) {
		l.ask("resources/list", map[string]any{})
		say(w, projID, "one", "two") // goes on: no news for the list
		if got := l.after(65 * time.Second); got != "" {
			t.Errorf("a session that goes on: %s", got)
		}
		say(w, otherID, "new")
		if got := l.after(40 * time.Second); got != "90s <nil> resources/list_changed " {
			t.Errorf("a new session: %s", got)
		}
		// Looked at every second for another reason, and told no sooner.
		l.ask("resources/subscribe", map[string]any{"uri": "migrator://models"})
		for i := range 3 {
			say(w, fmt.Sprintf("019c0000-0000-7000-8000-00000000000%d", i), "new")
			time.Sleep(2 * time.Second)
		}
		if got := l.after(60 * time.Second); got != "120s <nil> resources/list_changed " {
			t.Errorf("three new sessions: %s", got)
		}
	})
}

func TestStreamsOfTheNewEra(t *testing.T) {
	w := newWorld(t)
	say(w, projID, "one")
	inBubble(t, w, modern, func(l *listening) {
		uri := "migrator://session/" + projID + "/memory.md"
		open := func(id string, what map[string]any) {
			b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": map[string]any{"_meta": modernMeta, "notifications": what}})
			if err != nil {
				t.Fatal(err)
			}
			l.send(string(b))
		}
		open("a", map[string]any{"resourceSubscriptions": []string{uri, "migrator://nothing"}, "resourcesListChanged": true, "toolsListChanged": true})
		if got := l.after(0); got != `0s a subscriptions/acknowledged {"resourcesListChanged":true,"resourceSubscriptions":["`+uri+`"]}` {
			t.Errorf("acknowledged %s", got)
		}
		open("b", map[string]any{"resourceSubscriptions": []string{uri, "migrator://sessions"}})
		if got := l.after(0); !strings.HasPrefix(got, "0s b subscriptions/acknowledged ") {
			t.Errorf("acknowledged %s", got)
		}
		say(w, projID, "one", "two")
		got := l.after(3 * time.Second)
		for _, want := range []string{"1s a resources/updated " + uri, "1s b resources/updated " + uri, "1s b resources/updated migrator://sessions"} {
			if strings.Count(got+"\n", want+"\n") != 1 {
				t.Errorf("%q isn't told once: %s", want, got)
			}
		}
		// One stream ends, the other goes on.
		l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		l.after(time.Second)
		say(w, projID, "one", "two", "three")
		if got := l.after(3 * time.Second); strings.Contains(got, "s a ") || !strings.Contains(got, " b resources/updated "+uri) {
			t.Errorf("after a ended: %s", got)
		}
		open("c", map[string]any{"promptsListChanged": true})
		if got := l.after(0); !strings.HasSuffix(got, " c subscriptions/acknowledged {}") {
			t.Errorf("nothing to follow: %s", got)
		}
	})
}
