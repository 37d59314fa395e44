package writer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// folder is the folder of a spool. One process locks it, and only its user may read it.
type folder struct {
	path   string
	locked *os.File
}

var (
	inUse sync.Map
	// errInUse names no folder: the caller adds it.
	errInUse = errors.New("is in use: give each process a folder of its own")
)

func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others may write to the spool %s: run chmod go-w on it", path)
	}
	// The system grants such a lock twice within a process.
	if _, isUsed := inUse.LoadOrStore(real, true); isUsed {
		return nil, fmt.Errorf("the spool %s %w", path, errInUse)
	}
	f := &folder{path: real}
	if err := f.take(); err != nil {
		inUse.Delete(real)
		return nil, fmt.Errorf("the spool %s %w", path, err)
	}
	return f, nil
}

func (f *folder) take() (err error) {
	if f.locked, err = f.open("lock", os.O_CREATE|os.O_RDWR); err != nil {
		return fmt.Errorf("cannot be locked: %w", err)
	}
	if lock(f.locked) != nil || f.isOwned() {
		f.locked.Close()
		return errInUse
	}
	return nil
}

// isOwned tells whether a process of Node has the folder. Node has no file locks: it notes its number and start there.
func (f *folder) isOwned() bool {
	note, err := os.ReadFile(f.file("owner"))
	parts := strings.Fields(string(note))
	if err != nil || len(parts) != 2 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	// A zombie is still listed.
	return len(fields) > 19 && fields[19] == parts[1] && fields[0] != "Z" && fields[0] != "X"
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) open(name string, flags int) (*os.File, error) {
	return os.OpenFile(f.file(name), flags|noFollow, 0o600)
}

// force forces the names of new files to disk, if the system supports it.
func (f *folder) force() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

func (f *folder) close() {
	f.locked.Close()
	inUse.Delete(f.path)
}
