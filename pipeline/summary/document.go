package summary

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

// Units is the length of all texts of d in UTF-16 units.
func (d *Doc) Units() int { return 0 }

// Fit gives d with whole items left out, the least needed first and of their
// kind the oldest, until its texts have at most units UTF-16 units; and how many
// were left out. The title stays.
func (d *Doc) Fit(units int) (Doc, int) { return *d, 0 }
