//go:build !linux

package tokens_test

import "time"

var started = time.Now()

// spent is the time that went by.
func spent() time.Duration { return time.Since(started) }
