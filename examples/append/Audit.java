import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.time.*;
import java.util.UUID;

public class Audit {
    static final HttpClient HTTP = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    /** Appends a record, given as its JSON fields; returns once it is stored. */
    static String append(String fields) throws InterruptedException {
        String record = "{\"id\": \"" + UUID.randomUUID() + "\", \"timestamp\": \"" + Instant.now() + "\", " + fields + "}";
        HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("ANNALS_URL") + "/v1/project-logs"))
            .header("Authorization", "Bearer " + System.getenv("ANNALS_TOKEN"))
            .header("Content-Type", "application/json")
            .timeout(Duration.ofSeconds(30))
            .POST(HttpRequest.BodyPublishers.ofString(record))
            .build();
        long pause = 200;
        for (int attempt = 1; ; attempt++) {
            String problem;
            try {
                HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
                int status = answer.statusCode();
                if (status == 200 || status == 201) return answer.body();
                if (status != 429 && status != 503) throw new IllegalStateException(answer.body());
                problem = answer.body();
                pause = Math.max(pause, 1000 * answer.headers().firstValueAsLong("Retry-After").orElse(0));
            } catch (IOException e) {
                problem = e.toString();
            }
            if (attempt == 10) throw new IllegalStateException("not stored: " + problem);
            Thread.sleep(pause);
            pause = Math.min(2 * pause, 10_000);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(append("\"action\": \"volume_create\", \"actor\": {\"type\": \"user\", \"id\": \"u-java\"}"));
    }
}
