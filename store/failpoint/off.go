//go:build !crash

package failpoint

import "io"

// Hit does nothing in this build.
func Hit(Point) {}

// HitWriting does nothing in this build.
func HitWriting(Point, io.Writer, []byte) {}
