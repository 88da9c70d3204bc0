package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"slices"
)

// matrix is the vectors of a model as they are searched through: one after the
// other, in the order that their passages were taken in.
type matrix struct {
	model   string
	dims    int
	dropped int64 // what was taken away before is not in it
	last    int64 // passage read last
	items   []int64
	scales  []float32
	data    []int8
}

// quantise makes bytes of a vector, and what they are multiplied by; nothing of
// none.
func quantise(v []float32) (scale float32, data []byte) {
	most := float32(0)
	for _, f := range v {
		most = max(most, float32(math.Abs(float64(f))))
	}
	data = make([]byte, len(v))
	if most == 0 {
		return 0, data
	}
	scale = most / 127
	for i, f := range v {
		data[i] = byte(int8(math.Round(float64(f / scale))))
	}
	return scale, data
}

// Nearest gives the items whose passages are nearest to a normalised vector that
// the same model made, nearest first, at most limit of them. Only rollouts that
// within allows count; nil: all. Nothing if the model has no vectors of that length.
func (v *Vectors) Nearest(ctx context.Context, model string, to []float32, within func(row int64) bool, limit int) ([]int64, error) {
	if len(to) == 0 || limit <= 0 {
		return nil, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock() // a search takes milliseconds
	if err := v.follow(ctx); err != nil {
		return nil, err
	}
	if err := v.load(ctx, model); err != nil {
		return nil, err
	}
	if v.loaded == nil || v.loaded.dims != len(to) {
		return nil, nil
	}
	return v.loaded.nearest(to, within, limit), nil
}

// follow opens the file again that is at a reader's path now. ErrNone if there
// is none.
func (v *Vectors) follow(ctx context.Context) error {
	if v.writer {
		return nil
	}
	if st, err := os.Stat(v.path); err == nil && os.SameFile(st, v.file) {
		return nil
	}
	now, err := OpenVectorsReader(ctx, v.path)
	if err != nil {
		return err
	}
	old := v.db
	v.db, v.file, v.loaded = now.db, now.file, nil
	return old.Close()
}

// load reads what is new, or all if anything was taken away.
func (v *Vectors) load(ctx context.Context, model string) error {
	tx, err := v.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return v.wrap("load", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	id, dims, err := v.model(ctx, tx, model)
	if err != nil || id == 0 {
		v.loaded = nil
		return err
	}
	var dropped int64
	if err := tx.QueryRowContext(ctx, "SELECT dropped FROM model WHERE id=?", id).Scan(&dropped); err != nil {
		return v.wrap("load", err)
	}
	m := v.loaded
	if m == nil || m.model != model || m.dims != dims || m.dropped != dropped {
		m = &matrix{model: model, dims: dims, dropped: dropped}
	}
	v.loaded = nil // unless all goes well
	rows, err := tx.QueryContext(ctx, "SELECT p.id, p.item, v.scale, v.data FROM passage p JOIN vector v ON v.id=p.vector WHERE p.id>? AND p.model=? ORDER BY p.id", m.last, id)
	if err != nil {
		return v.wrap("load", err)
	}
	defer rows.Close()
	for rows.Next() {
		var item int64
		var scale float32
		var data sql.RawBytes
		if err := rows.Scan(&m.last, &item, &scale, &data); err != nil {
			return v.wrap("load", err)
		}
		if len(data) != dims {
			continue // damage: it is nowhere near anything
		}
		m.items, m.scales = append(m.items, item), append(m.scales, scale)
		for _, b := range data {
			m.data = append(m.data, int8(b))
		}
	}
	if err := rows.Err(); err != nil {
		return v.wrap("load", err)
	}
	v.loaded = m
	return nil
}

// mostNear is how many items are near in meaning at most: further down chance
// alone speaks.
const mostNear = 50

// nearest gives the items within the question's scope that are nearest to its
// vector. That they can't be had is noted; words are asked all the same.
func (s *finder) nearest(ctx context.Context) ([]int64, error) {
	if s.r.Vectors == nil || len(s.r.Vector) == 0 || s.none {
		return nil, nil
	}
	var within func(int64) bool
	if s.narrow() {
		rows, err := s.db.Rollouts(ctx, s.sc, maxRollouts)
		if err != nil {
			return nil, err
		}
		in := make(map[int64]bool, len(rows))
		for i := range rows {
			in[rows[i].Row] = true
		}
		within = func(row int64) bool { return in[row] }
	}
	ids, err := s.r.Vectors.Nearest(ctx, s.r.Model, s.r.Vector, within, mostNear)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, ErrNone):
		s.q.note("nothing has been prepared for search by meaning yet; this is by words only")
	case err != nil:
		s.q.note("search by meaning failed, so this is by words only: %v", err)
	}
	return ids, nil
}

// near is an item and how near its nearest passage is.
type near struct {
	item  int64
	score float32
}

// nearest is pure.
func (m *matrix) nearest(to []float32, within func(row int64) bool, limit int) []int64 {
	_, bytes := quantise(to)
	q := make([]int8, len(bytes))
	for i, b := range bytes {
		q[i] = int8(b)
	}
	best := map[int64]float32{}
	var found []near
	least := float32(math.Inf(-1)) // what doesn't reach it is not among the best
	row, in := int64(-1), true
	for i, item := range m.items {
		if within != nil {
			if r := item >> 32; r != row {
				row, in = r, within(r)
			}
			if !in {
				continue
			}
		}
		score := m.scales[i] * float32(dot(q, m.data[i*m.dims:(i+1)*m.dims]))
		if score <= least {
			continue
		}
		if had, ok := best[item]; ok && had >= score {
			continue
		}
		best[item] = score
		if len(best) >= 4*limit+64 {
			found = top(best, limit)
			least = found[len(found)-1].score
			clear(best)
			for _, n := range found {
				best[n.item] = n.score
			}
		}
	}
	found = top(best, limit)
	out := make([]int64, len(found))
	for i, n := range found {
		out[i] = n.item
	}
	return out
}

func top(best map[int64]float32, limit int) []near {
	found := make([]near, 0, len(best))
	for item, score := range best {
		found = append(found, near{item, score})
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.item, a.item))
	})
	return found[:min(limit, len(found))]
}

// dot is the product of two vectors of one length: several sums at a time, for
// the processor to do side by side.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]int8)(a), (*[8]int8)(b)
		s0 += int32(x[0])*int32(y[0]) + int32(x[4])*int32(y[4])
		s1 += int32(x[1])*int32(y[1]) + int32(x[5])*int32(y[5])
		s2 += int32(x[2])*int32(y[2]) + int32(x[6])*int32(y[6])
		s3 += int32(x[3])*int32(y[3]) + int32(x[7])*int32(y[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
