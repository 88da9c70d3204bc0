//go:build crash

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A shared file that was written just before a crash is ours to clear up, even
// if its only session has gone to another folder when the daemon is back.
func TestCrashThenItsSessionMoved(t *testing.T) {
	w := newOneSession(t)
	memory := filepath.Join(w.from, ".workbuddy", "memory", "MEMORY.md")
	ours := func() bool {
		text, err := os.ReadFile(memory)
		return err == nil && strings.Contains(string(text), "session-migrator:begin")
	}
	w.record(w.from, "Fix the upload test.")
	if !w.once("before_shared:1") || !ours() {
		t.Fatal("it did not die after it had written the shared file")
	}
	w.record(w.to, "Fix the upload test, over there.")
	w.once("")
	if ours() {
		t.Errorf("%s still speaks of a session that went elsewhere", memory)
	}
}

// A document that lies in its place when the daemon dies is ours when it is back,
// whatever became of its session meanwhile: it is as its receipt says.
func TestCrashBeforeAReceipt(t *testing.T) {
	for name, then := range map[string]func(w *oneSession){
		"nothing":   func(*oneSession) {},
		"went on":   func(w *oneSession) { w.record(w.from, "Fix the upload test.", "And the other one.") },
		"moved":     func(w *oneSession) { w.record(w.to, "Fix the upload test, over there.") },
		"said less": func(w *oneSession) { w.record(w.from) },
		"left":      func(w *oneSession) { w.record(w.to) },
		"deleted":   func(w *oneSession) { w.forget() },
		"said less, without a place": func(w *oneSession) {
			w.record(w.from)
			if err := os.RemoveAll(filepath.Join(w.from, ".workbuddy")); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		for _, written := range []bool{false, true} { // an earlier document was there
			for hit := 1; hit <= 2; hit++ { // of each sink
				t.Run(fmt.Sprint(name, "/", written, "/", hit), func(t *testing.T) {
					t.Parallel()
					w := newOneSession(t)
					w.record(w.from, "Fix the upload test.")
					if written {
						w.once("")
						w.record(w.from, "Fix the upload test.", "And the one for downloads.")
					}
					if !w.once(fmt.Sprint("before_receipt:", hit)) {
						t.Fatal("it did not die")
					}
					then(w)
					w.once("")
					if text := w.unlike(); text != "" {
						t.Error(text)
					}
				})
			}
		}
	}
}

// oneSession is a Codex home with one session, two workspaces, and WorkBuddy in
// the first of them.
type oneSession struct {
	t *testing.T
	task
	from, to string
	began    time.Time // yesterday: what is old gets no document in a workspace
	rollout  string
}

const movedThread = "019a0000-0000-7000-8000-0000000000d1"

func newOneSession(t *testing.T) *oneSession {
	t.Helper()
	dir := t.TempDir()
	w := &oneSession{t: t, task: task{Kind: taskOnce, Data: filepath.Join(dir, "data"), Home: filepath.Join(dir, "home"), User: filepath.Join(dir, "user"), Work: filepath.Join(dir, "work")}}
	w.from, w.to = filepath.Join(w.Work, "from"), filepath.Join(w.Work, "to")
	w.began = time.Now().UTC().AddDate(0, 0, -1)
	day := filepath.Join(w.Home, "sessions", w.began.Format("2006"), w.began.Format("01"), w.began.Format("02"))
	for _, d := range []string{w.User, filepath.Join(w.from, ".workbuddy"), w.to, day} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.rollout = filepath.Join(day, "rollout-"+w.began.Format("2006-01-02T15-04-05")+"-"+movedThread+".jsonl")
	return w
}

// record writes the session anew, as one in that folder with these turns.
func (w *oneSession) record(cwd string, asked ...string) {
	w.t.Helper()
	at := func(seconds int) string {
		return w.began.Add(time.Duration(seconds) * time.Second).Format("2006-01-02T15:04:05.000Z")
	}
	text := fmt.Sprintf(`{"timestamp":%[1]q,"type":"session_meta","payload":{"id":%[2]q,"timestamp":%[1]q,"cwd":%[3]q}}
`, at(0), movedThread, cwd)
	for i, q := range asked {
		text += fmt.Sprintf(`{"timestamp":%[1]q,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%[2]q}]}}
{"timestamp":%[1]q,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is done."}]}}
{"timestamp":%[1]q,"type":"event_msg","payload":{"type":"task_complete"}}
`, at(10*i+1), q)
	}
	if err := os.WriteFile(w.rollout, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// forget deletes the session.
func (w *oneSession) forget() {
	w.t.Helper()
	if err := os.Remove(w.rollout); err != nil {
		w.t.Fatal(err)
	}
}

// once runs a run to its end, or to a point where it is killed.
func (w *oneSession) once(at string) (died bool) {
	w.t.Helper()
	c, err := w.command(at)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := c.CombinedOutput()
	if died = c.ProcessState.ExitCode() == -1; err != nil && !died {
		w.t.Fatalf("%v: %s", err, out)
	}
	return died
}

// unlike tells what in the folders of the sinks is not as its receipt says.
func (w *oneSession) unlike() string {
	w.t.Helper()
	c := &checker{task: w.task}
	var o outcome
	if err := errors.Join(c.places(w.t.Context(), &o), c.receipted(w.t.Context(), &o)); err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(o.wrong, "\n")
}
