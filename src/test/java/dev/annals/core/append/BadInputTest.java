package dev.annals.core.append;

import static dev.annals.AuditLogFixture.BATCH;
import static dev.annals.AuditLogFixture.LOGS;
import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.pathOf;
import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever is sent, the answer is a problem that says what is wrong and where, and nothing is stored. */
@QuarkusTest
class BadInputTest extends ProjectTest {

    private static final int MAX_BODY_BYTES = 16 * 1024 * 1024;

    @TestHTTPResource("/v1/project-logs")
    URI logs;

    /** A test that stores something on purpose checks that itself, in a project of its own. */
    @AfterEach
    void nothingIsStored() throws Exception {
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " \n",
                "{",
                "{\"action\": \"a\"",
                "{\"action\": \"a\",}",
                "{\"action\" \"a\"}",
                "{'action': 'a'}",
                "{action: \"a\"}",
                "{\"action\": \"a\"} x",
                "{\"action\": \"a\"}{\"action\": \"b\"}",
                "{\"action\": \"a\"}]",
                "[{\"action\": \"a\"}",
                "[{\"action\": \"a\"},]",
                "[,{\"action\": \"a\"}]",
                "{\"action\": \"a\\x\"}",
                "{\"action\": \"a\\u12G4\"}",
                "{\"action\": \"tab\there\"}",
                "{\"action\": \"a\", \"metadata\": {\"n\": NaN}}",
                "{\"action\": \"a\", \"metadata\": {\"n\": 01}}",
                "{\"action\": \"a\", \"metadata\": {\"n\": +1}}",
                "{\"action\": \"a\", \"metadata\": {\"n\": 1.}}",
                "{\"action\": \"a\" /* comment */}",
                "nil",
                "tru",
                "\u0000",
                "action=a"
            })
    void malformedJsonIsRefused(String body) {
        problem(send(body), 400, "malformed-json");
    }

    @ParameterizedTest
    @ValueSource(strings = {"UTF-16", "UTF-16LE", "UTF-32BE", "ISO-8859-1"})
    void textThatIsNotUtf8IsRefused(String charset) {
        problem(send("{\"action\": \"ä\"}".getBytes(Charset.forName(charset))), 400, "malformed-json");
    }

    @Test
    void halfOfASurrogatePairInUtf8IsRefused() {
        byte[] body = "{\"action\": \"???\"}".getBytes(StandardCharsets.US_ASCII);
        body[12] = (byte) 0xED;
        body[13] = (byte) 0xA0;
        body[14] = (byte) 0x80;
        problem(send(body), 400, "malformed-json");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"null", "true", "7", "\"a record\"", "[]", "[[]]", "[null]", "[7]", "[[{\"action\": \"a\"}]]"})
    void invalidRecordsAreRefused(String body) {
        problem(send(body), 422, "invalid-record");
        problem(send(BATCH, body.getBytes(StandardCharsets.UTF_8)), 422, "invalid-record");
        problem(send(batch(body)), 422, "invalid-record");
    }

    @Test
    void anArrayInPlaceOfARecordIsToldWhereBatchesGo() {
        ExtractableResponse<Response> answer =
                problem(send("[{\"action\": \"a\"}, {\"action\": \"b\"}]"), 422, "invalid-record");
        assertThat(pointers(answer)).containsExactly("");
        assertThat(answer.<String>path("errors[0].detail")).contains("POST /v1/project-logs/batch");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                {} | /records
                {"records": null} | /records
                {"records": []} | /records
                {"records": {"action": "a"}} | /records
                {"records": [{"action": "a"}], "records": [{"action": "a"}]} | /records
                {"records": [{"action": "a"}], "atomic": true} | /atomic
                {"records": [{"action": "a"}, {}], "x": [{"y": 1}]} | /records/1/action /x
                {"action": "a"} | /action /records
                """)
    void invalidBatchesAreRefused(String body, String pointers) {
        ExtractableResponse<Response> answer =
                problem(send(BATCH, body.getBytes(StandardCharsets.UTF_8)), 422, "invalid-record");
        assertThat(pointers(answer)).containsExactly(pointers.split(" ", -1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{\"records\"",
                "{\"records\": [",
                "{\"records\": [{\"action\": \"a\"}",
                "{\"records\": [{\"action\": \"a\"}]",
                "{\"records\": [{\"action\": \"a\"},]}",
                "{\"records\": [{\"action\": \"a\"}]} x",
                "{\"records\": [{\"action\": \"a\"}]}{}"
            })
    void aBatchThatIsNoJsonIsRefused(String body) {
        problem(send(BATCH, body.getBytes(StandardCharsets.UTF_8)), 400, "malformed-json");
    }

    static Stream<Arguments> wrongRecords() {
        return Stream.of(
                arguments("{}", "/action"),
                arguments("{\"action\": null}", "/action"),
                arguments("{\"action\": 7}", "/action"),
                arguments("{\"action\": [\"a\"]}", "/action"),
                arguments("{\"action\": \"\"}", "/action"),
                arguments("{\"action\": \"" + "a".repeat(256) + "\"}", "/action"),
                arguments("{\"Action\": \"a\"}", "/Action /action"),
                arguments("{\"action\": \"a\", \"action\": \"b\"}", "/action"),
                arguments("{\"action\": \"a\", \"severity\": 3}", "/severity"),
                arguments("{\"action\": \"a\", \"a/b~c\": {\"x\": [1]}}", "/a~1b~0c"),
                arguments("{\"action\": \"a\", \"sequence_id\": 1}", "/sequence_id"),
                arguments("{\"action\": \"a\", \"recorded_at\": \"2025-09-03T11:15:19Z\"}", "/recorded_at"),
                arguments("{\"action\": \"a\", \"id\": \"7\"}", "/id"),
                arguments("{\"action\": \"a\", \"id\": 7}", "/id"),
                arguments("{\"action\": \"a\", \"id\": \"1-1-1-1-1\"}", "/id"),
                arguments("{\"action\": \"a\", \"id\": \"{019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e}\"}", "/id"),
                arguments("{\"action\": \"a\", \"actor\": \"jane\"}", "/actor"),
                arguments("{\"action\": \"a\", \"actor\": {}}", "/actor"),
                arguments("{\"action\": \"a\", \"actor\": {\"id\": null}}", "/actor"),
                arguments("{\"action\": \"a\", \"actor\": {\"id\": 7}}", "/actor/id"),
                arguments("{\"action\": \"a\", \"actor\": {\"id\": \"1\", \"id\": \"2\"}}", "/actor/id"),
                arguments("{\"action\": \"a\", \"actor\": {\"id\": \"1\", \"email\": \"x\"}}", "/actor/email"),
                arguments("{\"action\": \"a\", \"actor\": {\"type\": \"" + "t".repeat(256) + "\"}}", "/actor/type"),
                arguments("{\"action\": \"a\", \"subject\": {\"id\": \"" + "i".repeat(1025) + "\"}}", "/subject/id"),
                arguments(
                        "{\"action\": \"a\", \"subject\": {\"name\": \"" + "n".repeat(1025) + "\"}}", "/subject/name"),
                arguments("{\"action\": \"a\", \"subject\": []}", "/subject"),
                arguments("{\"action\": \"a\", \"outcome\": \"\"}", "/outcome"),
                arguments("{\"action\": \"a\", \"outcome\": \"" + "o".repeat(65) + "\"}", "/outcome"),
                arguments("{\"action\": \"a\", \"outcome\": true}", "/outcome"),
                arguments("{\"action\": \"a\", \"message\": {}}", "/message"),
                arguments("{\"action\": \"a\", \"message\": \"" + "m".repeat(65_535) + "\"}", ""),
                arguments("{\"action\": \"a\", \"metadata\": []}", "/metadata"),
                arguments("{\"action\": \"a\", \"metadata\": \"{}\"}", "/metadata"),
                arguments("{\"action\": \"a\", \"metadata\": {\"x\": {\"k\": 1, \"k\": 1}}}", "/metadata/x/k"),
                arguments("{\"action\": \"a\", \"metadata\": {\"n\": 1e400}}", "/metadata/n"),
                arguments("{\"action\": \"a\", \"metadata\": {\"n\": [0, " + "1".repeat(401) + "]}}", "/metadata/n/1"),
                // one byte too many in the whole record, all fields being within their limits
                arguments("{\"action\": \"a\", \"metadata\": {\"t\": \"" + "x".repeat(65_535) + "\"}}", ""),
                arguments("{\"action\": 1, \"outcome\": 2, \"actor\": {\"id\": 3}}", "/action /actor/id /outcome"));
    }

    @ParameterizedTest
    @MethodSource("wrongRecords")
    void everyWrongFieldIsNamed(String record, String pointers) {
        assertThat(pointers(problem(send(record), 422, "invalid-record")))
                .containsExactlyInAnyOrder(pointers.split(" ", -1));
        List<String> inBatch = Arrays.stream(pointers.split(" ", -1))
                .map(p -> "/records/1" + p)
                .toList();
        assertThat(pointers(problem(send(batch("{\"action\": \"a\"}", record)), 422, "invalid-record")))
                .containsExactlyInAnyOrderElementsOf(inBatch);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                {"action": "a%sb"}
                {"action": "a", "actor": {"type": "%s"}}
                {"action": "a", "actor": {"id": "%s"}}
                {"action": "a", "subject": {"name": "%s"}}
                {"action": "a", "outcome": "x%s"}
                {"action": "a", "message": "%s"}
                {"action": "a", "ip_address": "::1%s"}
                {"action": "a", "timestamp": "2025-09-03T11:15:19Z%s"}
                {"action": "a", "id": "%s"}
                {"action": "a", "metadata": {"x": "%s"}}
                """)
    void nulCharactersAndHalvesOfSurrogatePairsAreRefusedEverywhere(String record) {
        for (String character : List.of("\\u0000", "\\ud83d", "\\ude80", "\\ude80\\ud83d", "\\ud83dx")) {
            assertThat(pointers(problem(send(record.formatted(character)), 422, "invalid-record")))
                    .hasSize(1);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                {"action": "a", "metadata": {"x": [{"%s": 1}]}}
                {"action": "a", "%s": 1}
                """)
    void nulCharactersAndHalvesOfSurrogatePairsAreRefusedInNames(String record) {
        problem(send(record.formatted("\\u0000")), 422, "invalid-record");
        problem(send(record.formatted("\\ude80")), 400, "malformed-json");
        problem(send(record.formatted("\\ud83dx")), 400, "malformed-json");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "99999-01-01T00:00:00Z",
                "+99999-01-01T00:00:00Z",
                "10000-01-01T00:00:00Z",
                "9999-12-31T23:59:59-00:01",
                "0000-12-31T23:59:59Z",
                "0001-01-01T00:00:00+00:01",
                "-0001-01-01T00:00:00Z",
                "2025-02-29T00:00:00Z",
                "2025-13-01T00:00:00Z",
                "2025-09-03T24:00:00Z",
                "2025-09-03T23:59:60Z",
                "1990-12-31T23:59:60+01:00",
                "2025-09-03T11:15:19",
                "2025-09-03T11:15Z",
                "2025-09-03 11:15:19Z",
                "2025-09-03",
                "2025-09-03T11:15:19+2",
                "2025-09-03T11:15:19.Z",
                "2025-09-03T11:15:19Z ",
                "yesterday",
                ""
            })
    void aTimestampThatIsNoneIsRefused(String timestamp) {
        assertThat(pointers(problem(
                        send("{\"action\": \"a\", \"timestamp\": \"" + timestamp + "\"}"), 422, "invalid-record")))
                .containsExactly("/timestamp");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", " ", "localhost", "example.org", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4/32",
                "10.0.0.0/8", "1.2.3.4 ", "0x7f.1.1.1", ":", ":::", "1::2::3", "::g", "fe80::1%eth0", "[::1]",
                        "::1/128",
                "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1.2.3", "12345::", "١.٢.٣.٤"
            })
    void anIpAddressThatIsNoneIsRefused(String address) {
        assertThat(pointers(problem(
                        send("{\"action\": \"a\", \"ip_address\": \"" + address + "\"}"), 422, "invalid-record")))
                .containsExactly("/ip_address");
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 33, 999, 1_000, 1_001, 20_000, 1_000_000})
    void deepNestingIsRefusedHoweverDeep(int depth) {
        String arrays = "[".repeat(depth) + "]".repeat(depth);
        problem(send("{\"action\": \"a\", \"metadata\": {\"x\": " + arrays + "}}"), 422, "invalid-record");
        problem(send(arrays), 422, "invalid-record");
        problem(send(batch(arrays)), 422, "invalid-record");
        String objects = "{\"x\":".repeat(depth) + "1" + "}".repeat(depth);
        problem(send(objects), 422, "invalid-record");
        assertThat(problem(
                                send("[".repeat(depth)),
                                depth > 1_000 ? 422 : 400,
                                depth > 1_000 ? "invalid-record" : "malformed-json")
                        .asString())
                .hasSizeLessThan(40_000);
    }

    @Test
    void aThousandAndOneRecordsAreTooMany() {
        String records =
                IntStream.range(0, 1001).mapToObj(i -> "{\"action\": \"a\"}").collect(Collectors.joining(","));
        problem(send(batch(records)), 422, "too-many-records");
    }

    @Test
    void oneIdTwiceInABatchIsRefused() {
        String id = "019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e";
        assertThat(pointers(problem(
                        send(batch(
                                "{\"id\": \"" + id + "\", \"action\": \"a\"}",
                                "{\"id\": \"" + id.toUpperCase(Locale.ROOT) + "\", \"action\": \"a\"}")),
                        422,
                        "invalid-record")))
                .containsExactly("/records/1/id");
    }

    @Test
    void aThousandWrongRecordsGetAnAnswerOfBoundedSize() {
        String records = IntStream.range(0, 1000)
                .mapToObj(i -> "{\"" + "x".repeat(1_000) + "\": " + i + "}")
                .collect(Collectors.joining(","));
        ExtractableResponse<Response> answer = problem(send(batch(records)), 422, "invalid-record");
        assertThat(pointers(answer)).hasSize(100);
        assertThat(answer.asByteArray()).hasSizeLessThan(100_000);
    }

    /** Small as JSON, large as PostgreSQL keeps it. */
    @Test
    void metadataOfTooManyValuesIsRefused() {
        String record = "{\"action\": \"a\", \"metadata\": {\"zeros\": [" + "0,".repeat(4_094) + "0]}}";
        assertThat(pointers(problem(send(record), 422, "invalid-record"))).containsExactly("/metadata");
        assertThat(pointers(problem(send(batch("{\"action\": \"a\"}", record)), 422, "invalid-record")))
                .containsExactly("/records/1/metadata");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "9.8765432e-24", "-1e29", "[]", "{}", "null", "\"fourteen bytes\""})
    void metadataOfAsManyValuesAsAreAllowedFitsIntoTheDatabase(String value) throws Exception {
        AuditLogFixture.Project other = log.newProject();
        String record = "{\"action\": \"a\", \"metadata\": {\"list\": [" + (value + ",").repeat(3_700) + value + "]}}";
        other.request()
                .contentType("application/json")
                .body(record)
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
        assertThat(log.checkFeed(other.id())).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "text/plain",
                "text/json",
                "application/xml",
                "application/x-www-form-urlencoded",
                "multipart/form-data",
                "application/octet-stream",
                "application/problem+json",
                "application/json; charset=utf-16",
                "application/json; charset=iso-8859-1",
                "json",
                "*/*",
                "application/*"
            })
    void aBodyOfAnotherMediaTypeIsRefused(String type) throws Exception {
        problem(
                exchange(HttpRequest.newBuilder().header("Content-Type", type), "{\"action\": \"a\"}"),
                415,
                "unsupported-media-type");
    }

    @Test
    void aBodyWithoutAMediaTypeIsRefused() throws Exception {
        problem(exchange(HttpRequest.newBuilder(), "{\"action\": \"a\"}"), 415, "unsupported-media-type");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "application/json",
                "APPLICATION/JSON",
                "application/json;charset=UTF-8",
                "application/json; charset=\"utf-8\""
            })
    void theMediaTypeMayBeSpelledAsHttpAllows(String type) throws Exception {
        AuditLogFixture.Project other = log.newProject();
        HttpResponse<String> answer = exchange(
                other,
                HttpRequest.newBuilder().header("Content-Type", type),
                HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        assertThat(log.checkFeed(other.id())).isEqualTo(1);
    }

    @Test
    void aBodyMayBeCompressedWithGzip() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        HttpResponse<String> answer = exchange(
                other,
                json().header("Content-Encoding", "gzip"),
                HttpRequest.BodyPublishers.ofByteArray(gzip("{\"action\": \"a\"}".getBytes(StandardCharsets.UTF_8))));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        assertThat(log.checkFeed(other.id())).isEqualTo(1);
    }

    @Test
    void aCompressedBodyThatUnpacksToMoreThanTheLimitIsRefused() throws Exception {
        byte[] body = new byte[MAX_BODY_BYTES + 1];
        Arrays.fill(body, (byte) ' ');
        problem(
                exchange(
                        project,
                        json().header("Content-Encoding", "gzip"),
                        HttpRequest.BodyPublishers.ofByteArray(gzip(body))),
                413,
                "body-too-large");
    }

    @ParameterizedTest
    @ValueSource(strings = {"zstd", "compress", "aes128gcm", "unknown", "gzip, gzip"})
    void aBodyOfAnotherEncodingIsRefused(String encoding) throws Exception {
        HttpResponse<String> answer = exchange(
                project,
                json().header("Content-Encoding", encoding),
                HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"));
        problem(answer, 415, "unsupported-media-type");
        assertThat(answer.headers().firstValue("Accept-Encoding")).contains("gzip, identity");
    }

    private static byte[] gzip(byte[] body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            gzip.write(body);
        }
        return bytes.toByteArray();
    }

    @Test
    void aBodyAtTheLimitIsTaken() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        for (boolean chunked : List.of(false, true)) {
            HttpResponse<String> answer = exchange(other, json(), padded(MAX_BODY_BYTES, chunked));
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        }
        assertThat(log.checkFeed(other.id())).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBodyOverTheLimitIsRefused(boolean chunked) throws Exception {
        for (int tooMany : List.of(1, 1024 * 1024, 32 * 1024 * 1024)) {
            problem(exchange(project, json(), padded(MAX_BODY_BYTES + tooMany, chunked)), 413, "body-too-large");
        }
    }

    @Test
    void theServiceGoesOnAfterABodyThatBreaksOff() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (Socket socket = new Socket(logs.getHost(), logs.getPort())) {
                String head = "POST /v1/project-logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + project.token()
                        + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"action\": ";
                socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
                socket.getOutputStream().flush();
            }
        }
        problem(send("{"), 400, "malformed-json");
    }

    private static HttpRequest.Builder json() {
        return HttpRequest.newBuilder().header("Content-Type", "application/json");
    }

    private static HttpRequest.BodyPublisher padded(int size, boolean chunked) {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) ' ');
        byte[] record = "{\"action\": \"a\"}".getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(record, 0, body, 0, record.length);
        return chunked
                ? HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body))
                : HttpRequest.BodyPublishers.ofByteArray(body);
    }

    private HttpResponse<String> exchange(HttpRequest.Builder request, String body) throws Exception {
        return exchange(project, request, HttpRequest.BodyPublishers.ofString(body));
    }

    /** Sends what REST Assured would not: media types, encodings and bodies as they are. */
    private HttpResponse<String> exchange(
            AuditLogFixture.Project sender, HttpRequest.Builder request, HttpRequest.BodyPublisher body)
            throws Exception {
        HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        return client.send(
                request.uri(logs)
                        .header("Authorization", "Bearer " + sender.token())
                        .POST(body)
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private Response send(String body) {
        return send(pathOf(body), body.getBytes(StandardCharsets.UTF_8));
    }

    private Response send(byte[] body) {
        return send(LOGS, body);
    }

    private Response send(String path, byte[] body) {
        RequestSpecification request = project.wrongRequest().contentType("application/json");
        return (body.length == 0 ? request : request.body(body)).post(path);
    }

    private static ExtractableResponse<Response> problem(Response response, int status, String slug) {
        return assertProblem(response.then().extract(), status, slug);
    }

    private static void problem(HttpResponse<String> answer, int status, String slug) {
        String type = answer.headers().firstValue("Content-Type").orElse("none");
        assertProblem(answer.statusCode(), type, answer.body(), status, slug);
    }
}
