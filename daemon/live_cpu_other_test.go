//go:build !unix

package daemon_test

import "time"

// cpuTime isn't measured here.
func cpuTime() time.Duration { return 0 }
