package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.access.tokens.TestTokens;
import dev.annals.kernel.connection.RawConnection;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.RestAssured;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client that asks before it sends a body is told to send it once the service will read it. */
@QuarkusTest
class ExpectContinueTest extends ProjectTest {

    private static final String RECORD = "{\"action\": \"a\"}";

    private static String head(String path, String type, String token) {
        return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Type: "
                + type + "\r\nContent-Length: " + RECORD.length() + "\r\nExpect: 100-Continue\r\n\r\n";
    }

    @ParameterizedTest
    @CsvSource({
        "/v1/project-logs, application/json, HTTP/1.1 201 ",
        "/v1/project-logs/import, application/x-ndjson, HTTP/1.1 200 "
    })
    void theBodyIsAskedForBeforeItIsSent(String path, String type, String status) throws IOException {
        try (RawConnection connection = new RawConnection()) {
            assertThat(connection.send(head(path, type, project.token())).head())
                    .startsWith("HTTP/1.1 100 ");
            assertThat(connection.send(RECORD).answer())
                    .startsWith(status)
                    .doesNotContainIgnoringCase("connection: close");
        }
    }

    @Test
    void aRefusedRequestIsNotAskedForItsBody() throws IOException {
        for (String head : new String[] {
            head(AuditLogFixture.LOGS, "application/json", TestTokens.unknown()),
            head(AuditLogFixture.LOGS, "text/plain", project.token())
        }) {
            try (RawConnection connection = new RawConnection()) {
                // The client may not know whether its body is still expected, so it may not send another request there.
                assertThat(connection.send(head).answer())
                        .matches("(?s)HTTP/1.1 (401|415) .*")
                        .containsIgnoringCase("connection: close");
            }
        }
    }

    @Test
    void theClientOfTheJdkIsAnswered() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://localhost:" + RestAssured.port + AuditLogFixture.LOGS))
                .version(HttpClient.Version.HTTP_1_1)
                .expectContinue(true)
                .timeout(Duration.ofSeconds(30))
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(RECORD))
                .build();
        assertThat(HttpClient.newHttpClient()
                        .send(request, HttpResponse.BodyHandlers.ofString())
                        .statusCode())
                .isEqualTo(201);
    }
}
