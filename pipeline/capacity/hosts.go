package capacity

import (
	"bytes"
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

// hosts is the large table: what every host says of every model it runs.
type hosts struct {
	rows    []hostRow
	byID    map[hostKey]int32
	byCanon map[hostKey]int32
	byBare  map[hostKey]int32
	canon   map[string][]int32 // over all hosts, by normalised id
	bare    map[string][]int32 // the same without the date
}

type hostRow struct {
	host, id, canon          string
	window, input, maxOutput int32
}

type hostKey struct{ host, id string }

// parseHosts reads what gen wrote: "#host" lines and "id\twindow\tinput\toutput".
func parseHosts(deflated []byte) *hosts {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(deflated)))
	if err != nil {
		panic(fmt.Sprintf("bug: embedded table of hosts: %v", err))
	}
	lines := bytes.Count(text, []byte("\n"))
	h := &hosts{
		rows: make([]hostRow, 0, lines),
		byID: make(map[hostKey]int32, lines), byCanon: make(map[hostKey]int32, lines), byBare: make(map[hostKey]int32, lines),
		canon: make(map[string][]int32, lines/2), bare: make(map[string][]int32, lines/2),
	}
	host := ""
	for line := range strings.Lines(string(text)) {
		line = line[:len(line)-1]
		if line[0] == '#' {
			host = line[1:]
			continue
		}
		id, figures, _ := strings.Cut(line, "\t")
		r := hostRow{host: host, id: id}
		for _, into := range []*int32{&r.window, &r.input, &r.maxOutput} {
			var figure string
			if figure, figures, _ = strings.Cut(figures, "\t"); figure == "" {
				continue
			}
			v, err := strconv.ParseInt(figure, 10, 32)
			if err != nil {
				panic(fmt.Sprintf("bug: embedded table of hosts: %q: %v", line, err))
			}
			*into = int32(v)
		}
		h.add(r)
	}
	return h
}

func (h *hosts) add(r hostRow) {
	i := int32(len(h.rows))
	lower := strings.ToLower(r.id)
	n := name{host: r.host}
	canon := n.canonical(lower)
	r.canon = canon
	h.rows = append(h.rows, r)
	h.smaller(h.byID, hostKey{r.host, lower}, i)
	h.smaller(h.byCanon, hostKey{r.host, canon}, i)
	h.canon[canon] = append(h.canon[canon], i)
	bare := undated(canon)
	h.smaller(h.byBare, hostKey{r.host, bare}, i)
	h.bare[bare] = append(h.bare[bare], i)
}

// smaller keeps the row with less room where one host says two things.
func (h *hosts) smaller(m map[hostKey]int32, k hostKey, i int32) {
	if old, ok := m[k]; !ok || h.rows[i].takes() < h.rows[old].takes() {
		m[k] = i
	}
}

// takes returns how much input the row allows.
func (r hostRow) takes() int32 {
	if r.input > 0 {
		return r.input
	}
	return r.window
}

func (r hostRow) model() Model {
	m := Model{
		ID: r.id, Surface: SurfaceAPI, Host: r.host,
		Window: int(r.window), Input: int(r.input), MaxOutput: int(r.maxOutput), EffectivePercent: 100,
		Source: OriginTable, Date: hostsDate, Basis: hostsBasis, Confidence: ConfidenceMedium,
	}
	m.count(r.canon)
	return m
}

// at looks a name up at one host.
func (h *hosts) at(n name, host string) (Model, bool) {
	if i, ok := h.byID[hostKey{host, n.id}]; ok {
		return h.rows[i].model().matched(MatchExact), true
	}
	i, ok := h.byCanon[hostKey{host, n.canon}]
	if !ok && snapshot(n.canon) {
		i, ok = h.byCanon[hostKey{host, undated(n.canon)}]
	} else if !ok {
		i, ok = h.byBare[hostKey{host, undated(n.canon)}]
	}
	if !ok {
		return Model{}, false
	}
	return h.rows[i].model().matched(MatchHost), true
}

// low returns the row at the tenth percentile over all hosts. Figures on which
// the hosts agree are trusted more than those on which they do not.
func (h *hosts) low(n name) (Model, bool) {
	found := h.canon[n.canon]
	switch {
	case len(found) > 0:
	case snapshot(n.canon):
		found = h.canon[undated(n.canon)]
	default:
		found = h.bare[undated(n.canon)]
	}
	if len(found) == 0 {
		return Model{}, false
	}
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b int32) int { return int(h.rows[a].takes() - h.rows[b].takes()) })
	i := (len(found) - 1) / 10
	m := h.rows[found[i]].model().matched(MatchPercentile)
	m.ID, m.Host = n.canon, ""
	m.Note = fmt.Sprintf("low end of %d hosts", len(found))
	if top := h.rows[found[len(found)/2]].takes(); len(found) < 3 || int(top) > m.takes()*105/100 {
		m.Confidence = ConfidenceLow
	}
	return m, true
}

// takes returns how much input the model allows.
func (m Model) takes() int {
	if m.Input > 0 {
		return m.Input
	}
	return m.Window
}
