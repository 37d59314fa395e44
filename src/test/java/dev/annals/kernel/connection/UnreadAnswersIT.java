package dev.annals.kernel.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients that send requests and take no answers. */
@QuarkusTest
@OneByOne
@TestProfile(TightLimits.class)
class UnreadAnswersIT extends ProjectTest {

    private static final String END = " HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /** Each client asks for more than the network holds, and then appends a record. */
    @ParameterizedTest
    @CsvSource({"/q/openapi, 60", "/viewer.css, 98"})
    void aRequestWaitsUntilTheAnswersBeforeItHaveLeftAndAClientThatTakesNoneIsCutOff(String path, int times)
            throws Exception {
        String from = "127.0.0." + (100 + times);
        List<UUID> ids = new ArrayList<>();
        List<RawConnection> open = new ArrayList<>();
        try {
            for (int i = 0; i < TightLimits.CONNECTIONS_PER_ADDRESS; i++) {
                ids.add(UUID.randomUUID());
                RawConnection connection = RawConnection.withLittleRoom(from);
                open.add(connection);
                connection.send(("GET " + path + END).repeat(times)).send(append(ids.get(i)));
            }
            Await.until("the address has connections left", () -> isServed(from));
        } finally {
            for (RawConnection connection : open) {
                connection.close();
            }
        }
        assertThat(log.feed(project.id())).doesNotContainAnyElementsOf(ids);
    }

    @Test
    void requestsThatAreSentAheadAreAnsweredInOrder() throws Exception {
        List<UUID> ids = new ArrayList<>();
        StringBuilder requests = new StringBuilder();
        for (int i = 0; i < 40; i++) {
            ids.add(UUID.randomUUID());
            requests.append("GET /icon.svg").append(END).append(append(ids.get(i)));
        }
        try (RawConnection connection = new RawConnection()) {
            connection.send(requests.toString());
            for (UUID id : ids) {
                assertThat(connection.answer()).startsWith("HTTP/1.1 200 ").contains("<svg");
                assertThat(connection.answer()).startsWith("HTTP/1.1 201 ").contains(id.toString());
            }
        }
        assertThat(log.feed(project.id())).isEqualTo(ids);
    }

    @Test
    void onlySoManyRequestsMayWaitForAnAnswer() throws IOException {
        try (RawConnection connection = new RawConnection()) {
            connection.send(
                    get("/v1/project-logs?wait=60") + get("/v1/project-logs").repeat(101));
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void aLongHeadThatIsNotCompleteCountsBehindARequestToo() throws IOException {
        List<RawConnection> open = new ArrayList<>();
        try {
            for (int i = 0; i <= ConnectionLimits.LARGE_HEADS; i++) {
                RawConnection connection = new RawConnection();
                open.add(connection);
                connection.send(get("/v1/project-logs?wait=10")).send("GET /" + "a".repeat(16_000));
            }
            List<String> answers = new ArrayList<>();
            for (RawConnection connection : open) {
                answers.add(connection.answer());
            }
            assertThat(answers).as("one connection is closed at once").contains("");
        } finally {
            for (RawConnection connection : open) {
                connection.close();
            }
        }
    }

    private String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + project.token() + "\r\n\r\n";
    }

    private String append(UUID id) {
        String body = "{\"id\": \"" + id + "\", \"action\": \"a\"}";
        return "POST /v1/project-logs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + project.token()
                + "\r\nContent-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    private static boolean isServed(String from) {
        try (RawConnection connection = new RawConnection(from)) {
            return connection.send("GET /q/health/live" + END).answer().startsWith("HTTP/1.1 200 ");
        } catch (IOException refused) {
            return false;
        }
    }
}
