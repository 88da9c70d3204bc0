//go:build !race

package block

const (
	randomFiles = 200_000
	hostileSize = 256 << 10
)
