package dev.annals.edges.export;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import io.cloudevents.CloudEvent;
import io.cloudevents.jackson.JsonFormat;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.StringReader;
import java.net.URI;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Every format contains the records of the feed, as independent parsers read them back. */
@QuarkusTest
class ExportFormatTest {

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    private Project project;
    private ExportClient client;
    private List<JsonNode> feed;

    @BeforeEach
    void writeHostileRecords() throws IOException {
        project = log.newProject();
        client = new ExportClient(project, service);
        client.append(HostileRecords.all().toArray(String[]::new));
        project.request()
                .contentType("application/json")
                .body("""
                        {"kind": "SYNCHRONOUS", "start": 1043}""")
                .put("/v1/sequences/-invoice")
                .then()
                .statusCode(201);
        client.append("""
                {"action": "numbered", "number": {"sequence": "-invoice"}}""");
        feed = client.feed();
    }

    @AfterEach
    void checkFeed() throws Exception {
        assertThat(log.checkFeed(project.id())).isEqualTo(HostileRecords.all().size() + 1);
    }

    @Test
    void everyLineOfNdjsonIsTheRecordOfTheFeed() throws Exception {
        assertThat(client.lines("")).isEqualTo(feed);
        assertThat(client.lines("?format=ndjson")).isEqualTo(feed);
    }

    @Test
    void everyRowOfCsvIsTheRecordOfTheFeed() throws Exception {
        String text = client.text("?format=csv");
        assertThat(text).startsWith(CsvRecord.HEADER).endsWith("\r\n");
        List<ObjectNode> rows = new ArrayList<>();
        // The one dialect of commons-csv that tells an absent value from an empty one.
        CSVFormat dialect = CSVFormat.POSTGRESQL_CSV
                .builder()
                .setEscape(null)
                .setRecordSeparator("\r\n")
                .setHeader()
                .setSkipHeaderRecord(true)
                .get();
        for (CSVRecord row : dialect.parse(new StringReader(text))) {
            assertThat(row.isConsistent()).isTrue();
            row.forEach(cell -> assertThat(cell == null || !isRunBySpreadsheets(cell))
                    .as(cell)
                    .isTrue());
            rows.add(record(row));
        }
        assertThat(rows).isEqualTo(feed);
    }

    /** Also where a spreadsheet divides cells at semicolons and tabs. */
    private static boolean isRunBySpreadsheets(String cell) {
        return isRun(cell)
                || Pattern.compile("[;\t]").splitAsStream(cell).skip(1).anyMatch(ExportFormatTest::isRun);
    }

    /** OWASP's list, on the cell as it is and as programs that trim see it. */
    private static boolean isRun(String cell) {
        String bare = cell.strip();
        return (!cell.isEmpty() && "=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20".indexOf(cell.charAt(0)) >= 0)
                || (!bare.isEmpty() && "=+-@\uFF1D\uFF0B\uFF0D\uFF20".indexOf(bare.charAt(0)) >= 0);
    }

    private static ObjectNode record(CSVRecord row) throws IOException {
        ObjectNode record = ExportClient.JSON.createObjectNode();
        record.put("id", row.get("id"));
        record.put("sequence_id", Integer.parseInt(row.get("sequence_id")));
        put(record, "action", row.get("action"));
        for (String party : List.of("actor", "subject")) {
            ObjectNode node = ExportClient.JSON.createObjectNode();
            for (String field : List.of("type", "id", "name")) {
                put(node, field, row.get(party + "_" + field));
            }
            if (!node.isEmpty()) {
                record.set(party, node);
            }
        }
        put(record, "outcome", row.get("outcome"));
        put(record, "ip_address", row.get("ip_address"));
        put(record, "message", row.get("message"));
        put(record, "timestamp", row.get("timestamp"));
        put(record, "recorded_at", row.get("recorded_at"));
        put(record, "recorded_by", row.get("recorded_by"));
        if (row.get("number_value") != null) {
            put(record.putObject("number"), "sequence", row.get("number_sequence"));
            ((ObjectNode) record.get("number")).put("value", Integer.parseInt(row.get("number_value")));
        }
        record.set("metadata", ExportClient.JSON.readTree(CsvCells.text(row.get("metadata"))));
        if (row.get("redacted") != null) {
            record.set("redacted", ExportClient.JSON.readTree(CsvCells.text(row.get("redacted"))));
        }
        return record;
    }

    private static void put(ObjectNode record, String name, String cell) {
        if (cell != null) {
            record.put(name, CsvCells.text(cell));
        }
    }

    @Test
    void everyCloudEventIsReadByTheSdkAndHoldsTheRecordOfTheFeed() throws Exception {
        String[] lines = client.text("?format=cloudevents").split("\n", -1);
        assertThat(lines).hasSize(feed.size() + 1);
        String before = "";
        for (int i = 0; i < feed.size(); i++) {
            JsonNode record = feed.get(i);
            CloudEvent event = new JsonFormat().deserialize(lines[i].getBytes(UTF_8));
            assertThat(event.getSpecVersion().toString()).isEqualTo("1.0");
            assertThat(event.getId()).isEqualTo(record.get("id").asText());
            assertThat(event.getSource()).isEqualTo(URI.create("urn:uuid:" + project.id()));
            assertThat(event.getType()).matches("dev\\.annals\\.record\\.([A-Za-z0-9._~-]|%[0-9A-F]{2})+");
            assertThat(java.net.URLDecoder.decode(event.getType(), UTF_8))
                    .isEqualTo("dev.annals.record." + record.get("action").asText());
            assertThat(event.getTime())
                    .isEqualTo(OffsetDateTime.parse(record.get("timestamp").asText()));
            assertThat(event.getDataContentType()).isEqualTo("application/json");
            assertThat(ExportClient.JSON.readTree(lines[i]).get("data")).isEqualTo(record);
            assertThat(event.getExtension("recordedby"))
                    .isEqualTo(record.get("recorded_by").asText());
            String sequence = (String) event.getExtension("sequence");
            assertThat(Long.parseLong(sequence))
                    .isEqualTo(record.get("sequence_id").asLong());
            assertThat(sequence).isGreaterThan(before);
            before = sequence;
            assertThatAttributesAreAllowed(ExportClient.JSON.readTree(lines[i]));
            if (event.getSubject() != null) {
                assertThat(event.getSubject())
                        .isIn(
                                record.at("/subject/id").asText(),
                                record.at("/subject/name").asText());
            }
        }
        assertThat(client.lines("?format=cloudevents&cursor=" + before)).isEmpty();
    }

    /** The rules of the specification's sections "Attributes" and "Type System". */
    private static void assertThatAttributesAreAllowed(JsonNode event) {
        event.fieldNames().forEachRemaining(name -> assertThat(name).matches("[a-z0-9]{1,20}"));
        for (JsonNode value : event) {
            if (value.isTextual()) {
                assertThat(value.asText()).isNotEmpty();
                assertThat(value.asText().codePoints())
                        .allMatch(c -> c > 0x1F
                                && !(c >= 0x7F && c <= 0x9F)
                                && !(c >= 0xFDD0 && c <= 0xFDEF)
                                && (c & 0xFFFE) != 0xFFFE);
            }
        }
    }

    @Test
    void everyOcsfEventFollowsThePublishedSchemaAndLosesNothing() throws Exception {
        List<JsonNode> events = client.lines("?format=ocsf");
        assertThat(events).hasSameSizeAs(feed);
        JsonNode schema = ExportClient.JSON.readTree(getClass().getResourceAsStream("ocsf-1.6.0.json"));
        for (int i = 0; i < events.size(); i++) {
            JsonNode event = events.get(i);
            JsonNode record = feed.get(i);
            OcsfSchema.check(schema, "api_activity", event);
            assertThat(event.get("type_uid").asInt())
                    .isEqualTo(event.get("class_uid").asInt() * 100
                            + event.get("activity_id").asInt());
            assertThat(event.at("/api/operation")).isEqualTo(record.get("action"));
            assertThat(event.get("time_dt")).isEqualTo(record.get("timestamp"));
            assertThat(event.get("time").asLong())
                    .isEqualTo(OffsetDateTime.parse(record.get("timestamp").asText())
                            .toInstant()
                            .toEpochMilli());
            assertThat(event.at("/metadata/uid")).isEqualTo(record.get("id"));
            assertThat(event.at("/metadata/logged_time_dt")).isEqualTo(record.get("recorded_at"));
            assertThat(event.at("/unmapped/sequence_id")).isEqualTo(record.get("sequence_id"));
            assertThat(event.at("/unmapped/recorded_by")).isEqualTo(record.get("recorded_by"));
            assertThat(event.at("/unmapped/number")).isEqualTo(record.at("/number"));
            assertThat(event.at("/unmapped/metadata")).isEqualTo(record.get("metadata"));
            assertThat(event.get("status_code")).isEqualTo(record.get("outcome"));
            assertThat(event.get("message")).isEqualTo(record.get("message"));
            assertThat(event.at("/src_endpoint/ip")).isEqualTo(record.at("/ip_address"));
            for (String field : List.of("id", "name")) {
                String there = field.equals("id") ? "uid" : "name";
                if (record.at("/actor").has(field)) {
                    assertThat(event.at("/actor/user/" + there)).isEqualTo(record.at("/actor/" + field));
                }
                if (record.at("/subject").has(field)) {
                    assertThat(event.at("/resources/0/" + there)).isEqualTo(record.at("/subject/" + field));
                }
            }
            assertThat(event.at("/unmapped/actor_type")).isEqualTo(record.at("/actor/type"));
            assertThat(event.at("/resources/0/type")).isEqualTo(record.at("/subject/type"));
        }
        JsonNode deleted = events.get(HostileRecords.all().size() - 5);
        assertThat(deleted.get("activity_id").asInt()).isEqualTo(4);
        assertThat(deleted.get("status_id").asInt()).isEqualTo(2);
    }
}
