// Appends a record, reads it, and polls, with a client that oapi-codegen makes without options.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"annals.example/annals"
)

func main() {
	authorized := annals.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("ANNALS_TOKEN"))
		return nil
	})
	logs, err := annals.NewClientWithResponses(os.Getenv("ANNALS_URL"), authorized)
	must(err)
	ctx := context.Background()
	_, err = logs.AppendProjectLogWithResponse(ctx, annals.AuditRecordInput{Action: "volume_create"})
	must(err)
	page, err := logs.ListProjectLogsWithResponse(ctx, &annals.ListProjectLogsParams{})
	must(err)
	more, err := url.Parse(page.JSON200.PollMore)
	must(err)
	cursor := more.Query().Get("cursor")
	polled, err := logs.ListProjectLogsWithResponse(ctx, &annals.ListProjectLogsParams{Cursor: &cursor})
	must(err)
	fmt.Println(page.JSON200.Results[0].Action, len(polled.JSON200.Results))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
