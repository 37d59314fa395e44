import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ProjectLogsApi;
import org.openapitools.client.model.AuditRecordInput;
import org.openapitools.client.model.ProjectLogPage;

/** Appends a record, reads it, and polls, with a client that openapi-generator makes without options. */
public class Default {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient().setBasePath(System.getenv("ANNALS_URL"));
        client.setBearerToken(System.getenv("ANNALS_TOKEN"));
        ProjectLogsApi logs = new ProjectLogsApi(client);
        logs.appendProjectLog(new AuditRecordInput().action("volume_create"));
        ProjectLogPage page = page(logs, null);
        Matcher cursor = Pattern.compile("cursor=([^&]+)").matcher(page.getPollMore().toString());
        cursor.find();
        ProjectLogPage polled = page(logs, cursor.group(1));
        System.out.println(page.getResults().get(0).getAction() + " " + polled.getResults().size());
    }

    private static ProjectLogPage page(ProjectLogsApi logs, String cursor) throws Exception {
        return logs.listProjectLogs(
                cursor, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
    }
}
