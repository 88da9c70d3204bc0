package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
)

// asked is what a request says.
type asked struct {
	Messages []struct{ Role, Content string }
	Format   map[string]any `json:"response_format"`
	Max      int            `json:"max_tokens"`
}

func (a *asked) text() string { return a.Messages[1].Content }

// move answers a request: with a status and a body.
type move func(a asked) (int, string)

func reply(content, finish string) string {
	b, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return `{"choices":[{"message":{"role":"assistant","content":` + string(b) + `},"finish_reason":"` + finish + `"}],"usage":{"prompt_tokens":11,"completion_tokens":7}}`
}

func says(content string) move {
	return func(asked) (int, string) { return 200, reply(content, "stop") }
}

func fails(status int, body string) move { return func(asked) (int, string) { return status, body } }

// script is a server that answers with one move after the other, then with the
// last one again and again if it is told so.
type script struct {
	*Client
	seen   []asked
	asks   []Request
	usages []Usage
}

func play(t *testing.T, again bool, steps ...move) *script {
	t.Helper()
	s := &script{}
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a asked
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || len(a.Messages) < 2 {
			t.Errorf("request: %v", err)
		}
		mu.Lock() // no answer tells the race detector that one request follows another
		defer mu.Unlock()
		s.seen = append(s.seen, a)
		i := len(s.seen) - 1
		if i >= len(steps) {
			if !again {
				t.Errorf("request %d, %d are scripted", i+1, len(steps))
			}
			i = len(steps) - 1
		}
		status, body := steps[i](a)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	c, err := New(chat.Endpoint{BaseURL: srv.URL + "/v1", Model: "m", Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s.Client = c
	return s
}

func (s *script) run(t *testing.T, p Plan) (Prior, error) {
	t.Helper()
	return s.Run(t.Context(), p, func(r Request) error { s.asks = append(s.asks, r); return nil }, func(u Usage) { s.usages = append(s.usages, u) })
}

const notes = `{"title":"Read in blocks","state":"in_progress","goal":"Import large files.","decisions":[{"what":"read in blocks","why":"memory","turn":1}],` +
	`"constraints":[{"quote":"don't touch the CLI","turn":1}],"learned":[{"fact":"src/import.go reads whole files","evidence":"cat","turn":1}],"failed":[],` +
	`"open":[{"item":"the exporter","turn":2}],"next":[{"step":"find the exporter","turn":2}],"topics":[{"name":"importer","turns":"t1","text":"It was fixed."}]}`

func TestASummary(t *testing.T) {
	s := play(t, false, says(notes))
	got, err := s.run(t, plan(t, Input{Messages: small}, big))
	if err != nil {
		t.Fatal(err)
	}
	if got.Through != 8 || got.Turns != 2 || got.Updates != 0 {
		t.Errorf("%+v", got)
	}
	want := Doc{Title: "Read in blocks", State: StateInProgress, Goal: "Import large files.", Decisions: []Decision{{"read in blocks", "memory", 1}},
		Constraints: []Constraint{{"don't touch the CLI", 1}}, Learned: []Fact{{"src/import.go reads whole files", "cat", 1}},
		Open: []Item{{"the exporter", 2}}, Next: []Step{{"find the exporter", 2}}, Topics: []Topic{{"importer", "t1", "It was fixed."}}}
	if fmt.Sprintf("%+v", got.Doc) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got.Doc, want)
	}
	if len(s.asks) != 1 || s.asks[0].Part != Whole || s.asks[0].Try != 1 || len(s.usages) != 1 || s.usages[0] != (Usage{Input: 11, Output: 7, Told: true}) {
		t.Errorf("%+v, %+v", s.asks, s.usages)
	}
	// It comes back from where it is stored.
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again Prior
	if err := json.Unmarshal(b, &again); err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", got) {
		t.Errorf("%v: %+v", err, again)
	}
}

// The tags have another name each time.
func TestTheFrameIsRandom(t *testing.T) {
	s := play(t, false, says(notes), says(notes))
	p := plan(t, Input{Messages: small}, big)
	names := map[string]bool{}
	for range 2 {
		if _, err := s.run(t, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range s.seen {
		m := regexp.MustCompile(`<history-([0-9a-f]{16})>`).FindStringSubmatch(a.text())
		if m == nil || m[1] == noNonce || !strings.Contains(a.text(), "</history-"+m[1]+">") {
			t.Fatal(a.text())
		}
		names[m[1]] = true
		if strings.ReplaceAll(a.text(), m[1], noNonce) != p.Calls[0].Text() {
			t.Error("what was sent isn't what was planned")
		}
	}
	if len(names) != 2 {
		t.Error("the same name was used twice")
	}
}

// Models that repeat what they were told before they answer are not held to it.
func TestTheExampleIsNoAnswer(t *testing.T) {
	short := `{"title":"Read in blocks","state":"done","goal":"Import without running out of memory"}`
	s := play(t, false, func(a asked) (int, string) { return 200, reply(a.Messages[0].Content+"\n\n"+short, "stop") })
	if got, err := s.run(t, plan(t, Input{Messages: small}, big)); err != nil || got.Doc.Title != "Read in blocks" {
		t.Errorf("%+v, %v", got, err)
	}
	mixed := `{"title":"Read in blocks","state":"done","goal":"Import files of 2 GB without running out of memory.","open":[{"item":"The progress bar is not adapted","turn":1},{"item":"write the tests","turn":1}]}`
	s = play(t, false, says(mixed))
	got, err := s.run(t, plan(t, Input{Messages: small}, big))
	if err != nil || got.Doc.Goal != "" || len(got.Doc.Open) != 1 || got.Doc.Open[0].Item != "write the tests" {
		t.Errorf("%+v, %v", got, err)
	}
}

// What can't be used is asked for once more, with what is wrong.
func TestOneRepair(t *testing.T) {
	for name, tt := range map[string]struct {
		bad  move
		says string // in the request for another one
	}{
		"prose":              {says("Sure! Here is what happened: all went well."), "no JSON object"},
		"observation":        {says("<observation>not a summary</observation>"), "no JSON object"},
		"ends early":         {says(`{"title":"a","goal":`), "doesn't end"},
		"unknown field":      {says(`{"title":"a","goal":"b","mood":"good"}`), `unknown field "mood"`},
		"wrong type":         {says(`{"title":["a"],"goal":"b"}`), "cannot unmarshal"},
		"no title":           {says(`{"goal":"b"}`), `"title" is missing`},
		"only a title":       {says(`{"title":"b"}`), "nothing but a title"},
		"empty object":       {says(`{}`), `"title" is missing`},
		"bad state":          {says(`{"title":"a","goal":"b","state":"superb"}`), "unknown state"},
		"too long":           {says(`{"title":"a","goal":"` + strings.Repeat("x", 3000) + `"}`), "more than 2000"},
		"cut off":            {func(asked) (int, string) { return 200, reply(notes[:100], "length") }, "half as much"},
		"invented":           {says(`{"title":"a","goal":"","constraints":[{"quote":"always push to main","turn":1}]}`), "of this session"},
		"repeats the prompt": {func(a asked) (int, string) { return 200, reply(a.Messages[0].Content+"\n"+a.text(), "stop") }, "no JSON object"},
		"the example":        {says(strings.Replace(example, "{", "{ ", 1)), "of this session"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, false, tt.bad, says(notes))
			got, err := s.run(t, plan(t, Input{Messages: small}, big))
			if err != nil || got.Doc.Title != "Read in blocks" {
				t.Fatalf("%+v, %v", got, err)
			}
			last := s.seen[1].Messages[len(s.seen[1].Messages)-1]
			if last.Role != "user" || !strings.Contains(last.Content, tt.says) {
				t.Errorf("asked again with %q", last.Content)
			}
			if len(s.asks) != 2 || s.asks[1].Part != Repair || len(s.usages) != 2 {
				t.Errorf("%+v", s.asks)
			}
		})
	}
}

// After one repair it is given up, with the reason; nothing is kept.
func TestReasons(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   move
		want     chat.Reason
		requests int
	}{
		"prose":     {says("All went well."), chat.NotJSON, 2},
		"shape":     {says(`{"summary":"all went well"}`), chat.WrongShape, 2},
		"cut":       {func(asked) (int, string) { return 200, reply("{", "length") }, chat.Truncated, 2},
		"blank":     {says(""), chat.Blank, 1}, // tries are one here
		"refusal":   {fails(200, `{"choices":[{"message":{"content":null,"refusal":"I cannot help"}}]}`), chat.Refusal, 1},
		"401":       {fails(401, `{"error":{"message":"no"}}`), chat.BadKey, 1},
		"500":       {fails(500, ``), chat.ServerError, 1},
		"10 MB":     {fails(200, strings.Repeat("x", 10_000_000)), chat.TooLong, 1},
		"300 KB":    {says(`{"title":"` + strings.Repeat("x", 300_000) + `"}`), chat.WrongShape, 2},
		"deep":      {says(strings.Repeat(`{"a":`, 50_000)), chat.NotJSON, 2},
		"overflows": {fails(400, `{"error":{"code":"context_length_exceeded","message":"too long"}}`), chat.Overflow, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, true, tt.answer)
			got, err := s.run(t, plan(t, Input{Messages: small}, big))
			e, ok := errors.AsType[*chat.Error](err)
			if !ok || e.Reason != tt.want || got.Through != 0 || !got.Doc.bare() || len(s.seen) != tt.requests {
				t.Errorf("%v after %d requests, %+v", err, len(s.seen), got)
			}
			if len(s.usages) != len(s.asks) || s.usages[0].Err == nil != (tt.want == chat.NotJSON || tt.want == chat.WrongShape) {
				t.Errorf("usages %+v", s.usages)
			}
		})
	}
}

// The bad answers with status 200 that others have met, in turn.
func TestBadAnswersOfOthers(t *testing.T) {
	raw, err := os.ReadFile("testdata/bad-answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Body json.RawMessage
		Text string
		Want string
	}
	if err := json.Unmarshal(raw, &answers); err != nil || len(answers) != 6 {
		t.Fatal(err)
	}
	for _, a := range answers {
		body := string(a.Body)
		if body == "" {
			body = a.Text
		}
		s := play(t, true, fails(200, body))
		got, err := s.run(t, plan(t, Input{Messages: small}, big))
		if e, ok := errors.AsType[*chat.Error](err); !ok || e.Reason.String() != a.Want || got.Through != 0 {
			t.Errorf("%.60s: %v, want %s", body, err, a.Want)
		}
	}
}

func TestNothingWorthKeeping(t *testing.T) {
	s := play(t, true, says(`{"empty":true}`))
	if got, err := s.run(t, plan(t, Input{Messages: small}, big)); !errors.Is(err, ErrEmpty) || got.Through != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	// In an update it means that the notes stand.
	prior := Prior{Doc: Doc{Title: "old", Goal: "g"}, Through: 6, Turns: 1, Updates: 2}
	got, err := s.run(t, plan(t, Input{Messages: small, Prior: &prior}, big))
	if err != nil || got.Doc.Title != "old" || got.Through != 8 || got.Turns != 2 || got.Updates != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.run(t, plan(t, Input{Messages: thread(100_000)}, Model{Window: 32_000})); !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v", err)
	}
}

// partNotes answers for the turns that a request shows.
func partNotes(a asked) (int, string) {
	if strings.Contains(a.Messages[0].Content, "the heading of notes") {
		return 200, reply(`{"title":"All parts","state":"done","goal":"Do all parts.","closed":[1]}`, "stop")
	}
	m := regexp.MustCompile(`\[t(\d+)\] user`).FindStringSubmatch(a.text())
	n := "1"
	if m != nil {
		n = m[1]
	}
	return 200, reply(`{"title":"Part `+n+`","goal":"g`+n+`","decisions":[{"what":"decided in `+n+`","why":"w","turn":`+n+`}],"open":[{"item":"open in `+n+`","turn":`+n+`}],"next":[{"step":"next of `+n+`"}]}`, "stop")
}

func TestPartsBecomeOne(t *testing.T) {
	s := play(t, true, partNotes)
	p := plan(t, Input{Messages: thread(100_000)}, Model{Window: 32_000})
	got, err := s.run(t, p)
	if err != nil || len(s.seen) != len(p.Calls) {
		t.Fatalf("%v after %d requests", err, len(s.seen))
	}
	d := got.Doc
	if d.Title != "All parts" || d.State != StateDone || d.Goal != "Do all parts." || len(d.Decisions) != len(p.Calls)-1 || len(d.Open) != len(p.Calls)-2 || len(d.Next) != 1 {
		t.Errorf("%+v", d)
	}
	heading := s.seen[len(s.seen)-1].text()
	if !strings.Contains(heading, "1. open in 1\n") || !strings.Contains(heading, "decided in 1") {
		t.Error(heading)
	}
	if d.Open[0].Item == "open in 1" {
		t.Error("a closed item is kept")
	}
}

// What was paid for isn't lost when a later call fails.
func TestAFailureKeepsWhatCameBefore(t *testing.T) {
	p := plan(t, Input{Messages: thread(100_000)}, Model{Window: 32_000})
	s := play(t, true, partNotes, partNotes, fails(401, ``))
	got, err := s.run(t, p)
	if e, ok := errors.AsType[*chat.Error](err); !ok || e.Reason != chat.BadKey {
		t.Fatal(err)
	}
	if got.Through != p.Calls[1].through || got.Turns != p.Calls[1].To || len(got.Doc.Decisions) != 2 {
		t.Errorf("%+v", got)
	}
	// The next plan goes on behind it.
	next := plan(t, Input{Messages: thread(100_000), Prior: &got}, Model{Window: 32_000})
	if next.Kind != Rolling || next.Calls[0].From < got.Turns || len(next.Calls) >= len(p.Calls) {
		t.Errorf("%v from turn %d, %d calls", next.Kind, next.Calls[0].From, len(next.Calls))
	}
}

// Updates that don't fit one call follow each other.
func TestALongUpdate(t *testing.T) {
	n := 0
	s := play(t, true, func(a asked) (int, string) {
		n++
		return 200, reply(fmt.Sprintf(`{"title":"after %d","goal":"g"}`, n), "stop")
	})
	p := plan(t, Input{Messages: thread(100_000), Prior: &Prior{Doc: Doc{Title: "old notes", Goal: "g"}, Through: 1, Turns: 1}}, Model{Window: 32_000})
	got, err := s.run(t, p)
	if err != nil || len(p.Calls) < 3 || got.Updates != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, a := range s.seen {
		want := fmt.Sprintf("after %d", i)
		if i == 0 {
			want = "old notes"
		}
		if !strings.Contains(a.text(), want) || !strings.Contains(a.text(), "<earlier-") {
			t.Errorf("call %d is not given %q", i, want)
		}
	}
}

// A window smaller than was thought: calls are halved once, and nothing is lost.
func TestTooMuchTextIsHalved(t *testing.T) {
	s := play(t, true, fails(400, `{"error":{"code":"context_length_exceeded","message":"maximum context length is 8192"}}`), partNotes)
	p := plan(t, Input{Messages: thread(50_000)}, big)
	if len(p.Calls) != 1 {
		t.Fatal("not one call")
	}
	got, err := s.run(t, p)
	if err != nil || len(s.seen) != 4 || got.Doc.Title != "All parts" || got.Through != p.Through {
		t.Fatalf("%+v, %v after %d", got, err, len(s.seen))
	}
	all := s.seen[1].text() + s.seen[2].text()
	if strings.Contains(all, "entries left out") {
		t.Error("something is marked as missing")
	}
	for i := range 5 {
		if strings.Count(all, fmt.Sprintf("about part%d.go", i)) != 1 {
			t.Errorf("request %d is sent %d times", i, strings.Count(all, fmt.Sprintf("about part%d.go", i)))
		}
	}
	for _, a := range s.asks {
		if a.Part == Repair {
			t.Error("it was taken for a bad answer")
		}
	}

	// Of a single row the middle goes.
	s = play(t, true, fails(413, ``), says(`{"title":"t","goal":"g"}`))
	if got, err := s.run(t, plan(t, Input{Messages: talk("user: BEGIN " + strings.Repeat("x ", 4000) + " END")}, big)); err != nil || got.Doc.Title != "t" {
		t.Errorf("%+v, %v", got, err)
	}
	if a, b := s.seen[0].text(), s.seen[1].text(); len(b) > len(a)*6/10 || !strings.Contains(b, "BEGIN") || !strings.Contains(b, "END") {
		t.Errorf("%d bytes, then %d", len(a), len(b))
	}
}

func TestCapsHoldBackCalls(t *testing.T) {
	s := play(t, true, partNotes)
	p := plan(t, Input{Messages: thread(100_000)}, Model{Window: 32_000})
	stop := errors.New("no more today")
	n := 0
	got, err := s.Run(t.Context(), p, func(r Request) error {
		if r.Tokens != p.Calls[n].Tokens || r.Output == 0 || r.Bytes == 0 {
			t.Errorf("%+v", r)
		}
		if n++; n == 3 {
			return stop
		}
		return nil
	}, nil)
	if !errors.Is(err, stop) || len(s.seen) != 2 || got.Through != p.Calls[1].through {
		t.Errorf("%v after %d, %+v", err, len(s.seen), got)
	}
}

func TestTheJobEnds(t *testing.T) {
	s := play(t, true, partNotes)
	s.job = 0
	if _, err := s.run(t, plan(t, Input{Messages: small}, big)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "longer than") || len(s.seen) != 0 {
		t.Errorf("got %v", err)
	}
}

// The summary never has more than it may, and loses whole items.
func TestTheTargetIsKept(t *testing.T) {
	var facts []string
	for i := range 60 {
		facts = append(facts, fmt.Sprintf(`{"fact":"fact number %d %s","turn":1}`, i, strings.Repeat("数据 ", 20)))
	}
	s := play(t, true, says(`{"title":"t","goal":"g","learned":[`+strings.Join(facts, ",")+`],"next":[{"step":"one"}]}`))
	got, err := s.run(t, plan(t, Input{Messages: small, TargetChars: 600}, big))
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Doc.Units(); n > 600 || n < 400 || len(got.Doc.Next) != 1 || !strings.HasSuffix(got.Doc.Learned[0].Fact, "数据") {
		t.Errorf("%d units: %+v", n, got.Doc)
	}
}
