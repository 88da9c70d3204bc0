//go:build race

package block

// The race detector makes one core's work ten times as much, and there is
// nothing here that runs at the same time.
const (
	randomFiles = 5_000
	hostileSize = 16 << 10
)
