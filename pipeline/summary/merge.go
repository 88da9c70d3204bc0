package summary

import (
	"slices"
	"strconv"
	"strings"
)

// merge makes one Doc of those of several parts, in order: equal items are one,
// the newer one's words count. The next steps and the state are the newest's.
func merge(docs []Doc) Doc {
	var out Doc
	for i, d := range docs {
		last := i == len(docs)-1
		out.Title, out.Goal = newer(out.Title, d.Title), newer(out.Goal, d.Goal)
		if d.State != 0 || last {
			out.State = d.State
		}
		if len(d.Next) > 0 || last {
			out.Next = d.Next
		}
		out.Decisions = join(out.Decisions, d.Decisions, func(v Decision) string { return v.What })
		out.Constraints = join(out.Constraints, d.Constraints, func(v Constraint) string { return v.Quote })
		out.Learned = join(out.Learned, d.Learned, func(v Fact) string { return v.Fact })
		out.Failed = join(out.Failed, d.Failed, func(v Attempt) string { return v.Tried })
		out.Open = join(out.Open, d.Open, func(v Item) string { return v.Item })
		out.Topics = joinTopics(out.Topics, d.Topics)
	}
	return out
}

func newer(old, s string) string {
	if s != "" {
		return s
	}
	return old
}

// join adds items to older ones; those of the same words take their place.
func join[T any](old, add []T, of func(T) string) []T {
	out := slices.Clone(old)
	for _, v := range add {
		key := letters(of(v))
		if i := slices.IndexFunc(out, func(o T) bool { return letters(of(o)) == key }); i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, v)
	}
	return out
}

// joinTopics adds topics; one that goes on where the last of that name ended is
// the same.
func joinTopics(old, add []Topic) []Topic {
	out := slices.Clone(old)
	for _, t := range add {
		i := slices.IndexFunc(out, func(o Topic) bool { return letters(o.Name) == letters(t.Name) })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].Turns = joinTurns(out[i].Turns, t.Turns)
		if t.Text != "" && !strings.Contains(out[i].Text, t.Text) && units(out[i].Text+t.Text) < textUnits {
			out[i].Text = strings.TrimSpace(out[i].Text + " " + t.Text)
		}
	}
	return out
}

// joinTurns gives the span from the first of both to the last.
func joinTurns(a, b string) string {
	if a == "" || b == "" {
		return newer(a, b)
	}
	from, _, _ := strings.Cut(a, "-")
	_, to, ok := strings.Cut(b, "-")
	if !ok {
		to = b
	}
	if from == to {
		return from
	}
	return from + "-" + to
}

// numbered is a merged Doc as its heading is asked for: what is open has
// numbers, from 1 on.
func numbered(d Doc) string {
	var b strings.Builder
	for i := range d.Open {
		b.WriteString(strconv.Itoa(i+1) + ". " + untag(d.Open[i].Item) + "\n")
	}
	open := b.String()
	d.Open = nil
	return jsonOf(d) + "\nopen:\n" + open
}

// head puts a heading over a merged Doc.
func (h *heading) over(d Doc) Doc {
	d.Title, d.Goal = newer(d.Title, h.Title), newer(d.Goal, h.Goal)
	if h.State != 0 {
		d.State = h.State
	}
	var open []Item
	for i, v := range d.Open {
		if !slices.Contains(h.Closed, i+1) {
			open = append(open, v)
		}
	}
	d.Open = open
	return d
}
