package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.hasSize;

import dev.annals.Await;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Appending by NDJSON: any length, in order, each line by itself. */
@QuarkusTest
@Timeout(120)
class NdjsonUploadTest extends ProjectTest {

    @TestHTTPResource("/")
    URI service;

    @ParameterizedTest
    @ValueSource(ints = {257, 5_000})
    void everyLineIsStoredInTheOrderSent(int lines) throws Exception {
        List<UUID> ids = new ArrayList<>();
        StringBuilder body = new StringBuilder();
        for (int i = 0; i < lines; i++) {
            ids.add(UUID.randomUUID());
            body.append(line(ids.get(i)));
        }
        send(body.toString())
                .statusCode(200)
                .body("stored", equalTo(lines))
                .body("stored_before", equalTo(0))
                .body("first_sequence_id", equalTo(1))
                .body("last_sequence_id", equalTo(lines))
                .body("refused", equalTo(0));
        assertThat(log.feed(project.id())).isEqualTo(ids);
    }

    @Test
    void aRefusedLineIsNamedAndTheOthersAreStored() throws Exception {
        UUID first = UUID.randomUUID();
        UUID last = UUID.randomUUID();
        String body = line(first) + "\n  \r\n" + "not json\n" + "{\"action\": 7}\n" + "{\"action\": \"x\", \"y\": 1}\n"
                + "{\"action\": \"long\", \"message\": \"" + "x".repeat(600_000) + "\"}\n"
                + line(last).strip();
        send(body)
                .statusCode(200)
                .body("stored", equalTo(2))
                .body("refused", equalTo(4))
                .body("refusals.line", contains(4, 5, 6, 7))
                .body("refusals[0].problem.type", equalTo("urn:annals:problem:malformed-json"))
                .body("refusals[1].problem.errors[0].pointer", equalTo("/action"))
                .body("refusals[2].problem.errors[0].pointer", equalTo("/y"));
        assertThat(log.feed(project.id())).containsExactly(first, last);
    }

    @Test
    void onlyTheFirstHundredRefusalsAreNamed() {
        send("no\n".repeat(250))
                .statusCode(422)
                .body("refused", equalTo(250))
                .body("refusals", hasSize(NdjsonUpload.NAMED_REFUSALS));
    }

    /** Log shippers look at the status alone. */
    @Test
    void anImportOfWhichEveryLineIsRefusedIsNoSuccess() throws Exception {
        UUID id = UUID.randomUUID();
        send("\n{\"action\": 7}\n \nno\n")
                .statusCode(422)
                .contentType("application/problem+json")
                .body("type", equalTo("urn:annals:problem:all-lines-refused"))
                .body("status", equalTo(422))
                .body("stored", equalTo(0))
                .body("stored_before", equalTo(0))
                .body("refused", equalTo(2))
                .body("refusals.line", contains(2, 4))
                .body("refusals[0].problem.errors[0].pointer", equalTo("/action"));
        send(line(id) + "no\n").statusCode(200).body("refused", equalTo(1));
        send(line(id) + "no\n").statusCode(200).body("stored_before", equalTo(1));
        send("{\"action\": \"other\", \"id\": \"" + id + "\"}\n")
                .statusCode(422)
                .body("refusals[0].problem.type", equalTo("urn:annals:problem:record-id-taken"));
        send("\n \n").statusCode(200).body("refused", equalTo(0));
        assertThat(log.feed(project.id())).containsExactly(id);
    }

    @Test
    void whatWasStoredBeforeIsNotStoredAgain() throws Exception {
        UUID one = UUID.randomUUID();
        UUID two = UUID.randomUUID();
        UUID three = UUID.randomUUID();
        send(line(one) + line(two)).body("stored", equalTo(2));
        send(line(one) + line(two) + line(three) + line(three))
                .statusCode(200)
                .body("stored", equalTo(1))
                .body("stored_before", equalTo(3))
                .body("last_sequence_id", equalTo(3));
        assertThat(log.feed(project.id())).containsExactly(one, two, three);
    }

    @Test
    void anIdThatIsTakenIsRefusedAlone() throws Exception {
        UUID taken = UUID.randomUUID();
        UUID other = UUID.randomUUID();
        send(line(taken));
        send("{\"action\": \"something else\", \"id\": \"" + taken + "\"}\n" + line(other))
                .statusCode(200)
                .body("stored", equalTo(1))
                .body("refusals.line", contains(1))
                .body("refusals[0].problem.type", equalTo("urn:annals:problem:record-id-taken"));
        assertThat(log.feed(project.id())).containsExactly(taken, other);
    }

    @Test
    void aBodyMayBeCompressed() throws Exception {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write("{\"action\": \"x\"}\n".repeat(20_000).getBytes(StandardCharsets.UTF_8));
        }
        given().auth()
                .oauth2(project.token())
                .contentType("application/x-ndjson")
                .header("Content-Encoding", "gzip")
                .body(packed.toByteArray())
                .post(IMPORT)
                .then()
                .statusCode(200)
                .body("stored", equalTo(20_000));
    }

    @Test
    void anEmptyBodyStoresNothing() {
        send("").statusCode(200).body("stored", equalTo(0)).body("refused", equalTo(0));
    }

    @Test
    void aConnectionThatBreaksHalfWayKeepsAPrefixAndIsResumedById() throws Exception {
        List<UUID> ids = new ArrayList<>();
        StringBuilder body = new StringBuilder();
        for (int i = 0; i < 3_500; i++) {
            ids.add(UUID.randomUUID());
            body.append(line(ids.get(i)));
        }
        try (Socket socket = new Socket(service.getHost(), service.getPort())) {
            byte[] half = body.substring(0, body.length() - 1_000).getBytes(StandardCharsets.UTF_8);
            socket.getOutputStream()
                    .write(("POST /v1/project-logs/import HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                                    + project.token() + "\r\nContent-Type: application/x-ndjson\r\nContent-Length: "
                                    + body.length() + "\r\n\r\n")
                            .getBytes(StandardCharsets.UTF_8));
            socket.getOutputStream().write(half);
            socket.getOutputStream().flush();
            Await.until(
                    "the first lines are stored", () -> !log.feed(project.id()).isEmpty());
        }
        assertThat(ids).startsWith(log.feed(project.id()).toArray(UUID[]::new));
        send(body.toString())
                .statusCode(200)
                .body("stored_before", greaterThan(0))
                .body("last_sequence_id", equalTo(3_500));
        assertThat(log.feed(project.id())).isEqualTo(ids);
    }

    private static String line(UUID id) {
        return "{\"action\": \"bulk\", \"id\": \"" + id + "\"}\n";
    }

    private ValidatableResponse send(String body) {
        return given().auth()
                .oauth2(project.token())
                .contentType("application/x-ndjson")
                .body(body.getBytes(StandardCharsets.UTF_8))
                .post(IMPORT)
                .then();
    }
}
