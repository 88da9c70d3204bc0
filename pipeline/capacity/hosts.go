package capacity

import (
	"bytes"
	"cmp"
	"compress/flate"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed hosts.z
var hostsDeflated []byte

// Provenance of the large table.
const (
	hostsBasis = "models.dev"
	hostsDate  = "2026-09-28"
)

// hosts is the large table: what every host says of every model it runs. A name
// is looked for from row to row, some 50 µs: to make indexes took as long as all
// the rest, and most processes ask for a name or two.
type hosts struct {
	rows []hostRow
	of   map[string][2]int // rows by host: from, to
}

type hostRow struct {
	host, id           string
	lower, canon, bare string // of id: in small letters, normalised, the latter without the date
	text               string // window, input and output, with tabs between
}

// parseHosts reads what gen wrote: "#host" lines and "id\twindow\tinput\toutput".
func parseHosts(deflated []byte) *hosts {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(deflated)))
	if err != nil {
		panic(fmt.Sprintf("bug: embedded table of hosts: %v", err))
	}
	h := &hosts{rows: make([]hostRow, 0, bytes.Count(text, []byte("\n"))), of: map[string][2]int{}}
	host, from := "", 0
	for line := range strings.Lines(string(text)) {
		line = line[:len(line)-1]
		if line[0] == '#' {
			h.of[host] = [2]int{from, len(h.rows)}
			host, from = line[1:], len(h.rows)
			continue
		}
		r := hostRow{host: host}
		r.id, r.text, _ = strings.Cut(line, "\t")
		r.lower = strings.ToLower(r.id)
		n := name{host: r.host}
		r.canon = n.canonical(r.lower)
		r.bare = undated(r.canon)
		h.rows = append(h.rows, r)
	}
	h.of[host] = [2]int{from, len(h.rows)}
	return h
}

// figures gives window, input and output; 0 where nothing is said.
func (r hostRow) figures() (f [3]int) {
	text := r.text
	for i := range f {
		var figure string
		if figure, text, _ = strings.Cut(text, "\t"); figure == "" {
			continue
		}
		v, err := strconv.Atoi(figure)
		if err != nil {
			panic(fmt.Sprintf("bug: embedded table of hosts: %s at %s: %v", r.id, r.host, err))
		}
		f[i] = v
	}
	return f
}

// takes returns how much input the row allows.
func (r hostRow) takes() int {
	f := r.figures()
	return orElse(f[1], f[0])
}

func (r hostRow) model() Model {
	f := r.figures()
	m := Model{
		ID: r.id, Surface: SurfaceAPI, Host: r.host,
		Window: f[0], Input: f[1], MaxOutput: f[2], EffectivePercent: 100,
		Source: OriginTable, Date: hostsDate, Basis: hostsBasis, Confidence: ConfidenceMedium,
	}
	m.count(r.canon)
	return m
}

// at looks a name up at one host. Where it says two things, the row with less
// room holds.
func (h *hosts) at(n name, host string) (Model, bool) {
	rows := h.rows[h.of[host][0]:h.of[host][1]]
	if found := which(rows, func(r hostRow) bool { return r.lower == n.id }); len(found) > 0 {
		return slices.MinFunc(found, lessRoom).model().matched(MatchExact), true
	}
	found := ofName(rows, n)
	if len(found) == 0 {
		return Model{}, false
	}
	return slices.MinFunc(found, lessRoom).model().matched(MatchHost), true
}

// low returns the row at the tenth percentile over all hosts. Figures on which
// the hosts agree are trusted more than those on which they do not.
func (h *hosts) low(n name) (Model, bool) {
	found := ofName(h.rows, n)
	if len(found) == 0 {
		return Model{}, false
	}
	slices.SortStableFunc(found, lessRoom)
	m := found[(len(found)-1)/10].model().matched(MatchPercentile)
	m.ID, m.Host = n.canon, ""
	m.Note = fmt.Sprintf("low end of %d hosts", len(found))
	if top := found[len(found)/2].takes(); len(found) < 3 || top > m.takes()*105/100 {
		m.Confidence = ConfidenceLow
	}
	return m, true
}

// ofName gives the rows that a name means: those of the same normalised id, else
// of a snapshot the model without a date, of a model without one any snapshot.
func ofName(rows []hostRow, n name) []hostRow {
	if found := which(rows, func(r hostRow) bool { return r.canon == n.canon }); len(found) > 0 {
		return found
	}
	bare := undated(n.canon)
	if snapshot(n.canon) {
		return which(rows, func(r hostRow) bool { return r.canon == bare })
	}
	return which(rows, func(r hostRow) bool { return r.bare == bare })
}

func which(rows []hostRow, is func(hostRow) bool) (found []hostRow) {
	for _, r := range rows {
		if is(r) {
			found = append(found, r)
		}
	}
	return found
}

func lessRoom(a, b hostRow) int { return cmp.Compare(a.takes(), b.takes()) }

// takes returns how much input the model allows.
func (m Model) takes() int {
	if m.Input > 0 {
		return m.Input
	}
	return m.Window
}
