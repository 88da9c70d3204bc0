package tokens_test

import (
	"syscall"
	"time"
	"unsafe"
)

// spent is the time that this process was given on all its threads: what other
// programs take on a busy machine is not in it, what a counter leaves to the
// garbage collector is.
func spent() time.Duration {
	const processTime = 2 // CLOCK_PROCESS_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, processTime, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("read the process's clock: " + errno.Error())
	}
	return time.Duration(t.Nano())
}
