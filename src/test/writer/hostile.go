// Appends as many records of hostile values as its second argument says, to the spool that is its first.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"annals.dev/writer"
)

type raising struct{}

func (raising) String() string { panic("no text") }

type color string

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	draw := rand.New(rand.NewSource(1))
	cycle := map[string]any{}
	cycle["a"], cycle["b"], cycle["c"] = cycle, cycle, []any{cycle}
	var shared, deep any = []any{}, []any{}
	for range 30 {
		shared = []any{shared, shared}
	}
	for range 10_000 {
		deep = []any{deep}
	}
	many := map[any]any{"a\x00": 1, "a\ufffd": 2, 1: 3, "1": 4, [2]int{1, 2}: 5, strings.Repeat("k", 99_999): 6, raising{}: 7}
	for i := range 5_000 {
		many[fmt.Sprintf("k%d", i)] = i
	}
	texts := []string{
		"", "\x00", "\xed\xa0\x80x", "\xff\xfe", strings.Repeat("x", 100_000), strings.Repeat("\x01", 70_000), strings.Repeat("é😀", 40_000),
		"fe80::1%eth0", "203.0.113.9:52341", "[2001:db8::1]:443", "unknown", "1:2:3:4:5:6:7::8", "0900-01-01T00:00:00Z", "annals.x", "\u2028",
	}
	values := []any{
		cycle, shared, deep, color("red\x00"), raising{}, new(big.Int).Exp(big.NewInt(10), big.NewInt(401), nil),
		new(big.Int).Exp(big.NewInt(-10), big.NewInt(6_001), nil), 1e308, 5e-324, math.NaN(), math.Inf(1), json.Number("1e400"),
		json.Number("1.7976931348623158e308"), json.Number("a"), make([]float64, 4_000), many, make([]byte, 100_000), [3]bool{}, errors.New("\x00"),
		time.Time{}, time.Unix(1<<60, 0), make([]int, 1<<20), json.RawMessage(strings.Repeat("[", 9_000)), func() {}, make(chan int), nil,
	}
	for _, text := range texts {
		values = append(values, text)
	}
	text := func() string { return texts[draw.Intn(len(texts))] }
	party := func() writer.Party { return writer.Party{Type: text(), ID: text(), Name: text()} }
	log, err := writer.Open(writer.Options{URL: os.Getenv("ANNALS_URL"), Token: os.Getenv("ANNALS_TOKEN"), Spool: os.Args[1]})
	check(err)
	ctx := context.Background()
	for range count {
		metadata := map[string]any{}
		for i := range draw.Intn(4) {
			metadata[fmt.Sprintf("m%d", i)+text()] = values[draw.Intn(len(values))]
		}
		_, err := log.Append(ctx, writer.Record{
			Action: text(), Actor: party(), Subject: party(), Outcome: text(), IPAddress: text(), Message: text(), Sequence: []string{"", "a b", "\x00"}[draw.Intn(3)],
			Timestamp: []time.Time{{}, time.Unix(1<<60, 0), time.Unix(0, 0)}[draw.Intn(3)], Metadata: metadata,
		})
		check(err)
	}
	check(log.Close(ctx))
	fmt.Println("done")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
