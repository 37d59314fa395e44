package dev.annals.tools.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.Await;
import dev.annals.BreakablePath;
import dev.annals.Ports;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packaged service with several databases, of which one fails. */
@Slow
@Timeout(300)
class MembersIT {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String LOGS = "/v1/project-logs";
    private static final Pattern ADMIN_TOKEN = Pattern.compile("export ANNALS_ADMIN_TOKEN=(\\S+)");

    private Path data;
    private Map<String, String> settings;
    private ServiceProcess service;
    private String admin;

    @BeforeEach
    void makeDirectory() throws IOException {
        data = Files.createTempDirectory("annals-members-");
        TestDatabase.sharePrograms(data);
    }

    @AfterEach
    void stop() throws InterruptedException {
        stopService();
        TestDatabase.deleteTree(data);
    }

    @Test
    void projectsAreWrittenReadAndProvedInTheDatabaseThatTheyWereCreatedIn() throws Exception {
        start(Map.of("ANNALS_DATABASES", "main,east"));
        Project main = create("in main", "main");
        Project east = create("in east", "east");

        for (Project project : List.of(main, east)) {
            assertThat(append(project, "invoice.create").statusCode()).isEqualTo(201);
            assertThat(json(get(project.token, LOGS)).path("results")).hasSize(1);
            Await.until(
                    "the record is found",
                    () -> json(get(project.token, LOGS + "?q=action:invoice.create"))
                                    .path("results")
                                    .size()
                            == 1);
            Await.until(
                    "the record is signed",
                    () -> get(project.token, LOGS + "/log/1/checkpoint").body().contains("\n1\n"));
        }
        assertThat(rows(url("east"), "annals.audit_record where project_id = '" + east.id + "'"))
                .isEqualTo(1);
        assertThat(rows(url("main"), "annals.audit_record where project_id = '" + east.id + "'"))
                .isZero();
        assertThat(create("anywhere", null).database)
                .as("the one with the fewest projects")
                .isEqualTo("east");
        assertThat(json(get(admin, "/v1/projects/in%20east")).path("database").asText())
                .isEqualTo("east");
        assertThat(command("database", "list"))
                .anyMatch(line -> line.startsWith("main\thome\t"))
                .anyMatch(line -> line.startsWith("east\tmember\t2 projects\t"));
        assertThat(command("project", "list"))
                .anyMatch(line -> line.endsWith("\tin main\topen\tin main"))
                .anyMatch(line -> line.endsWith("\tin east\topen\tin east"));
        HttpResponse<String> wrong = post(admin, "/v1/projects", Map.of("name", "nowhere", "database", "west"));
        assertThat(wrong.statusCode()).isEqualTo(422);
        assertThat(wrong.body()).contains("It must be one of main, east.");
        assertThat(health()).contains("\"east\": \"reads and writes\"");
        assertThat(command("verify")).last().asString().startsWith("Sound: ");
        assertThat(command("rebuild", "administration", "--check"))
                .contains("east: Projects, tokens, grants and holds are as their events say.");
    }

    @Test
    void changesOfAProjectReachItsDatabase() throws Exception {
        start(Map.of("ANNALS_DATABASES", "main,east"));
        Project east = create("in east", "east");
        assertThat(append(east, "invoice.create").statusCode()).isEqualTo(201);

        HttpResponse<String> renamed =
                send("PATCH", admin, "/v1/projects/" + east.id, Map.of("name", "other", "retention_days", 30));
        assertThat(json(renamed).path("name").asText()).isEqualTo("other");
        assertThat(rows(url("east"), "annals.project where name = 'other' and retention_days = 30"))
                .isEqualTo(1);
        assertThat(post(admin, "/v1/projects/other/holds", Map.of("reason", "A dispute"))
                        .statusCode())
                .isEqualTo(201);
        assertThat(post(admin, "/v1/projects/other/close", Map.of()).statusCode())
                .isEqualTo(200);
        assertThat(rows(url("east"), "annals.project where closed_at is not null"))
                .isEqualTo(1);
        assertThat(append(east, "invoice.create").statusCode()).isEqualTo(409);
        assertThat(command("rebuild", "administration", "--check"))
                .filteredOn(line -> line.endsWith("are as their events say."))
                .hasSize(2);
    }

    /** The service is killed after the member's commit and before home's: home knows nothing. */
    @Test
    void aCreationThatWasInterruptedGoesOnWithTheNextOne() throws Exception {
        start(Map.of("ANNALS_DATABASES", "main,east"));
        create("another", "east");
        UUID id = UUID.randomUUID();
        run(url("east"), "select annals.create_project('interrupted', '" + id + "')");

        assertThat(get(admin, "/v1/projects/interrupted").statusCode()).isEqualTo(404);
        assertThat(command("verify"))
                .contains(id + " (interrupted): the project is in east, and home does not know it; create it there by"
                        + " its name");
        assertThat(create("interrupted", "east").id).isEqualTo(id);
        assertThat(command("verify")).last().asString().startsWith("Sound: ");
    }

    @Test
    void verifyNamesAProjectThatIsInTwoDatabasesOrInNone() throws Exception {
        start(Map.of("ANNALS_DATABASES", "main,east"));
        Project twice = create("twice", "east");
        Project lost = create("lost", "east");
        run(url("main"), "update annals.project set placement = 'here', moved_to = null where name = 'twice'");
        run(url("east"), "delete from annals.project where name = 'lost'");

        assertThat(command("verify"))
                .contains(
                        twice.id + " (twice): the project is in several databases: main, east",
                        lost.id + " (lost): the project is in no database; home says that it is in east");
    }

    @Test
    void aFrozenMemberCostsTheOthersNothing() throws Exception {
        start(Map.of(
                "ANNALS_DATABASES", "main,east",
                "ANNALS_DATABASE_STATEMENT_TIMEOUT", "2s",
                "ANNALS_DATABASE_LOCK_TIMEOUT", "1s",
                "ANNALS_DATABASE_ANSWER_TIMEOUT", "1s",
                "ANNALS_DATABASE_CONNECT_TIMEOUT", "1s",
                "ANNALS_APPEND_RETRIES", "1"));
        Project main = create("in main", "main");
        Project east = create("in east", "east");
        assertThat(append(east, "invoice.create").statusCode()).isEqualTo(201);

        signal("STOP");
        try {
            for (int i = 0; i < 20; i++) {
                assertThat(append(main, "invoice.create").statusCode()).isEqualTo(201);
                assertThat(get(main.token, LOGS + "?limit=1").statusCode()).isEqualTo(200);
            }
            HttpResponse<String> refused = append(east, "invoice.create");
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(refused.headers().firstValue("Retry-After")).isPresent();
            assertThat(append(main, "invoice.create").statusCode()).isEqualTo(201);
            assertThat(health("/ready")).startsWith("200 ").containsAnyOf("no answer within", "nothing now");
            assertThat(command("database", "list")).anyMatch(line -> line.equals("east\tmember\tdoes not answer"));
            assertThat(get(admin, "/v1/projects/in%20east").body()).contains("\"oldest_sequence_id\":null");
        } finally {
            signal("CONT");
        }
        Await.until(
                "east is written again", () -> append(east, "invoice.create").statusCode() == 201);
    }

    @Test
    void aMemberThatDiesIsBackByItself() throws Exception {
        start(Map.of("ANNALS_DATABASES", "main,east"));
        Project main = create("in main", "main");
        Project east = create("in east", "east");

        signal("KILL");

        assertThat(append(main, "invoice.create").statusCode()).isEqualTo(201);
        Await.until(
                "east is written again", () -> append(east, "invoice.create").statusCode() == 201);
    }

    @Test
    void aMemberThatCannotBeReachedAtTheStartIsPreparedWhenItCanBe() throws Exception {
        DatabaseUrl late = TestDatabase.createDatabase();
        int port = Ports.free();
        DatabaseUrl path =
                new DatabaseUrl(late.user(), late.password(), "127.0.0.1", port, late.database(), late.parameters());
        start(Map.of("ANNALS_DATABASES", "main,east", "ANNALS_DATABASES_EAST_URL", path.withPassword()));

        assertThat(health()).contains("\"status\": \"UP\"", "has not been reached since the start");
        Project main = create("in main", null);
        assertThat(main.database).isEqualTo("main");
        assertThat(append(main, "invoice.create").statusCode()).isEqualTo(201);
        HttpResponse<String> refused = post(admin, "/v1/projects", Map.of("name", "in east", "database", "east"));
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(get(admin, "/v1/projects/in%20east").statusCode()).isEqualTo(404);
        try (BreakablePath opened = new BreakablePath(late.port(), port)) {
            Await.until("east is used", () -> health().contains("\"east\": \"reads and writes\""));
            Project east = create("in east", "east");
            assertThat(append(east, "invoice.create").statusCode()).isEqualTo(201);
            assertThat(rows(url("main"), "annals.database where name = 'east'")).isEqualTo(1);
            assertThat(opened.connections()).isPositive();
        }
    }

    @Test
    void aDatabaseIsNoMemberUnderASecondNameAndNoMemberIsAHome() throws Exception {
        DatabaseUrl east = TestDatabase.createDatabase();
        start(Map.of("ANNALS_DATABASES", "main,east", "ANNALS_DATABASES_EAST_URL", east.withPassword()));
        create("in east", "east");
        stopService();

        start(Map.of("ANNALS_DATABASES", "main,west", "ANNALS_DATABASES_WEST_URL", east.withPassword()));
        assertThat(service.output)
                .anyMatch(line -> line.contains("this database is known as east, and cannot be west"));
        Project inEast = new Project(UUID.randomUUID(), token("in east"), "east");
        assertThat(append(inEast, "invoice.create").statusCode())
                .as("the settings name no database east")
                .isEqualTo(503);
        stopService();

        service = ServiceProcess.start(Map.of("ANNALS_DATABASE_URL", east.withPassword()));
        service.awaitEnd();
        assertThat(service.output).anyMatch(line -> line.contains("leads to the database east of another service"));
    }

    /** An application's own database: the record commits with the application's row, and the service shows it. */
    @Test
    void aRecordCommitsWithTheRowsOfTheApplicationWhoseDatabaseIsPinned() throws Exception {
        DatabaseUrl shop = TestDatabase.createDatabase();
        run(shop, "create table volume (name text primary key)");
        start(Map.of(
                "ANNALS_DATABASES", "main,shop",
                "ANNALS_DATABASES_SHOP_URL", shop.withPassword(),
                "ANNALS_DATABASES_SHOP_PINNED", "true"));
        assertThat(create("anywhere", null).database).isEqualTo("main");
        Project project = create("shop", "shop");
        String login = "shop_" + UUID.randomUUID().toString().replace("-", "");
        run(
                shop,
                "create role " + login + " login password 'secret'; grant insert on volume to " + login
                        + "; select annals.grant_writer('" + login + "', '" + project.id + "')");

        DatabaseUrl application =
                new DatabaseUrl(login, "secret", shop.host(), shop.port(), shop.database(), shop.parameters());
        for (String end : List.of("commit", "rollback")) {
            run(
                    application,
                    "begin; insert into volume values ('" + end + "');"
                            + " insert into annals.audit_record (project_id, action, subject_type, subject_id)"
                            + " values ('" + project.id + "', 'volume_create', 'volume', '" + end + "'); " + end);
        }

        assertThat(json(get(project.token, LOGS)).path("results"))
                .singleElement()
                .satisfies(record -> {
                    assertThat(record.at("/subject/id").asText()).isEqualTo("commit");
                    assertThat(record.path("recorded_by").asText()).endsWith(login);
                });
        assertThat(rows(shop, "volume where name = 'commit'")).isEqualTo(1);
        assertThat(rows(shop, "volume")).isEqualTo(1);
        assertThat(command("database", "list")).anyMatch(line -> line.startsWith("shop\tpinned\t1 projects\t"));
        for (Project stays : List.of(project, create("in main", "main"))) {
            HttpResponse<String> refused = post(
                    admin,
                    "/v1/projects/" + stays.id + "/move",
                    Map.of("database", stays.database.equals("main") ? "shop" : "main"));
            assertThat(refused.statusCode()).isEqualTo(409);
            assertThat(refused.body()).contains("move-refused", "ANNALS_DATABASES_SHOP_PINNED");
        }
        assertThat(json(get(admin, "/v1/databases")).at("/databases/1/pinned").asBoolean())
                .isTrue();
        run(shop, "drop owned by " + login + "; drop role " + login);
    }

    private record Project(UUID id, String token, String database) {}

    private void start(Map<String, String> more) throws IOException {
        settings = new HashMap<>(more);
        settings.put("ANNALS_DATA_DIR", data.toString());
        service = ServiceProcess.start(settings).awaitListening();
        Path file = data.resolve("first-tokens");
        try {
            Await.until("the first tokens are written", () -> Files.exists(file));
        } catch (Exception e) {
            throw new IOException(String.join("\n", service.output), e);
        }
        Matcher token = ADMIN_TOKEN.matcher(Files.readString(file));
        assertThat(token.find()).isTrue();
        admin = token.group(1);
    }

    private void stopService() throws InterruptedException {
        if (service != null) {
            service.process().destroy();
            service.awaitEnd();
            service.close();
        }
    }

    private Project create(String name, String database) throws IOException, InterruptedException {
        HttpResponse<String> made = post(
                admin,
                "/v1/projects",
                database == null ? Map.of("name", name) : Map.of("name", name, "database", database));
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        JsonNode project = json(made);
        return new Project(
                UUID.fromString(project.path("id").asText()),
                token(name),
                project.path("database").asText());
    }

    private String token(String project) throws IOException, InterruptedException {
        HttpResponse<String> made = post(
                admin,
                "/v1/projects/" + project.replace(" ", "%20") + "/tokens",
                Map.of("scopes", List.of("read", "write")));
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        return json(made).path("token").asText();
    }

    private HttpResponse<String> append(Project project, String action) throws IOException, InterruptedException {
        return post(project.token, LOGS, Map.of("action", action));
    }

    private HttpResponse<String> get(String token, String path) throws IOException, InterruptedException {
        return send("GET", token, path, null);
    }

    private HttpResponse<String> post(String token, String path, Map<String, ?> body)
            throws IOException, InterruptedException {
        return send("POST", token, path, body);
    }

    private HttpResponse<String> send(String method, String token, String path, Map<String, ?> body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.uri(path));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        if (body == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("Content-Type", "application/json")
                    .method(method, HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
        }
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static JsonNode json(HttpResponse<String> answer) throws IOException {
        assertThat(answer.statusCode()).as(answer.body()).isBetween(200, 299);
        return JSON.readTree(answer.body());
    }

    private String health() throws IOException, InterruptedException {
        return health("/ready");
    }

    private String health(String part) throws IOException, InterruptedException {
        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(service.managementUri("/q/health" + part))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() + " " + answer.body();
    }

    /** The lines that a command prints. */
    private List<String> command(String... arguments) throws IOException, InterruptedException {
        Map<String, String> all = new HashMap<>(settings);
        all.put("ANNALS_URL", service.uri("").toString());
        all.put("ANNALS_ADMIN_TOKEN", admin);
        try (ServiceProcess command = ServiceProcess.start(all, arguments)) {
            command.awaitEnd();
            return List.copyOf(command.output);
        }
    }

    private DatabaseUrl url(String name) throws IOException {
        Path directory = name.equals("main") ? data : data.resolve(name);
        return DatabaseUrl.parse(
                Files.readString(directory.resolve("database-url")).strip());
    }

    private static long rows(DatabaseUrl url, String from) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement();
                var rows = statement.executeQuery("select count(*) from " + from)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static void run(DatabaseUrl url, String sql) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** To all processes of the member's server. */
    private void signal(String name) throws IOException, InterruptedException {
        TestServer.signal(data.resolve("east"), name);
    }
}
