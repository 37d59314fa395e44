// Sends what is in each spool of the folder that is its first argument; prints what each close returned.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"annals.dev/writer"
)

func main() {
	for number := 0; ; number++ {
		spool := filepath.Join(os.Args[1], strconv.Itoa(number))
		if _, err := os.Stat(spool); err != nil {
			return
		}
		url := fmt.Sprintf("%s/%d", os.Getenv("ANNALS_URL"), number)
		log, err := writer.Open(writer.Options{URL: url, Token: os.Getenv("ANNALS_TOKEN"), Spool: spool})
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		fmt.Println(log.Close(ctx) == nil)
		cancel()
	}
}
