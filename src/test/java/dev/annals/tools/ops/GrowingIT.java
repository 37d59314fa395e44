package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The way of a trial to production, as docs/growing.md describes it, and backups of the database that it begins with. */
@Slow
@TakesLong
@Timeout(600)
class GrowingIT {

    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern TOKEN = Pattern.compile("export ANNALS_(?:ADMIN_)?TOKEN=(\\S+)");

    @TempDir
    Path folder;

    private final Map<String, String> settings = new HashMap<>();
    private Path data;
    private @Nullable ServiceProcess service;
    private String admin;

    private record Reader(String token, String vkey, Path checkpoint, String pollMore) {}

    private void start() throws IOException {
        service = ServiceProcess.start(settings).awaitListening();
    }

    private void startTrial() throws Exception {
        data = folder.resolve("data");
        TestDatabase.sharePrograms(data);
        settings.put("ANNALS_DATA_DIR", data.toString());
        start();
        Path file = data.resolve("first-tokens");
        Await.until("the first tokens are written", () -> Files.exists(file));
        Matcher tokens = TOKEN.matcher(Files.readString(file).replaceAll("(?m)^#.*$", ""));
        while (tokens.find()) {
            if (tokens.group().contains("ADMIN")) {
                admin = tokens.group(1);
            }
        }
    }

    private void stopService() throws InterruptedException {
        service.process().destroy();
        service.awaitEnd();
        service.close();
    }

    @AfterEach
    void stop() throws InterruptedException {
        if (service != null) {
            stopService();
        }
    }

    private HttpResponse<String> send(String token, String method, String path, String body) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(service.uri(path))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode json(String token, String method, String path, String body) throws Exception {
        HttpResponse<String> answer = send(token, method, path, body);
        assertThat(answer.statusCode()).as(answer.body()).isBetween(200, 299);
        return JSON.readTree(answer.body());
    }

    private void append(String token, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            Await.until(
                    "a record is stored",
                    () -> send(token, "POST", LOGS, "{\"action\": \"a\", \"message\": \"m\"}")
                                    .statusCode()
                            == 201);
        }
    }

    /** Makes a project with ten records, and a reader who has read them. */
    private Reader reader(String project) throws Exception {
        json(admin, "POST", "/v1/projects", "{\"name\": \"" + project + "\", \"database\": \"main\"}");
        String token = json(admin, "POST", "/v1/projects/" + project + "/tokens", "{\"scopes\": [\"read\", \"write\"]}")
                .path("token")
                .asText();
        append(token, 10);
        Await.until("the records are in the log", () -> checkpoint(token).contains("\n10\n"));
        return new Reader(
                token,
                json(token, "GET", LOGS + "/log", "").path("vkeys").get(0).asText(),
                Files.writeString(folder.resolve(project), checkpoint(token)),
                json(token, "GET", LOGS, "").path("poll_more").asText());
    }

    private String checkpoint(String token) throws Exception {
        return send(token, "GET", LOGS + "/log/1/checkpoint", "").body();
    }

    /** The cursor, the token and the checkpoint from before still hold. */
    private void assertGoesOn(Reader reader, int more) throws Exception {
        String path = reader.pollMore.replaceFirst("^https?://[^/]+", "");
        assertThat(json(reader.token, "GET", path, "").path("results")).hasSize(more);
        Await.until("the records are in the log", () -> checkpoint(reader.token).contains("\n" + (10 + more) + "\n"));
        Path file = folder.resolve("proved");
        Files.deleteIfExists(file);
        String key = "--vkey=" + reader.vkey;
        command(0, Map.of("ANNALS_TOKEN", reader.token), "export", "--proof", key, "--output=" + file);
        assertThat(command(0, Map.of(), "check", file.toString(), key, "--against=" + reader.checkpoint))
                .anyMatch(line -> line.contains("records 1 to " + (10 + more)));
    }

    private List<String> command(int exitCode, Map<String, String> more, String... arguments) throws Exception {
        Map<String, String> all = new HashMap<>(settings);
        if (service != null && service.process().isAlive()) {
            all.put("ANNALS_URL", service.uri("").toString());
        }
        all.put("ANNALS_ADMIN_TOKEN", admin);
        all.putAll(more);
        try (ServiceProcess command = ServiceProcess.start(all, arguments)) {
            int ended = command.awaitEnd();
            assertThat(ended).as(String.join("\n", command.output)).isEqualTo(exitCode);
            return List.copyOf(command.output);
        }
    }

    private void move(String project, String database) throws Exception {
        assertThat(command(0, Map.of(), "project", "move", project, "--database=" + database, "--follow"))
                .isNotEmpty();
    }

    @Test
    void aTrialMovesIntoAPostgresOfItsOwn() throws Exception {
        startTrial();
        Reader large = reader("large");
        json(admin, "POST", "/v1/projects/large/holds", "{\"reason\": \"A dispute\"}");
        Reader small = reader("small");
        try (InstalledPostgres server = InstalledPostgres.start(Files.createDirectory(folder.resolve("server")))) {
            SqlFixture onServer = SqlFixture.on(server.url("postgres"));
            onServer.runEach("create database projects", "create database home");
            stopService();
            settings.put("ANNALS_DATABASES", "main,pg");
            settings.put("ANNALS_DATABASES_PG_URL", server.libpq("projects"));
            start();
            move("large", "pg");
            append(large.token, 5);
            stopService();

            settings.put("ANNALS_DATABASE_URL", server.libpq("home"));
            assertThat(command(1, Map.of(), "copy"))
                    .anyMatch(line -> line.contains("has no schema: run annals migrate"));
            command(0, Map.of(), "migrate");
            onServer.run(
                    "create role stranger login password '" + server.url("home").password() + "'");
            String stranger = server.libpq("home").replace("//annals:", "//stranger:");
            assertThat(command(1, Map.of("ANNALS_DATABASE_URL", stranger), "copy"))
                    .anyMatch(line -> line.contains("permission denied"));
            assertNoDatabaseStartsAfterACopyThatWasKilledAtItsCommit(SqlFixture.on(server.url("home")));
            command(0, Map.of(), "copy");
            assertThat(SqlFixture.on(server.url("home"))
                            .texts("select distinct p.name from annals.project as p"
                                    + " join annals.audit_record as r on r.project_id = p.id order by 1"))
                    .as("what the moved project has left is not copied")
                    .containsExactly("annals", "small");
            assertThat(command(1, Map.of("ANNALS_DATABASE_URL", "", "ANNALS_DATABASES", "main")))
                    .anyMatch(line -> line.contains("was copied into another one"));

            Path keys = Files.createDirectory(folder.resolve("keys"));
            for (String key : List.of("log-key", "log-key.seen", "streams-key")) {
                Files.move(data.resolve(key), keys.resolve(key));
            }
            settings.put("ANNALS_LOG_KEY_FILE", keys.resolve("log-key").toString());
            settings.put("ANNALS_STREAMS_KEY_FILE", keys.resolve("streams-key").toString());
            settings.remove("ANNALS_DATA_DIR");
            deleteTree(data);
            start();
            append(small.token, 3);
            assertGoesOn(large, 5);
            assertGoesOn(small, 3);
            append(large.token, 2);
            assertGoesOn(large, 7);
            reader("another");
            assertThat(command(0, Map.of(), "verify")).last().asString().startsWith("Sound: ");
            command(0, Map.of(), "rebuild", "administration", "--check");
            assertThat(command(1, Map.of("ANNALS_DATA_DIR", data.toString()), "copy"))
                    .anyMatch(line -> line.contains("There is no database in"));
            stopService();
            service = null;
        }
    }

    @Test
    void aCopyOfTheStoppedDatabaseIsRestoredAndForksNoLog() throws Exception {
        startTrial();
        Reader reader = reader("copied");
        stopService();
        Path backup = folder.resolve("backup");
        PackagedService.copyDatabase(data, backup);
        assertThat(backup).isDirectoryNotContaining("glob:**key*");
        start();
        append(reader.token, 2);
        Await.until("the records are in the log", () -> checkpoint(reader.token).contains("\n12\n"));
        assertTakesBaseBackups();

        Path restored = folder.resolve("restored");
        PackagedService.restoreDatabase(backup, restored);
        assertThat(command(0, Map.of("ANNALS_DATA_DIR", restored.toString()), "verify", "--project=copied"))
                .as("not the database that runs")
                .last()
                .asString()
                .startsWith("Sound: 10 records");
        // The worst case: a key without what it has signed.
        Files.copy(data.resolve("log-key"), restored.resolve("log-key"));
        stopService();
        settings.put("ANNALS_DATA_DIR", restored.toString());
        start();
        assertThat(checkpoint(reader.token)).contains("log-halted", "/00000001/", "this one is", "/00000002/");
        assertThat(json(reader.token, "GET", LOGS + "?limit=100", "").path("results"))
                .hasSize(10);
        assertThat(send(reader.token, "POST", LOGS, "{\"action\": \"a\"}").statusCode())
                .isEqualTo(201);
    }

    /** As pg_basebackup connects. */
    private void assertTakesBaseBackups() throws Exception {
        DatabaseUrl url =
                DatabaseUrl.parse(Files.readString(data.resolve("database-url")).strip());
        Properties properties = new Properties();
        properties.putAll(Map.of(
                "user", url.user(), "password", url.password(), "replication", "true", "preferQueryMode", "simple"));
        properties.put("assumeMinServerVersion", "15");
        try (Connection connection = DriverManager.getConnection(url.jdbcUrl(), properties);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("IDENTIFY_SYSTEM")) {
            assertThat(row.next()).isTrue();
        }
    }

    private void assertNoDatabaseStartsAfterACopyThatWasKilledAtItsCommit(SqlFixture target) throws Exception {
        target.run(
                "create function public.hang() returns trigger language plpgsql as 'begin perform pg_sleep(600); return null; end'",
                "create constraint trigger hangs after insert on annals.project deferrable initially deferred"
                        + " for each row execute function public.hang()",
                "alter table annals.project enable always trigger hangs");
        String commits = "from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
        try (ServiceProcess copy = ServiceProcess.start(settings, "copy")) {
            Await.until("the copy commits", () -> target.number("select count(*) " + commits) == 1);
            copy.signal("KILL");
            copy.awaitEnd();
        }
        target.run("select pg_terminate_backend(pid, 10000) " + commits);
        target.run("drop function public.hang() cascade");
        assertThat(data.resolve("database-url")).doesNotExist();
        assertThat(command(1, Map.of(), "copy")).anyMatch(line -> line.contains("rename database-url.copied to"));
        Files.move(data.resolve("database-url.copied"), data.resolve("database-url"));
    }

    private static void deleteTree(Path directory) throws Exception {
        new ProcessBuilder("rm", "-r", directory.toString()).inheritIO().start().waitFor();
        assertThat(directory).doesNotExist();
    }
}
