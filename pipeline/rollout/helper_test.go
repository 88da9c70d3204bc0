package rollout_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/rollout"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// read is a rollout read to its end, as the pipeline would read it.
type read struct {
	transcript.Delta
	state  rollout.State
	awaits string
	cursor int64 // behind the last whole line
}

// reading says how a test delivers a file.
type reading struct {
	parent func(string) (rollout.Lineage, bool)
	chunk  int  // lines per delta; 0: all in one
	whole  bool // deliver lines in full, whatever Classify asks for
}

// parse reads b to its last newline.
func parse(tb testing.TB, b []byte, how reading) *read {
	tb.Helper()
	r := &read{}
	p := rollout.NewParser(rollout.State{}, rollout.Options{Parent: how.parent})
	number := int64(0)
	for {
		i := bytes.IndexByte(b[r.cursor:], '\n')
		if i < 0 {
			break
		}
		number++
		line := b[r.cursor : r.cursor+int64(i)]
		head := line[:min(len(line), 512)]
		l := rollout.Line{Bytes: line, Number: number, Offset: r.cursor, Size: int64(i), Need: rollout.Classify(head, len(head) == len(line))}
		switch {
		case how.whole:
			l.Need = rollout.NeedAll
		case l.Need == rollout.NeedNone:
			l.Bytes = head
		case l.Need == rollout.NeedHead:
			l.Bytes = line[:min(len(line), rollout.HeadSize)]
		}
		p.Line(l, &r.Delta)
		r.cursor += int64(i) + 1
		if how.chunk > 0 && number%int64(how.chunk) == 0 {
			p = rollout.NewParser(roundTrip(tb, p.State()), rollout.Options{Parent: how.parent})
		}
	}
	r.state, r.awaits = p.State(), p.AwaitsParent()
	return r
}

// roundTrip stores a state and reads it again.
func roundTrip(tb testing.TB, st rollout.State) rollout.State {
	tb.Helper()
	j, err := json.Marshal(st)
	if err != nil {
		tb.Fatal(err)
	}
	var back rollout.State
	if err := json.Unmarshal(j, &back); err != nil {
		tb.Fatal(err)
	}
	return back
}

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func (r *read) isDead(seq int64) bool {
	for _, d := range r.Dead {
		if seq >= d.From && seq <= d.To {
			return true
		}
	}
	return false
}

// lineage is what the store would give as a parent's items.
func (r *read) lineage() rollout.Lineage {
	var l rollout.Lineage
	for _, it := range r.Items {
		l = append(l, rollout.Ancestor{Key: it.Key, Role: it.Role, Dead: r.isDead(it.Seq)})
	}
	return l
}

// live lists the items of the current branch, those of the given roles.
func (r *read) live(roles ...transcript.Role) []transcript.Item {
	var out []transcript.Item
	for _, it := range r.Items {
		for _, role := range roles {
			if it.Role == role && !r.isDead(it.Seq) {
				out = append(out, it)
			}
		}
	}
	return out
}

// messages lists who said what on the current branch.
func (r *read) messages() []string {
	var out []string
	for _, it := range r.live(transcript.RoleUser, transcript.RoleAssistant) {
		out = append(out, it.Role.String()+": "+it.Text)
	}
	return out
}

// dump is everything a reader gets, for comparison by eye.
func (r *read) dump() string {
	var b strings.Builder
	for _, it := range r.Items {
		flags := ""
		if it.Inherited {
			flags += " inherited"
		}
		if r.isDead(it.Seq) {
			flags += " dead"
		}
		if it.Images > 0 {
			flags += fmt.Sprintf(" images=%d", it.Images)
		}
		if it.HasExit {
			flags += fmt.Sprintf(" exit=%d", it.ExitCode)
		}
		if it.Phase != 0 {
			flags += " " + it.Phase.String()
		}
		text := it.Body()
		if len(text) > 160 {
			text = strings.ToValidUTF8(text[:160], "") + "…"
		}
		fmt.Fprintf(&b, "%d %s turn=%d ord=%d%s", it.Seq, it.Role, it.Turn, it.Ordinal, flags)
		if it.Name != "" {
			fmt.Fprintf(&b, " %s", it.Name)
		}
		fmt.Fprintf(&b, " %q\n", text)
	}
	f := r.state.Facts
	for _, t := range r.Turns {
		if t.Number <= f.Turns {
			fmt.Fprintf(&b, "turn %d %s %s\n", t.Number, t.State, t.Error)
		}
	}
	for _, x := range r.Damage {
		fmt.Fprintf(&b, "damage %+v\n", x)
	}
	for _, x := range r.Unknown {
		fmt.Fprintf(&b, "unknown %+v\n", x)
	}
	for _, x := range r.Windows {
		fmt.Fprintf(&b, "window %s %d\n", x.Model, x.Tokens)
	}
	base := "none"
	if f.Base != nil {
		base = fmt.Sprintf("%+v", *f.Base)
	}
	fmt.Fprintf(&b, "thread %s by %s %s from %s\nforked %q parent %q %q copy of %q base %s paginated %t subagent %t\n",
		f.ThreadID, f.Originator, f.CLIVersion, f.Source, f.ForkedFrom, f.Parent, f.Nickname, f.CopyOf, base, f.Paginated, f.Subagent)
	fmt.Fprintf(&b, "cwd %s model %s first %q title %q\n", f.Cwd, f.Model, f.FirstUser, f.Title)
	fmt.Fprintf(&b, "usage %+v calls %d base %d window %d now %d\n", f.Usage, f.ModelCalls, f.BaseUsage.Total, f.Window, f.ContextNow)
	fmt.Fprintf(&b, "images %d compactions %d rollbacks %d injected %d\n", f.Images, f.Compactions, f.Rollbacks, f.Injected)
	return b.String()
}
