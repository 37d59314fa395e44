package dev.annals.kernel.http;

import static dev.annals.ProblemAssertions.assertProblem;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.kernel.connection.RawConnection;
import dev.annals.kernel.connection.TightLimits;
import dev.annals.kernel.memory.MemoryBudget;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.RestAssured;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are meant to do harm: packed too well, never ending, too many at a time. */
@QuarkusTest
@OneByOne
@TestProfile(TightLimits.class)
class HostileBodiesIT extends ProjectTest {

    private static final String NDJSON = "application/x-ndjson";
    private static final String JSON = "application/json";
    private static final byte[] RECORD = "{\"action\": \"a\"}".getBytes(StandardCharsets.UTF_8);
    /** More than half of what one caller may send at a time. */
    private static final int LARGE = TightLimits.MEMORY_BYTES / 2 / RequestBodies.BYTES_HELD_PER_BYTE * 3 / 5;

    @Inject
    MemoryBudget memory;

    private ExtractableResponse<Response> send(String token, String type, String encoding, byte[] body) {
        return given().header("Authorization", "Bearer " + token)
                .header("Content-Encoding", encoding)
                .contentType(type)
                .body(body)
                .post(type.equals(NDJSON) ? AuditLogFixture.IMPORT : AuditLogFixture.LOGS)
                .then()
                .extract();
    }

    private static byte[] zeros(int mebibytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            for (int i = 0; i < mebibytes; i++) {
                gzip.write(new byte[1 << 20]);
            }
        }
        return packed.toByteArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, NDJSON})
    void aBodyThatUnpacksToFarMoreThanWasSentIsRefused(String type) throws Exception {
        assertProblem(send(project.token(), type, "gzip", zeros(64)), 413, "body-too-large");
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "br", "deflate", "zstd"})
    void nothingIsUnpackedBeforeTheCallerIsKnown(String encoding) {
        byte[] noGzip = {1, 2, 3};
        String unknown = "annals_" + "x".repeat(43);
        assertProblem(send(unknown, JSON, encoding, noGzip), 401, "unauthorized");
        assertProblem(send(unknown, NDJSON, encoding, noGzip), 401, "unauthorized");
    }

    @Test
    void onlyGzipIsUnpacked() {
        for (String encoding : new String[] {"br", "deflate", "zstd", "gzip, gzip", "x"}) {
            assertProblem(send(project.token(), JSON, encoding, RECORD), 415, "unsupported-media-type");
            assertProblem(send(project.token(), NDJSON, encoding, RECORD), 415, "unsupported-media-type");
        }
        assertThatThrownBy(() -> Class.forName("com.aayushatharva.brotli4j.Brotli4jLoader"))
                .isInstanceOf(ClassNotFoundException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, NDJSON})
    void brokenGzipIsSaidToBeSo(String type) throws Exception {
        byte[] packed = GunzipTest.gzip(RECORD);
        byte[] broken = packed.clone();
        broken[packed.length - 1] ^= 1;
        assertProblem(send(project.token(), type, "gzip", broken), 400, "malformed-encoding");
        assertProblem(send(project.token(), type, "gzip", RECORD), 400, "malformed-encoding");
        assertProblem(send(project.token(), type, "gzip", new byte[0]), 400, "malformed-encoding");
        assertThat(send(project.token(), type, "GZIP", packed).statusCode()).isBetween(200, 201);
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, NDJSON})
    void aBodyThatStopsHalfwayIsNotWaitedFor(String type) throws Exception {
        try (RawConnection connection = new RawConnection()) {
            connection.beginAppend(project.token(), type, 1_000, RECORD);
            assertThat(connection.answer()).startsWith("HTTP/1.1 408 ").contains("urn:annals:problem:body-too-slow");
            assertThat(connection.isClosed()).isTrue();
        }
        awaitNothingHeld();
    }

    @Test
    void unfinishedBodiesCountAgainstTheirCaller() throws Exception {
        byte[] half = new byte[LARGE];
        AuditLogFixture.Project other = log.newProject();
        try (RawConnection first = new RawConnection();
                RawConnection second = new RawConnection()) {
            first.beginAppend(project.token(), JSON, LARGE + 1_000, half);
            Await.until("all of the first is held", () -> memory.held() >= LARGE);
            second.beginAppend(project.token(), JSON, LARGE + 1_000, half);
            // The second finds no room; the first goes on until it is too slow.
            assertThat(first.answer() + second.answer())
                    .contains("HTTP/1.1 503 ", "urn:annals:problem:overloaded", "HTTP/1.1 408 ")
                    .containsIgnoringCase("\r\nRetry-After: ");
            assertThat(send(other.token(), JSON, "identity", RECORD).statusCode())
                    .isEqualTo(201);
        }
        awaitNothingHeld();
        assertThat(send(project.token(), JSON, "identity", RECORD).statusCode()).isEqualTo(201);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    /** A body that is too large for ever is not to be sent again, however much memory is free. */
    @ParameterizedTest
    @ValueSource(strings = {"identity", "gzip"})
    void aBodyThatIsTooLargeIsToldSoThoughItsCallersMemoryIsTaken(String encoding) throws Exception {
        try (RawConnection first = new RawConnection()) {
            first.beginAppend(project.token(), JSON, LARGE + 1_000, new byte[LARGE]);
            Await.until("all of the first is held", () -> memory.held() >= LARGE);
            assertThat(sendChunked(encoding, 3 * LARGE))
                    .contains("\"status\":413", "urn:annals:problem:body-too-large");
            assertThat(sendChunked(encoding, LARGE)).contains("\"status\":503", "urn:annals:problem:overloaded");
        }
        awaitNothingHeld();
        assertThat(log.checkFeed(project.id())).isZero();
    }

    /** Without a Content-Length. */
    private String sendChunked(String encoding, int bytes) throws Exception {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        try (OutputStream out = encoding.equals("gzip") ? new GZIPOutputStream(body) : body) {
            out.write(new byte[bytes]);
        }
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://localhost:" + RestAssured.port + AuditLogFixture.LOGS))
                .version(HttpClient.Version.HTTP_1_1)
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Encoding", encoding)
                .header("Content-Type", JSON)
                .POST(HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.toByteArray())))
                .build();
        return HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Test
    void aLongLineOfNdjsonCountsToo() throws Exception {
        String line = "{\"action\": \"a\", \"message\": \"" + "m".repeat(100) + "\"}\n";
        int lines = TightLimits.MEMORY_BYTES / line.length();
        ExtractableResponse<Response> answer =
                send(project.token(), NDJSON, "identity", line.repeat(lines).getBytes(StandardCharsets.UTF_8));
        assertProblem(answer, 503, "overloaded");
        awaitNothingHeld();
    }

    private void awaitNothingHeld() throws Exception {
        Await.until("nothing is held", () -> memory.held() == 0);
    }
}
