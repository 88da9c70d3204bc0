package capacity

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:generate go run gen/main.go

//go:embed table.json
var tableJSON []byte

// Table answers what models take in. It is immutable and safe for use by
// several goroutines.
type Table struct {
	core  *core
	hosts func() *hosts
	extra []extra // the strongest first
}

// defaultTable is parsed once; the table of hosts waits until it is needed.
var defaultTable = sync.OnceValue(func() *Table {
	c := parseCore(tableJSON)
	return &Table{core: c, hosts: sync.OnceValue(func() *hosts { return parseHosts(hostsDeflated) })}
})

// Default returns the table that ships with the program.
func Default() *Table { return defaultTable() }

// With returns a copy of the table that also knows the given rows. A row
// without a Source is the user's override. Overrides go before observed rows,
// these before vendors' answers; of two rows alike the later one holds.
//
// ID is read like a name asked for: "codex/gpt-5.5" and "openrouter/glm-5"
// hold there only, a plain id holds wherever its Surface says, or everywhere
// if it says nothing. Figures left at 0 are those of the table. A row whose
// window is none, below 256 or above 100,000,000 tokens, is left out.
func (t *Table) With(ms ...Model) *Table {
	c := *t
	c.extra = nil
	for _, source := range [...]Origin{OriginOverride, OriginObserved, OriginVendor} {
		for i := len(ms) - 1; i >= 0; i-- {
			m := ms[i]
			if m.Source == 0 {
				m.Source = OriginOverride
			}
			if m.Source == source && m.sane() {
				c.extra = append(c.extra, t.extraOf(m))
			}
		}
		for _, old := range t.extra {
			if old.Source == source {
				c.extra = append(c.extra, old)
			}
		}
	}
	return &c
}

// sane says whether a row's window can be one. An override may leave it to the
// tables.
func (m Model) sane() bool {
	return m.Source == OriginOverride && m.Window == 0 || m.Window >= minWindow && m.Window <= maxWindow
}

// extra is a row brought by With and the name it answers to.
type extra struct {
	Model
	name name
}

func (t *Table) extraOf(m Model) extra {
	n := t.core.name(m.ID)
	if n.wrong != "" {
		n.canon = n.id // a name of its own, not the model's before the "@"
	}
	if m.Surface == "" {
		m.Surface = n.surface
	}
	if m.Confidence == 0 {
		m.Confidence = ConfidenceHigh
	}
	if m.MatchedBy == 0 {
		switch m.Source {
		case OriginOverride:
			m.MatchedBy = MatchOverride
		case OriginObserved:
			m.MatchedBy = MatchObserved
		case OriginTable, OriginVendor, OriginDefault:
			m.MatchedBy = MatchExact
		}
	}
	if m.Source == OriginObserved {
		// The host of an observed row is no condition: one surface has one.
		n.host = ""
	}
	return extra{Model: m, name: n}
}

// answers says whether the row speaks for a name on a surface.
func (e extra) answers(n name, surface string) bool {
	return (e.name.canon == n.canon || e.name.id == n.id) &&
		e.name.long == n.long &&
		(e.Surface == "" || e.Surface == surface) &&
		(e.name.host == "" || e.name.host == n.host)
}

// core is the small table with its indexes. Rows are in order of preference.
type core struct {
	rows     []Model
	canon    []string // normalised ids, as rows; [1m] rows keep their mark
	byID     map[coreKey]int
	byCanon  map[coreKey]int
	byBare   map[coreKey]int // without the date; the smallest of several
	hostName map[string]bool
}

type coreKey struct{ surface, host, id string } // host is "" for any

// tableRow has the keys that gen writes.
type tableRow struct {
	Surface    string     `json:"s"`
	Host       string     `json:"h"`
	ID         string     `json:"i"`
	Vendor     string     `json:"v"`
	Window     int        `json:"w"`
	Input      int        `json:"n"`
	MaxOutput  int        `json:"o"`
	Percent    int        `json:"p"`
	Confidence Confidence `json:"c"`
	Basis      string     `json:"b"`
	Date       string     `json:"d"`
	Note       string     `json:"t"`
}

func parseCore(text []byte) *core {
	var file struct {
		Basis string     `json:"basis"`
		Date  string     `json:"date"`
		Hosts []string   `json:"hosts"`
		Rows  []tableRow `json:"rows"`
	}
	file.Rows = make([]tableRow, 0, bytes.Count(text, []byte("\n"))) // a line each
	if err := json.Unmarshal(text, &file); err != nil {
		panic(fmt.Sprintf("bug: embedded capacity table: %v", err))
	}
	keys := 2 * len(file.Rows) // most rows have one, those of a host two
	c := &core{
		rows: make([]Model, 0, len(file.Rows)), canon: make([]string, 0, len(file.Rows)),
		byID: make(map[coreKey]int, keys), byCanon: make(map[coreKey]int, keys), byBare: make(map[coreKey]int, keys),
		hostName: make(map[string]bool, len(file.Hosts)),
	}
	for _, h := range file.Hosts {
		c.hostName[h] = true
	}
	for _, r := range file.Rows {
		m := Model{
			ID: r.ID, Surface: orElse(r.Surface, SurfaceAPI), Host: r.Host, Vendor: r.Vendor,
			Window: r.Window, Input: r.Input, MaxOutput: r.MaxOutput, EffectivePercent: orElse(r.Percent, 100),
			Source: OriginTable, Date: orElse(r.Date, file.Date), Basis: orElse(r.Basis, file.Basis),
			Confidence: orElse(r.Confidence, ConfidenceMedium), Note: r.Note,
		}
		c.add(m)
	}
	return c
}

func (c *core) add(m Model) {
	i := len(c.rows)
	lower := strings.ToLower(m.ID)
	plain, long := strings.CutSuffix(lower, longMark)
	n := name{host: m.Host}
	canon := n.canonical(plain)
	m.count(canon)
	if long {
		canon += longMark
	}
	c.rows, c.canon = append(c.rows, m), append(c.canon, canon)
	for _, host := range [...]string{m.Host, ""} {
		setOnce(c.byID, coreKey{m.Surface, host, lower}, i)
		setOnce(c.byCanon, coreKey{m.Surface, host, canon}, i)
		if k := (coreKey{m.Surface, host, undated(canon)}); !long {
			if old, ok := c.byBare[k]; !ok || m.takes() < c.rows[old].takes() {
				c.byBare[k] = i
			}
		}
	}
}

// longMark ends the id of a row for a window that must be asked for.
const longMark = "[1m]"

func (c *core) isHost(s string) bool { return c.hostName[s] }

func (c *core) name(asked string) name { return parseName(asked, c.isHost) }

// find looks a name up on a surface; host "" means any.
func (c *core) find(n name, surface, host string) (Model, bool) {
	mark := ""
	if n.long {
		mark = longMark
	}
	match := MatchNormalized
	if host != "" {
		match = MatchHost
	}
	if i, ok := c.byID[coreKey{surface, host, n.id + mark}]; ok {
		return c.rows[i].matched(MatchExact), true
	}
	if i, ok := c.byCanon[coreKey{surface, host, n.canon + mark}]; ok {
		return c.rows[i].matched(match), true
	}
	if n.long {
		return Model{}, false
	}
	second := c.byBare
	if snapshot(n.canon) {
		second = c.byCanon
	}
	if i, ok := second[coreKey{surface, host, undated(n.canon)}]; ok {
		return c.rows[i].matched(match), true
	}
	return Model{}, false
}

// prefix finds the longest API id that the name begins with.
func (c *core) prefix(n name) (Model, bool) {
	best := -1
	for i, id := range c.canon {
		if c.rows[i].Surface == SurfaceAPI && strings.HasPrefix(n.canon, id) && follows(n.canon[len(id):]) &&
			(best < 0 || len(id) > len(c.canon[best])) {
			best = i
		}
	}
	if best < 0 {
		return Model{}, false
	}
	m := c.rows[best].matched(MatchPrefix)
	m.Confidence = ConfidenceLow
	return m, true
}

func (m Model) matched(by Match) Model {
	m.MatchedBy = by
	return m
}

// count fills in how text is counted for the model.
func (m *Model) count(canon string) {
	f := countingOf(canon)
	m.Encoding, m.CountExact = f.encoding, f.exact
	m.FactorLow, m.Factor, m.FactorHigh = f.ratio.Low, f.ratio.Typical, f.ratio.High
	m.Framing = f.format.framing()
	m.Vendor, m.Family = orElse(m.Vendor, f.vendor), f.family
}

func setOnce(m map[coreKey]int, k coreKey, v int) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}
