// Package calibration keeps what vendors counted of the user's own texts, as the
// factors by which their models' tokens are estimated from then on.
//
// They lie in <data>/calibrations.json, one for each family of models that count
// alike. The file is written whole; who reads it looks at it again when it is
// asked.
package calibration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/store/atomicfile"
)

// Name is the file's name in the data folder.
const Name = "calibrations.json"

const (
	// LeastSamples is how many texts must have been counted: fewer say nothing
	// about how far others can be off.
	LeastSamples = 8
	// LeastTokens is how much a sample must count to be one.
	LeastTokens = 200
	// margin widens the bounds beyond what was seen, as the samples are few.
	margin = 0.01
	// A ratio beyond these is no other way of counting, but a fault.
	leastRatio, mostRatio = 0.25, 4
)

var (
	// ErrFew means that too few texts were counted.
	ErrFew = errors.New("too few texts were counted")
	// ErrStrange means that the counts can't be of the same texts.
	ErrStrange = errors.New("the counts don't fit the texts")
)

// Sample is a text that was counted twice, in tokens.
type Sample struct {
	Counted int64 // in o200k_base
	Vendor  int64 // by the vendor, without what it puts around a text
}

// Entry is a family's factors.
type Entry struct {
	Family  string    `json:"family"`
	Model   string    `json:"model"` // that was asked about
	Vendor  string    `json:"vendor"`
	Date    time.Time `json:"date"`
	Samples int       `json:"samples"`
	Counted int64     `json:"counted_tokens"` // of all samples, in o200k_base
	Tokens  int64     `json:"vendor_tokens"`
	Low     float64   `json:"low"`
	Typical float64   `json:"typical"`
	High    float64   `json:"high"`
}

// Ratio is how the family's tokens are told from o200k_base's.
func (e Entry) Ratio() tokens.Ratio {
	return tokens.Ratio{Low: e.Low, Typical: e.Typical, High: e.High}
}

// Source says whose the factors are.
func (e Entry) Source() string { return "calibrated " + e.Date.UTC().Format(time.DateOnly) }

// valid tells whether factors are ones that can be.
func (e Entry) valid() bool {
	return e.Family != "" && e.Samples >= LeastSamples && e.Low >= leastRatio && e.Typical >= e.Low && e.High >= e.Typical && e.High <= mostRatio
}

// Measure is pure: the factors that samples show. The likeliest is that of all
// together, the bounds are those of single samples, and a little more: a whole
// session lies between them. ErrFew, ErrStrange.
func Measure(samples []Sample) (Entry, error) {
	var e Entry
	for _, s := range samples {
		if s.Counted < LeastTokens {
			continue
		}
		r := float64(s.Vendor) / float64(s.Counted)
		if r < leastRatio || r > mostRatio {
			return Entry{}, fmt.Errorf("%w: %d tokens of what counts %d", ErrStrange, s.Vendor, s.Counted)
		}
		if e.Samples == 0 {
			e.Low, e.High = r, r
		}
		e.Samples, e.Counted, e.Tokens = e.Samples+1, e.Counted+s.Counted, e.Tokens+s.Vendor
		e.Low, e.High = min(e.Low, r), max(e.High, r)
	}
	if e.Samples < LeastSamples {
		return Entry{}, fmt.Errorf("%w: %d of %d tokens and more, where it takes %d", ErrFew, e.Samples, LeastTokens, LeastSamples)
	}
	e.Low, e.Typical, e.High = max(e.Low*(1-margin), leastRatio), float64(e.Tokens)/float64(e.Counted), min(e.High*(1+margin), mostRatio)
	return e, nil
}

// Book gives the factors of a data folder. It is safe for concurrent use.
type Book struct {
	path string

	mu      sync.Mutex // guards the rest
	seen    string
	changes int64
	entries []Entry
}

// Open reads a data folder's factors; none is an empty book. An error is of a
// file that can't be read, which gives none either.
func Open(home string) (*Book, error) {
	b := &Book{path: filepath.Join(home, Name)}
	_, err := b.Look()
	return b, err
}

// Look reads the file again if it is another than the last time. It gives a
// number that rises whenever it was. A nil book is empty.
func (b *Book) Look() (changes int64, err error) {
	if b == nil {
		return 0, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := "none"
	if st, err := os.Stat(b.path); err == nil {
		now = fmt.Sprint(st.Size(), st.ModTime().UnixNano())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return b.changes, fmt.Errorf("look at calibrations: %w", err)
	}
	if now == b.seen {
		return b.changes, nil
	}
	if b.seen != "" {
		b.changes++
	}
	b.seen = now
	b.entries, err = read(b.path)
	return b.changes, err
}

// errTorn means that a file is not what was written: nothing in it counts.
var errTorn = errors.New("the file is damaged")

func read(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f struct {
		Calibrations []Entry `json:"calibrations"`
	}
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("read calibrations: %w: %w", errTorn, err)
	}
	return slices.DeleteFunc(f.Calibrations, func(e Entry) bool { return !e.valid() }), nil
}

// Entries are all there are. A nil book has none.
func (b *Book) Entries() []Entry {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries)
}

// For gives the factors of a family.
func (b *Book) For(family string) (Entry, bool) {
	all := b.Entries()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Family == family && family != "" })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Save puts a family's factors into a data folder, in the place of older ones. A
// damaged file, which counts for nothing, is written anew.
func Save(home string, e Entry) error {
	if !e.valid() {
		return fmt.Errorf("keep a calibration: %w", ErrStrange)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("keep a calibration: %w", err)
	}
	defer func() { _ = root.Close() }() // a folder: nothing is written through it
	all, err := read(filepath.Join(home, Name))
	if err != nil && !errors.Is(err, errTorn) {
		return err
	}
	all = append(slices.DeleteFunc(all, func(o Entry) bool { return o.Family == e.Family }), e)
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Family, b.Family) })
	text, err := json.MarshalIndent(map[string]any{"schema": 1, "calibrations": all}, "", "  ")
	if err != nil {
		return fmt.Errorf("write calibrations: %w", err)
	}
	if err := atomicfile.Write(root, Name, append(text, '\n'), atomicfile.FileMode); err != nil {
		return fmt.Errorf("keep a calibration: %w", err)
	}
	return nil
}
