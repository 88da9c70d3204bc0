//go:build !faults

package daemon_test

// everySecret is how many kinds of secrets lie between those that are tried: all
// of them take half a minute.
const everySecret = 9
