package summary

// halve makes two of each call that is left: the window is smaller than was
// thought.
func (r *run) halve() {
	r.halved = true
	var out []Call
	for _, c := range r.calls {
		if len(c.rows) == 0 {
			out = append(out, c)
			continue
		}
		out = append(out, r.halves(c)...)
	}
	if len(out) > 1 && out[0].Part == Chunk && out[len(out)-1].Part != Heading {
		last := out[len(out)-1]
		h := Call{Part: Heading, brief: out[0].brief, From: out[0].From, To: last.To, Output: last.Output, through: last.through}
		out = append(out, h)
	}
	r.calls = out
}

func (r *run) halves(c Call) []Call {
	if len(c.rows) == 1 {
		only := c.rows[0]
		only.text = clip(only.text[:len(only.text)-1], len(only.text)/2) + "\n"
		only.tokens = r.plan.count(only.text)
		c.rows = []row{only}
		return []Call{c}
	}
	total, sum, at := 0, 0, 1
	for i := range c.rows {
		total += c.rows[i].tokens
	}
	// Between turns if there is a border in the middle half, else where it falls.
	between := 0
	for i := range c.rows {
		if i > 0 && sum*2 <= total {
			at = i
		}
		if i > 0 && c.rows[i].turn != c.rows[i-1].turn && sum*4 >= total && sum*4 <= total*3 && (between == 0 || sum*2 <= total) {
			between = i
		}
		sum += c.rows[i].tokens
	}
	if between > 0 {
		at = between
	}
	a, b := c, c
	a.rows, b.rows = c.rows[:at], c.rows[at:]
	b.from = c.rows[at-1].n + 1
	a.through, a.To, b.From = c.rows[at-1].pos, c.rows[at-1].turn, c.rows[at].turn
	a.Tokens, b.Tokens = c.Tokens*3/5, c.Tokens*3/5
	b.earlier = ""
	b.facts = ""
	if c.Part == Whole {
		a.Part, b.Part = Chunk, Chunk
	}
	return []Call{a, b}
}
