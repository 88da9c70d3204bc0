package tokens

import (
	"syscall"
	"unsafe"
)

// inLargePages asks the system to give memory that was not touched yet in pages
// of 2 MB, and returns it. A vocabulary is some 2,000 pages of 4 KB that are all
// touched at once; where the machine is a virtual one each costs microseconds, up
// to half of the first count. It is advice: systems that have no such pages, or
// don't give them, go on as before.
func inLargePages[T any](s []T) []T {
	const (
		page   = 2 << 20
		advice = 14 // MADV_HUGEPAGE
	)
	if size := uintptr(cap(s)) * unsafe.Sizeof(s[0]); size >= page/2 {
		// Whole pages, with what stands beside it in the heap.
		from := uintptr(unsafe.Pointer(unsafe.SliceData(s))) //nolint:gosec // a number for the system, never a pointer again
		to := (from + size + page - 1) &^ (page - 1)
		from &^= page - 1
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
	}
	return s
}
