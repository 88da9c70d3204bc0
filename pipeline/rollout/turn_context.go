package rollout

// turnContext takes what holds from here on: model, effort, directory.
func (p *Parser) turnContext(r *record) {
	var cwd, model, effort, id string
	for w := r.payload.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "cwd":
			cwd = v.str()
		case "model":
			model = label(v.str())
		case "effort", "reasoning_effort":
			effort = label(v.str())
		case "turn_id":
			id = turnName(v)
		default:
			p.limit(k, v)
		}
	}
	p.copyTurn(id)
	f := &p.facts
	// A copy tells of its parent; it is better than nothing until the thread's
	// own context comes.
	if cwd != "" && (f.Cwd == "" || !p.copied(r)) {
		f.Cwd = cwd
	}
	if model != "" {
		if model != f.Model {
			f.Effort = ""
		}
		f.Model = model
	}
	if effort != "" {
		f.Effort = effort
	}
}
