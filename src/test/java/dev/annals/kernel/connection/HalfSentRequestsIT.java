package dev.annals.kernel.connection;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

@QuarkusTest
@OneByOne
@TestProfile(TightLimits.class)
class HalfSentRequestsIT extends ProjectTest {

    private static final String HALF = "GET /v1/project-logs HTTP/1.1\r\nHost: localhost\r\n";
    private static final String TOO_SLOW = "urn:annals:problem:body-too-slow";

    private String request() {
        return HALF + "Authorization: Bearer " + project.token() + "\r\n\r\n";
    }

    @Test
    void aHeadThatStopsHalfwayIsAnsweredAndItsConnectionClosed() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            assertThat(connection.send(HALF).answer())
                    .startsWith("HTTP/1.1 408 ")
                    .contains(TOO_SLOW);
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void aHeadThatTricklesInIsNotWaitedForEither() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            assertThat(connection.send("GET /").answerWhileSending('a', 1_000)).startsWith("HTTP/1.1 408 ");
        }
    }

    @Test
    void theSameHoldsForTheNextRequestOfAConnection() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            assertThat(connection.send(request()).answer()).startsWith("HTTP/1.1 200 ");
            assertThat(connection.send(request()).answer()).startsWith("HTTP/1.1 200 ");
            assertThat(connection.send(HALF).answer()).startsWith("HTTP/1.1 408 ");
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void aConnectionWithoutARequestIsClosed() throws IOException {
        try (RawConnection silent = new RawConnection();
                RawConnection served = new RawConnection()) {
            assertThat(served.send(request()).answer()).startsWith("HTTP/1.1 200 ");
            assertThat(silent.isClosed()).isTrue();
            assertThat(served.isClosed()).isTrue();
        }
    }

    @Test
    void theServiceDoesNotWaitForTheRestOfARefusedBody() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            connection.beginAppend("annals_unknown", "application/json", 1_000, new byte[1]);
            assertThat(connection.answer()).startsWith("HTTP/1.1 401 ");
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void aRequestThatIsBeingAnsweredOutlivesTheIdleTime() throws IOException {
        String more = given().auth()
                .oauth2(project.token())
                .get("/v1/project-logs")
                .then()
                .statusCode(200)
                .extract()
                .path("poll_more");
        URI link = URI.create(more);
        try (RawConnection connection = new RawConnection()) {
            String poll = "GET " + link.getRawPath() + "?" + link.getRawQuery() + "&wait=5 HTTP/1.1\r\n"
                    + request().substring(HALF.indexOf("Host"));
            assertThat(connection.send(poll).answer()).startsWith("HTTP/1.1 200 ");
        }
    }

    @Test
    void anAddressHasOnlySoManyConnectionsAndOthersHaveTheirs() throws IOException {
        List<RawConnection> open = new ArrayList<>();
        try {
            for (int i = 0; i < TightLimits.CONNECTIONS_PER_ADDRESS; i++) {
                RawConnection connection = new RawConnection("127.0.0.2");
                open.add(connection);
                assertThat(connection.send(request()).answer()).startsWith("HTTP/1.1 200 ");
                // A connection that waits for its answer is not idle.
                connection.send(request().replace("project-logs", "project-logs?wait=60"));
            }
            try (RawConnection oneTooMany = new RawConnection("127.0.0.2");
                    RawConnection other = new RawConnection("127.0.0.3")) {
                assertThat(oneTooMany.isClosed()).isTrue();
                assertThat(other.send(request()).answer()).startsWith("HTTP/1.1 200 ");
            }
        } finally {
            for (RawConnection connection : open) {
                connection.close();
            }
        }
    }

    @Test
    void onlySoManyLongHeadsMayBeIncomplete() throws IOException {
        String answers = longHeads();
        // Only heads that are incomplete at the same time count: on a busy machine the first may have been given up.
        for (int tries = 1; tries < 20 && !answers.contains("HTTP/1.1 503 "); tries++) {
            answers = longHeads();
        }
        assertThat(answers).contains("HTTP/1.1 503 ", "urn:annals:problem:overloaded", "HTTP/1.1 408 ");
        try (RawConnection whole = new RawConnection()) {
            String long200 = "GET /v1/project-logs?q=" + "a".repeat(6_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
            assertThat(whole.send(long200).answer()).startsWith("HTTP/1.1 401 ");
        }
    }

    /** The answer to one incomplete head too many. */
    private static String longHeads() throws IOException {
        List<RawConnection> open = new ArrayList<>();
        try {
            for (int i = 0; i <= ConnectionLimits.LARGE_HEADS; i++) {
                RawConnection connection = new RawConnection();
                open.add(connection);
                connection.send("GET /" + "a".repeat(8_000));
            }
            String answers = "";
            for (RawConnection connection : open) {
                answers += connection.answer();
            }
            return answers;
        } finally {
            for (RawConnection connection : open) {
                connection.close();
            }
        }
    }

    @Test
    void thereIsNoHttp2() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            byte[] settings = {0, 0, 0, 4, 0, 0, 0, 0, 0};
            connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").send(settings);
            // The answer is an error in text, and no frame.
            assertThat(connection.answer()).matches("(?s)HTTP/[0-9.]+ [45].*");
        }
        try (RawConnection connection = new RawConnection()) {
            connection.send(HALF.replace("/v1/project-logs", "/q/health/live"));
            connection.send(
                    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n");
            assertThat(connection.answer()).startsWith("HTTP/1.1 200 ");
        }
    }
}
