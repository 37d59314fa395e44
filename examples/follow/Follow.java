import dev.annals.client.*;
import dev.annals.client.ProjectLogsApi.APIListProjectLogsRequest;
import java.nio.file.Path;
import java.time.Duration;

public class Follow {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.setObjectMapper(ExactJson.mapper());
        client.updateBaseUri(System.getenv("ANNALS_URL"));
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("ANNALS_TOKEN")));
        ProjectLogsApi logs = new ProjectLogsApi(client);
        try (FeedFile copy = FeedFile.open(Path.of("records.ndjson"))) {
            new FeedFollower(
                    cursor -> logs.listProjectLogs(APIListProjectLogsRequest.newBuilder().cursor(cursor).limit(1000).build()),
                    copy).run(Duration.ofSeconds(1));
        }
    }
}
