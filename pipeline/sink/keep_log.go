package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink/block"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// dailyLog adds an entry to the log of the day when a session has rested: one
// a session and day, a further one if its state changes. What was written is
// never changed.
type dailyLog struct {
	link func(at place) (link func(Session) string, more string)
}

const (
	logDays     = 2 // today's, and yesterday's where it is
	maxLogLine  = 300
	maxLogTitle = 100
)

func (dailyLog) main() string { return "" }

func (dailyLog) keeps(name string) bool {
	day, ok := strings.CutSuffix(name, ".md")
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}

func (k dailyLog) share(ctx context.Context, j *job, last []SharedFile) []SharedFile {
	days := map[string][]Session{}
	for _, s := range j.sessions {
		if s.State != transcript.StateRunning {
			day := s.Updated.In(j.sink.env.Zone).Format(time.DateOnly)
			days[day] = append(days[day], s)
		}
	}
	var out []SharedFile
	today := j.now.In(j.sink.env.Zone)
	for i := range logDays {
		day := today.AddDate(0, 0, -i).Format(time.DateOnly)
		f, _ := j.file(day+".md", last)
		f.Problem, f.Note, f.Again, f.Old, f.New = "", "", time.Time{}, nil, nil
		if err := k.day(ctx, j, &f, day, days[day], i == 0); err != nil {
			f.Problem, f.Again = j.unwritten(j.rel(day+".md"), err), j.now.Add(waitShared)
		}
		if len(f.Entries) > 0 || f.Problem != "" || !f.Again.IsZero() || f.New != nil {
			out = append(out, f)
		}
	}
	return out
}

// day adds what is new to the log of one day.
func (k dailyLog) day(ctx context.Context, j *job, f *SharedFile, day string, sessions []Session, begin bool) error {
	if len(sessions) == 0 {
		return nil
	}
	at, err := openSpot(j.place.root, j.rel(day+".md"))
	if err != nil {
		return err
	}
	defer func() { _ = at.root.Close() }()
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return nil
		}
		snap, err := at.read()
		if err != nil {
			return err
		}
		if !snap.found && !begin {
			return nil // of a day that is over, and not ours to begin
		}
		text, told := k.compose(j, *f, day, sessions, snap)
		if err := k.append(j, f, at, snap, text, told); !errors.Is(err, errChanged) || try == triesShare {
			return err
		}
	}
}

// compose gives what is to be appended, and the states that the log tells then.
func (k dailyLog) compose(j *job, f SharedFile, day string, sessions []Session, snap snapshot) (text []byte, told map[string]string) {
	told = map[string]string{}
	for id, state := range f.Entries {
		told[id] = state
	}
	there := block.Entries(snap.data)
	w := wordsOf(sessions)
	for _, s := range slices.Backward(sessions) {
		state := cmp.Or(s.Standing, s.State.String())
		if told[s.ThreadID] == state {
			continue
		}
		turn, has := there[shortID(s.ThreadID)]
		if has && (told[s.ThreadID] == "" || turn >= s.Turns) {
			told[s.ThreadID] = state // the record was lost, or it tells of this turn
			continue
		}
		add := block.Append(slices.Concat(snap.data, text), k.entry(j, s, w), "# "+day)
		text = append(text, add...)
		told[s.ThreadID] = state
	}
	return text, told
}

func (k dailyLog) entry(j *job, s Session, w *words) block.Entry {
	set := func(text string) string { return line(text, j.workspace, maxLogLine) }
	var bullets []string
	add := func(before, text string) {
		if text != "" {
			bullets = append(bullets, before+text)
		}
	}
	var did []string
	for _, d := range s.Did[:min(3, len(s.Did))] {
		did = append(did, line(d, j.workspace, maxLogLine/3))
	}
	add(w.did, strings.Join(did, "; "))
	add(w.said, set(s.Result))
	if s.Open != "" {
		add(w.left, set(s.Open))
	} else {
		add(w.left, set(s.Next))
	}
	link, _ := k.link(j.place)
	if p := link(s); p != "" {
		add(w.file, "`"+p+"`")
	}
	title := titled(&s, j.workspace, w, maxLogTitle)
	return block.Entry{
		ID8: shortID(s.ThreadID), Turn: s.Turns, Clock: s.Updated.In(j.sink.env.Zone).Format("15:04"),
		Heading: w.codex + title + w.paren[0] + w.state(&s) + w.paren[1], Bullets: bullets,
	}
}

// append adds text to the log with one write at its end.
func (k dailyLog) append(j *job, f *SharedFile, at spot, snap snapshot, text []byte, told map[string]string) error {
	switch {
	case j.look:
		f.Old, f.New = snap.data, slices.Concat(snap.data, text)
		return nil
	case len(text) == 0:
		f.Entries = told
		return nil
	}
	if wait := j.wait(*f, snap, false); !wait.IsZero() {
		f.Again = wait
		return nil
	}
	flags := os.O_WRONLY | os.O_APPEND
	if !snap.found {
		if err := atomicfile.MkdirAll(at.root, path.Dir(at.name)); err != nil {
			return err
		}
		flags |= os.O_CREATE | os.O_EXCL
	}
	if err := at.still(snap); err != nil {
		return err
	}
	file, err := at.root.OpenFile(at.name, flags, atomicfile.FileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("append to the log: %w", err)
	}
	whole := hashOf(slices.Concat(snap.data, text))
	switch {
	case !snap.found:
		f.Ours, f.Hash = true, whole
	case f.Ours && f.Hash == hashOf(snap.data):
		f.Hash = whole
	default:
		f.Ours, f.Hash = false, ""
	}
	f.Entries, f.Written = told, j.now
	return nil
}

// unshare removes a log that nobody else wrote to. Entries in others are a
// record of their day, and stay.
func (dailyLog) unshare(at spot, snap snapshot, f SharedFile) error {
	if f.Ours && f.Hash != "" && f.Hash == hashOf(snap.data) {
		return at.remove(snap)
	}
	return nil
}
