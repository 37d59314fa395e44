package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.SqlFixture;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.StringReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** A database accepts and shows only the projects that it has, and names the database that has the others. */
@QuarkusTest
@Timeout(60)
class ProjectElsewhereTest {

    private final AuditLogFixture log = new AuditLogFixture();
    private final HttpClient http = HttpClient.newHttpClient();

    @TestHTTPResource("/")
    URI service;

    private interface Work {
        void in(Connection connection) throws Exception;
    }

    private void place(UUID project, String placement) throws SQLException {
        log.run("""
                do $$
                declare
                  old_row annals.project;
                  new_row annals.project;
                begin
                  select * into old_row from annals.project where id = '%s';
                  update annals.project
                  set placement = '%s', is_moving = %s, moved_to = %s, placement_epoch = placement_epoch + 1
                  where id = old_row.id returning * into new_row;
                  perform annals.record_change('annals.project.%s', old_row, new_row, null, null);
                end $$
                """.formatted(
                        project,
                        placement.equals("suspended") ? "sealed" : placement,
                        placement.equals("sealed"),
                        placement.equals("here") ? "null" : "'east'",
                        placement.equals("here") ? "open" : "leave"));
    }

    private void assertRefused(UUID project, String placement, Work work) throws Exception {
        try (Connection writer = log.connectAsWriter()) {
            PSQLException refused = catchThrowableOfType(PSQLException.class, () -> {
                work.in(writer);
                writer.commit();
            });
            assertThat(refused.getSQLState()).isEqualTo("AN307");
            assertThat(refused.getServerErrorMessage().getDetail())
                    .contains("\"database\": \"east\"", "\"placement\": \"" + placement + "\"", project.toString());
            if (!placement.equals("suspended")) {
                assertThat(refused.getServerErrorMessage().getMessage()).contains("east");
            }
            assertThat(refused.getServerErrorMessage().getMessage()).contains(project.toString());
        }
    }

    @Test
    void noWriterStoresRecordsInAProjectThatIsElsewhere() throws Exception {
        UUID project = log.insertProject();
        UUID other = log.insertProject();
        for (String placement : List.of("arriving", "sealed", "suspended", "gone")) {
            place(project, placement);
            assertRefused(project, placement, writer -> SqlFixture.insert(writer, project, "a"));
            assertRefused(project, placement, writer -> {
                SqlFixture.insert(writer, other, "a");
                SqlFixture.insert(writer, project, "a");
            });
            assertRefused(
                    project,
                    placement,
                    writer -> writer.unwrap(PGConnection.class)
                            .getCopyAPI()
                            .copyIn(
                                    "copy annals.audit_record (project_id, action) from stdin",
                                    new StringReader((project + "\ta\n").repeat(600))));
        }
        assertThat(log.checkFeed(project)).isZero();
        assertThat(log.checkFeed(other)).isZero();
        place(project, "here");
        log.insertAsWriter(project, "'a', 'm'", 3);
        assertThat(log.checkFeed(project)).isEqualTo(3);
    }

    @Test
    void whereIsTellsWritersOfTheProjectAlone() throws Exception {
        UUID project = log.insertProject();
        String role = "writer_" + project.toString().substring(0, 8);
        log.run("create role " + role + " in role annals_writer");
        String asked = "select w::text from annals.where_is('" + project + "') as w";
        try (Connection writer = log.connect()) {
            SqlFixture.execute(writer, "set session authorization " + role);
            assertThat(SqlFixture.texts(writer, asked)).containsExactly("(,)");
            log.run("select annals.grant_writer('" + role + "', '" + project + "')");
            assertThat(SqlFixture.texts(writer, asked)).containsExactly("(here,)");
            place(project, "gone");
            assertThat(SqlFixture.texts(writer, asked)).containsExactly("(gone,east)");
            SqlFixture.execute(writer, "reset session authorization");
            assertThat(SqlFixture.texts(writer, asked)).containsExactly("(gone,east)");
            place(project, "here");
            log.run("select annals.revoke_writer('" + role + "', '" + project + "')");
        } finally {
            log.run("drop role " + role);
        }
    }

    @Test
    void theServiceAnswersWithTheDatabaseOrAsksToTryAgain() throws Exception {
        Project project = log.newProject();
        append(project).get(30, TimeUnit.SECONDS);
        String last = project.request().get(AuditLogFixture.LOGS).path("poll_more");
        for (String placement : List.of("arriving", "sealed", "gone")) {
            place(project.id(), placement);
            HttpResponse<String> refused = append(project).get(30, TimeUnit.SECONDS);
            assertThat(refused.statusCode()).isEqualTo(placement.equals("gone") ? 421 : 503);
            assertThat(refused.body())
                    .contains(
                            placement.equals("gone") ? "project-elsewhere" : "project-moving", "\"database\":\"east\"");
            assertThat(refused.headers().firstValue("Retry-After").isPresent()).isEqualTo(!placement.equals("gone"));
            for (String page :
                    List.of("", "?order=desc", "?action=a", "?action=b", last.substring(last.indexOf('?')))) {
                Response answer = project.wrongRequest().get(AuditLogFixture.LOGS + page);
                assertThat(answer.statusCode())
                        .as(placement + page)
                        .isEqualTo(
                                switch (placement) {
                                    case "gone" -> 421;
                                    case "sealed" -> 200;
                                    default -> 503;
                                });
            }
        }
        place(project.id(), "here");
        assertThat(project.request().get(AuditLogFixture.LOGS).statusCode()).isEqualTo(200);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    /** The queue merges requests while the feed of one project is locked. */
    @Test
    void aProjectThatIsElsewhereFailsNoOthersOfItsBatch() throws Exception {
        Project gone = log.newProject();
        List<Project> others = List.of(log.newProject(), log.newProject(), log.newProject());
        place(gone.id(), "gone");
        List<CompletableFuture<HttpResponse<String>>> refused = new ArrayList<>();
        List<CompletableFuture<HttpResponse<String>>> stored = new ArrayList<>();
        for (int round = 0; round < 100; round++) {
            refused.add(append(gone));
            others.forEach(project -> stored.add(append(project)));
        }
        for (CompletableFuture<HttpResponse<String>> answer : stored) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
        }
        for (CompletableFuture<HttpResponse<String>> answer : refused) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(421);
        }
        for (Project project : others) {
            assertThat(log.checkFeed(project.id())).isEqualTo(100);
        }
    }

    private CompletableFuture<HttpResponse<String>> append(Project project) {
        return http.sendAsync(
                HttpRequest.newBuilder(service.resolve(AuditLogFixture.LOGS))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("""
                                {"action": "a"}"""))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
