package dev.annals.live;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Whoever listens with a token that is revoked by way of another instance hears nothing more, and is not let in again. */
@QuarkusTest
class RevokedTokenTest extends ProjectTest {

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

        // Not by way of this instance.
        log.run("select annals.revoke_token(project_id, id) from annals.access_token where project_id = '"
                + project.id() + "'");

        // A limit of the test, not a measurement: the poll alone would take twice as long, and the stream an hour.
        end.get(30, TimeUnit.SECONDS);
        assertThat(poll.get(30, TimeUnit.SECONDS)).isNotEqualTo(200);
        given().auth()
                .preemptive()
                .oauth2(project.token())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401);
    }

    private static Object readToTheEnd(InputStream stream) {
        try (stream) {
            return stream.readAllBytes().length;
        } catch (java.io.IOException e) {
            return e;
        }
    }
}
