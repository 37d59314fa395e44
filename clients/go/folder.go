package writer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// folder is the folder of a spool. One process has it, and only its user may read it.
//
// The process has made the file owner-N with the highest number: of two that start together, only one can make it. It renews the file's time
// each second, which processes in other containers can see. Java, Python and Go also lock the file "lock": the system releases that with
// the process, at once. Node cannot lock files.
type folder struct {
	path   string
	locked *os.File
	owner  string
	note   []byte
	closed chan struct{}
}

const (
	beat = time.Second
	// A process whose file is older has ended, or stands still. If it goes on, it finds that the folder is no longer its own.
	stale = 10 * time.Second
)

var (
	inUse     sync.Map
	ownerName = regexp.MustCompile(`^owner-([0-9]{1,18})$`)
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
	if user := userOf(info); user != os.Geteuid() {
		return nil, fmt.Errorf("the spool %s belongs to the user %d, who could add records: name a folder of %d", path, user, os.Geteuid())
	}
	// The system grants such a lock twice within a process.
	if _, isUsed := inUse.LoadOrStore(real, true); isUsed {
		return nil, fmt.Errorf("the spool %s %w", path, errInUse)
	}
	f := &folder{path: real, closed: make(chan struct{})}
	if err := f.take(); err != nil {
		f.close()
		return nil, fmt.Errorf("the spool %s %w", path, err)
	}
	go f.keepBeating()
	return f, nil
}

func (f *folder) take() error {
	pid, began := process("self")
	if pid == "" {
		pid, began = strconv.Itoa(os.Getpid()), "0"
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = "-"
	}
	start := pid + " " + began + " " + space + " "
	before, err := f.numbers()
	if err != nil {
		return err
	}
	number, last, noted := int64(1), "", ""
	if len(before) > 0 {
		number = slices.Max(before) + 1
		last = ownerFile(number - 1)
		read, err := os.ReadFile(f.file(last))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		noted = string(read)
	}
	// Another copy of this package in this process has it: opening and closing the file would release its lock.
	if strings.HasPrefix(noted, start) && (space != "-" || f.beats(last)) {
		return errInUse
	}
	if f.locked, err = f.open("lock", os.O_CREATE|os.O_RDWR); err != nil {
		return fmt.Errorf("cannot be locked: %w", err)
	}
	if lock(f.locked) != nil || (last != "" && f.isAlive(last, strings.Fields(noted), space)) {
		return errInUse
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	if err := f.own(number, fmt.Sprintf("%slocks %x\n", start, token)); err != nil {
		return err
	}
	// The process that listed the files before this one began may be slower than those after it.
	now, err := f.numbers()
	if err != nil {
		return err
	}
	if slices.Max(now) > number {
		return errInUse
	}
	for _, older := range now {
		if older < number {
			if err := os.Remove(f.file(ownerFile(older))); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func ownerFile(number int64) string { return fmt.Sprintf("owner-%d", number) }

func (f *folder) own(number int64, note string) error {
	made, err := f.open(ownerFile(number), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if errors.Is(err, os.ErrExist) {
		return errInUse
	} else if err != nil {
		return err
	}
	f.owner, f.note = ownerFile(number), []byte(note)
	if _, err := made.WriteAt(f.note, 0); err != nil {
		// On a full disk the file stays empty: what the spool has can still be sent.
		f.note = nil
		err = made.Truncate(0)
		return errors.Join(err, made.Close())
	}
	return made.Close()
}

// process returns the number and the start time, which tells processes with the same number apart. They are empty if it has ended.
func process(pid string) (number, began string) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	// A zombie is still listed.
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", ""
	}
	return strings.Fields(string(stat))[0], fields[19]
}

// isAlive tells whether the process that made this file has not ended.
func (f *folder) isAlive(name string, noted []string, space string) bool {
	if len(noted) > 3 && noted[3] == "locks" {
		// It would still have the lock that this process has now.
		return false
	}
	if len(noted) > 3 && noted[2] == space && space != "-" {
		_, began := process(noted[0])
		return began == noted[1]
	}
	return f.beats(name)
}

func (f *folder) beats(name string) bool {
	// If there is no such file, the process has closed the spool.
	info, err := os.Stat(f.file(name))
	if err != nil {
		return false
	}
	for seen := info.ModTime(); time.Since(seen).Abs() < stale; {
		time.Sleep(100 * time.Millisecond)
		if info, err = os.Stat(f.file(name)); err != nil {
			return false
		}
		if !info.ModTime().Equal(seen) {
			return true
		}
	}
	return false
}

func (f *folder) keepBeating() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-f.closed:
			return
		case now := <-ticker.C:
			// If the file is gone, requireOwned says so.
			_ = os.Chtimes(f.file(f.owner), now, now)
		}
	}
}

func (f *folder) numbers() ([]int64, error) {
	files, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, file := range files {
		if name := ownerName.FindStringSubmatch(file.Name()); name != nil {
			number, err := strconv.ParseInt(name[1], 10, 64)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

func (f *folder) isOwned() bool {
	note, err := os.ReadFile(f.file(f.owner))
	return err == nil && bytes.Equal(note, f.note)
}

// requireOwned fails if another process took the folder, as it does if this one stood still for long. It sends what is there.
func (f *folder) requireOwned() error {
	if f.isOwned() {
		return nil
	}
	return fmt.Errorf("the spool %s was taken by another process, or its files were removed: "+
		"start this process again, with a folder of its own", f.path)
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
	close(f.closed)
	if f.owner != "" && f.isOwned() {
		os.Remove(f.file(f.owner))
	}
	if f.locked != nil {
		f.locked.Close()
	}
	inUse.Delete(f.path)
}
