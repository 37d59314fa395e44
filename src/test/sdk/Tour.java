import dev.annals.client.ApiClient;
import dev.annals.client.ApiException;
import dev.annals.client.ProjectLogsApi;
import dev.annals.client.ProjectLogsApi.APIExportProjectLogsRequest;
import dev.annals.client.ProjectLogsApi.APIListProjectLogsRequest;
import dev.annals.client.model.Actor;
import dev.annals.client.model.AppendedRecord;
import dev.annals.client.model.AuditRecord;
import dev.annals.client.model.AuditRecordBatch;
import dev.annals.client.model.AuditRecordInput;
import dev.annals.client.model.Problem;
import dev.annals.client.model.ProjectLogPage;
import java.net.URI;
import java.nio.file.Files;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Uses the generated client as an application would; any surprise ends it with an error. */
public class Tour {
    private static final OffsetDateTime TIME = OffsetDateTime.parse("2025-09-03T11:15:19.391447Z");

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("ANNALS_URL"));
        client.setRequestInterceptor(
                request -> request.header("Authorization", "Bearer " + System.getenv("ANNALS_TOKEN")));
        ProjectLogsApi logs = new ProjectLogsApi(client);

        List<AuditRecordInput> records = new ArrayList<>();
        for (int i = 1; i <= 5; i++) {
            records.add(new AuditRecordInput()
                    .id(UUID.randomUUID())
                    .action("volume_create")
                    .actor(new Actor().type("user").name("jane@example.org"))
                    .ipAddress("2001:db8::7")
                    .timestamp(TIME)
                    .metadata(Map.of("number", i)));
        }
        AuditRecordBatch batch = new AuditRecordBatch().records(records);
        List<AppendedRecord> appended = logs.appendProjectLogBatch(batch).getResults();
        check(appended.size() == 5 && appended.get(4).getSequenceId() == 5, "appends records in their order");
        check(appended.equals(logs.appendProjectLogBatch(batch).getResults()), "repeats an append without storing twice");

        List<AuditRecord> read = new ArrayList<>();
        ProjectLogPage page = page(logs, null);
        read.addAll(page.getResults());
        while (page.getNext() != null) {
            page = page(logs, cursor(page.getNext()));
            read.addAll(page.getResults());
        }
        check(read.size() == 5, "pages through all records");
        AuditRecord last = read.get(4);
        check(last.getId().equals(records.get(4).getId()) && last.getTimestamp().equals(TIME), "reads what was sent");
        check(last.getIpAddress().equals("2001:db8::7") && last.getMetadata().get("number").equals(5), "reads fields");
        check(logs.getProjectLog(last.getId()).equals(last), "reads a single record");

        check(page(logs, cursor(page.getPollMore())).getResults().isEmpty(), "polls nothing where nothing is new");
        AuditRecord stored = logs.appendProjectLog(new AuditRecordInput().action("login"));
        check(stored.getSequenceId() == 6, "appends a single record");
        List<AuditRecord> polled = page(logs, cursor(page.getPollMore())).getResults();
        check(polled.equals(List.of(stored)), "polls what is new");

        List<String> lines = Files.readAllLines(logs.exportProjectLogs(
                        APIExportProjectLogsRequest.newBuilder().build())
                .toPath());
        check(lines.size() == 6 && lines.get(5).contains("\"login\""), "exports");

        try {
            logs.appendProjectLogBatch(new AuditRecordBatch().addRecordsItem(new AuditRecordInput().action("")));
            throw new AssertionError("A record without action was stored");
        } catch (ApiException e) {
            Problem problem = client.getObjectMapper().readValue(e.getResponseBody(), Problem.class);
            check(e.getCode() == 422 && problem.getType().equals(URI.create("urn:annals:problem:invalid-record")), "problem");
            check(problem.getErrors().get(0).getPointer().equals("/records/0/action"), "names the wrong field");
        }
        System.out.println("tour complete");
    }

    private static ProjectLogPage page(ProjectLogsApi logs, String cursor) throws ApiException {
        return logs.listProjectLogs(
                APIListProjectLogsRequest.newBuilder().cursor(cursor).limit(2).build());
    }

    private static String cursor(URI page) {
        return page.getQuery().replaceFirst("^(?:.*&)?cursor=([^&]+).*$", "$1");
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError("does not hold: " + what);
        }
    }
}
