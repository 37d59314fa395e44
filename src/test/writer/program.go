// Appends numbers to the spool that is its first argument, from the second on, as many as the third says; prints each that is safe.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"annals.dev/writer"
)

func main() {
	first, _ := strconv.Atoi(os.Args[2])
	count, _ := strconv.Atoi(os.Args[3])
	log, err := writer.Open(writer.Options{
		URL: os.Getenv("ANNALS_URL"), Token: os.Getenv("ANNALS_TOKEN"), Spool: os.Args[1], SegmentBytes: 1 << 20, SpoolBytes: 4 << 20,
		BufferRecords: 1_000, FirstPause: 10 * time.Millisecond, LongestPause: 500 * time.Millisecond,
	})
	check(err)
	ctx := context.Background()
	receipts := make(chan func(), 2_000)
	var printing sync.WaitGroup
	printing.Add(1)
	go func() {
		defer printing.Done()
		for print := range receipts {
			print()
		}
	}()
	for number := first; number < first+count; number++ {
		id := ""
		if number%1_000_000 == 6 || number%1_000_000 == 7 {
			// The second of these two is refused.
			id = fmt.Sprintf("00000000-0000-7000-8000-%012d", number/1_000_000)
		}
		receipt, err := log.Append(ctx, writer.Record{
			Action: "append", Actor: writer.Party{Type: "user", ID: "u-1", Name: "Jane \"J\" Doe\n\x00\xed\xa0\x80"}, ID: id,
			IPAddress: "192.0.2.1", Metadata: map[string]any{"number": number},
		})
		check(err)
		receipts <- func() {
			check(receipt.Wait(ctx))
			fmt.Println(number)
		}
	}
	close(receipts)
	for {
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		err := log.Flush(wait)
		cancel()
		if err == nil {
			break
		}
		fmt.Fprintf(os.Stderr, "%+v\n", log.Metrics())
	}
	printing.Wait()
	check(log.Close(ctx))
	fmt.Println("done")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
