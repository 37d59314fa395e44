package dev.annals.edges.export;

import static dev.annals.ProblemAssertions.assertProblem;
import static io.restassured.RestAssured.given;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An export brings every record once, or says that it does not. */
@QuarkusTest
@Timeout(120)
class ExportTest extends ProjectTest {

    /** More than the sockets between service and client hold. */
    private static final int MANY = 40_000;

    @TestHTTPResource("/")
    URI service;

    /** With {@link #MANY} records, which no test adds to. */
    private static Project many;

    private ExportClient client;

    @BeforeEach
    void makeClient() {
        client = new ExportClient(project, service);
    }

    private ExportClient many() throws SQLException {
        if (many == null) {
            Project made = log.newProject();
            try (Connection connection = log.connect()) {
                new ExportClient(made, service).appendMany(connection, MANY, 400);
            }
            many = made;
        }
        return new ExportClient(many, service);
    }

    @ParameterizedTest
    @CsvSource({
        "ndjson, application/x-ndjson, ndjson",
        "csv, text/csv;charset=utf-8;header=present, csv",
        "cloudevents, application/x-ndjson, cloudevents.ndjson",
        "ocsf, application/x-ndjson, ocsf.ndjson",
    })
    void everyFormatSaysWhatItIsAndWhereToGoOn(String format, String mediaType, String extension) {
        client.append("{\"action\": \"a\"}", "{\"action\": \"b\"}", "{\"action\": \"a\"}");
        ValidatableResponse answer = project.request()
                .get(ExportClient.PATH + "?format=" + format + "&cursor=1&action=a")
                .then()
                .statusCode(200);
        assertThat(answer.extract().contentType().replace(" ", "")).isEqualTo(mediaType);
        assertThat(answer.extract().header("Content-Disposition"))
                .matches("attachment; filename=\"annals-project-[A-Za-z0-9-]+-2-3\\." + extension + "\"");
        assertThat(answer.extract().header("Link"))
                .matches("<http://.*/v1/project-logs\\?cursor=3-[0-9a-f]{8}&action=a>; rel=\"poll-more\"");
        assertThat(answer.extract().header("Cache-Control")).isEqualTo("no-store");
        assertThat(answer.extract().asString()).contains("\"a\"").doesNotContain("\"b\"");
    }

    @ParameterizedTest
    @CsvSource({
        "format=xml, 400, invalid-parameter",
        "format=, 400, invalid-parameter",
        "format=CSV, 400, invalid-parameter",
        "format=csv&format=csv, 400, invalid-parameter",
        "limit=5, 400, invalid-parameter",
        "order=desc, 400, invalid-parameter",
        "colour=red, 400, invalid-parameter",
        "start=yesterday, 400, invalid-parameter",
        "action=a&action=b, 400, invalid-parameter",
        "cursor=garbage, 400, invalid-cursor",
        "cursor=1.2, 400, invalid-cursor",
        "cursor=1000000, 409, feed-rewound",
        "cursor=1-00000000, 409, feed-rewound",
        "format=csv&action=none&cursor=1-00000000, 409, feed-rewound",
    })
    void anImpossibleExportIsAProblemBeforeTheFirstByte(String query, int status, String slug) {
        client.append("{\"action\": \"a\"}");
        assertRefused(
                project.wrongRequest().get(ExportClient.PATH + "?" + query).then(), status, slug);
    }

    @Test
    void onlyAReaderOfTheProjectMayExportIt() {
        assertRefused(given().get(ExportClient.PATH).then(), 401, "unauthorized");
        Project writer = new Project(project.id(), log.newToken(project.id(), "write"));
        assertRefused(writer.request().get(ExportClient.PATH).then(), 403, "forbidden");
        assertRefused(
                project.wrongRequest()
                        .accept("application/xml")
                        .get(ExportClient.PATH)
                        .then(),
                406,
                "not-acceptable");
    }

    private static void assertRefused(ValidatableResponse answer, int status, String slug) {
        assertProblem(answer.extract(), status, slug);
    }

    @Test
    void anEmptyFeedIsAnEmptyFileAndInCsvAHeader() throws Exception {
        assertThat(client.text("")).isEmpty();
        assertThat(client.text("?format=ocsf&action=none")).isEmpty();
        assertThat(client.text("?format=csv")).isEqualTo(CsvRecord.HEADER);
        assertThat(client.open("?format=csv").headers().firstValue("Content-Disposition"))
                .hasValueSatisfying(name -> assertThat(name).endsWith("-1-0.csv\""));
    }

    @Test
    void aHostileProjectNameMakesAHarmlessFileName() {
        String id = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(Map.of("name", "\";\r\nX-Evil: 1/../\u00e4\uD83D\uDE80" + System.nanoTime()))
                .post("/v1/projects")
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        Project hostile = new Project(UUID.fromString(id), log.newToken(UUID.fromString(id), "read", "write"));
        new ExportClient(hostile, service).append("{\"action\": \"a\"}");
        ValidatableResponse answer =
                hostile.request().get(ExportClient.PATH).then().statusCode(200);
        assertThat(answer.extract().header("Content-Disposition"))
                .matches("attachment; filename=\"annals-X-Evil-1-[0-9]+-1-1\\.ndjson\"");
        assertThat(answer.extract().header("X-Evil")).isNull();
    }

    @Test
    void anExportContainsNoRecordAppendedAfterItsBegin() throws Exception {
        try (Connection connection = log.connect()) {
            ExportClient growing = new ExportClient(log.newProject(), service);
            growing.appendMany(connection, 400, 60_000);
            // 24 MB: more than twice what the sockets hold.
            HttpResponse<InputStream> export = growing.open("");
            growing.appendMany(connection, 10, 1);
            assertThat(sequenceIds(export.body())).isEqualTo(upTo(1, 400));
        }
    }

    @Test
    void aFilteredExportFindsWhatIsFarBetween() throws Exception {
        ExportClient sparse = new ExportClient(log.newProject(), service);
        try (Connection connection = log.connect()) {
            for (int i = 1; i <= 3; i++) {
                AuditLogFixture.insert(connection, sparse.project().id(), "rare");
                sparse.appendMany(connection, 6_000, 1);
            }
        }
        assertThat(sequenceIds(sparse.open("?action=rare").body())).containsExactly(1L, 6_002L, 12_003L);
        assertThat(sequenceIds(sparse.open("?action=rare&cursor=1").body())).containsExactly(6_002L, 12_003L);
    }

    @Test
    void anAbortedExportIsResumedWithTheRestExactly() throws Exception {
        List<Long> seen = new ArrayList<>();
        try (BufferedReader first = reader(many().open("").body())) {
            for (int i = 0; i < 12_345; i++) {
                seen.add(sequenceId(first.readLine()));
            }
        }
        seen.addAll(sequenceIds(many().open("?cursor=12345").body()));
        assertThat(seen).isEqualTo(upTo(1, MANY));
    }

    @Test
    void aCompressedExportIsTheSame() throws Exception {
        try (Connection connection = log.connect()) {
            client.appendMany(connection, 1_000, 400);
        }
        for (String format : List.of("ndjson", "csv")) {
            HttpResponse<InputStream> answer = client.open("?format=" + format, "gzip;q=1.0, identity;q=0.5");
            assertThat(answer.headers().firstValue("Content-Encoding")).hasValue("gzip");
            assertThat(answer.headers().firstValue("Vary")).hasValue("Accept-Encoding");
            byte[] compressed = answer.body().readAllBytes();
            String text = client.text("?format=" + format);
            assertThat(compressed).hasSizeLessThan(text.length() * 2 / 3);
            assertThat(new GZIPInputStream(new java.io.ByteArrayInputStream(compressed)).readAllBytes())
                    .isEqualTo(text.getBytes(UTF_8));
        }
        assertThat(client.open("", "gzip;q=0").headers().firstValue("Content-Encoding"))
                .isEmpty();
    }

    @Test
    void headBringsTheHeadersAlone() {
        client.append("{\"action\": \"a\"}");
        assertThat(project.wrongRequest()
                        .head(ExportClient.PATH + "?format=csv")
                        .then()
                        .statusCode(200)
                        .extract())
                .satisfies(answer -> {
                    assertThat(answer.header("Content-Disposition")).endsWith("-1-1.csv\"");
                    assertThat(answer.asByteArray()).isEmpty();
                });
    }

    @Test
    void httpWithoutChunksIsRefusedSinceAPartWouldLookWhole() throws Exception {
        try (Socket socket = new Socket(service.getHost(), service.getPort())) {
            socket.getOutputStream()
                    .write(("GET " + ExportClient.PATH + " HTTP/1.0\r\nAuthorization: Bearer " + project.token()
                                    + "\r\n\r\n")
                            .getBytes(UTF_8));
            String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
            assertThat(answer)
                    .contains(" 505 ")
                    .contains("application/problem+json")
                    .contains("use HTTP/1.1");
        }
    }

    @Test
    void connectionsThatTheDatabaseEndsAreReplacedWithoutLoss() throws Exception {
        List<Long> seen = new ArrayList<>();
        try (BufferedReader lines = reader(many().open("").body())) {
            for (int i = 1; i <= MANY; i++) {
                if (i % 20_000 == 1) {
                    log.run("select pg_terminate_backend(pid) from pg_stat_activity"
                            + " where application_name = 'annals' and datname = current_database()");
                }
                seen.add(sequenceId(lines.readLine()));
            }
            assertThat(lines.readLine()).isNull();
        }
        assertThat(seen).isEqualTo(upTo(1, MANY));
    }

    @ParameterizedTest
    @CsvSource({"ndjson, identity", "csv, identity", "cloudevents, identity", "ocsf, identity", "ndjson, gzip"})
    void aFailureInTheMiddleIsABrokenTransferAndNeverAShortFile(String format, String encoding) throws Exception {
        HttpResponse<InputStream> export = many().open("?format=" + format, encoding);
        assertThat(export.statusCode()).isEqualTo(200);
        log.run("revoke select on annals.audit_record from annals_service");
        try {
            assertThatThrownBy(() -> export.body().readAllBytes()).isInstanceOf(IOException.class);
        } finally {
            log.run("grant select on annals.audit_record to annals_service");
        }
        assertThat(many().lines("?cursor=" + (MANY - 1))).hasSize(1);
    }

    private static BufferedReader reader(InputStream body) {
        return new BufferedReader(new InputStreamReader(body, UTF_8));
    }

    private static List<Long> sequenceIds(InputStream body) throws IOException {
        List<Long> ids = new ArrayList<>();
        try (BufferedReader lines = reader(body)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                ids.add(sequenceId(line));
            }
        }
        return ids;
    }

    /** Finds the sequence id in a line of NDJSON whose message has only hexadecimal digits. Fast, because a test has many such lines. */
    private static long sequenceId(String line) {
        String name = "\"sequence_id\":";
        int from = line.indexOf(name) + name.length();
        return Long.parseLong(line, from, line.indexOf(',', from), 10);
    }

    private static List<Long> upTo(long first, long last) {
        return LongStream.rangeClosed(first, last).boxed().toList();
    }

    /** The connection is full again and again while pages are written and read. */
    @Test
    void aClientThatReadsInBurstsGetsEachRecordOnceAndInOrder() throws Exception {
        int from = MANY - Load.times(20_000, MANY);
        ExportClient many = many();
        List<Long> sequenceIds = new ArrayList<>();
        try (Socket socket = new Socket()) {
            socket.setReceiveBufferSize(4_096);
            socket.connect(new InetSocketAddress(service.getHost(), service.getPort()));
            socket.getOutputStream()
                    .write(("GET " + ExportClient.PATH + "?cursor=" + from
                                    + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                                    + many.project().token() + "\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 4_096));
            while (!readLine(in).isEmpty()) {}
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            for (int chunk = chunk(in); chunk > 0; chunk = chunk(in)) {
                body.write(in.readNBytes(chunk));
                readLine(in);
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
            }
            body.toString(StandardCharsets.UTF_8).lines().forEach(record -> sequenceIds.add(sequenceId(record)));
        }
        assertThat(sequenceIds).isEqualTo(upTo(from + 1, MANY));
    }

    private static int chunk(InputStream in) throws IOException {
        return Integer.parseInt(readLine(in), 16);
    }

    private static String readLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            line.append((char) c);
        }
        return line.toString().strip();
    }
}
