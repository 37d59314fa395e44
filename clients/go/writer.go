// Package writer writes audit records to Annals. It loses no record that it has acknowledged.
//
//	log, err := writer.Open(writer.Options{URL: "https://audit.example.org", Token: token, Spool: "/var/lib/shop/audit"})
//	receipt, err := log.Append(ctx, writer.Record{Action: "volume_create", Actor: writer.Party{Type: "user", ID: "u-19283"}})
//	err = log.Close(ctx)
//
// The guarantee, the defaults and the spool's format are described in docs/clients.md.
package writer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

const (
	// About the memory of a record beside its JSON.
	overhead     = 300
	groupRecords = 4_096
	groupBytes   = 1 << 20
	leastBytes   = 1 << 19
)

var (
	// ErrBufferFull means that the buffer stayed full for as long as an append may wait. The client did not take the record.
	ErrBufferFull = errors.New("the buffer is full")
	// ErrClosed means that the client is closed and did not take the record.
	ErrClosed = errors.New("the audit log is closed: the record was not taken")
)

// Options of a client. Zero values mean the defaults.
type Options struct {
	// URL is the service's address, such as https://audit.example.org.
	URL string
	// Token has the scope write, and says which project is meant.
	Token string
	// TokenSource replaces Token: it is called before each request.
	TokenSource func() (string, error)
	// Spool is a folder that keeps records until they are stored. One process uses it at a time. Without one, records wait in memory alone.
	Spool string
	// SpoolBytes is the size of the spool; appends wait while it is full. 1 GiB.
	SpoolBytes int64
	// SegmentBytes is the size of one of its files: 16 MiB, at least 512 KiB and at most half of the spool.
	SegmentBytes int64
	// NoForce acknowledges records before they are on the disk: they survive the end of the application, not a loss of power.
	NoForce bool
	// BufferRecords and BufferBytes are the most that may wait in memory: 10,000 and 32 MiB.
	BufferRecords int
	BufferBytes   int64
	// AppendTimeout is the time that an append waits while the buffer is full: 30 s. Negative to fail at once.
	AppendTimeout time.Duration
	// BatchRecords and BatchBytes are the most of one request: 1,000 and 900,000.
	BatchRecords int
	BatchBytes   int
	// RequestTimeout limits one request: 60 s.
	RequestTimeout time.Duration
	// FirstPause and LongestPause are the waits between attempts: 100 ms, which doubles with each failure, and 30 s.
	FirstPause   time.Duration
	LongestPause time.Duration
	// GiveUpAfter is the time of failures after which the records of a request are refused; by default never.
	GiveUpAfter time.Duration
	// OnRefusal receives each record that will not be stored, in the client's goroutine; after a crash perhaps again. The default
	// writes to the spool's file refused.ndjson, or logs the ids if there is no spool.
	OnRefusal func(*RefusedError)
	// HTTPClient sends requests, such as one with certificates or a proxy. Its redirects are not followed.
	HTTPClient *http.Client
	// Logger receives warnings, which never contain a token or a record. slog.Default().
	Logger *slog.Logger
}

func orElse[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value == 0 {
		*value = otherwise
	}
}

func (o *Options) complete() error {
	orElse(&o.SpoolBytes, 1<<30)
	orElse(&o.SegmentBytes, 16<<20)
	orElse(&o.BufferRecords, 10_000)
	orElse(&o.BufferBytes, 32<<20)
	orElse(&o.AppendTimeout, 30*time.Second)
	orElse(&o.BatchRecords, 1_000)
	orElse(&o.BatchBytes, 900_000)
	orElse(&o.RequestTimeout, time.Minute)
	orElse(&o.FirstPause, 100*time.Millisecond)
	orElse(&o.LongestPause, 30*time.Second)
	o.BatchRecords = min(o.BatchRecords, 1_000)
	o.BatchBytes = min(o.BatchBytes, 16_000_000)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.BufferRecords < 1 || o.BatchRecords < 1 || o.BatchBytes < 1:
		return errors.New("a buffer and a batch have room for at least one record")
	case o.BufferBytes < leastBytes:
		return fmt.Errorf("a buffer has at least %d bytes, not %d", leastBytes, o.BufferBytes)
	case o.SegmentBytes < leastBytes || o.SpoolBytes < 2*o.SegmentBytes:
		return fmt.Errorf("a spool's file has at least %d bytes, and a spool has room for two; not %d and %d",
			leastBytes, o.SegmentBytes, o.SpoolBytes)
	case o.RequestTimeout < 0 || o.FirstPause < 0 || o.LongestPause < o.FirstPause || o.GiveUpAfter < 0:
		return errors.New("a timeout or pause is not negative, and the longest pause not shorter than the first")
	}
	return nil
}

// RefusedError is the error of a record that will not be stored.
type RefusedError struct {
	ID string
	// Reason is the service's, or says why the client gave the record up.
	Reason string
	// Record is the whole record as JSON, as it was sent.
	Record []byte
}

func (e *RefusedError) Error() string {
	return "record " + e.ID + ": " + e.Reason
}

// Receipt is the receipt for one appended record. With a spool a record is safe as soon as it is on disk, without one as soon as the
// service has stored it.
type Receipt struct {
	id   string
	done chan struct{}
	err  error
}

// ID is the record's: GET /v1/project-logs/{id} returns it.
func (r *Receipt) ID() string { return r.id }

// Done is closed once the record is safe or refused.
func (r *Receipt) Done() <-chan struct{} { return r.done }

// Err is nil while the record is not refused, otherwise a *RefusedError.
func (r *Receipt) Err() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// Wait returns nil once the record is safe, a *RefusedError if it will not be stored, or the context's error.
func (r *Receipt) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// entry is a record that is not settled. Its receipt is nil if it was read from a spool.
type entry struct {
	id      string
	data    []byte
	receipt *Receipt
}

func (e *entry) size() int64 { return int64(len(e.data) + overhead) }

func (e *entry) settle(err error) {
	if e.receipt == nil {
		return
	}
	select {
	case <-e.receipt.done:
	default:
		e.receipt.err = err
		close(e.receipt.done)
	}
}

// Metrics are the counters of a client since it was opened, and the sizes of its queues, at one moment.
type Metrics struct {
	Appended int64
	// Stored includes records that another process left in the spool.
	Stored int64
	// Refused counts records that will not be stored.
	Refused int64
	// TurnedAway counts appends that failed because the buffer was full for too long.
	TurnedAway int64
	// Batches counts requests that the service stored.
	Batches         int64
	Retries         int64
	BufferedRecords int
	// BufferedBytes is about the memory that the buffered records take.
	BufferedBytes int64
	SpoolBytes    int64
	// LastFailure is empty if the last request did not fail.
	LastFailure string
}

// monitor is a lock with a signal for every change of what it guards.
type monitor struct {
	sync.Mutex
	changed chan struct{}
}

func (m *monitor) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// await returns, with the lock held as before, once the condition is true, or false once end is closed.
func (m *monitor) await(end <-chan struct{}, condition func() bool) bool {
	for !condition() {
		changed := m.changed
		m.Unlock()
		select {
		case <-changed:
			m.Lock()
		case <-end:
			m.Lock()
			return condition()
		}
	}
	return true
}

// AuditLog sends records in order, many in one request, until the service has stored them. Open one per process, and close it at the end.
// Any goroutine may append.
type AuditLog struct {
	options  Options
	endpoint *endpoint
	spool    *spool
	ids      ids

	state         *monitor
	buffer        []*entry
	bufferedBytes int64
	removed       int64
	counts        Metrics
	sendingFails  bool
	writingFails  bool
	closed        bool

	stop     context.Context
	cancel   context.CancelFunc
	sending  chan struct{}
	spooling chan struct{}
	closing  sync.Once
	settled  error
}

// Open starts a client. It fails if the options are wrong, or if the spool cannot be used, such as by a second process.
func Open(options Options) (*AuditLog, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	endpoint, err := newEndpoint(&options)
	if err != nil {
		return nil, err
	}
	l := &AuditLog{
		options: options, endpoint: endpoint, state: &monitor{changed: make(chan struct{})},
		sending: make(chan struct{}), spooling: make(chan struct{}),
	}
	if options.Spool != "" {
		if l.spool, err = openSpool(&l.options, l.state); err != nil {
			return nil, err
		}
	}
	l.stop, l.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(l.sending)
		l.sendAll()
	}()
	go func() {
		defer close(l.spooling)
		if l.spool != nil {
			l.writeSpool()
		}
	}()
	return l, nil
}

// Append takes a record and returns its receipt. While the buffer is full, it waits up to Options.AppendTimeout or until the context ends.
//
// It fails with ErrBufferFull, with ErrClosed, or because the record has an id that is no UUID; the service accepts any other value.
func (l *AuditLog) Append(ctx context.Context, record Record) (*Receipt, error) {
	now := time.Now()
	id := record.ID
	if id == "" {
		id = l.ids.next(now)
	} else if id = canonical(id); id == "" {
		return nil, fmt.Errorf("the id %.100q is no UUID", record.ID)
	}
	receipt := &Receipt{id: id, done: make(chan struct{})}
	e := &entry{id: id, data: record.json(id, now), receipt: receipt}
	l.state.Lock()
	defer l.state.Unlock()
	if !l.hasRoom(e) && l.options.AppendTimeout > 0 {
		wait, cancel := context.WithTimeout(ctx, l.options.AppendTimeout)
		defer cancel()
		l.state.await(wait.Done(), func() bool { return l.closed || l.hasRoom(e) })
	}
	if l.closed {
		return nil, ErrClosed
	}
	if !l.hasRoom(e) {
		l.counts.TurnedAway++
		err := fmt.Errorf("%w: %d records, %d bytes wait", ErrBufferFull, len(l.buffer), l.bufferedBytes)
		return nil, errors.Join(err, ctx.Err())
	}
	l.buffer = append(l.buffer, e)
	l.bufferedBytes += e.size()
	l.counts.Appended++
	l.state.notify()
	return receipt, nil
}

// Write appends a record and returns once it is safe: with a spool on disk, without one stored. Calls share a write and a request.
func (l *AuditLog) Write(ctx context.Context, record Record) error {
	receipt, err := l.Append(ctx, record)
	if err != nil {
		return err
	}
	return receipt.Wait(ctx)
}

func (l *AuditLog) hasRoom(e *entry) bool {
	return len(l.buffer) < l.options.BufferRecords && l.bufferedBytes+e.size() <= l.options.BufferBytes
}

// Flush waits until all records appended before this call are stored or refused, or until the context ends, and returns its error.
func (l *AuditLog) Flush(ctx context.Context) error {
	l.state.Lock()
	defer l.state.Unlock()
	end, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.stop, cancel)()
	target := l.counts.Appended
	isSettled := l.state.await(end.Done(), func() bool { return l.removed >= target })
	if isSettled && l.spool != nil {
		segment, offset := l.spool.end()
		isSettled = l.state.await(end.Done(), func() bool { return l.spool.isBehind(segment, offset) })
	}
	if isSettled {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrClosed
}

// Metrics returns the counters of this client.
func (l *AuditLog) Metrics() Metrics {
	l.state.Lock()
	defer l.state.Unlock()
	metrics := l.counts
	metrics.BufferedRecords, metrics.BufferedBytes = len(l.buffer), l.bufferedBytes
	if l.spool != nil {
		metrics.SpoolBytes = l.spool.bytes()
	}
	return metrics
}

// Close takes no more records and waits until the records taken are stored or refused, or until the context ends, and returns its error.
// Records that are not stored then are in the spool for the next client; without a spool, OnRefusal gets them. Further calls wait for the
// first one and return its result.
func (l *AuditLog) Close(ctx context.Context) error {
	l.closing.Do(func() { l.settled = l.close(ctx) })
	return l.settled
}

func (l *AuditLog) close(ctx context.Context) error {
	l.state.Lock()
	l.closed = true
	l.state.notify()
	l.state.Unlock()
	settled := l.Flush(ctx)
	l.cancel()
	l.state.Lock()
	if l.spool != nil {
		l.spool.stopped = true
	}
	l.state.notify()
	l.state.Unlock()
	<-l.spooling
	<-l.sending
	where := "stored"
	if l.spool != nil {
		where = "written to the spool"
	}
	for _, e := range l.buffer {
		if err := l.refuse(e, "The client was closed before the record was "+where+". "+l.counts.LastFailure); err != nil {
			l.options.Logger.Error("An audit record is lost, as it could not be handed back", "id", e.id, "cause", err)
		}
	}
	if l.spool != nil {
		l.spool.close()
	}
	return settled
}

// take waits for records and returns the oldest; nil once the client is closed and none are left, or stopped.
func (l *AuditLog) take() []*entry {
	records, limit := l.options.BatchRecords, int64(l.options.BatchBytes)
	if l.spool != nil {
		records, limit = groupRecords, min(groupBytes, l.options.SegmentBytes/2)
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.state.await(nil, func() bool { return len(l.buffer) > 0 || l.closed })
	// The spool also takes the records left at the end.
	if l.stop.Err() != nil && l.spool == nil {
		return nil
	}
	var batch []*entry
	size := int64(0)
	for _, e := range l.buffer {
		size += int64(len(e.data)) + 1
		if len(batch) > 0 && (len(batch) == records || size > limit) {
			break
		}
		batch = append(batch, e)
	}
	return batch
}

func (l *AuditLog) remove(count int) {
	l.state.Lock()
	defer l.state.Unlock()
	for _, e := range l.buffer[:count] {
		l.bufferedBytes -= e.size()
	}
	clear(l.buffer[:count])
	l.buffer = l.buffer[count:]
	l.removed += int64(count)
	l.state.notify()
}

func (l *AuditLog) writeSpool() {
	for group := l.take(); group != nil; group = l.take() {
		for {
			isWritten, err := l.spool.write(group)
			if err == nil && !isWritten {
				return
			}
			if err == nil {
				l.recovered(&l.writingFails, "The spool is written again")
				break
			}
			// The records still exist, and no other goroutine writes them: go on after any fault.
			l.failed(&l.writingFails, "The spool cannot be written: "+err.Error())
			if l.pause(time.Second) {
				return
			}
		}
		for _, e := range group {
			e.settle(nil)
		}
		l.remove(len(group))
	}
}

// pause returns true if the client stops.
func (l *AuditLog) pause(time_ time.Duration) bool {
	timer := time.NewTimer(time_)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-l.stop.Done():
		return true
	}
}

func (l *AuditLog) sendAll() {
	for l.stop.Err() == nil {
		var batch []*entry
		var err error
		if l.spool != nil {
			batch, err = l.spool.next()
		} else {
			batch = l.take()
		}
		if err == nil {
			if batch == nil {
				return
			}
			var isDelivered bool
			if isDelivered, err = l.deliver(batch); err == nil && !isDelivered {
				return
			}
			if err == nil && l.spool != nil {
				err = l.spool.settled()
			}
		}
		if err != nil {
			// The records still exist, and no other goroutine sends them: go on after any fault.
			l.failed(&l.sendingFails, "The records cannot be read or settled: "+err.Error())
			l.pause(l.options.LongestPause)
		} else if l.spool == nil {
			l.remove(len(batch))
		}
	}
}

// deliver returns false if the client stopped before each record was stored or refused.
func (l *AuditLog) deliver(batch []*entry) (bool, error) {
	parts := [][]*entry{batch}
	for len(parts) > 0 {
		part := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		answer := l.attempt(part)
		switch {
		case answer.kind == stored:
			l.state.Lock()
			l.counts.Stored += int64(len(part))
			l.counts.Batches++
			l.state.Unlock()
			for _, e := range part {
				e.settle(nil)
			}
		case answer.kind == refused:
			var left []*entry
			for i, e := range part {
				toSend, err := l.unlessRefused(e, answer.refused[i])
				if err != nil {
					return false, err
				}
				if toSend != nil {
					left = append(left, toSend)
				}
			}
			if len(left) > 0 {
				parts = append(parts, left)
			}
		case answer.kind == split && len(part) > 1:
			parts = append(parts, part[len(part)/2:], part[:len(part)/2])
		case answer.kind == split:
			if err := l.refuse(part[0], answer.reason); err != nil {
				return false, err
			}
		case l.stop.Err() != nil:
			return false, nil
		default:
			for _, e := range part {
				if err := l.refuse(e, "Given up: "+answer.reason); err != nil {
					return false, err
				}
			}
		}
	}
	return true, nil
}

// unlessRefused returns the record to send, or nil if it is refused. The service decides which actions look like its own: a table in the
// client could differ from the service's.
func (l *AuditLog) unlessRefused(e *entry, reason string) (*entry, error) {
	if reason == "" {
		return e, nil
	}
	if ofAction.MatchString(reason) {
		if renamed := e.renamed(); renamed != nil {
			return renamed, nil
		}
	}
	return nil, l.refuse(e, reason)
}

// attempt sends a batch until the answer is final.
func (l *AuditLog) attempt(batch []*entry) answer {
	start, pause := time.Now(), l.options.FirstPause
	for {
		answer := l.endpoint.send(l.stop, batch)
		if answer.kind != later {
			l.recovered(&l.sendingFails, "Audit records are delivered again")
			return answer
		}
		if l.stop.Err() != nil {
			return answer
		}
		l.failed(&l.sendingFails, answer.reason)
		if l.options.GiveUpAfter > 0 && time.Since(start) >= l.options.GiveUpAfter {
			return answer
		}
		// Clients that failed at the same time must not retry at the same time.
		jittered := pause - time.Duration(rand.Int64N(int64(pause)/2+1))
		l.pause(min(max(jittered, answer.pause), l.options.LongestPause))
		pause = min(2*pause, l.options.LongestPause)
		l.state.Lock()
		l.counts.Retries++
		l.state.Unlock()
	}
}

func (l *AuditLog) failed(before *bool, reason string) {
	l.state.Lock()
	isFirst := !*before
	*before = true
	l.counts.LastFailure = reason
	l.state.Unlock()
	if isFirst {
		l.options.Logger.Warn("Audit records wait, as they cannot be delivered now. " + reason)
	}
}

func (l *AuditLog) recovered(before *bool, message string) {
	l.state.Lock()
	isFirst := *before
	*before = false
	if !l.sendingFails && !l.writingFails {
		l.counts.LastFailure = ""
	}
	l.state.Unlock()
	if isFirst {
		l.options.Logger.Warn(message)
	}
}

// refuse hands a record back. If it fails, the batch with this record is sent again.
func (l *AuditLog) refuse(e *entry, reason string) error {
	refusal := &RefusedError{ID: e.id, Reason: reason, Record: e.data}
	if l.options.OnRefusal == nil || !l.handled(refusal) {
		if l.spool != nil {
			if err := l.spool.keepRefused(refusal); err != nil {
				return err
			}
		}
		l.options.Logger.Error("An audit record is not stored. "+reason, "id", e.id)
	}
	l.state.Lock()
	l.counts.Refused++
	l.state.Unlock()
	e.settle(refusal)
	return nil
}

func (l *AuditLog) handled(refusal *RefusedError) (isHandled bool) {
	defer func() {
		if fault := recover(); fault != nil {
			l.options.Logger.Error("The handler of refusals has failed", "cause", fault)
		}
	}()
	l.options.OnRefusal(refusal)
	return true
}
