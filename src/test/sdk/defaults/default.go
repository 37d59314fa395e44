// Appends a record, reads it, and polls, with a client that openapi-generator makes without options.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	openapi "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers = openapi.ServerConfigurations{{URL: os.Getenv("ANNALS_URL")}}
	logs := openapi.NewAPIClient(configuration).ProjectLogsAPI
	ctx := context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv("ANNALS_TOKEN"))
	_, _, err := logs.AppendProjectLog(ctx).AuditRecordInput(*openapi.NewAuditRecordInput("volume_create")).Execute()
	must(err)
	page, _, err := logs.ListProjectLogs(ctx).Execute()
	must(err)
	more, err := url.Parse(page.PollMore)
	must(err)
	polled, _, err := logs.ListProjectLogs(ctx).Cursor(more.Query().Get("cursor")).Execute()
	must(err)
	fmt.Println(page.Results[0].Action, len(polled.Results))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
