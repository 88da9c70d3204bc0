package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

const (
	answerBytes = 256 << 10 // of the JSON of an answer
	textUnits   = 2000      // of one text in it
	listItems   = 100
	candidates  = 32 // places where the JSON may begin
)

var (
	errNoJSON = errors.New("there is no JSON object in it")
	errCut    = errors.New("its JSON object doesn't end")
)

// answer is what a model may say.
type answer struct {
	Empty bool `json:"empty"`
	Doc
	Decisions   []decision   `json:"decisions"`
	Constraints []constraint `json:"constraints"`
	Learned     []fact       `json:"learned"`
	Failed      []attempt    `json:"failed"`
	Open        []item       `json:"open"`
	Next        []step       `json:"next"`
}

// Those with a turn have one that is read leniently.
type (
	decision struct {
		Decision
		Turn turn `json:"turn"`
	}
	constraint struct {
		Constraint
		Turn turn `json:"turn"`
	}
	fact struct {
		Fact
		Turn turn `json:"turn"`
	}
	attempt struct {
		Attempt
		Turn turn `json:"turn"`
	}
	item struct {
		Item
		Turn turn `json:"turn"`
	}
	step struct {
		Step
		Turn turn `json:"turn"`
	}
)

// turn is a number, or written as in the session: "t3", "[t3]", of several the
// first.
type turn int

var turnForm = pattern.Lazy(`^"?\[?"?[tT]?(-?\d{1,9})\b["\],tT\d –-]*$`)

// UnmarshalJSON implements json.Unmarshaler.
func (t *turn) UnmarshalJSON(b []byte) error {
	if s := string(b); s == "null" || s == `""` {
		return nil
	}
	m := turnForm().FindSubmatch(b)
	if m == nil {
		return fmt.Errorf("turn %.20s is not a number", b)
	}
	n, err := strconv.Atoi(string(m[1]))
	*t = turn(n)
	return err
}

func (a *answer) doc() Doc {
	d := a.Doc
	for _, v := range a.Decisions {
		v.Decision.Turn = int(v.Turn)
		d.Decisions = append(d.Decisions, v.Decision)
	}
	for _, v := range a.Constraints {
		v.Constraint.Turn = int(v.Turn)
		d.Constraints = append(d.Constraints, v.Constraint)
	}
	for _, v := range a.Learned {
		v.Fact.Turn = int(v.Turn)
		d.Learned = append(d.Learned, v.Fact)
	}
	for _, v := range a.Failed {
		v.Attempt.Turn = int(v.Turn)
		d.Failed = append(d.Failed, v.Attempt)
	}
	for _, v := range a.Open {
		v.Item.Turn = int(v.Turn)
		d.Open = append(d.Open, v.Item)
	}
	for _, v := range a.Next {
		v.Step.Turn = int(v.Turn)
		d.Next = append(d.Next, v.Step)
	}
	return d
}

// heading is the answer to a Heading.
type heading struct {
	Title  string `json:"title"`
	State  State  `json:"state"`
	Goal   string `json:"goal"`
	Closed []int  `json:"closed"`
}

// decode reads the answer of a model: a Doc as it was said, unchecked, and
// whether the model found nothing. errNoJSON and errCut where there is none.
func decode(text string) (d Doc, empty bool, err error) {
	raw, err := object(text)
	if err != nil {
		return Doc{}, false, err
	}
	var a answer
	if err := strict(raw, &a); err != nil {
		return Doc{}, false, err
	}
	d = a.doc()
	if a.Empty {
		if d.bare() {
			return Doc{}, true, nil
		}
		return Doc{}, false, errors.New(`"empty" is true, and there are notes all the same`)
	}
	return d, false, d.fits()
}

// fits tells whether d is of a size that notes can have.
func (d *Doc) fits() error {
	if strings.TrimSpace(d.Title) == "" {
		return errors.New(`"title" is missing`)
	}
	if d.bare() {
		return errors.New("there is nothing but a title")
	}
	if units(d.Title) > textUnits || units(d.Goal) > textUnits {
		return fmt.Errorf(`"title" or "goal" has more than %d characters`, textUnits)
	}
	for _, l := range d.lists() {
		if len(l.parts) > listItems {
			return fmt.Errorf("a list has %d items, %d at most are allowed", len(l.parts), listItems)
		}
		for _, p := range l.parts {
			for i, t := range p.texts {
				if units(*t) > textUnits {
					return fmt.Errorf("a text has more than %d characters", textUnits)
				}
				if i == 0 && strings.TrimSpace(*t) == "" {
					return errors.New("an item of a list has no text")
				}
			}
		}
	}
	return nil
}

// strict reads one JSON value: no field more, no other type.
func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("it doesn't have the shape asked for: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the JSON object")
	}
	return nil
}

// object finds the JSON object of an answer: all of it, or within prose or a
// fence, by its braces. Of several the longest counts.
func object(text string) ([]byte, error) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
	if len(text) > answerBytes {
		return nil, fmt.Errorf("it has %d bytes, %d at most are allowed", len(text), answerBytes)
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return []byte(text), nil
	}
	if i := strings.LastIndex(text, thought); i >= 0 {
		if raw, err := within(text[i+len(thought):]); err == nil {
			return raw, nil
		}
	}
	return within(text)
}

// thought ends what a model thought aloud.
const thought = "</think>"

// within finds the longest JSON object in a text that isn't an example of ours.
func within(text string) ([]byte, error) {
	var best string
	text = strings.NewReplacer(example, "", headingExample, "").Replace(text)
	open := false
	for from, n := 0, 0; n < candidates; n++ {
		i := strings.IndexByte(text[from:], '{')
		if i < 0 {
			break
		}
		from += i
		end := closing(text[from:])
		switch {
		case end == 0:
			open = true
			from++
		case json.Valid([]byte(text[from : from+end])):
			if end > len(best) {
				best = text[from : from+end]
			}
			from += end
		default:
			from++
		}
	}
	switch {
	case best != "":
		return []byte(best), nil
	case open:
		return nil, errCut
	}
	return nil, errNoJSON
}

// closing returns the length of the object that s begins with, by its braces; 0
// if it doesn't end.
func closing(s string) int {
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
