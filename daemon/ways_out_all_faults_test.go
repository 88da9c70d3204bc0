//go:build faults

package daemon_test

// everySecret is how many kinds of secrets lie between those that are tried.
const everySecret = 1
