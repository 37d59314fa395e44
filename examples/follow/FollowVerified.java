import dev.annals.client.*;
import java.nio.file.Path;
import java.time.Duration;

public class FollowVerified {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.setObjectMapper(ExactJson.mapper());
        client.updateBaseUri(System.getenv("ANNALS_URL"));
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("ANNALS_TOKEN")));
        try (FeedFile copy = FeedFile.open(Path.of("records.ndjson"))) {
            FeedFollower.verifying(client, copy, System.getenv("ANNALS_VKEY").split(" ")).run(Duration.ofMillis(100));
        }
    }
}
