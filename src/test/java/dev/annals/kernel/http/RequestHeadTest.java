package dev.annals.kernel.http;

import static dev.annals.ProblemAssertions.assertProblem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.kernel.connection.RawConnection;
import io.quarkus.test.junit.QuarkusTest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers that clients write oddly, or wrongly. */
@QuarkusTest
class RequestHeadTest extends ProjectTest {

    private static final String RECORD = "{\"action\": \"a\"}";

    private String get(String path, String headers) throws IOException {
        try (RawConnection connection = new RawConnection()) {
            return connection
                    .send("GET " + path + " HTTP/1.1\r\n" + headers + "Connection: close\r\nAuthorization: Bearer "
                            + project.token() + "\r\n\r\n")
                    .answer();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                ",",
                "garbage",
                "\"x\"",
                "/",
                "text/html,,",
                "application/json;q=x",
                "application/json;q=",
                "application/json;",
                ";",
                "*/*;q=2, a/b",
                "application/json\r\nAccept: garbage"
            })
    void anAcceptThatCannotBeReadIsNoFaultOfTheService(String accept) throws IOException {
        for (String path :
                new String[] {"/v1/whoami", AuditLogFixture.LOGS, AuditLogFixture.LOGS + "/export", "/", "/none"}) {
            assertThat(get(path, "Host: localhost\r\nAccept: " + accept + "\r\n"))
                    .matches("(?s)HTTP/1.1 (200|404|406) .*");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Host: localhost\r\nHost: localhost\r\n", "Host: a\r\nHost: b\r\n", "Host: a b\r\n"})
    void aRequestNeedsOneHost(String headers) throws IOException {
        assertThat(get("/v1/whoami", headers)).startsWith("HTTP/1.1 400 ").contains("application/problem+json");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "application/json;charset=UTF8",
                "application/json; charset=\"utf-8\"",
                "application/json;charset=\"Utf8\"",
                "Application/JSON;Charset=UTF-8"
            })
    void utf8HasSeveralNames(String type) {
        project.wrongRequest()
                .header("Content-Type", type)
                .body(RECORD.getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201);
    }

    @ParameterizedTest
    @ValueSource(strings = {"application/x-ndjson", "application/ndjson", "application/jsonl"})
    void linesHaveSeveralNamesAndMayBeginWithAByteOrderMark(String type) {
        for (String body : new String[] {RECORD, "\uFEFF" + RECORD + "\n" + RECORD, "\uFEFF\n" + RECORD}) {
            assertThat(project.wrongRequest()
                            .header("Content-Type", type)
                            .body(body.getBytes(StandardCharsets.UTF_8))
                            .post(AuditLogFixture.IMPORT)
                            .then()
                            .statusCode(200)
                            .extract()
                            .<Integer>path("refused"))
                    .isZero();
        }
    }

    @Test
    void xGzipIsGzip() throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(RECORD.getBytes(StandardCharsets.UTF_8));
        }
        project.wrongRequest()
                .header("Content-Type", "application/json")
                .header("Content-Encoding", "x-gzip")
                .body(packed.toByteArray())
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201);
    }

    @ParameterizedTest
    @CsvSource({"00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff"})
    void anIdThatProgramsSendForNoneIsRefused(String id) {
        assertProblem(
                project.wrongRequest()
                        .contentType("application/json")
                        .body("{\"action\": \"a\", \"id\": \"" + id + "\"}")
                        .post(AuditLogFixture.LOGS)
                        .then()
                        .extract(),
                422,
                "invalid-record");
    }
}
