package writer

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// The service takes 65,535 bytes, however characters are escaped; one is left for the "_" before an action.
	maxRecord    = 65_534
	maxAction    = 255
	maxOutcome   = 64
	maxType      = 255
	maxText      = 1_024
	maxAddress   = 100
	timeLayout   = "2006-01-02T15:04:05.999999Z"
	ticksOfMilli = 4_096
)

var (
	sequence = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	withPort = regexp.MustCompile(`^(?:\[([^\]]*)\](?::[0-9]*)?|([0-9.]+):[0-9]*)$`)
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Party is an actor or a subject. Fields that are empty are left out.
type Party struct {
	Type string
	ID   string
	Name string
}

// Record is one entry of the audit log. Only the action is required; fields that are empty are left out. The service accepts the record for
// any values but the id: a value that it would refuse is cut, replaced, or moved into the metadata.
type Record struct {
	// ID is a UUID. Without one, the client draws one; two records with the same id are one record.
	ID string
	// Timestamp is by default the time of the append.
	Timestamp time.Time
	// Action is a constant name of your choice, such as volume_create.
	Action string
	// Actor is the person or program that acted.
	Actor Party
	// Subject is the object that was acted upon.
	Subject Party
	// Outcome is such as success, failure or denied.
	Outcome string
	// IPAddress is the actor's IPv4 or IPv6 address. Brackets, port and zone are left out. A text that is no address becomes metadata.
	IPAddress string
	// Message is a sentence for people.
	Message string
	// Metadata has any other values. docs/clients.md has a table of the conversions. No other goroutine may change it during the append.
	Metadata map[string]any
	// Sequence requests a number of this sequence, which is stored together with the record.
	Sequence string
}

type pair struct {
	name  string
	value any
}

// json returns at most maxSent bytes. The id, the time and the action come first, because a spool reads them there.
func (r *Record) json(id string, now time.Time) []byte {
	var misfits []pair
	moment := now.UTC()
	if !r.Timestamp.IsZero() {
		moment = r.Timestamp.UTC()
		if moment.Year() < 1 || moment.Year() > 9999 {
			misfits = append(misfits, pair{"timestamp", moment.Format(time.RFC3339Nano)})
			moment = now.UTC()
		}
	}
	action := r.Action
	if action == "" {
		action = "(none)"
	}
	out := []byte(prefix + id + `","timestamp":"` + moment.Truncate(time.Microsecond).Format(timeLayout) + `","action":`)
	out = appendQuoted(out, fit(action, maxAction))
	out = r.Actor.append(out, "actor")
	out = r.Subject.append(out, "subject")
	out = appendText(out, "outcome", r.Outcome, maxOutcome)
	if address := bareAddress(r.IPAddress); address != "" {
		out = appendText(out, "ip_address", address, maxAddress)
	} else if r.IPAddress != "" {
		misfits = append(misfits, pair{"ip_address", fit(r.IPAddress, maxText)})
	}
	if sequence.MatchString(r.Sequence) {
		out = append(out, `,"number":{"sequence":"`+r.Sequence+`"}`...)
	} else if r.Sequence != "" {
		misfits = append(misfits, pair{"number", fit(r.Sequence, maxText)})
	}
	return r.appendValues(out, misfits)
}

// appendValues appends message and metadata. If both do not fit, each gets half of the room.
func (r *Record) appendValues(out []byte, misfits []pair) []byte {
	room := maxRecord - storedSize(out) - len(`,"message":,"metadata":}`)
	size := 0
	if r.Message != "" {
		size = storedSize(appendQuotedWithin(nil, r.Message, room))
	}
	for i, misfit := range misfits {
		if _, isTaken := r.Metadata[misfit.name]; isTaken {
			misfits[i].name += " (given)"
		}
	}
	metadata := jsonObject(misfits, r.Metadata, room-min(size, room/2))
	if r.Message != "" {
		out = append(out, `,"message":`...)
		out = appendQuotedWithin(out, r.Message, room-storedSize(metadata))
	}
	if len(metadata) > 2 {
		out = append(append(out, `,"metadata":`...), metadata...)
	}
	return append(out, '}')
}

func (p Party) append(out []byte, name string) []byte {
	if p == (Party{}) {
		return out
	}
	out = append(append(append(out, ',', '"'), name...), `":{`...)
	start := len(out)
	out = appendText(out, "type", p.Type, maxType)
	out = appendText(out, "id", p.ID, maxText)
	out = appendText(out, "name", p.Name, maxText)
	// The first field has no comma.
	return append(append(out[:start], out[start+1:]...), '}')
}

func appendText(out []byte, name, text string, maxCharacters int) []byte {
	if text == "" {
		return out
	}
	out = append(append(append(out, ',', '"'), name...), `":`...)
	return appendQuoted(out, fit(text, maxCharacters))
}

// bareAddress returns the IPv4 or IPv6 address in the text, without brackets, port and zone; "" if there is none.
func bareAddress(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxAddress {
		return ""
	}
	if parts := withPort.FindStringSubmatch(text); parts != nil {
		text = parts[1] + parts[2]
	}
	if strings.Contains(text, ":") {
		text, _, _ = strings.Cut(text, "%")
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	return address.String()
}

// canonical returns the UUID in lower case; "" if the text is none.
func canonical(text string) string {
	if !uuid.MatchString(text) {
		return ""
	}
	return strings.ToLower(text)
}

// renamed returns the record with "_" before its action, in at most 255 characters; nil if it has that already.
func (e *entry) renamed() *entry {
	_, rest, _ := strings.Cut(string(e.data), `","timestamp":"`)
	before, rest, isThere := strings.Cut(rest, `","action":"`)
	if !isThere || strings.Contains(before, `"`) || rest == "" || rest[0] == '_' {
		return nil
	}
	start := len(e.data) - len(rest)
	kept, at, count := 0, 0, 0
	for at < len(rest) && rest[at] != '"' {
		_, width := utf8.DecodeRuneInString(rest[at:])
		if rest[at] == '\\' && at+1 < len(rest) {
			width = 2
			if rest[at+1] == 'u' {
				width = 6
			}
		}
		at += width
		if count++; count <= maxAction-1 {
			kept = at
		}
	}
	if count == 0 || count > maxAction || at >= len(rest) {
		return nil
	}
	data := append([]byte(nil), e.data[:start]...)
	data = append(append(data, '_'), rest[:kept]...)
	return &entry{id: e.id, data: append(data, rest[at:]...), receipt: e.receipt}
}

// ids draws version 7 UUIDs: 48 bits of Unix milliseconds, 12 bits of their fraction, 62 random bits. Each is greater than those drawn
// before, also where the clock stands still or jumps back.
type ids struct {
	lock sync.Mutex
	last int64
}

func (i *ids) next(now time.Time) string {
	nanos := now.UnixNano()
	milli := int64(time.Millisecond)
	i.lock.Lock()
	i.last = max(i.last+1, nanos/milli*ticksOfMilli+nanos%milli*ticksOfMilli/milli)
	tick := i.last
	i.lock.Unlock()
	var id [16]byte
	if _, err := rand.Read(id[8:]); err != nil {
		panic("the system has no random bytes: " + err.Error())
	}
	binary.BigEndian.PutUint64(id[:], uint64(tick>>12)<<16|0x7000|uint64(tick)&0xfff)
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
