package summary

import (
	"fmt"
	"slices"
	"unicode/utf16"
)

// Doc is what a model wrote of a thread, checked. Its JSON is what models are
// asked for and what is stored. A Turn of 0 isn't known.
type Doc struct {
	Title       string       `json:"title"`
	State       State        `json:"state,omitempty"`
	Goal        string       `json:"goal,omitempty"`
	Decisions   []Decision   `json:"decisions,omitempty"`
	Constraints []Constraint `json:"constraints,omitempty"`
	Learned     []Fact       `json:"learned,omitempty"`
	Failed      []Attempt    `json:"failed,omitempty"`
	Open        []Item       `json:"open,omitempty"`
	Next        []Step       `json:"next,omitempty"`
	Topics      []Topic      `json:"topics,omitempty"`
}

// Decision is what was decided, and why.
type Decision struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Turn int    `json:"turn,omitempty"`
}

// Constraint is a rule of the user's, in their words.
type Constraint struct {
	Quote string `json:"quote"`
	Turn  int    `json:"turn,omitempty"`
}

// Fact is something found out, and what shows it.
type Fact struct {
	Fact     string `json:"fact"`
	Evidence string `json:"evidence,omitempty"`
	Turn     int    `json:"turn,omitempty"`
}

// Attempt is something tried that did not work.
type Attempt struct {
	Tried   string `json:"tried"`
	Result  string `json:"result,omitempty"`
	Instead string `json:"instead,omitempty"`
	Turn    int    `json:"turn,omitempty"`
}

// Item is something left open.
type Item struct {
	Item string `json:"item"`
	Turn int    `json:"turn,omitempty"`
}

// Step is what was going to be done next.
type Step struct {
	Step string `json:"step"`
	Turn int    `json:"turn,omitempty"`
}

// Topic is a part of the thread.
type Topic struct {
	Name  string `json:"name"`
	Turns string `json:"turns,omitempty"` // t3 or t3-t9
	Text  string `json:"text,omitempty"`
}

// State is how the work stands, in the model's judgement.
type State uint8

// The states. The zero value: the model doesn't say.
const (
	StateInProgress State = iota + 1
	StateDone
	StateBlocked
)

var stateNames = [...]string{"", "in_progress", "done", "blocked"}

// String gives the name used in JSON; empty: the model doesn't say.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(b []byte) error {
	i := slices.Index(stateNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown state %q", b)
	}
	*s = State(i)
	return nil
}

// part is one item of a Doc: its texts, the first being the one it needs.
type part struct {
	texts []*string
	turn  *int // nil: topics
}

// list is a list of a Doc by which all lists are treated alike.
type list struct {
	parts []part
	keep  func(ok []bool) // leaves in the Doc what is ok
}

func listOf[T any](at *[]T, of func(*T) part) list {
	l := list{keep: func(ok []bool) {
		var out []T
		for i, v := range *at {
			if ok[i] {
				out = append(out, v)
			}
		}
		*at = out
	}}
	for i := range *at {
		l.parts = append(l.parts, of(&(*at)[i]))
	}
	return l
}

// lists are the lists of d, what is needed most first.
func (d *Doc) lists() []list {
	return []list{
		listOf(&d.Constraints, func(v *Constraint) part { return part{[]*string{&v.Quote}, &v.Turn} }),
		listOf(&d.Next, func(v *Step) part { return part{[]*string{&v.Step}, &v.Turn} }),
		listOf(&d.Open, func(v *Item) part { return part{[]*string{&v.Item}, &v.Turn} }),
		listOf(&d.Decisions, func(v *Decision) part { return part{[]*string{&v.What, &v.Why}, &v.Turn} }),
		listOf(&d.Failed, func(v *Attempt) part { return part{[]*string{&v.Tried, &v.Result, &v.Instead}, &v.Turn} }),
		listOf(&d.Learned, func(v *Fact) part { return part{[]*string{&v.Fact, &v.Evidence}, &v.Turn} }),
		listOf(&d.Topics, func(v *Topic) part { return part{[]*string{&v.Name, &v.Text, &v.Turns}, nil} }),
	}
}

// clone gives a copy that shares no list with d.
func (d *Doc) clone() Doc {
	c := *d
	c.Decisions, c.Constraints, c.Learned = slices.Clone(d.Decisions), slices.Clone(d.Constraints), slices.Clone(d.Learned)
	c.Failed, c.Open, c.Next, c.Topics = slices.Clone(d.Failed), slices.Clone(d.Open), slices.Clone(d.Next), slices.Clone(d.Topics)
	return c
}

// bare tells that d has no item and no goal: a title says nothing.
func (d *Doc) bare() bool {
	n := 0
	for _, l := range d.lists() {
		n += len(l.parts)
	}
	return n == 0 && d.Goal == ""
}

func (p *part) units() int {
	n := 0
	for _, t := range p.texts {
		n += units(*t)
	}
	return n
}

// Units is the length of all texts of d in UTF-16 units.
func (d *Doc) Units() int {
	n := units(d.Title) + units(d.Goal)
	for _, l := range d.lists() {
		for i := range l.parts {
			n += l.parts[i].units()
		}
	}
	return n
}

// Fit gives d with whole items left out, until its texts have at most most
// UTF-16 units; and how many were left out. Title and goal come first, then each
// list has its turn, what is needed most first; of a list the newest items stay.
func (d *Doc) Fit(most int) (Doc, int) {
	if d.Units() <= most {
		return *d, 0
	}
	out, left := d.clone(), 0
	room := most - units(out.Title)
	if n := units(out.Goal); n <= room {
		room -= n
	} else {
		out.Goal = ""
		left++
	}
	lists := out.lists()
	ok := make([][]bool, len(lists))
	order := make([][]int, len(lists)) // newest first
	for i, l := range lists {
		ok[i] = make([]bool, len(l.parts))
		for j := range l.parts {
			order[i] = append(order[i], len(l.parts)-1-j)
		}
		slices.SortStableFunc(order[i], func(a, b int) int { return l.parts[b].at() - l.parts[a].at() })
	}
	// A share of what is left for each list, then what remains to all in order.
	for pass, share := range []int{3, 1} {
		for i, l := range lists {
			allow := room / share
			for _, j := range order[i] {
				n := l.parts[j].units()
				if ok[i][j] || n > allow || n > room {
					continue
				}
				ok[i][j] = true
				room -= n
				if pass == 0 {
					allow -= n
				}
			}
		}
	}
	for i, l := range lists {
		for _, is := range ok[i] {
			if !is {
				left++
			}
		}
		l.keep(ok[i])
	}
	return out, left
}

// at is the turn of an item, by which newer ones are known.
func (p *part) at() int {
	if p.turn == nil {
		return 0
	}
	return *p.turn
}

// units counts UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
