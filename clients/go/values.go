package writer

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxDepth        = 32
	maxValues       = 4_096
	maxNumberLength = 400
	// A longer number takes too long to convert to text.
	maxNumberBits = 13_000
	// The service takes 131,072 bytes of metadata, written out with escapes and without exponents.
	maxGrowth   = 60_000
	maxKey      = 1_024
	markBytes   = 80
	shortestCut = 40
	cutMark     = "…"
	noLimit     = math.MaxInt32
)

var (
	number    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,9}))?$`)
	maxNumber = new(big.Rat).SetFloat64(math.MaxFloat64)
)

// fit replaces what the service refuses, and cuts the text to that many characters.
func fit(text string, maxCharacters int) string {
	var out strings.Builder
	end, count := 0, 0
	for _, c := range text {
		if count == maxCharacters {
			return out.String()[:end] + cutMark
		}
		end = out.Len()
		count++
		// Bytes that are no UTF-8 are U+FFFD already.
		if c == 0 {
			c = utf8.RuneError
		}
		out.WriteRune(c)
	}
	return out.String()
}

func appendQuoted(out []byte, text string) []byte { return appendQuotedWithin(out, text, noLimit) }

func appendQuotedWithin(out []byte, text string, maxBytes int) []byte {
	out, _, _ = quote(out, text, maxBytes, noLimit)
	return out
}

// quote appends the text as JSON in at most maxBytes as stored, and with at most maxGrowth more bytes by escapes.
func quote(out []byte, text string, maxBytes, maxGrowth int) (_ []byte, stored int, isCut bool) {
	out = append(out, '"')
	stored = 2
	growth, cutAt, storedBeforeCut := 0, len(out), stored
	for _, c := range text {
		switch {
		case strings.ContainsRune("\"\\\b\f\n\r\t", c):
			out = append(out, '\\', `"\bfnrt`[strings.IndexRune("\"\\\b\f\n\r\t", c)])
			stored++
			growth++
		case c > 0 && c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
			stored++
			growth += 5
		default:
			if c == 0 {
				c = utf8.RuneError
			}
			out = utf8.AppendRune(out, c)
			stored += utf8.RuneLen(c)
		}
		if stored > maxBytes || growth > maxGrowth {
			return append(append(out[:cutAt], cutMark...), '"'), storedBeforeCut + len(cutMark), true
		}
		if stored+len(cutMark) <= maxBytes {
			cutAt, storedBeforeCut = len(out), stored
		}
	}
	return append(out, '"'), stored, false
}

// storedSize is the size of the JSON in bytes as the service counts it: without escapes.
func storedSize(text []byte) int { return len(text) - escapes(text) }

// escapes counts the bytes that escapes add to the characters they encode.
func escapes(text []byte) int {
	growth := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			growth++
			if text[i] == 'u' {
				growth += 4
			}
		}
	}
	return growth
}

// jsonObject returns the entries of both in at most maxBytes as stored.
func jsonObject(first []pair, second map[string]any, maxBytes int) []byte {
	for _, cuts := range []bool{false, true} {
		// Without cutting, no room for marks is needed.
		w := newJSONWriter(maxBytes, cuts)
		if w.object(first, container{value: reflect.ValueOf(second), self: identityOf(reflect.ValueOf(second))}) || cuts {
			return w.out
		}
	}
	return nil
}

type (
	// text of a number.
	numberText string
	// container is a map, struct, slice or array.
	container struct {
		value reflect.Value
		self  identity
	}
	// identity of a container, to find cycles; zero for one that cannot be in a cycle.
	identity struct {
		address uintptr
		length  int
		of      reflect.Type
	}
	named struct {
		name string
		// raw is the key, for the order of keys with the same name.
		raw   string
		value reflect.Value
	}
)

// jsonWriter writes JSON that the service accepts for any values: an attacker who chooses a value must not get the record refused. Cyclic
// values and those that are too deep, too many or too long are cut, with a mark.
type jsonWriter struct {
	// cuts tells whether to cut what does not fit, and to reserve room for a mark in each container.
	cuts                 bool
	out                  []byte
	path                 []identity
	room, values, growth int
}

func newJSONWriter(room int, cuts bool) *jsonWriter {
	// The service does not count the metadata itself.
	return &jsonWriter{cuts: cuts, room: room, values: maxValues + 1, growth: maxGrowth}
}

type writerState struct{ length, room, values, growth int }

func (w *jsonWriter) state() writerState { return writerState{len(w.out), w.room, w.values, w.growth} }

func (w *jsonWriter) restore(state writerState) {
	w.out = w.out[:state.length]
	w.room, w.values, w.growth = state.room, state.values, state.growth
}

func (w *jsonWriter) literal(ascii string) bool {
	if w.values < 1 || w.room < len(ascii) {
		return false
	}
	w.out = append(w.out, ascii...)
	w.room -= len(ascii)
	w.values--
	return true
}

func (w *jsonWriter) text(text string) bool {
	if w.values < 1 {
		return false
	}
	start := len(w.out)
	out, stored, isCut := quote(w.out, text, w.room, w.growth)
	w.out = out
	if (isCut && (!w.cuts || w.room < shortestCut)) || stored > w.room {
		w.out = w.out[:start]
		return false
	}
	w.room -= stored
	w.growth -= escapes(w.out[start:])
	w.values--
	return true
}

// value returns false, and writes nothing, if the value does not fit.
func (w *jsonWriter) value(given any, depth int) (isWritten bool) {
	before, levels := w.state(), len(w.path)
	defer func() {
		// Whatever the value's own code does.
		if fault := recover(); fault != nil {
			w.restore(before)
			w.path = w.path[:levels]
			isWritten = w.text(unreadable(fault))
		}
	}()
	switch plain := plain(given).(type) {
	case nil:
		return w.literal("null")
	case bool:
		return w.literal(strconv.FormatBool(plain))
	case numberText:
		return w.number(string(plain))
	case string:
		return w.text(plain)
	case container:
		return w.container(plain, depth)
	default:
		return w.text(fmt.Sprint(plain))
	}
}

func unreadable(fault any) string {
	return fmt.Sprintf("(unreadable: %s)", strings.TrimPrefix(fmt.Sprintf("%T", fault), "*"))
}

func (w *jsonWriter) number(text string) bool {
	if written, ok := written(text); ok && written <= maxNumberLength {
		growth := 0
		if strings.ContainsAny(text, "eE") {
			growth = written
		}
		exact, isNumber := new(big.Rat).SetString(text)
		if isNumber && growth <= w.growth && exact.Abs(exact).Cmp(maxNumber) <= 0 {
			w.growth -= growth
			return w.literal(text)
		}
	}
	return w.text(text)
}

// written returns the length of the number without an exponent; false if the text is no JSON number or too long.
func written(text string) (int, bool) {
	if len(text) > maxNumberLength {
		return 0, false
	}
	parts := number.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	exponent, _ := strconv.Atoi(parts[3])
	digits := max(1, len(strings.TrimLeft(parts[1]+parts[2], "0")))
	scale := len(parts[2]) - exponent
	return max(digits, digits-scale, scale) + 3, true
}

func (w *jsonWriter) container(c container, depth int) bool {
	if depth > maxDepth {
		return w.text(cutMark)
	}
	if c.self != (identity{}) && slices.Contains(w.path, c.self) {
		return w.text("(cyclic)")
	}
	if c.value.Kind() == reflect.Map || c.value.Kind() == reflect.Struct {
		return w.entries(nil, c, depth)
	}
	return w.within(c, "[]", func() (bool, string) {
		for i := range c.value.Len() {
			start := w.state()
			if !w.comma(i == 0) || !w.value(c.value.Index(i).Interface(), depth+1) {
				w.restore(start)
				return i == 0, "(cut)"
			}
		}
		return c.value.Len() == 0, ""
	}, func(isFirst bool, mark string) bool {
		return w.comma(isFirst) && w.value(mark, depth+1)
	})
}

func (w *jsonWriter) object(first []pair, c container) bool { return w.entries(first, c, 1) }

func (w *jsonWriter) entries(first []pair, c container, depth int) bool {
	names := map[string]bool{}
	return w.within(c, "{}", func() (bool, string) {
		isFirst := true
		write := func(name string, value any) bool {
			start := w.state()
			if !w.comma(isFirst) || !w.entry(name, value, names, depth) {
				w.restore(start)
				return false
			}
			isFirst = false
			return true
		}
		for _, misfit := range first {
			if !write(misfit.name, misfit.value) {
				return isFirst, "(cut)"
			}
		}
		for _, field := range w.fields(c.value, depth) {
			if !write(field.name, field.value.Interface()) {
				return isFirst, "(cut)"
			}
		}
		return isFirst, ""
	}, func(isFirst bool, mark string) bool {
		return w.comma(isFirst) && w.entry(cutMark, mark, names, depth)
	})
}

// within writes the parts between the brackets, and a mark if not all of them fit.
func (w *jsonWriter) within(c container, brackets string, parts func() (bool, string), mark func(bool, string) bool) bool {
	before := w.state()
	if !w.literal(brackets) || !w.reserve(-1) {
		w.restore(before)
		return false
	}
	w.out = w.out[:len(w.out)-1]
	w.path = append(w.path, c.self)
	isFirst, missing := parts()
	w.reserve(1)
	isWhole := missing == "" || (w.cuts && mark(isFirst, missing))
	w.path = w.path[:len(w.path)-1]
	w.out = append(w.out, brackets[1])
	return isWhole
}

// reserve reserves the room of a mark, or releases it.
func (w *jsonWriter) reserve(sign int) bool {
	if w.cuts {
		w.room += sign * markBytes
		w.values += sign * 2
	}
	return w.room >= 0 && w.values >= 0
}

func (w *jsonWriter) comma(isFirst bool) bool {
	if !isFirst {
		w.out = append(w.out, ',')
		w.room--
	}
	return w.room >= 0
}

func (w *jsonWriter) entry(name string, value any, names map[string]bool, depth int) bool {
	unique := name
	for i := 2; names[unique]; i++ {
		unique = fmt.Sprintf("%s (%d)", name, i)
	}
	quoted := appendQuoted(nil, unique)
	stored, growth := storedSize(quoted)+1, escapes(quoted)
	if stored > w.room || growth > w.growth || w.values < 2 {
		return false
	}
	w.out = append(append(w.out, quoted...), ':')
	w.room -= stored
	w.growth -= growth
	w.values--
	if !w.value(value, depth+1) {
		return false
	}
	names[unique] = true
	return true
}

// fields of a struct in the order of their declaration, or of a map in the order of their names: the order of a map is random, and a
// record that is appended again is the same record.
func (w *jsonWriter) fields(value reflect.Value, depth int) []named {
	var fields []named
	if value.Kind() == reflect.Struct {
		for _, field := range reflect.VisibleFields(value.Type()) {
			if name, read := structField(value, field); name != "" {
				fields = append(fields, named{name: fit(name, maxKey), value: read})
			}
		}
		return fields
	}
	for entries := value.MapRange(); entries.Next(); {
		key := entries.Key()
		raw := key.Type().String()
		if key.Kind() == reflect.Interface && !key.IsNil() {
			raw = key.Elem().Type().String()
			key = key.Elem()
		}
		if key.Kind() == reflect.String {
			raw = key.String()
		}
		fields = append(fields, named{w.name(key.Interface(), depth), raw, entries.Value()})
	}
	slices.SortFunc(fields, func(one, other named) int {
		return cmp.Or(strings.Compare(one.name, other.name), strings.Compare(one.raw, other.raw))
	})
	return fields
}

// structField returns the field's name in JSON; "" if it has none.
func structField(value reflect.Value, field reflect.StructField) (string, reflect.Value) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	isEmbedded := field.Anonymous && name == "" && (field.Type.Kind() == reflect.Struct ||
		(field.Type.Kind() == reflect.Pointer && field.Type.Elem().Kind() == reflect.Struct))
	if !field.IsExported() || isEmbedded || (name == "-" && options == "") {
		return "", reflect.Value{}
	}
	read, err := value.FieldByIndexErr(field.Index)
	if err != nil || (strings.Contains(options, "omit") && read.IsZero()) {
		return "", reflect.Value{}
	}
	return cmp.Or(name, field.Name), read
}

// name of an entry: the text of what the key would be as a value.
func (w *jsonWriter) name(key any, depth int) string {
	if text, isText := key.(string); isText {
		return fit(text, maxKey)
	}
	inner := newJSONWriter(maxKey, true)
	inner.path = slices.Clone(w.path)
	inner.value(key, depth+1)
	var text string
	if json.Unmarshal(inner.out, &text) != nil {
		text = string(inner.out)
	}
	return fit(text, maxKey)
}

func identityOf(value reflect.Value) identity {
	switch {
	case value.Kind() == reflect.Slice && value.Len() > 0:
		return identity{value.Pointer(), value.Len(), value.Type()}
	case value.Kind() == reflect.Map || value.Kind() == reflect.Pointer:
		return identity{value.Pointer(), 0, value.Type()}
	}
	return identity{}
}

// plain converts a value to nil, a bool, number, text or container. docs/clients.md has the table.
func plain(given any) any {
	var self identity
	for range maxDepth {
		if given == nil {
			return nil
		}
		value := reflect.ValueOf(given)
		switch value.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.UnsafePointer:
			if value.IsNil() {
				return nil
			}
		}
		if plain, isPlain := ofType(given); isPlain {
			return plain
		}
		if value.Kind() != reflect.Pointer {
			return ofKind(given, value, self)
		}
		self = identityOf(value)
		given = value.Elem().Interface()
	}
	return cutMark
}

// ofType converts a value whose type, or one of whose methods, says how.
func ofType(given any) (any, bool) {
	switch value := given.(type) {
	case bool, string:
		return value, true
	case json.Number:
		return numberText(value), true
	case time.Time:
		return moment(value), true
	case *big.Int:
		if value.BitLen() > maxNumberBits {
			return "(a number of more than 3,900 digits)", true
		}
		return numberText(value.String()), true
	case *big.Float:
		return numberText(value.Text('g', -1)), true
	case error:
		return value.Error(), true
	case json.Marshaler:
		return marshalled(value), true
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		if err != nil {
			panic(err)
		}
		return string(text), true
	case fmt.Stringer:
		return value.String(), true
	case io.Reader:
		// Reading would take the application's bytes.
		return "(iterator)", true
	}
	return nil, false
}

func marshalled(value json.Marshaler) any {
	text, err := value.MarshalJSON()
	if err != nil {
		panic(err)
	}
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		panic(err)
	}
	return plain(decoded)
}

func moment(value time.Time) string {
	value = value.UTC()
	// Nanoseconds, without trailing zeros.
	return value.Format("2006-01-02T15:04:05.999999999Z")
}

func ofKind(given any, value reflect.Value, self identity) any {
	switch value.Kind() {
	case reflect.Bool:
		return value.Bool()
	case reflect.String:
		return value.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return numberText(strconv.FormatInt(value.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return numberText(strconv.FormatUint(value.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		return float(value.Float(), value.Type().Bits())
	case reflect.Func:
		return "(function)"
	case reflect.Chan:
		return "(iterator)"
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return base64.StdEncoding.EncodeToString(bytesOf(value))
		}
		return container{value, identityOf(value)}
	case reflect.Map:
		return container{value, identityOf(value)}
	case reflect.Struct:
		// Methods of its pointer may say how to convert it.
		copied := reflect.New(value.Type())
		copied.Elem().Set(value)
		if plain, isPlain := ofType(copied.Interface()); isPlain && self == (identity{}) {
			return plain
		}
		return container{value, self}
	}
	return fmt.Sprint(given)
}

func bytesOf(value reflect.Value) []byte {
	bytes := make([]byte, value.Len())
	reflect.Copy(reflect.ValueOf(bytes), value)
	return bytes
}

func float(value float64, bits int) any {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return strings.TrimPrefix(strconv.FormatFloat(value, 'g', -1, bits), "+") + "inity"
	}
	return numberText(strconv.FormatFloat(value, 'g', -1, bits))
}
