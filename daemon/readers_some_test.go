//go:build !faults

package daemon

// updatesRead is how many updates there are while somebody reads.
const updatesRead = 60
