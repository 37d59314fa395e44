package dev.annals.core.feed;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.OneByOne;
import dev.annals.core.append.ShortQueue;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A stream ends at its maximum age, so that its client shows its token again. */
@QuarkusTest
@OneByOne
@TestProfile(ShortQueue.class)
@Timeout(60)
class StreamAgeIT {

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/v1/project-logs/stream")
    URI logs;

    @Test
    void aStreamOfItsAgeEndsInGoodOrderAndGoesOnWhenOpenedAnew() throws Exception {
        Project project = log.newProject();
        FeedClient feed = new FeedClient(project);
        feed.append(1);
        HttpRequest request = HttpRequest.newBuilder(logs)
                .header("Authorization", "Bearer " + project.token())
                .header("Accept", "text/event-stream")
                .build();
        HttpClient http = HttpClient.newHttpClient();

        // Reads to the end, which throws unless the last chunk was sent.
        String first = read(http, request);
        assertThat(first).contains("\"sequence_id\":1");

        feed.append(1);
        String id = first.substring(first.indexOf("id: ") + 4, first.indexOf('\n', first.indexOf("id: ")));
        String second = read(
                http,
                HttpRequest.newBuilder(request, (name, value) -> true)
                        .header("Last-Event-ID", id)
                        .build());
        assertThat(second).contains("\"sequence_id\":2").doesNotContain("\"sequence_id\":1,");
        assertThat(log.checkFeed(project.id())).isEqualTo(2);
    }

    private static String read(HttpClient http, HttpRequest request) throws Exception {
        try (InputStream body = http.send(request, BodyHandlers.ofInputStream()).body()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
