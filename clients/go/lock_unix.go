//go:build unix

package writer

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// lock takes the lock that the clients in Java and Python take.
func lock(file *os.File) error {
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
}

func userOf(info os.FileInfo) int {
	if stat, isOfUnix := info.Sys().(*syscall.Stat_t); isOfUnix {
		return int(stat.Uid)
	}
	return os.Geteuid()
}
