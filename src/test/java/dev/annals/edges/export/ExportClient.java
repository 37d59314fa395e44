package dev.annals.edges.export;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Writes to a project, reads its feed, and asks for exports as a client that knows no part of the service does. */
record ExportClient(Project project, URI service) {

    static final String PATH = "/v1/project-logs/export";
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** Asks for an export, whose body is read by the caller, at the caller's pace. */
    HttpResponse<InputStream> open(String query) throws IOException, InterruptedException {
        return open(query, "identity");
    }

    /** Asks for an export in an encoding. */
    HttpResponse<InputStream> open(String query, String acceptEncoding) throws IOException, InterruptedException {
        return HTTP.send(
                HttpRequest.newBuilder(service.resolve(PATH + query))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Accept-Encoding", acceptEncoding)
                        .build(),
                HttpResponse.BodyHandlers.ofInputStream());
    }

    /** A whole export as text. */
    String text(String query) throws IOException, InterruptedException {
        HttpResponse<InputStream> answer = open(query);
        try (InputStream body = answer.body()) {
            byte[] bytes = body.readAllBytes();
            String text = new String(bytes, UTF_8);
            assertThat(answer.statusCode()).as(text).isEqualTo(200);
            return text;
        }
    }

    /** An export's lines, each read as JSON. */
    List<JsonNode> lines(String query) throws IOException, InterruptedException {
        String text = text(query);
        assertThat(text)
                .satisfiesAnyOf(t -> assertThat(t).isEmpty(), t -> assertThat(t).endsWith("\n"));
        List<JsonNode> lines = new ArrayList<>();
        for (String line : text.split("\n", -1)) {
            if (!line.isEmpty()) {
                lines.add(JSON.readTree(line));
            }
        }
        return lines;
    }

    /** The records of the feed, page by page. */
    List<JsonNode> feed() throws IOException {
        List<JsonNode> records = new ArrayList<>();
        String cursor = "0";
        while (true) {
            JsonNode page = JSON.readTree(project.wrongRequest()
                    .get("/v1/project-logs?limit=1000&cursor=" + cursor)
                    .asByteArray());
            page.get("results").forEach(records::add);
            if (page.get("next").isNull()) {
                return records;
            }
            cursor = page.get("results")
                    .get(page.get("results").size() - 1)
                    .get("sequence_id")
                    .asText();
        }
    }

    void append(String... records) {
        project.request()
                .contentType("application/json")
                .body(AuditLogFixture.batch(records).getBytes(UTF_8))
                .post(AuditLogFixture.BATCH)
                .then()
                .statusCode(201);
    }

    /** Writes so many records by plain SQL, each with a message of about so many characters that hardly compress. */
    void appendMany(Connection connection, int count, int messageLength) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("""
                insert into annals.audit_record (project_id, action, message)
                select ?, 'many', (select string_agg(md5(i || ' ' || j), '') from generate_series(1, ?) j)
                from generate_series(1, ?) i
                """)) {
            insert.setObject(1, project.id());
            insert.setInt(2, messageLength / 32 + 1);
            insert.setInt(3, count);
            insert.executeUpdate();
        }
        connection.commit();
    }
}
