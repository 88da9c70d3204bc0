package search

import "context"

// Items counts the items that the index holds; those that are never taken in are
// among them.
func (x *Index) Items(ctx context.Context) (n int64, err error) {
	tx, release, err := x.view(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(through), 0) FROM held").Scan(&n)
	return n, x.wrap("count items", err)
}
