package writer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
)

const (
	magic       = "ANNALS1\n"
	frameHeader = 12
	place       = "acknowledged"
	prefix      = `{"id":"`
	idLength    = 36
	// Bytes of a record as sent.
	maxSent = 6 * 65_535
	// A file that cannot be read so often in a row is left to the next start, as others wait behind it.
	mostFailures = 3
)

var (
	segmentName  = regexp.MustCompile(`^([0-9]{20})\.spool$`)
	otherVersion = regexp.MustCompile(`^ANNALS[02-9]\n$`)
	noted        = regexp.MustCompile(`^([0-9]{20}) ([0-9]{20}) ([0-9a-f]{8})\n$`)
)

// spool keeps records on disk until the service has stored them. One goroutine writes, one reads. docs/clients.md has the format.
//
// A process never writes into a file that another process began. If a file is shorter than the noted place, because a loss of power took
// its end, no later record can fill that gap and be skipped. Records are acknowledged, and files deleted, only while the folder is this
// process's own: another one took it first and then looked for files, so it has found all that was acknowledged.
type spool struct {
	options *Options
	logger  *slog.Logger
	folder  *folder
	place   *os.File

	state *monitor
	// ends are the offsets up to which each file can be read, by its number.
	ends map[int64]int64
	// active is 0 if no file is written.
	active int64
	// unreadable is a file that is written and cannot be read, or 0.
	unreadable   int64
	notedSegment int64
	notedOffset  int64
	readSegment  int64
	readOffset   int64
	stopped      bool

	// Only the goroutine that writes uses these.
	out    *os.File
	outEnd int64
	last   int64

	// Only the goroutine that reads uses these.
	in        *os.File
	inSegment int64
	givenEnd  int64
	failures  int
	// toKeep is a damaged file that is not kept under another name yet, or 0.
	toKeep   int64
	reported int64
}

func openSpool(options *Options, state *monitor) (*spool, error) {
	folder, err := openFolder(options.Spool)
	if err != nil {
		return nil, err
	}
	s := &spool{options: options, logger: options.Logger, folder: folder, state: state, ends: map[int64]int64{}}
	if err := s.find(); err != nil {
		if s.place != nil {
			s.place.Close()
		}
		folder.close()
		return nil, err
	}
	return s, nil
}

func (s *spool) find() (err error) {
	if s.place, err = s.folder.open(place, os.O_CREATE|os.O_RDWR); err != nil {
		return err
	}
	files, err := os.ReadDir(s.folder.path)
	if err != nil {
		return err
	}
	for _, file := range files {
		if name := segmentName.FindStringSubmatch(file.Name()); name != nil {
			segment, err := strconv.ParseInt(name[1], 10, 64)
			if err != nil {
				return err
			}
			if s.ends[segment], err = s.endOf(file.Name()); err != nil {
				return err
			}
		}
	}
	return s.startBehindWhatIsAcknowledged()
}

// endOf returns 0 if the file's process ended before it wrote the header.
func (s *spool) endOf(name string) (int64, error) {
	file, err := s.folder.open(name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	start, err := readAt(file, len(magic), 0)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return 0, err
	case otherVersion.Match(start):
		return 0, fmt.Errorf("%s is not a spool's file of this version", s.folder.file(name))
	case info.Size() < int64(len(magic)):
		return 0, nil
	}
	return info.Size(), nil
}

func (s *spool) startBehindWhatIsAcknowledged() error {
	text, err := readAt(s.place, 51, 0)
	if err != nil {
		return err
	}
	s.notedOffset = int64(len(magic))
	if parts := noted.FindSubmatch(text); parts != nil && string(parts[3]) == checksum(string(text[:41])) {
		s.notedSegment, _ = strconv.ParseInt(string(parts[1]), 10, 64)
		found, _ := strconv.ParseInt(string(parts[2]), 10, 64)
		s.notedOffset = max(s.notedOffset, found)
	}
	s.last = s.notedSegment
	for number := range s.ends {
		s.last = max(s.last, number)
	}
	s.goTo(s.after(0, s.last+1))
	return nil
}

func (s *spool) goTo(segment int64) {
	s.readSegment = segment
	s.readOffset = int64(len(magic))
	if segment == s.notedSegment {
		s.readOffset = s.notedOffset
	}
}

// after returns the number of the next file, if there is one.
func (s *spool) after(segment, otherwise int64) int64 {
	next := int64(0)
	for number := range s.ends {
		if number > segment && (next == 0 || number < next) {
			next = number
		}
	}
	if next == 0 {
		return otherwise
	}
	return next
}

func name(segment int64) string { return fmt.Sprintf("%020d.spool", segment) }

func checksum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// appendFrame appends the record's length, the checksum of length and record, the checksum of these eight bytes, and the record.
func appendFrame(frames, record []byte) []byte {
	start := len(frames)
	frames = binary.BigEndian.AppendUint32(frames, uint32(len(record)))
	sum := crc32.Update(crc32.ChecksumIEEE(frames[start:]), crc32.IEEETable, record)
	frames = binary.BigEndian.AppendUint32(frames, sum)
	return append(binary.BigEndian.AppendUint32(frames, crc32.ChecksumIEEE(frames[start:])), record...)
}

// write returns false if the spool is full and was stopped. All records are on disk when it returns true, unless NoForce is set. After an
// error, the records have to be written again.
func (s *spool) write(group []*entry) (bool, error) {
	var frames []byte
	for _, e := range group {
		frames = appendFrame(frames, e.data)
	}
	size := int64(len(frames))
	s.state.Lock()
	hasRoom := func() bool { return s.bytes()+size <= s.options.SpoolBytes }
	s.state.await(nil, func() bool { return s.stopped || hasRoom() })
	if !hasRoom() {
		s.state.Unlock()
		return false, nil
	}
	ends := s.out == nil || s.outEnd+size > s.options.SegmentBytes || s.unreadable == s.active
	s.state.Unlock()
	if err := s.folder.requireOwned(); err != nil {
		return false, err
	}
	if err := s.append(frames, ends); err != nil {
		s.abandon()
		return false, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.outEnd += size
	s.ends[s.active] = s.outEnd
	s.state.notify()
	return true, nil
}

func (s *spool) append(frames []byte, inANewFile bool) error {
	if inANewFile {
		s.closeOut()
		if err := s.begin(); err != nil {
			return err
		}
	}
	if _, err := s.out.WriteAt(frames, s.outEnd); err != nil {
		return err
	}
	if !s.options.NoForce {
		if err := s.out.Sync(); err != nil {
			return err
		}
	}
	return s.folder.requireOwned()
}

func (s *spool) begin() error {
	out, err := s.create()
	for errors.Is(err, os.ErrExist) {
		// A process that lost the folder while it began a file made this one. The next start reads it.
		s.last++
		out, err = s.create()
	}
	if err != nil {
		return err
	}
	s.out = out
	s.last++
	s.outEnd = 0
	if _, err := out.WriteAt([]byte(magic), 0); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := s.folder.force(); err != nil {
		return err
	}
	s.outEnd = int64(len(magic))
	s.state.Lock()
	defer s.state.Unlock()
	s.active = s.last
	s.ends[s.active] = s.outEnd
	s.state.notify()
	return nil
}

func (s *spool) create() (*os.File, error) {
	return s.folder.open(name(s.last+1), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
}

// abandon ends a file: a disk that has failed once may have lost data of it. Further records go into another file.
func (s *spool) abandon() {
	if s.out == nil {
		return
	}
	var err error
	if s.outEnd > int64(len(magic)) {
		err = s.out.Truncate(s.outEnd)
		s.closeOut()
	} else {
		// A disk that is full for hours must not fill with empty files.
		s.closeOut()
		s.state.Lock()
		delete(s.ends, s.last)
		s.state.Unlock()
		err = os.Remove(s.folder.file(name(s.last)))
	}
	if err != nil {
		s.logger.Warn("A file of the spool could not be cut", "spool", s.folder.path, "cause", err)
	}
}

func (s *spool) closeOut() {
	s.state.Lock()
	s.active = 0
	s.state.notify()
	s.state.Unlock()
	if s.out != nil {
		s.out.Close()
		s.out = nil
	}
}

// next waits for records and returns the oldest; nil once the spool is stopped.
func (s *spool) next() ([]*entry, error) {
	for {
		s.state.Lock()
		s.state.await(nil, func() bool { return s.stopped || !s.isAtTheEnd() })
		if s.stopped {
			s.state.Unlock()
			return nil, nil
		}
		segment, end := s.readSegment, s.ends[s.readSegment]
		s.state.Unlock()
		if err := s.folder.requireOwned(); err != nil {
			return nil, err
		}
		if s.readOffset < end {
			if batch, err := s.readOrLeave(segment, end); err != nil || batch != nil {
				return batch, err
			}
		}
		s.state.Lock()
		if s.readSegment == segment && segment != s.active && s.readOffset >= s.ends[segment] {
			s.nextSegment()
		}
		s.state.Unlock()
	}
}

func (s *spool) isAtTheEnd() bool {
	if s.readSegment == s.active || len(s.ends) == 0 {
		return (s.active != 0 && s.unreadable == s.active) || s.readOffset >= s.ends[s.readSegment]
	}
	// A complete file that has been read is deleted before.
	return false
}

func (s *spool) readOrLeave(segment, end int64) ([]*entry, error) {
	batch, err := s.read(segment, end)
	switch {
	case err == nil:
		s.failures = 0
		return batch, nil
	case errors.Is(err, os.ErrNotExist):
		s.leave(segment, "A file of the spool was removed before all its records were stored", err)
		return nil, nil
	}
	s.closeIn()
	s.failures++
	if s.failures < mostFailures {
		return nil, err
	}
	s.leave(segment, "A file of the spool stays for the next start, as it cannot be read", err)
	return nil, nil
}

func (s *spool) leave(segment int64, reason string, cause error) {
	s.failures = 0
	s.logger.Error(reason, "file", s.folder.file(name(segment)), "cause", cause)
	s.state.Lock()
	defer s.state.Unlock()
	if segment == s.active {
		s.unreadable = segment
	} else {
		delete(s.ends, segment)
		s.goTo(s.after(segment, segment+1))
	}
}

// read returns nil if there is no whole record at the place, which is then behind the damage.
func (s *spool) read(segment, end int64) ([]*entry, error) {
	if s.inSegment != segment {
		s.closeIn()
		in, err := s.folder.open(name(segment), os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		s.in, s.inSegment = in, segment
	}
	most := int64(s.options.BatchBytes + frameHeader + maxSent)
	data, err := readAt(s.in, int(min(most, end-s.readOffset)), s.readOffset)
	if err != nil {
		return nil, err
	}
	var batch []*entry
	at, size := 0, 0
	for len(batch) < s.options.BatchRecords && size < s.options.BatchBytes {
		e := spooled(data[at:])
		if e == nil {
			break
		}
		batch = append(batch, e)
		size += len(e.data) + 1
		at += frameHeader + len(e.data)
	}
	s.givenEnd = s.readOffset + int64(at)
	if batch == nil {
		behind := s.behindDamage(segment, data, end)
		s.state.Lock()
		s.readOffset = behind
		s.state.Unlock()
	}
	return batch, nil
}

// lengthOf returns the length of the record, which the header's own checksum confirms; 0 if no frame begins there.
func lengthOf(data []byte) int {
	if len(data) < frameHeader || crc32.ChecksumIEEE(data[:8]) != binary.BigEndian.Uint32(data[8:]) {
		return 0
	}
	length := binary.BigEndian.Uint32(data)
	if length > maxSent {
		return 0
	}
	return int(length)
}

// spooled returns nil if the frame is not whole.
func spooled(data []byte) *entry {
	length := lengthOf(data)
	if length == 0 || length > len(data)-frameHeader {
		return nil
	}
	record := data[frameHeader : frameHeader+length]
	sum := crc32.Update(crc32.ChecksumIEEE(data[:4]), crc32.IEEETable, record)
	if sum != binary.BigEndian.Uint32(data[4:]) || !bytes.HasPrefix(record, []byte(prefix)) ||
		len(record) < len(prefix)+idLength {
		return nil
	}
	id := canonical(string(record[len(prefix) : len(prefix)+idLength]))
	if id == "" {
		return nil
	}
	return &entry{id: id, data: record}
}

// behindDamage returns where to read on. If the last frame is shorter than its header says, or its header is cut off, its process ended
// while it wrote, and the record was never acknowledged. Anything else is damage: the file is kept, and the records behind are sent.
func (s *spool) behindDamage(segment int64, data []byte, end int64) int64 {
	if len(data) < frameHeader || lengthOf(data) > len(data)-frameHeader {
		return end
	}
	s.keep(segment)
	for at := 1; ; at++ {
		found := bytes.Index(data[min(at+frameHeader, len(data)):], []byte(prefix))
		if found < 0 {
			break
		}
		if at += found; spooled(data[at:]) != nil {
			return s.readOffset + int64(at)
		}
	}
	// A frame may begin in these bytes and end behind them.
	if s.readOffset+int64(len(data)) >= end {
		return end
	}
	return s.readOffset + int64(len(data)-frameHeader-maxSent)
}

// keep gives a damaged file a second name, which needs no room on a disk that may be full. Without hard links, the file is renamed in
// place of being deleted.
func (s *spool) keep(segment int64) {
	if s.reported == segment {
		return
	}
	file := s.folder.file(name(segment))
	kept, isThere := damaged(file)
	if !isThere && os.Link(file, kept) != nil {
		s.toKeep = segment
	}
	s.reported = segment
	s.logger.Error("A file of the spool is damaged: it is kept, and the records before and behind the damage are sent",
		"file", file, "offset", s.readOffset, "kept", kept)
}

// damaged returns the name for a damaged file, and whether the file has it: that of another one is never taken.
func damaged(file string) (string, bool) {
	own, _ := os.Stat(file)
	for i, kept := 2, file+".damaged"; ; i++ {
		info, err := os.Lstat(kept)
		if err != nil {
			return kept, false
		}
		if os.SameFile(info, own) {
			return kept, true
		}
		kept = fmt.Sprintf("%s.damaged-%d", file, i)
	}
}

// settled removes the records that next returned last: all are stored or refused. If it fails, they are sent again.
func (s *spool) settled() error {
	if err := s.folder.requireOwned(); err != nil {
		return err
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.readOffset = s.givenEnd
	s.note()
	if s.readSegment != s.active && s.readOffset >= s.ends[s.readSegment] {
		s.nextSegment()
	}
	s.state.notify()
	return nil
}

func (s *spool) nextSegment() {
	done := s.readSegment
	// A file that begins later has a higher number.
	s.goTo(s.after(done, done+1))
	s.delete(done)
	s.note()
	s.state.notify()
}

// note does not force the place to disk: if it is lost, records are sent again, and the service recognizes their ids.
func (s *spool) note() {
	text := fmt.Sprintf("%020d %020d", s.readSegment, s.readOffset)
	if _, err := s.place.WriteAt([]byte(text+" "+checksum(text)+"\n"), 0); err != nil {
		s.logger.Warn("The place in the spool was not noted", "spool", s.folder.path, "cause", err)
	}
}

func (s *spool) delete(segment int64) {
	delete(s.ends, segment)
	if s.inSegment == segment {
		s.closeIn()
	}
	file := s.folder.file(name(segment))
	remove := os.Remove
	if s.toKeep == segment {
		remove = func(file string) error {
			kept, _ := damaged(file)
			return os.Rename(file, kept)
		}
	}
	if err := remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.logger.Warn("A file of the spool whose records are stored stays", "cause", err)
	}
}

func (s *spool) closeIn() {
	s.inSegment = 0
	if s.in != nil {
		s.in.Close()
		s.in = nil
	}
}

// end returns the end of all records written so far.
func (s *spool) end() (segment, offset int64) {
	for number := range s.ends {
		segment = max(segment, number)
	}
	return segment, s.ends[segment]
}

func (s *spool) isBehind(segment, offset int64) bool {
	if s.readSegment != segment {
		return s.readSegment > segment
	}
	return s.readOffset >= min(offset, s.ends[segment])
}

func (s *spool) bytes() int64 {
	bytes := int64(0)
	for _, end := range s.ends {
		bytes += end
	}
	return bytes
}

func (s *spool) keepRefused(refusal *RefusedError) error {
	reason, err := json.Marshal(refusal.Reason)
	if err != nil {
		return err
	}
	file, err := s.folder.open("refused.ndjson", os.O_CREATE|os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	line := append([]byte(`{"reason":`), reason...)
	line = append(append(append(line, `,"record":`...), refusal.Record...), "}\n"...)
	_, err = file.Write(line)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// close releases the folder, after the goroutines have ended. A file is deleted if all its records are stored.
func (s *spool) close() {
	written := s.active
	s.closeOut()
	s.state.Lock()
	if written != 0 && s.readSegment == written && s.readOffset >= s.ends[written] && s.folder.isOwned() {
		s.nextSegment()
	}
	s.state.Unlock()
	s.closeIn()
	s.place.Close()
	s.folder.close()
}

// readAt returns fewer bytes where the file ends before.
func readAt(file *os.File, length int, offset int64) ([]byte, error) {
	data := make([]byte, length)
	count, err := file.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:count], nil
}
