// Does what each line of its input says, and prints what comes of it. Its arguments are a spool or "-", the size of the buffer, and
// "handler" or "file".
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"annals.dev/writer"
)

func main() {
	size, _ := strconv.Atoi(os.Args[2])
	options := writer.Options{
		URL: os.Getenv("ANNALS_URL"), Token: os.Getenv("ANNALS_TOKEN"), BufferRecords: size, AppendTimeout: -1,
		FirstPause: time.Millisecond, LongestPause: 20 * time.Millisecond,
	}
	if os.Args[1] != "-" {
		options.Spool = os.Args[1]
	}
	if os.Args[3] == "handler" {
		options.OnRefusal = func(refusal *writer.RefusedError) { fmt.Printf("handed back %s\n", refusal.Record) }
	}
	log, err := writer.Open(options)
	if err != nil {
		panic(err)
	}
	steps := bufio.NewScanner(os.Stdin)
	for steps.Scan() {
		step, argument, _ := strings.Cut(steps.Text(), " ")
		if step == "append" {
			appended(log, argument)
			continue
		}
		milliseconds, _ := strconv.Atoi(argument)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(milliseconds)*time.Millisecond)
		if step == "flush" {
			fmt.Printf("flushed %t\n", log.Flush(ctx) == nil)
		} else if err := log.Close(ctx); step != "end" {
			fmt.Printf("closed %t\n", err == nil)
		} else if err != nil {
			// As one that is killed once it is back.
			os.Exit(3)
		} else {
			os.Exit(0)
		}
		cancel()
	}
}

func appended(log *writer.AuditLog, action string) {
	receipt, err := log.Append(context.Background(), writer.Record{Action: action})
	if err != nil {
		fmt.Printf("full %s\n", action)
		return
	}
	fmt.Printf("taken %s %s\n", action, receipt.ID())
	go func() {
		if <-receipt.Done(); receipt.Err() != nil {
			fmt.Printf("refused %s\n", action)
		} else {
			fmt.Printf("acknowledged %s\n", action)
		}
	}()
}
