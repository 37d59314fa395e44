// Uses the generated client as an application would; any surprise ends it with an error.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	annals "annals.dev/client/go"
)

func main() {
	configuration := annals.NewConfiguration()
	configuration.Servers = annals.ServerConfigurations{{URL: os.Getenv("ANNALS_URL")}}
	logs := annals.NewAPIClient(configuration).ProjectLogsAPI
	ctx := context.WithValue(context.Background(), annals.ContextAccessToken, os.Getenv("ANNALS_TOKEN"))

	timestamp := time.Date(2025, 9, 3, 11, 15, 19, 391447000, time.UTC)
	batch := annals.NewAuditRecordBatch(nil)
	for number := 1; number <= 5; number++ {
		actor := annals.NewActor()
		actor.SetType("user")
		actor.SetName("jane@example.org")
		record := annals.NewAuditRecordInput("volume_create")
		record.SetId(newId())
		record.SetActor(*actor)
		record.SetIpAddress("2001:db8::7")
		record.SetTimestamp(timestamp)
		record.SetMetadata(map[string]interface{}{"number": number})
		batch.Records = append(batch.Records, *record)
	}
	appended, _, err := logs.AppendProjectLogBatch(ctx).AuditRecordBatch(*batch).Execute()
	must(err)
	again, _, err := logs.AppendProjectLogBatch(ctx).AuditRecordBatch(*batch).Execute()
	must(err)
	for i, record := range appended.Results {
		check(record.Id == *batch.Records[i].Id && record.SequenceId == int64(i+1), "appends records in their order")
		check(again.Results[i].SequenceId == record.SequenceId, "repeats an append without storing twice")
	}
	check(len(appended.Results) == 5, "appends all records")

	page, _, err := logs.ListProjectLogs(ctx).Limit(2).Execute()
	must(err)
	read := page.Results
	for page.Next.Get() != nil {
		page, _, err = logs.ListProjectLogs(ctx).Limit(2).Cursor(cursorOf(*page.Next.Get())).Execute()
		must(err)
		read = append(read, page.Results...)
	}
	check(len(read) == 5, "pages through all records")
	last := read[4]
	check(last.Id == *batch.Records[4].Id && last.Timestamp.Equal(timestamp), "reads what was sent")
	check(last.GetIpAddress() == "2001:db8::7" && last.Metadata["number"] == 5.0, "reads fields")
	single, _, err := logs.GetProjectLog(ctx, last.Id).Execute()
	must(err)
	check(single.SequenceId == last.SequenceId, "reads a single record")

	pollMore := cursorOf(page.PollMore)
	page, _, err = logs.ListProjectLogs(ctx).Cursor(pollMore).Execute()
	must(err)
	check(len(page.Results) == 0, "polls nothing where nothing is new")
	stored, _, err := logs.AppendProjectLog(ctx).AuditRecordInput(*annals.NewAuditRecordInput("login")).Execute()
	must(err)
	check(stored.SequenceId == 6, "appends a single record")
	page, _, err = logs.ListProjectLogs(ctx).Cursor(pollMore).Execute()
	must(err)
	check(len(page.Results) == 1 && page.Results[0].Id == stored.Id, "polls what is new")

	file, _, err := logs.ExportProjectLogs(ctx).Execute()
	must(err)
	exported, err := io.ReadAll(file)
	must(err)
	check(strings.Count(string(exported), "\n") == 6 && strings.Contains(string(exported), `"login"`), "exports")

	wrong := annals.NewAuditRecordBatch([]annals.AuditRecordInput{*annals.NewAuditRecordInput("")})
	_, answer, err := logs.AppendProjectLogBatch(ctx).AuditRecordBatch(*wrong).Execute()
	var refused *annals.GenericOpenAPIError
	check(errors.As(err, &refused) && answer.StatusCode == 422, "tells a problem")
	problem := refused.Model().(annals.Problem)
	check(problem.Type == "urn:annals:problem:invalid-record", "says which problem")
	check(problem.Errors[0].Pointer == "/records/0/action", "names the wrong field")
	fmt.Println("tour complete")
}

func newId() string {
	id := make([]byte, 16)
	_, err := rand.Read(id)
	must(err)
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func cursorOf(page string) string {
	link, err := url.Parse(page)
	must(err)
	return link.Query().Get("cursor")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, what string) {
	if !holds {
		panic("does not hold: " + what)
	}
}
