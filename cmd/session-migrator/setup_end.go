package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/install/plan"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/store"
)

type setupJSON struct {
	Schema int         `json:"schema"`
	Parts  []partJSON  `json:"parts"`
	Done   bool        `json:"done"`   // all of it is as it shall be
	Failed []string    `json:"failed"` // what was not done, and why
	Latest *latestJSON `json:"latest"` // null: there is no session yet, or nothing was asked
}

type partJSON struct {
	Name  string   `json:"name"`
	State string   `json:"state"`
	Todo  []string `json:"todo"` // empty: nothing
	Next  []string `json:"next"` // what people do themselves
	Steps []string `json:"steps"`
}

// latestJSON is the first answer: the newest session, for a few models.
type latestJSON struct {
	ThreadID  string         `json:"thread_id"`
	Title     string         `json:"title"`
	Tokens    int64          `json:"tokens"`
	Decisions []decisionJSON `json:"decisions"`
}

func (s *setup) json() setupJSON {
	out := setupJSON{Schema: 1, Failed: list(allShown(s.failures()))}
	for _, p := range s.parts {
		j := partJSON{Name: p.name, State: shown(p.state), Todo: list(allShown(p.todo)), Next: list(allShown(p.left())), Steps: []string{}}
		for _, st := range p.steps.Steps {
			switch {
			case st.File != nil:
				j.Steps = append(j.Steps, "write "+shown(st.File.Path))
			case len(st.Command.Argv) > 0:
				j.Steps = append(j.Steps, "run "+shown(plan.Quote(st.Command.Argv)))
			}
		}
		out.Parts = append(out.Parts, j)
	}
	return out
}

// print shows what was found and what is going to be done; exactly says every
// change to the letter.
func (s *setup) print(exactly bool) error {
	if s.a.flags.json {
		return s.a.printJSON(s.json())
	}
	var b bytes.Buffer
	b.WriteString(s.a.paint(s.a.out, bold, "Found") + "\n")
	for _, p := range s.parts {
		fmt.Fprintf(&b, "  %-9s %s\n", p.name, s.people(p.state))
	}
	if s.pending() {
		b.WriteString(s.a.paint(s.a.out, bold, "Plan") + "\n")
	}
	n := 0
	for _, p := range s.parts {
		for _, what := range p.todo {
			n++
			fmt.Fprintf(&b, "  %d. %s\n", n, s.people(what))
		}
	}
	if exactly {
		printSteps(&b, s.parts)
	}
	_, err := s.a.out.Write(b.Bytes())
	return err
}

func printSteps(b *bytes.Buffer, parts []part) {
	for _, p := range parts {
		if len(p.steps.Steps) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nEvery change for %s:\n", p.name)
		_ = p.steps.Print(b, plan.PrintOptions{Mask: masked, Private: true}) // a buffer takes all
	}
}

// masked is a line of somebody's settings as it may be shown.
func masked(line string) string { return clean(shown(line), false) }

// setupModels is how many models the first answer is for.
const setupModels = 4

// latest asks the cache for the newest session, as anybody would next.
func (s *setup) latest(ctx context.Context) (*latestJSON, error) {
	r, v, err := s.a.view(ctx, "latest")
	if err != nil {
		return nil, err
	}
	defer r.close()
	packs := &packs{r: r, v: v, now: s.a.now()}
	if err := packs.load(ctx); err != nil {
		return nil, err
	}
	out := &latestJSON{ThreadID: v.Thread.ID, Title: shown(v.Thread.Title), Tokens: v.Thread.Tokens["o200k_base"]}
	for _, m := range oneOfEach(targets(r), setupModels) {
		d, problem, err := packs.decide(ctx, m)
		if err != nil {
			return nil, err
		}
		out.Decisions = append(out.Decisions, decisionJSON{Decision: d, Problem: problem})
	}
	return out, nil
}

// oneOfEach gives the first models of different makers, as their names begin.
func oneOfEach(models []string, most int) (out []string) {
	seen := map[string]bool{}
	for _, m := range models {
		maker, _, _ := strings.Cut(m[strings.LastIndexByte(m, '/')+1:], "-")
		if !seen[maker] && len(out) < most {
			seen[maker] = true
			out = append(out, m)
		}
	}
	return out
}

// finish says what became of it, gives the first answer, and what can be done
// now.
func (s *setup) finish(ctx context.Context, word string) error {
	latest, err := s.latest(ctx)
	none := errors.Is(err, store.ErrNone) || errors.Is(err, store.ErrNotFound)
	if err != nil && !none {
		if ctx.Err() != nil {
			return err
		}
		s.failed = append(s.failed, failure{"the first answer", err.Error()})
	}
	if s.a.flags.json {
		out := s.json()
		out.Done, out.Latest = len(s.failed) == 0, latest
		if err := s.a.printJSON(out); err != nil {
			return err
		}
		return s.partly()
	}
	if len(s.failed) == 0 {
		put(s.a.err, "%s\n", word)
	}
	var b bytes.Buffer
	if latest != nil {
		latest.print(s.a, &b)
	} else if none && !s.unread() {
		b.WriteString("\nNo session in use yet: the first one of Codex is seen by itself.\n")
	}
	s.printNext(&b)
	if _, err := s.a.out.Write(b.Bytes()); err != nil {
		return err
	}
	return s.partly()
}

// unread tells whether the first read failed.
func (s *setup) unread() bool {
	return slices.ContainsFunc(s.failed, func(f failure) bool { return f.part == partSessions })
}

// left is what people do themselves, in the end.
func (p part) left() (out []string) {
	for _, n := range p.next {
		if !p.moot[n] {
			out = append(out, n)
		}
	}
	return out
}

// printNext says what is left for people, and what they can do now.
func (s *setup) printNext(b *bytes.Buffer) {
	head := "Left for you"
	for _, p := range s.parts {
		for _, n := range p.left() {
			if head != "" {
				b.WriteString("\n" + s.a.paint(s.a.out, bold, head) + "\n")
				head = ""
			}
			fmt.Fprintf(b, "  %s\n", s.people(n))
		}
	}
	b.WriteString("\n" + s.a.paint(s.a.out, bold, "What you can do now") + "\n")
	for _, l := range [][2]string{
		{"sessions", "all sessions, newest first"},
		{"decide latest", "which models can take the newest one over"},
		{"migrate latest --to MODEL", "what to give one of them"},
		{"status", "how the daemon is; doctor if anything is odd"},
	} {
		fmt.Fprintf(b, "  %s  %s\n", s.people(program()+" "+fmt.Sprintf("%-25s", l[0])), l[1])
	}
}

// people is text as they read it: without secrets, and their home folder short.
func (s *setup) people(text string) string {
	if u := s.config.User; len(u) > 1 {
		text = strings.ReplaceAll(text, u+string(filepath.Separator), "~"+string(filepath.Separator))
	}
	return clean(shown(text), false)
}

// partly is the end of a run that left something out.
func (s *setup) partly() error {
	if len(s.failed) == 0 {
		return nil
	}
	return hinted(partlyError{"not all of it was done:\n  " + strings.Join(allShown(s.failures()), "\n  ")}, `mend what is named and run "session-migrator setup" again: it does what is left`)
}

func (l *latestJSON) print(a *app, b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%s %q, %s tokens:\n", a.paint(a.out, bold, "Your newest session"), clean(fit(l.Title, titleColumns), false), number(l.Tokens))
	for _, d := range l.Decisions {
		what := "takes all of it"
		hue := green
		if d.Verdict != decide.Direct {
			what, hue = "needs it compressed", yellow
			if d.Budget != nil {
				what += " to " + number(*d.Budget) + " tokens"
			}
		}
		fmt.Fprintf(b, "  %-28s %s  %s\n", clean(d.TargetModel, false), a.paint(a.out, hue, fmt.Sprintf("%-8s", d.Verdict)), what)
	}
}
