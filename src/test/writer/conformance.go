// Runs the cases of conformance.json in spools of the folder that is its first argument; prints what each close returned.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"annals.dev/writer"
)

type conformance struct {
	Cases []struct {
		Records []struct {
			ID, Action, Outcome, Message string
			Timestamp                    time.Time
			Actor, Subject               writer.Party
			IPAddress                    string `json:"ip_address"`
			Metadata                     map[string]any
			Number                       struct{ Sequence string }
		}
		Options struct {
			Batch        int
			LongestPause time.Duration `json:"longest_pause"`
		}
		Close time.Duration
	}
}

func main() {
	text, err := os.ReadFile("clients/conformance.json")
	check(err)
	var all conformance
	check(json.Unmarshal(text, &all))
	for number, one := range all.Cases {
		options := writer.Options{
			URL: os.Getenv("ANNALS_URL") + "/away", Token: os.Getenv("ANNALS_TOKEN"), LongestPause: time.Hour,
			Spool: filepath.Join(os.Args[1], strconv.Itoa(number)),
		}
		away, err := writer.Open(options)
		check(err)
		for _, r := range one.Records {
			_, err := away.Append(context.Background(), writer.Record{
				ID: r.ID, Timestamp: r.Timestamp, Action: r.Action, Actor: r.Actor, Subject: r.Subject, Outcome: r.Outcome,
				IPAddress: r.IPAddress, Message: r.Message, Metadata: r.Metadata, Sequence: r.Number.Sequence,
			})
			check(err)
		}
		closed(away, 0)
		options.URL = fmt.Sprintf("%s/%d", os.Getenv("ANNALS_URL"), number)
		options.FirstPause = time.Millisecond
		options.LongestPause = cmp.Or(one.Options.LongestPause, 20) * time.Millisecond
		options.BatchRecords = one.Options.Batch
		log, err := writer.Open(options)
		check(err)
		fmt.Println(closed(log, cmp.Or(one.Close, 60_000)*time.Millisecond))
	}
}

func closed(log *writer.AuditLog, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return log.Close(ctx) == nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
