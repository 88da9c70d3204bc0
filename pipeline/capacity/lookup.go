package capacity

import (
	"fmt"
	"strings"
)

// Windows that programs fall back to for models their own lists lack.
const (
	codexFallback      = 272_000
	codexPercent       = 95
	claudeCodeFallback = 200_000
	copilotFallback    = 128_000
)

// Lookup resolves a name to what the model takes in. A name that no table
// knows gives ErrUnknown and the default figures, which are safe to use: the
// model is complete in both cases.
//
// A name may carry a surface ("codex/gpt-5.5"), a host ("openrouter/…",
// Bedrock and Vertex forms, "models/…"), a host's variant (":free"), and a
// window of its own ("gpt-9@400000", "gpt-9@8k", "claude-sonnet-4-5[1m]"). One
// that is no window gives an error that is ErrWindow and ErrUnknown.
func (t *Table) Lookup(id string) (Model, error) {
	n := t.core.name(id)
	if n.wrong != "" && !t.literal(n) {
		err := &windowError{n.asked, n.wrong}
		m := unknown(n, orElse(n.surface, SurfaceAPI))
		m.Note = err.reason()
		return m, err
	}
	m, ok := t.resolve(n)
	if n.window > 0 && !(ok && n.long && m.Source == OriginTable && m.Window == n.window) {
		m.Window, m.Input, m.EffectivePercent = n.window, 0, 100
		m.Source, m.MatchedBy, m.Confidence = OriginOverride, MatchOverride, ConfidenceHigh
		m.Date, m.Basis, m.Note = "", "given with the name", ""
		ok = true
	}
	m.MaxOutput = min(m.MaxOutput, m.Window)
	if !ok {
		return m, fmt.Errorf("look up model %q: %w", id, ErrUnknown)
	}
	return m, nil
}

// Canonical gives a name as families of models are told by: its id without
// host, surface, variant and window, in small letters, with dashes for dots.
func (t *Table) Canonical(id string) string { return t.core.name(id).canon }

// windowError is what Lookup says of a name with a window that is none.
type windowError struct{ asked, wrong string }

// Error implements error.
func (e *windowError) Error() string { return fmt.Sprintf("look up model %q: %s", e.asked, e.reason()) }

// Is makes the error one of ErrWindow and of ErrUnknown: whoever knows only
// the latter takes the default figures.
func (e *windowError) Is(target error) bool { return target == ErrWindow || target == ErrUnknown }

func (e *windowError) reason() string {
	return fmt.Sprintf("%q is no window: want 256 to 100000000 tokens, such as @400000, @400k or @1m", e.wrong)
}

// literal says whether an id with an "@" that is no window is somebody's own
// word: the user's, or a host's.
func (t *Table) literal(n name) bool {
	for _, e := range t.extra {
		if e.name.id == n.id {
			return true
		}
	}
	for _, r := range t.hosts().rows {
		if strings.EqualFold(r.id, n.id) && (n.host == "" || n.host == r.host) {
			return true
		}
	}
	return false
}

// resolve goes through the steps of the package comment; its last is the
// default, for which it returns false.
func (t *Table) resolve(n name) (Model, bool) {
	surface := orElse(n.surface, SurfaceAPI)
	if n.surface == "" {
		surface = t.home(n)
	}
	base, known := t.tables(n, surface)
	for _, e := range t.extra {
		if e.answers(n, surface) {
			return e.over(base), true
		}
	}
	return base, known
}

// home returns the surface that a name without one means: the API, unless a
// single program is all that knows the model.
func (t *Table) home(n name) string {
	n.long = false
	if _, ok := t.core.find(n, SurfaceAPI, ""); ok {
		return SurfaceAPI
	}
	home := SurfaceAPI
	for _, s := range [...]string{SurfaceCodex, SurfaceClaudeCode, SurfaceCopilot} {
		m, ok := t.core.find(n, s, "")
		if !ok || n.host != "" && n.host != m.Host {
			continue
		}
		if home != SurfaceAPI {
			return SurfaceAPI
		}
		home = s
	}
	return home
}

// over lays the row's figures over those of the tables.
func (e extra) over(base Model) Model {
	m := base
	m.Window = orElse(e.Window, base.Window)
	m.EffectivePercent = base.EffectivePercent
	if e.Window > 0 {
		// The base's limits belong to the base's window.
		m.EffectivePercent = 100
		if base.Input >= m.Window {
			m.Input = 0
		}
	}
	m.Input = orElse(e.Input, m.Input)
	m.MaxOutput = orElse(e.MaxOutput, base.MaxOutput)
	m.EffectivePercent = orElse(e.EffectivePercent, m.EffectivePercent)
	if e.Factor > 0 || e.FactorHigh > 0 {
		m.Factor = orElse(e.Factor, e.FactorHigh)
		m.FactorHigh = max(m.Factor, e.FactorHigh)
		m.FactorLow = min(orElse(e.FactorLow, m.Factor), m.Factor)
		m.CountExact = e.CountExact
	}
	m.Encoding = orElse(e.Encoding, base.Encoding)
	m.Host, m.Vendor = orElse(e.Host, base.Host), orElse(e.Vendor, base.Vendor)
	m.Source, m.MatchedBy, m.Confidence = e.Source, e.MatchedBy, e.Confidence
	m.Date, m.Basis, m.Note = e.Date, e.Basis, e.Note
	return m
}

// tables resolves a name on a surface without the rows of With.
func (t *Table) tables(n name, surface string) (Model, bool) {
	if n.local {
		m := unknown(n, surface)
		m.Note = "a local runner allots the window itself: set it in the settings or in the name"
		return m, false
	}
	if surface == SurfaceAPI {
		return t.api(n)
	}
	if m, ok := t.core.find(n, surface, ""); ok {
		return m, true
	}
	m, ok := t.api(n)
	m.Surface = surface
	if !ok {
		return m, false
	}
	fallback := m.Window
	switch surface {
	case SurfaceCodex:
		fallback, m.EffectivePercent = codexFallback, codexPercent
	case SurfaceClaudeCode:
		fallback = claudeCodeFallback
	case SurfaceCopilot:
		fallback = copilotFallback
	case SurfaceGeminiCLI:
		return m, true // it takes the API's window
	}
	m.Window = min(m.Window, fallback)
	if m.Input >= m.Window {
		m.Input = 0
	}
	m.Confidence = ConfidenceLow
	m.Note = "not in the program's own list: its fallback, or the API's window if that is smaller"
	return m, true
}

// api resolves a name for the vendor's or a host's API.
func (t *Table) api(n name) (Model, bool) {
	n.long = false // a window that must be asked for is no row of an API
	if n.host != "" {
		if m, ok := t.core.find(n, SurfaceAPI, n.host); ok {
			return m, true
		}
		if t.core.isHost(n.host) {
			if m, ok := t.hosts().at(n, n.host); ok {
				if n.host == azureHost {
					m.Confidence = ConfidenceLow
				}
				return m, true
			}
		}
	}
	// What an Azure deployment is called says nothing of the model behind it.
	if n.host == azureHost {
		m := unknown(n, SurfaceAPI)
		m.Note = "a deployment's name is free: say in the settings which model it is"
		return m, false
	}
	m, ok := t.core.find(n, SurfaceAPI, "")
	if !ok {
		m, ok = t.core.prefix(n)
	}
	if ok && !n.foreign && (n.host == "" || n.host == m.Host) {
		return m, true
	}
	if n.canon == "" {
		return unknown(n, SurfaceAPI), false // no host has a model without a name
	}
	// Somebody else runs the model: the vendor's window may not be theirs.
	low, found := t.hosts().low(n)
	switch {
	case ok && (!found || m.takes() <= low.takes()):
		m.MatchedBy = max(m.MatchedBy, MatchNormalized)
		m.Confidence, m.Note = ConfidenceLow, "the vendor's figures: nothing is known of the host named"
		return m, true
	case found:
		if n.foreign || n.host != "" {
			low.Confidence = ConfidenceLow
		}
		return low, true
	}
	return unknown(n, SurfaceAPI), false
}

const azureHost = "azure"

func unknown(n name, surface string) Model {
	m := Model{
		ID: n.asked, Surface: surface, Host: n.host,
		Window: UnknownWindow, MaxOutput: UnknownMaxOutput, EffectivePercent: 100,
		Source: OriginDefault, MatchedBy: MatchNone, Confidence: ConfidenceNone,
		Basis: "default", Note: "in no table: the usual least",
	}
	if size := sizeMark().FindStringSubmatch(n.canon); size != nil {
		// Not a guess: the name says that the window is smaller.
		if w := parseWindow(size[1]); w > 0 {
			m.Window = min(m.Window, w)
		}
	}
	m.count(n.canon)
	return m
}
