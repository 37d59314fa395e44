package dev.annals.hostile;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.derived.log.LogReader;
import dev.annals.edges.export.CsvCells;
import dev.annals.edges.viewer.Chromium;
import dev.annals.proof.ProvedRecord;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import picocli.CommandLine;

/** Whatever row the schema admits, by plain SQL as its owner, comes back equal by each way out. */
@QuarkusTest
@Timeout(300)
class EveryStoredRecordCanBeReadTest {

    private static final long SEED = Long.getLong("rows.seed", System.nanoTime());
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final String LOGS = "/v1/project-logs";

    /** The expected JSON of a row by the contract, made by PostgreSQL alone. */
    private static final String EXPECTED = """
            select sequence_id, id, "timestamp", recorded_at, action, actor_type, actor_id, actor_name, subject_type, subject_id,
              subject_name, outcome, host(ip_address) as ip_address, message, coalesce(metadata::text, '{}') as metadata, recorded_by
            from annals.feed where project_id = ? order by sequence_id
            """;

    private static Project project;
    private static List<ObjectNode> expected;

    private final AuditLogFixture log = new AuditLogFixture();

    @TestHTTPResource("/")
    URI service;

    @TempDir
    Path directory;

    @BeforeEach
    void writeRows() throws SQLException {
        if (project == null) {
            Project made = log.newProject();
            List<Map<String, String>> rows = StorableRows.admitted(new Random(SEED));
            try (Connection connection = log.connect()) {
                for (Map<String, String> row : rows) {
                    insert(connection, made, row);
                    connection.commit();
                }
                expected = expected(connection, made);
            }
            assertThat(expected).hasSameSizeAs(rows);
            for (int i = 0; i < rows.size(); i++) {
                assertThatTheDatabaseHasWhatWasSent(rows.get(i), expected.get(i));
            }
            project = made;
        }
    }

    private static void assertThatTheDatabaseHasWhatWasSent(Map<String, String> sent, ObjectNode stored) {
        sent.forEach((column, text) -> {
            switch (column) {
                case "timestamp", "recorded_at", "metadata", "ip_address" ->
                    assertThat(stored.has(column)).isTrue();
                default ->
                    assertThat(stored.at("/" + column.replaceFirst("^(actor|subject)_", "$1/"))
                                    .textValue())
                            .isEqualTo(text);
            }
        });
    }

    private static void insert(Connection connection, Project project, Map<String, String> row) throws SQLException {
        String columns = row.keySet().stream().map(column -> '"' + column + '"').collect(Collectors.joining(", "));
        String values = row.keySet().stream()
                .map(column -> switch (column) {
                    case "id" -> "?::uuid";
                    case "timestamp", "recorded_at" -> "?::timestamptz";
                    case "ip_address" -> "?::inet";
                    case "metadata" -> "?::jsonb";
                    default -> "?";
                })
                .collect(Collectors.joining(", "));
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into annals.audit_record (project_id, " + columns + ") values (?, " + values + ")")) {
            insert.setObject(1, project.id());
            int parameter = 2;
            for (String value : row.values()) {
                insert.setString(parameter++, value);
            }
            insert.executeUpdate();
        }
    }

    private static List<ObjectNode> expected(Connection connection, Project project) throws SQLException {
        List<ObjectNode> records = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(EXPECTED)) {
            select.setObject(1, project.id());
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    records.add(expected(row));
                }
            }
        }
        return records;
    }

    private static ObjectNode expected(ResultSet row) throws SQLException {
        ObjectNode record = JSON.createObjectNode();
        record.put("id", row.getString("id"));
        record.put("sequence_id", row.getInt("sequence_id"));
        for (String field : List.of("action", "outcome", "ip_address", "message", "recorded_by")) {
            put(record, field, row.getString(field));
        }
        for (String party : List.of("actor", "subject")) {
            ObjectNode node = JSON.createObjectNode();
            for (String field : List.of("type", "id", "name")) {
                put(node, field, row.getString(party + "_" + field));
            }
            if (!node.isEmpty()) {
                record.set(party, node);
            }
        }
        for (String time : List.of("timestamp", "recorded_at")) {
            record.put(
                    time, row.getObject(time, OffsetDateTime.class).toInstant().toString());
        }
        record.set("metadata", tree(row.getString("metadata")));
        return record;
    }

    private static void put(ObjectNode record, String field, String text) {
        if (text != null) {
            record.put(field, text);
        }
    }

    private static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new AssertionError(json.substring(0, Math.min(200, json.length())), e);
        }
    }

    @Test
    void everyRowIsProvedByAPageAndByItself() {
        LogReader reader = new LogReader(project);
        List<ProvedRecord> proved = reader.walk(reader.next(), 100);
        assertThat(proved).hasSameSizeAs(expected);
        for (ProvedRecord record : proved.subList(0, 20)) {
            assertThat(reader.prove(record.record().id())).isEqualTo(record);
        }
    }

    @Test
    void aRowBeyondALimitIsRefusedByTheDatabase() throws Exception {
        Project untouched = log.newProject();
        for (Map<String, String> row : StorableRows.refused()) {
            try (Connection connection = log.connect()) {
                String shown = row.toString();
                assertThatThrownBy(() -> insert(connection, untouched, row))
                        .as(shown.substring(0, Math.min(120, shown.length())))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                refusal -> assertThat(refusal.getSQLState()).matches("2[23]..."));
            }
        }
        assertThat(log.checkFeed(untouched.id())).isZero();
    }

    @Test
    void pagesHaveEveryRecordInBothOrders() throws Exception {
        assertSame(pages("?limit=1000&cursor=0"));
        assertSame(pages("?limit=7&cursor=0"));
        List<JsonNode> newestFirst = pages("?limit=1000&order=desc");
        List<JsonNode> oldestFirst = new ArrayList<>();
        newestFirst.forEach(record -> oldestFirst.add(0, record));
        assertSame(oldestFirst);
    }

    @Test
    void eachRecordIsReadByItsId() throws Exception {
        List<JsonNode> records = new ArrayList<>();
        for (ObjectNode record : expected) {
            records.add(tree(text(LOGS + "/" + record.get("id").textValue())));
        }
        assertSame(records);
    }

    @Test
    void aStreamHasEveryRecord() throws Exception {
        List<JsonNode> records = new ArrayList<>();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(open(LOGS + "/stream", "text/event-stream"), UTF_8))) {
            for (String line = lines.readLine(); line != null && records.size() < expected.size(); ) {
                if (line.startsWith("data: ")) {
                    records.add(tree(line.substring("data: ".length())));
                }
                line = records.size() < expected.size() ? lines.readLine() : null;
            }
        }
        assertSame(records);
    }

    @Test
    void exportsHaveEveryRecord() throws Exception {
        assertSame(lines("?format=ndjson"));
        assertSame(lines("?format=cloudevents").stream()
                .map(event -> event.get("data"))
                .toList());
        assertThatRowsAreTheRecords(text(LOGS + "/export?format=csv"));
        List<JsonNode> events = lines("?format=ocsf");
        assertThat(events).hasSameSizeAs(expected);
        for (int i = 0; i < events.size(); i++) {
            ObjectNode record = expected.get(i);
            assertThat(events.get(i).at("/metadata/uid")).isEqualTo(record.get("id"));
            assertThat(events.get(i).at("/api/operation")).isEqualTo(record.get("action"));
            assertThat(events.get(i).get("message")).isEqualTo(record.get("message"));
            assertThat(events.get(i).get("status_code")).isEqualTo(record.get("outcome"));
            assertThat(instant(events.get(i).get("time_dt"))).isEqualTo(record.get("timestamp"));
            assertThat(events.get(i).at("/unmapped/metadata")).isEqualTo(record.get("metadata"));
        }
    }

    private void assertThatRowsAreTheRecords(String csv) throws IOException {
        // The one dialect of commons-csv that tells an absent value from an empty one.
        CSVFormat dialect = CSVFormat.POSTGRESQL_CSV
                .builder()
                .setEscape(null)
                .setRecordSeparator("\r\n")
                .setHeader()
                .setSkipHeaderRecord(true)
                .get();
        List<CSVRecord> rows = dialect.parse(new StringReader(csv)).getRecords();
        assertThat(rows).hasSameSizeAs(expected);
        for (int i = 0; i < rows.size(); i++) {
            CSVRecord row = rows.get(i);
            ObjectNode record = expected.get(i);
            assertThat(row.get("id")).isEqualTo(record.get("id").textValue());
            assertThat(tree(CsvCells.text(row.get("metadata")))).isEqualTo(record.get("metadata"));
            for (String column : List.of(
                    "action",
                    "outcome",
                    "ip_address",
                    "message",
                    "actor_type",
                    "actor_id",
                    "actor_name",
                    "subject_type",
                    "subject_id",
                    "subject_name",
                    "recorded_by")) {
                String text = record.at("/" + column.replaceFirst("^(actor|subject)_", "$1/"))
                        .textValue();
                String cell = row.get(column);
                assertThat(cell == null ? null : CsvCells.text(cell)).as(column).isEqualTo(text);
            }
        }
    }

    @Test
    void theCommandLineHasEveryRecord() throws Exception {
        assertSame(run("tail", "--from-start", "--json")
                .lines()
                .map(EveryStoredRecordCanBeReadTest::tree)
                .toList());
        assertThat(run("tail", "--from-start").lines()).hasSameSizeAs(expected);
        assertSame(
                run("export").lines().map(EveryStoredRecordCanBeReadTest::tree).toList());
    }

    private String run(String... arguments) throws Exception {
        List<String> line = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // It lives for seconds.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.annals.Annals"));
        line.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(line);
        builder.environment().put("ANNALS_URL", service.toString().replaceAll("/$", ""));
        builder.environment().put("ANNALS_TOKEN", project.token());
        Path error = directory.resolve("error");
        Process process = builder.redirectError(error.toFile()).start();
        String printed = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(Files.readString(error)).isZero();
        return printed;
    }

    @Test
    void theViewerShowsEveryRecordAtItsLimits() throws Exception {
        try (Chromium chromium = Chromium.start();
                Chromium.Guarded guarded = chromium.open(new Browser.NewContextOptions(), service)) {
            Page page = guarded.page;
            page.navigate(service.toString());
            page.fill("#token", project.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#viewer")).isVisible();
            assertThat(page.locator("#rows tr").first()).isVisible();
            // Each record by its own link.
            for (int i = 0; i < expected.size(); i += 3) {
                ObjectNode record = expected.get(i);
                page.navigate(service + "#record=" + record.get("id").textValue());
                assertThat(page.locator("#detail"))
                        .containsText(record.get("id").textValue());
                assertThat(page.locator("#detail [role=alert]")).isHidden();
            }
        }
    }

    @Test
    void verifyFindsNothingToSayOfThem() throws Exception {
        StringWriter printed = new StringWriter();
        int exitCode = CommandLine.populateCommand(
                        new Verify(), "--project", project.id().toString())
                .run(TestDatabase.url(), new PrintWriter(printed));
        assertThat(exitCode).as(printed.toString()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void theParsersOfOtherLanguagesReadEveryPage(JsonPrograms language) throws Exception {
        ArrayNode records = JSON.createArrayNode();
        String next = LOGS + "?limit=1000&cursor=0";
        while (next != null) {
            byte[] page = text(next).getBytes(UTF_8);
            JsonNode understood = language.read(page, directory);
            records.addAll((ArrayNode) understood.get("results"));
            next = understood.get("next").textValue();
        }
        assertThat(records).hasSameSizeAs(expected);
        List<JsonNode> ours = new ArrayList<>();
        for (JsonNode record : pages("?limit=1000&cursor=0")) {
            ours.add(numbersAsBits(record));
        }
        assertEach(new ArrayList<>(ours), records);
    }

    private static JsonNode numbersAsBits(JsonNode node) {
        JsonNodeFactory nodes = JsonNodeFactory.instance;
        if (node.isNumber()) {
            double number = Double.parseDouble(node.asText());
            return nodes.textNode("n" + Long.toHexString(Double.doubleToRawLongBits(number)));
        } else if (node.isArray()) {
            ArrayNode array = nodes.arrayNode();
            node.forEach(element -> array.add(numbersAsBits(element)));
            return array;
        } else if (node.isObject()) {
            ObjectNode object = nodes.objectNode();
            node.properties().forEach(field -> object.set(field.getKey(), numbersAsBits(field.getValue())));
            return object;
        }
        return node;
    }

    private static void assertSame(List<JsonNode> records) {
        List<JsonNode> comparable = new ArrayList<>();
        for (JsonNode record : records) {
            ObjectNode copy = record.deepCopy();
            copy.set("timestamp", instant(record.get("timestamp")));
            copy.set("recorded_at", instant(record.get("recorded_at")));
            comparable.add(copy);
        }
        assertEach(comparable, expected);
    }

    private static JsonNode instant(JsonNode time) {
        return JsonNodeFactory.instance.textNode(
                OffsetDateTime.parse(time.textValue()).toInstant().toString());
    }

    /** One by one, so that a failure shows one record and not all. */
    private static void assertEach(List<JsonNode> actual, Iterable<? extends JsonNode> wanted) {
        int i = 0;
        for (JsonNode record : wanted) {
            assertThat(actual).as("seed %d", SEED).hasSizeGreaterThan(i);
            JsonNode found = actual.get(i++);
            if (!found.equals(record)) {
                String shown = record.toString();
                String instead = found.toString();
                throw new AssertionError("seed " + SEED + ", expected\n"
                        + shown.substring(0, Math.min(2_000, shown.length())) + "\nfound\n"
                        + instead.substring(0, Math.min(2_000, instead.length())));
            }
        }
        assertThat(actual).hasSize(i);
    }

    private List<JsonNode> pages(String parameters) throws Exception {
        List<JsonNode> records = new ArrayList<>();
        String next = LOGS + parameters;
        while (next != null) {
            JsonNode page = tree(text(next));
            page.get("results").forEach(records::add);
            next = page.get("next").textValue();
        }
        return records;
    }

    private List<JsonNode> lines(String parameters) throws Exception {
        // A line ends with a line feed and nothing else: records hold other separators.
        List<JsonNode> lines = new ArrayList<>();
        for (String line : text(LOGS + "/export" + parameters).split("\n", -1)) {
            if (!line.isEmpty()) {
                lines.add(tree(line));
            }
        }
        return lines;
    }

    private String text(String url) throws Exception {
        try (InputStream body = open(url, "*/*")) {
            return new String(body.readAllBytes(), UTF_8);
        }
    }

    private InputStream open(String url, String mediaType) throws Exception {
        HttpResponse<InputStream> answer = HTTP.send(
                HttpRequest.newBuilder(service.resolve(url))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Accept", mediaType)
                        .build(),
                HttpResponse.BodyHandlers.ofInputStream());
        assertThat(answer.statusCode()).as(url).isEqualTo(200);
        return answer.body();
    }
}
