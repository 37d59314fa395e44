// Appends a record for each case of values.json to the spool that is its first argument: the fields that it gives, or a value.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"annals.dev/writer"
)

type color int

func (c color) String() string { return []string{"RED"}[c] }

type (
	ownText string
	ownID   [2]byte
	base    struct{ A int }
	point   struct {
		base
		X      int `json:"x"`
		Y      any `json:"y"`
		Absent any `json:",omitempty"`
		Hidden int `json:"-"`
		secret int
	}
	node   struct{ Next *node }
	object struct{}
	faulty struct{}
	fails  struct{}
	money  struct{ amount int }
)

func (object) MarshalJSON() ([]byte, error) { return []byte(`{"b":[1.50,"\ud800",null]}`), nil }
func (faulty) String() string               { panic(errors.New("no text")) }
func (fails) MarshalText() ([]byte, error)  { return nil, fs.ErrInvalid }
func (m *money) String() string             { return fmt.Sprint(m.amount, " EUR") }

func values() map[string]any {
	cycle := map[string]any{}
	cycle["a"] = cycle
	ring := []any{nil}
	ring[0] = map[string]any{"ring": ring}
	itself := &node{}
	itself.Next = itself
	shared := []int{1}
	many := map[string]int{}
	for i := range 5_000 {
		many[fmt.Sprintf("k%d", i)] = i
	}
	endless := make([]string, 1<<20)
	for i := range endless {
		endless[i] = "e"
	}
	tooBig := new(big.Int).Exp(big.NewInt(10), big.NewInt(6_000), nil)
	number := 7
	pointer := &number
	var none *point
	var noError error
	address, _ := url.Parse("https://a.example/x?y=1")
	return map[string]any{
		"text": ownText("own"), "enum": color(0), "enum raises": color(7), "raises": faulty{}, "text fails": fails{}, "pointer": &pointer,
		"nil pointer": none, "nil error": noError, "nil map": map[string]int(nil), "struct": point{base{1}, 2, nil, nil, 3, 4},
		"pointer to struct": &point{X: 1, Y: []any{2}}, "struct itself": itself, "no fields": object{}, "nothing": struct{ a int }{1},
		"own text": money{12}, "moment": time.Date(2025, 1, 1, 1, 0, 0, 120, time.FixedZone("", 3_600)),
		"far moment": time.Date(12_025, 1, 1, 0, 0, 0, 0, time.UTC), "duration": time.Second, "bytes": []byte("ab"), "array of bytes": ownID{97, 98},
		"ip": net.IPv4(192, 0, 2, 1), "address": netip.MustParseAddr("192.0.2.1"), "url": address, "url itself": *address,
		"headers": http.Header{"Accept": {"text/plain"}}, "raw": json.RawMessage(`{"a": 1.10}`), "raw fault": json.RawMessage(`{`),
		"json number": json.Number("1e400"), "big": new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil),
		"401 digits": new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil), "6000 digits": tooBig.Neg(tooBig), "fraction": big.NewRat(1, 3),
		"big float": big.NewFloat(1.5), "least": math.SmallestNonzeroFloat64, "large": 1e21, "single": float32(0.1), "NaN": math.NaN(),
		"infinity": math.Inf(-1), "negative zero": math.Copysign(0, -1), "unsigned": uint64(math.MaxUint64), "complex": 1 + 2i, "character": 'a',
		"surrogate": "\xffx", "keys": map[any]any{1: 1, "1": 2, true: 4, 1.5: 5, [2]int{1, 2}: 6, color(0): 7, color(7): 8},
		"keys with NUL": map[string]int{"a\x00": 1, "a\ufffd": 2}, "cyclic": cycle, "ring": ring, "shared": [][]int{shared, shared},
		"error": errors.New("no"), "wrapped": fmt.Errorf("outer: %w", errors.New("inner")), "function": strings.ToUpper,
		"channel": make(chan int), "reader": strings.NewReader("ab"), "buffer": bytes.NewBufferString("ab"), "endless": endless,
		"5000 fields": many, "nil": nil, "empty": []any{},
	}
}

type given struct {
	Action, Outcome, Message, Timestamp string
	Actor, Subject                      writer.Party
	IPAddress                           string `json:"ip_address"`
	Metadata                            map[string]any
	Number                              struct{ Sequence string }
}

func record(source json.RawMessage, repeat int) writer.Record {
	g := given{Action: "fields"}
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.UseNumber()
	check(decoder.Decode(&g))
	return writer.Record{
		Action: g.Action, Outcome: g.Outcome, Actor: g.Actor, Subject: g.Subject, IPAddress: g.IPAddress, Metadata: g.Metadata,
		Message: strings.Repeat(g.Message, max(repeat, 1)), Sequence: g.Number.Sequence,
	}
}

func main() {
	text, err := os.ReadFile("src/test/writer/values.json")
	check(err)
	var cases map[string][]struct {
		Given  json.RawMessage
		Value  string
		Repeat int
	}
	check(json.Unmarshal(text, &cases))
	log, err := writer.Open(writer.Options{URL: os.Getenv("ANNALS_URL"), Token: os.Getenv("ANNALS_TOKEN"), Spool: os.Args[1]})
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	values := values()
	for _, one := range append(cases["fields"], cases["go"]...) {
		next := writer.Record{Action: "value", Metadata: map[string]any{"value": values[one.Value]}}
		if one.Given != nil {
			next = record(one.Given, one.Repeat)
		} else if _, isThere := values[one.Value]; !isThere {
			panic("there is no value " + one.Value)
		}
		delete(values, one.Value)
		_, err := log.Append(ctx, next)
		check(err)
	}
	check(log.Close(ctx))
	if len(values) > 0 {
		panic(fmt.Sprintf("values.json has no case of %v", values))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
