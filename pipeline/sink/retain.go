package sink

import (
	"slices"
	"strings"
	"time"
)

// Kept is a document that a sink holds, as far as its age matters. Documents
// that somebody edited are not ours to remove, and none of these.
type Kept struct {
	Receipt Receipt
	Updated time.Time // when its thread was last worked on
	Gone    time.Time // since when its rollout is gone; zero: it is there
	Pinned  bool      // by the user: stays whatever its age
}

// Policy says how long documents are kept; 0 means no limit.
type Policy struct {
	// Live keeps all documents whose rollout is there: none of the limits takes
	// one of them.
	Live  bool
	Gone  time.Duration // after the rollout is gone
	Age   time.Duration // since the thread was last worked on
	Files int           // documents
	Bytes int64         // of all documents
}

// Policies of the drop folder, and of folders within a workspace: those hold
// what is needed now, the drop folder holds the rest.
func Policies() (own, workspace Policy) {
	const day = 24 * time.Hour
	return Policy{Live: true, Gone: 90 * day, Files: 2000, Bytes: 200 << 20},
		Policy{Age: 60 * day, Files: 30}
}

// Retain tells which documents are to be removed: those past an age, and then
// the oldest until the rest is within the numbers. Pinned documents stay and
// count. The documents are those of one folder, in any order.
func Retain(entries []Kept, now time.Time, p Policy) (remove []Receipt) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Kept) int {
		if c := a.Updated.Compare(b.Updated); c != 0 {
			return c
		}
		return strings.Compare(a.Receipt.ThreadID, b.Receipt.ThreadID)
	})
	var files int
	var bytes int64
	for _, e := range sorted {
		files++
		bytes += e.Receipt.Size
	}
	past := func(e Kept) bool {
		return p.Gone > 0 && !e.Gone.IsZero() && now.Sub(e.Gone) > p.Gone || p.Age > 0 && now.Sub(e.Updated) > p.Age
	}
	stays := func(e Kept) bool { return e.Pinned || p.Live && e.Gone.IsZero() }
	take := func(due func(Kept) bool) {
		sorted = slices.DeleteFunc(sorted, func(e Kept) bool {
			if stays(e) || !due(e) {
				return false
			}
			files--
			bytes -= e.Receipt.Size
			remove = append(remove, e.Receipt)
			return true
		})
	}
	take(past)
	take(func(Kept) bool { return p.Files > 0 && files > p.Files || p.Bytes > 0 && bytes > p.Bytes })
	return remove
}
