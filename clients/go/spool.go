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
	frameHeader = 8
	place       = "acknowledged"
	prefix      = `{"id":"`
	idLength    = 36
	// Bytes of a record as sent.
	maxSent = 6 * 65_535
)

var (
	segmentName = regexp.MustCompile(`^([0-9]{20})\.spool$`)
	noted       = regexp.MustCompile(`^([0-9]{20}) ([0-9]{20}) ([0-9a-f]{8})\n$`)
)

// spool keeps records on disk until the service has stored them. One goroutine writes, one reads. docs/clients.md has the format.
//
// A process never writes into a file that another process began. If a file is shorter than the noted place, because a loss of power took
// its end, no later record can fill that gap and be skipped.
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
	// unreadable is a file that cannot be read on as long as it is written, or 0.
	unreadable  int64
	readSegment int64
	readOffset  int64
	stopped     bool

	// Only the goroutine that writes uses these.
	out    *os.File
	outEnd int64
	last   int64

	// Only the goroutine that reads uses these.
	in        *os.File
	inSegment int64
	givenEnd  int64
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
	case string(start) == magic:
		return info.Size(), nil
	case info.Size() > int64(len(magic)):
		return 0, fmt.Errorf("%s is not a spool's file of this version", s.folder.file(name))
	}
	return 0, nil
}

func (s *spool) startBehindWhatIsAcknowledged() error {
	text, err := readAt(s.place, 51, 0)
	if err != nil {
		return err
	}
	segment, offset := int64(0), int64(len(magic))
	if parts := noted.FindSubmatch(text); parts != nil && string(parts[3]) == checksum(string(text[:41])) {
		segment, _ = strconv.ParseInt(string(parts[1]), 10, 64)
		found, _ := strconv.ParseInt(string(parts[2]), 10, 64)
		offset = max(offset, found)
	}
	s.last = segment
	for number := range s.ends {
		s.last = max(s.last, number)
		if number < segment {
			s.delete(number)
		}
	}
	s.readSegment = s.after(0, s.last+1)
	s.readOffset = int64(len(magic))
	if s.readSegment == segment {
		s.readOffset = offset
	}
	return nil
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

// appendFrame appends the record's length, the checksum of length and record, and the record.
func appendFrame(frames, record []byte) []byte {
	start := len(frames)
	frames = binary.BigEndian.AppendUint32(frames, uint32(len(record)))
	sum := crc32.Update(crc32.ChecksumIEEE(frames[start:]), crc32.IEEETable, record)
	return append(binary.BigEndian.AppendUint32(frames, sum), record...)
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
	if s.options.NoForce {
		return nil
	}
	return s.out.Sync()
}

func (s *spool) begin() error {
	out, err := s.folder.open(name(s.last+1), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
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

// abandon ends a file: a disk that has failed once may have lost data of it. Further records go into another file.
func (s *spool) abandon() {
	if s.out != nil && s.active == s.last {
		if err := s.out.Truncate(s.outEnd); err != nil {
			s.logger.Warn("A file of the spool could not be cut", "spool", s.folder.path, "cause", err)
		}
	}
	s.closeOut()
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
		complete := segment != s.active
		s.state.Unlock()
		if s.readOffset < end {
			if batch, err := s.read(segment, end, complete); err != nil || batch != nil {
				return batch, err
			}
		}
		s.state.Lock()
		if complete {
			s.nextSegment()
		} else {
			s.unreadable = segment
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

func (s *spool) read(segment, end int64, complete bool) ([]*entry, error) {
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
	for at < len(data) && len(batch) < s.options.BatchRecords && size < s.options.BatchBytes {
		e := spooled(data[at:])
		if e == nil {
			if batch == nil && complete {
				if err := s.setAside(segment, data); err != nil {
					return nil, err
				}
			}
			break
		}
		batch = append(batch, e)
		size += len(e.data) + 1
		at += frameHeader + len(e.data)
	}
	s.givenEnd = s.readOffset + int64(at)
	return batch, nil
}

// spooled returns nil if the frame is not whole.
func spooled(data []byte) *entry {
	if len(data) < frameHeader {
		return nil
	}
	length := binary.BigEndian.Uint32(data)
	if length == 0 || length > maxSent || int(length) > len(data)-frameHeader {
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

// setAside ends a file whose rest has no whole record. If the last frame is shorter than its length says, its process ended while it
// wrote, and the record was never acknowledged. Anything else is damage: a copy of the file is kept.
func (s *spool) setAside(segment int64, data []byte) error {
	length := int64(maxSent)
	if len(data) >= frameHeader {
		length = int64(binary.BigEndian.Uint32(data))
	}
	if length == 0 || length > maxSent || length <= int64(len(data)-frameHeader) {
		damaged := name(segment) + ".damaged"
		if err := s.copyTo(damaged); err != nil {
			return err
		}
		s.logger.Error("A file of the spool is damaged: the records before the offset are sent, what follows is kept",
			"file", s.folder.file(damaged), "offset", s.readOffset)
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.ends[segment] = s.readOffset
	return nil
}

func (s *spool) copyTo(damaged string) error {
	if err := os.Remove(s.folder.file(damaged)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	copied, err := s.folder.open(damaged, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	info, err := s.in.Stat()
	if err == nil {
		_, err = io.Copy(copied, io.NewSectionReader(s.in, 0, info.Size()))
	}
	return errors.Join(err, copied.Close())
}

// settled removes the records that next returned last: all are stored or refused.
func (s *spool) settled() {
	s.state.Lock()
	defer s.state.Unlock()
	s.readOffset = s.givenEnd
	s.note()
	if s.readSegment != s.active && s.readOffset >= s.ends[s.readSegment] {
		s.nextSegment()
	}
	s.state.notify()
}

func (s *spool) nextSegment() {
	done := s.readSegment
	// A file that begins later has a higher number.
	s.readSegment = s.after(done, done+1)
	s.readOffset = int64(len(magic))
	s.note()
	s.delete(done)
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
	if err := os.Remove(s.folder.file(name(segment))); err != nil && !errors.Is(err, os.ErrNotExist) {
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
	if written != 0 && s.readSegment == written && s.readOffset >= s.ends[written] {
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
