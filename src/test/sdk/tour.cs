// Uses the generated client as an application would; any surprise ends it with an error.
using Annals.Client.Api;
using Annals.Client.Client;
using Annals.Client.Model;

var logs = new ProjectLogsApi(new Configuration
{
    BasePath = Environment.GetEnvironmentVariable("ANNALS_URL"),
    AccessToken = Environment.GetEnvironmentVariable("ANNALS_TOKEN"),
});

var records = Enumerable.Range(1, 5).Select(number => new AuditRecordInput(
    id: Guid.NewGuid(),
    action: "volume_create",
    actor: new Actor(type: "user", name: "jane@example.org"),
    ipAddress: "2001:db8::7",
    metadata: new Dictionary<string, object> { ["number"] = number })).ToList();
var batch = new AuditRecordBatch(records);
var appended = logs.AppendProjectLogBatch(batch);
Check(appended.Results.Select(r => r.SequenceId).SequenceEqual(new long[] { 1, 2, 3, 4, 5 }), "appends in order");
Check(logs.AppendProjectLogBatch(batch).Results[4].SequenceId == 5, "repeats an append without storing twice");

var page = logs.ListProjectLogs(limit: 2);
var read = page.Results.ToList();
while (page.Next != null)
{
    page = logs.ListProjectLogs(cursor: CursorOf(page.Next), limit: 2);
    read.AddRange(page.Results);
}
Check(read.Select(r => r.Id).SequenceEqual(records.Select(r => r.Id)), "pages through all records");

Check(logs.ListProjectLogs(cursor: CursorOf(page.PollMore)).Results.Count == 0, "polls nothing where nothing is new");
var stored = logs.AppendProjectLog(new AuditRecordInput(id: Guid.NewGuid(), action: "login"));
Check(stored.SequenceId == 6, "appends a single record");
var polled = logs.ListProjectLogs(cursor: CursorOf(page.PollMore)).Results;
Check(polled.Count == 1 && polled[0].Id == stored.Id, "polls what is new");

try
{
    logs.AppendProjectLogBatch(new AuditRecordBatch(new List<AuditRecordInput> { new(id: Guid.NewGuid(), action: "") }));
    throw new InvalidOperationException("A record without action was stored");
}
catch (ApiException refused)
{
    Check(refused.ErrorCode == 422, "tells a problem");
    Check(refused.ErrorContent.ToString()!.Contains("/records/0/action"), "names the wrong field");
}
Console.WriteLine("tour complete");

static string CursorOf(string page) => System.Text.RegularExpressions.Regex.Match(page, "[?&]cursor=([^&]+)").Groups[1].Value;

static void Check(bool holds, string what)
{
    if (!holds)
    {
        throw new InvalidOperationException("does not hold: " + what);
    }
}
