package rollout

import (
	"slices"
	"strconv"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

const (
	autoCompactKey = "auto_compact_token_limit"
	// maxSeen is how many response ids are remembered: a repeat stands close to
	// the original.
	maxSeen = 32
)

func usageOf(v raw) transcript.Usage {
	var u transcript.Usage
	for w := v.members(); ; {
		k, n, ok := w.member()
		if !ok {
			return u
		}
		switch string(k) {
		case "input_tokens":
			u.Input = max(0, n.integer())
		case "cached_input_tokens":
			u.CachedInput = max(0, n.integer())
		case "cache_write_input_tokens":
			u.CacheWrite = max(0, n.integer())
		case "output_tokens":
			u.Output = max(0, n.integer())
		case "reasoning_output_tokens":
			u.Reasoning = max(0, n.integer())
		case "total_tokens":
			u.Total = max(0, n.integer())
		}
	}
}

// tokenUsageRecord adds the exact usage of one response.
func (p *Parser) tokenUsageRecord(r *record) {
	var id, thread string
	var u transcript.Usage
	for w := r.payload.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "response_id":
			id = v.str()
		case "thread_id":
			thread = v.str()
		case "usage":
			u = usageOf(v)
		}
	}
	if p.copied(r) || thread != "" && thread == p.facts.CopyOf {
		return
	}
	if id != "" {
		h := hash64(0, id)
		if slices.Contains(p.m.Seen, h) {
			return
		}
		if len(p.m.Seen) >= maxSeen {
			p.m.Seen = append(p.m.Seen[:0], p.m.Seen[1:]...)
		}
		p.m.Seen = append(p.m.Seen, h)
	}
	p.m.Records, p.m.Fresh = true, true
	p.spend(u)
}

func (p *Parser) spend(u transcript.Usage) {
	if u == (transcript.Usage{}) {
		return
	}
	p.facts.Usage = p.facts.Usage.Plus(u)
	p.facts.ModelCalls++
}

// tokenCount reads the running totals.
func (p *Parser) tokenCount(r *record, d *transcript.Delta) {
	var info raw
	for w := r.payload.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "info":
			info = v
		case "rate_limits":
			p.quota(v, r)
		default:
			p.limit(k, v)
		}
	}
	if !info.isObject() {
		return
	}
	var total, last transcript.Usage
	hasTotal, hasLast := false, false
	for w := info.members(); ; {
		k, v, ok := w.member()
		if !ok {
			break
		}
		switch string(k) {
		case "total_token_usage":
			total, hasTotal = usageOf(v), v.isObject()
		case "last_token_usage":
			last, hasLast = usageOf(v), v.isObject()
		default:
			p.limit(k, v)
		}
	}
	if hasLast {
		p.facts.ContextNow, p.facts.ContextInput = last.Total, last.Input
	}
	if hasTotal && hasLast {
		p.firstRequest(total, last)
	}
	if hasTotal {
		p.count(total, last, hasLast, r)
	}
	p.showWindow(r, d)
}

// count adds what a new total adds to the one before.
func (p *Parser) count(total, last transcript.Usage, hasLast bool, r *record) {
	prev, counted := p.m.Total, p.m.Counted
	p.m.Total, p.m.Counted = total, true
	if p.copied(r) {
		p.facts.BaseUsage = total
		return
	}
	if !counted && p.facts.Base != nil && hasLast {
		// The counter of a thread whose history is in another rollout goes on
		// from there.
		prev = total.Minus(last)
		p.facts.BaseUsage = prev
	}
	switch {
	case total == prev:
		return // repeated, for its rate limits
	case total.Total < prev.Total, hasLast && total == last:
		prev = transcript.Usage{} // restarted by a resume
	}
	if p.m.Records && p.m.Fresh {
		return // token_usage_record lines have it
	}
	p.spend(total.Minus(prev))
}

// limit takes a window or limit wherever it is told.
func (p *Parser) limit(key []byte, v raw) {
	switch string(key) {
	case "model_context_window":
		if n := v.integer(); n > 0 {
			p.facts.Window = int(n)
		}
	case autoCompactKey, "model_" + autoCompactKey:
		if n := v.integer(); n > 0 {
			p.facts.AutoCompact = int(n)
		}
	}
}

// quota takes the account's limits. They are told at the top of the object in
// the first versions, then in an object each, at first with the seconds until
// the reset. What a report doesn't tell is unknown, but one that tells nothing
// takes nothing back.
func (p *Parser) quota(v raw, r *record) {
	if !v.isObject() || p.copied(r) {
		return
	}
	var all []transcript.Quota
	for _, name := range [...]string{"primary", "secondary"} {
		w := v.get(name)
		used, minutes := w.get("used_percent"), w.get("window_minutes")
		if w == nil {
			used, minutes = v.get(name+"_used_percent"), v.get(name+"_window_minutes")
		}
		if used == nil || used.isNull() {
			continue
		}
		q := transcript.Quota{Percent: min(max(0, used.float()), 100), Minutes: max(0, minutes.integer()), Resets: parseTime(w.get("resets_at")), Seen: r.time}
		if in := w.get("resets_in_seconds").integer(); q.Resets.IsZero() && !r.time.IsZero() && in > 0 && in < maxReset {
			q.Resets = r.time.Add(time.Duration(in) * time.Second)
		}
		all = append(all, q)
	}
	if all != nil {
		p.facts.Quotas = all
	}
}

// maxReset is how far off a reset may be in seconds: two months.
const maxReset = 62 * 24 * 60 * 60

// showWindow reports a window once per model. Only token counts are taken for
// it: a task's start mark names the window before its model is known.
func (p *Parser) showWindow(r *record, d *transcript.Delta) {
	f := &p.facts
	if f.Window == 0 || f.Model == "" || p.copied(r) {
		return
	}
	key := f.Model + " " + strconv.Itoa(f.Window)
	if key == p.m.Shown {
		return
	}
	p.m.Shown = key
	d.Windows = append(d.Windows, transcript.Window{Model: f.Model, Tokens: f.Window, Time: r.time})
}
