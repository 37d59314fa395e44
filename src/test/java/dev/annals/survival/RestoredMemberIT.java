package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A member's files are replaced by those of a backup from before two moves, while an instance runs. */
@Slow
@Timeout(300)
class RestoredMemberIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture west = SqlFixture.on(TestDatabase.createDatabase());

    @TempDir
    Path directory;

    private InstalledPostgres server;
    private SqlFixture east;
    private Map<String, String> settings;
    private ServiceProcess service;

    private record Project(UUID id, String token) {}

    @BeforeEach
    void start() throws Exception {
        server = InstalledPostgres.start(directory);
        east = SqlFixture.on(server.url("postgres"));
        settings = new HashMap<>();
        settings.put("ANNALS_DATABASE_URL", home.database().withPassword());
        settings.put("ANNALS_DATABASES", "main,east,west");
        settings.put("ANNALS_DATABASES_EAST_URL", server.libpq("postgres"));
        settings.put("ANNALS_DATABASES_WEST_URL", west.database().withPassword());
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        service = ServiceProcess.start(settings).awaitListening();
    }

    @AfterEach
    void stop() {
        service.close();
        server.close();
    }

    private HttpResponse<String> send(String token, String method, String path, String body) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(path.startsWith("http") ? java.net.URI.create(path) : service.uri(path))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode done(int status, HttpResponse<String> answer) throws Exception {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        return JSON.readTree(answer.body());
    }

    private Project create(String name, String database) throws Exception {
        JsonNode made = done(
                201,
                send(
                        ADMIN,
                        "POST",
                        "/v1/projects",
                        "{\"name\": \"" + name + "\", \"database\": \"" + database + "\"}"));
        UUID id = UUID.fromString(made.get("id").asText());
        JsonNode token =
                done(201, send(ADMIN, "POST", "/v1/projects/" + id + "/tokens", "{\"scopes\": [\"read\", \"write\"]}"));
        return new Project(id, token.get("token").asText());
    }

    private HttpResponse<String> append(Project project) throws Exception {
        return send(project.token, "POST", LOGS, "{\"action\": \"append\"}");
    }

    private void append(Project project, int records) throws Exception {
        for (int i = 0; i < records; i++) {
            Await.until("a record is appended", () -> append(project).statusCode() == 201);
        }
    }

    private void move(Project project, String database) throws Exception {
        String path = "/v1/projects/" + project.id + "/move";
        done(202, send(ADMIN, "POST", path, "{\"database\": \"" + database + "\"}"));
        Await.until(
                "the project has moved",
                () -> done(200, send(ADMIN, "GET", path, ""))
                        .path("state")
                        .asText()
                        .equals("moved"));
    }

    /** The first page, with the cursor behind it. */
    private JsonNode page(Project project) throws Exception {
        return done(200, send(project.token, "GET", LOGS + "?limit=100", ""));
    }

    private List<String> command(String... arguments) throws Exception {
        try (ServiceProcess command = ServiceProcess.start(settings, arguments)) {
            command.awaitEnd();
            return List.copyOf(command.output);
        }
    }

    private String placement(SqlFixture database, Project project) throws Exception {
        return String.join("", database.texts("select placement from annals.project where id = '" + project.id + "'"));
    }

    @Test
    void projectsThatMovedSinceTheBackupAreNeitherWrittenTwiceNorReadShort() throws Exception {
        Project left = create("left", "east");
        Project came = create("came", "west");
        append(left, 3);
        append(came, 3);
        Path backup = directory.resolve("backup");
        server.copyStopped(backup);
        append(left, 2);
        move(left, "west");
        move(came, "east");
        append(left, 1);
        append(came, 1);
        String behind = page(came).get("poll_more").asText();
        assertThat(page(came).get("results")).hasSize(4);

        server.replaceBy(backup);

        Await.until(
                "the member is found to be set back",
                () -> placement(east, left).equals("sealed"));
        assertThat(east.as(
                        "annals_writer",
                        "insert into annals.audit_record (project_id, action) values ('" + left.id + "', 'forked')"))
                .isEqualTo("AN307");
        append(left, 1);
        assertThat(page(left).get("results")).as("the other database has all").hasSize(7);
        assertThat(append(came).statusCode()).as("no database has it").isIn(421, 503);
        assertThat(send(came.token, "GET", behind, "").statusCode()).isIn(409, 421, 503);
        JsonNode databases = done(200, send(ADMIN, "GET", "/v1/databases", "")).get("databases");
        assertThat(databases.findValuesAsText("suspended")).containsExactly("0", "1", "0");
        assertThat(command("verify"))
                .anyMatch(line -> line.startsWith(
                        left.id + " (left): the project is in several databases: east (suspended), west"))
                .anyMatch(line -> line.startsWith(came.id + " (came): the project is in no database"));

        assertThat(command("reconcile"))
                .anyMatch(line -> line.equals("  → east: leave it to west"))
                .anyMatch(line -> line.equals("  → west: open it, with 3 records; its log halts"))
                .last()
                .isEqualTo("3 projects: all databases agree.");

        append(came, 1);
        assertThat(page(came).get("results")).hasSize(4);
        assertThat(send(came.token, "GET", behind, "").statusCode())
                .as("the fourth record is another one")
                .isEqualTo(409);
        assertThat(page(left).get("results")).hasSize(7);
        assertThat(west.checkFeed(came.id)).isEqualTo(4);
        assertThat(command("verify")).last().asString().startsWith("Sound: ");
        assertThat(command("rebuild", "administration", "--check"))
                .filteredOn(line -> line.endsWith("are as their events say."))
                .hasSize(3);
    }

    @Test
    void aMemberThatIsPromotedWithoutLossIsWrittenAgainByItself() throws Exception {
        Project project = create("promoted", "east");
        append(project, 1);
        east.run("update annals.admission set incarnation = 'the one before'");
        String insert = "insert into annals.audit_record (project_id, action) values ('" + project.id + "', 'a')";
        assertThat(done(201, append(project)).get("id").asText())
                .as("the append waits")
                .isNotEmpty();
        assertThat(east.as("annals_writer", insert)).isEqualTo("done");
        assertThat(east.checkFeed(project.id)).isEqualTo(3);
        assertThat(east.texts("select action from annals.feed where project_id = annals.administration() and action ="
                        + " 'annals.database.return'"))
                .hasSize(1);
    }
}
