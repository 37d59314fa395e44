package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A database may have any settings: the service, its commands and its schema set those on which they rely. */
@Timeout(300)
class OddDatabaseSettingsIT {

    /** Each changes how values are written or read, how constants are parsed, or what a transaction sees. */
    private static final List<String> ODD = List.of(
            "array_nulls = off",
            "bytea_output = 'escape'",
            "datestyle = 'SQL, DMY'",
            "default_transaction_deferrable = on",
            "default_transaction_isolation = 'serializable'",
            "extra_float_digits = -5",
            "gin_fuzzy_search_limit = 1",
            "intervalstyle = 'sql_standard'",
            "quote_all_identifiers = on",
            "search_path = 'shadow', 'pg_catalog'",
            "standard_conforming_strings = off",
            "timezone = 'Asia/Kathmandu'",
            "transform_null_equals = on",
            "xmlbinary = 'hex'");

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @Test
    void theServiceAndItsSchemaWorkWhateverTheDatabaseSets() throws Exception {
        DatabaseUrl url = TestDatabase.createDatabase();
        SqlFixture sql = SqlFixture.on(url);
        for (String setting : ODD) {
            sql.runEach("alter database \"" + url.database() + "\" set " + setting);
        }
        // PostgreSQL would prefer it to its own function, whose argument is a text.
        sql.runEach(
                "create schema shadow",
                "create function shadow.lower(varchar) returns text language sql return 'shadowed'",
                "grant usage on schema shadow to public");

        try (ServiceProcess service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        url.withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        AuditLogFixture.ADMIN_TOKEN,
                        "ANNALS_LOG_KEY",
                        AuditLogFixture.LOG_KEY,
                        "ANNALS_LOG_INTERVAL",
                        "10ms",
                        "ANNALS_RETENTION_INTERVAL",
                        "100ms"))
                .awaitListening()) {
            Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "redact");
            String id = post(
                    service.uri("/v1/project-logs"),
                    project,
                    "{\"action\": \"first\", \"message\": \"a \\\\ b\"}",
                    201);
            post(
                    service.uri("/v1/project-logs/" + idOf(id) + "/redactions"),
                    project,
                    "{\"fields\": [\"message\"], \"reason\": \"odd\"}",
                    200);
            writeBySql(url, project);
            Await.until("all is derived", () -> sql.number("""
                    select count(*) from annals.projection_checkpoint where project_id = '%s' and sequence_id = %d
                    """.formatted(project.id(), 303)) >= 2);
            assertThat(get(service.uri("/v1/project-logs?action=by%20sql&limit=1"), project))
                    .contains("\"sequence_id\":3");

            StringWriter printed = new StringWriter();
            assertThat(new Verify().run(url, new PrintWriter(printed)))
                    .as(printed.toString())
                    .isZero();
        }
    }

    /** Writes in a session with the database's own settings, as any application has. */
    private static void writeBySql(DatabaseUrl url, Project project) throws Exception {
        try (Connection application = url.connect()) {
            SqlFixture.execute(application, "reset all");
            SqlFixture.execute(
                    application,
                    "insert into annals.audit_record (project_id, action, metadata) select '" + project.id()
                            + "', 'by sql', '{\"a\": null}' from generate_series(1, 301)");
            application.setAutoCommit(false);
            SqlFixture.execute(
                    application,
                    "insert into annals.audit_record (project_id, action) values ('" + project.id() + "', 'held')");
            assertThatThrownBy(() -> SqlFixture.execute(application, "set constraints all immediate"))
                    .hasMessageContaining("SET CONSTRAINTS … IMMEDIATE refused");
            application.rollback();
        }
    }

    private static String idOf(String answer) {
        return answer.replaceAll("(?s).*\"id\":\\s*\"([^\"]*)\".*", "$1");
    }

    private static String post(URI uri, Project project, String body, int status) throws Exception {
        HttpResponse<String> answer = send(
                HttpRequest.newBuilder(uri)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body)),
                project);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        return answer.body();
    }

    private static String get(URI uri, Project project) throws Exception {
        return send(HttpRequest.newBuilder(uri), project).body();
    }

    private static HttpResponse<String> send(HttpRequest.Builder request, Project project) throws Exception {
        return HTTP.send(
                request.header("Authorization", "Bearer " + project.token()).build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
