package writer

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	noFollow        = 0
	failImmediately = 1
	exclusively     = 2
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// lock takes the first byte, as the client in Python does; Java's takes all.
func lock(file *os.File) error {
	var at syscall.Overlapped
	isLocked, _, err := lockFileEx.Call(file.Fd(), failImmediately|exclusively, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if isLocked == 0 {
		return err
	}
	return nil
}

func userOf(os.FileInfo) int { return os.Geteuid() }
