package dev.annals.core.feed;

import static io.restassured.RestAssured.given;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.Slow;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Requests that last end when their token is revoked, even by another instance, and are refused from then on. */
@Slow
@QuarkusTest
class RevokedTokenTest extends ProjectTest {

    private static final int LINES_BETWEEN_LOOKS = 100;
    /** Longer than {@code annals.token.recheck}. */
    private static final Duration LONGER_THAN_A_TOKEN_LASTS = Duration.ofSeconds(4);

    @TestHTTPResource("/v1/project-logs")
    URI logs;

    @Test
    void streamsAndLongPollsEndWithTheirToken() throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        HttpRequest.Builder request = HttpRequest.newBuilder(logs).header("Authorization", "Bearer " + project.token());
        HttpResponse<InputStream> stream = http.send(
                request.copy().uri(URI.create(logs + "/stream")).build(), HttpResponse.BodyHandlers.ofInputStream());
        assertThat(stream.statusCode()).isEqualTo(200);
        CompletableFuture<Object> poll = http.sendAsync(
                        request.copy().uri(URI.create(logs + "?wait=60")).build(), HttpResponse.BodyHandlers.ofString())
                .handle((answer, failure) -> failure != null ? failure : answer.statusCode());
        CompletableFuture<Object> end = CompletableFuture.supplyAsync(() -> readToTheEnd(stream.body()));

        // Not through this instance.
        revoke();

        // A limit for the test: the poll alone would take twice as long, and the stream an hour.
        end.get(30, TimeUnit.SECONDS);
        assertThat(poll.get(30, TimeUnit.SECONDS)).isNotEqualTo(200);
        given().auth()
                .preemptive()
                .oauth2(project.token())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401);
    }

    private void revoke() throws Exception {
        log.run("select annals.revoke_token(project_id, id) from annals.access_token where project_id = '"
                + project.id() + "'");
    }

    /** A partial export must not look complete: its last chunk is missing. */
    @Test
    void anExportThatIsUnderWayEndsWithItsTokenAndIsNotTakenForComplete() throws Exception {
        log.run("insert into annals.audit_record (project_id, action, message) select '" + project.id()
                + "', 'a', repeat('m', 60000) from generate_series(1, 500)");
        HttpResponse<InputStream> export = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(logs + "/export"))
                                .header("Authorization", "Bearer " + project.token())
                                .build(),
                        HttpResponse.BodyHandlers.ofInputStream());
        assertThat(export.statusCode()).isEqualTo(200);
        try (InputStream body = export.body()) {
            assertThat(body.readNBytes(100_000)).hasSize(100_000);
            revoke();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            // Reads slowly until the token has ended, so that most of the export is not sent yet; then reads the rest.
            long slowly = System.nanoTime() + LONGER_THAN_A_TOKEN_LASTS.toNanos();
            assertThatThrownBy(() -> {
                        while (System.nanoTime() < end && body.readNBytes(65_536).length > 0) {
                            if (System.nanoTime() < slowly) {
                                Thread.sleep(250);
                            }
                        }
                    })
                    .isInstanceOf(IOException.class);
            assertThat(System.nanoTime()).isLessThan(end);
        }
    }

    @Test
    void anImportThatIsUnderWayEndsWithItsTokenAndStoresNothingMore() throws Exception {
        byte[] line = ("{\"action\": \"a\", \"message\": \"" + "m".repeat(1_000) + "\"}\n").getBytes(UTF_8);
        AtomicBoolean ended = new AtomicBoolean();
        try (PipedOutputStream lines = new PipedOutputStream();
                PipedInputStream body = new PipedInputStream(lines, 65_536)) {
            CompletableFuture<Object> imported = HttpClient.newHttpClient()
                    .sendAsync(
                            HttpRequest.newBuilder(URI.create(logs + "/import"))
                                    .header("Authorization", "Bearer " + project.token())
                                    .header("Content-Type", "application/x-ndjson")
                                    .POST(HttpRequest.BodyPublishers.ofInputStream(() -> body))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString())
                    .<Object>handle((answer, failure) -> failure != null ? failure : answer.statusCode())
                    .whenComplete((done, never) -> ended.set(true));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            boolean revoked = false;
            int written = 0;
            while (!ended.get() && System.nanoTime() < end) {
                try {
                    lines.write(line);
                    lines.flush();
                } catch (IOException e) {
                    break; // the service has closed the connection
                }
                written++;
                if (!revoked
                        && written % LINES_BETWEEN_LOOKS == 0
                        && log.number("select count(*) from annals.feed where project_id = '" + project.id() + "'")
                                > 10) {
                    revoke();
                    revoked = true;
                }
                if (revoked) {
                    Thread.sleep(10);
                }
            }
            assertThat(revoked).isTrue();
            assertThat(imported.get(30, TimeUnit.SECONDS)).isNotEqualTo(200);
        }
        long stored = log.checkFeed(project.id());
        assertThat(stored).isGreaterThan(10);
    }

    private static Object readToTheEnd(InputStream stream) {
        try (stream) {
            return stream.readAllBytes().length;
        } catch (IOException e) {
            return e;
        }
    }
}
