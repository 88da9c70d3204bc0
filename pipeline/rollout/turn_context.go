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
	// The header's folder is the thread's, as in Codex's own list of threads: a
	// later turn elsewhere doesn't move it.
	if f.Cwd == "" {
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
