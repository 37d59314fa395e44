package dev.annals.access.places;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.BreakablePath;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packaged service with two databases. The way to the second one, east, can freeze. */
@Timeout(180)
class ProjectsApartIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LIMIT_SECONDS = 60;

    private static final List<String> OF_THE_PROJECT = List.of(
            "annals.alert.set",
            "annals.alert.raise",
            "annals.export.start",
            "annals.hold.set",
            "annals.record.redact",
            "annals.sequence.define",
            "annals.stream.set");

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture east = SqlFixture.on(TestDatabase.createDatabase());
    private BreakablePath path;
    private ServiceProcess service;

    private record Project(UUID id, String token) {}

    private record Answer(int status, String text) {

        JsonNode json() throws Exception {
            return JSON.readTree(text);
        }
    }

    @BeforeEach
    void start() throws Exception {
        path = new BreakablePath(east.database().port());
        service = startInstance();
    }

    private ServiceProcess startInstance() throws Exception {
        ServiceProcess instance = ServiceProcess.start(settings()).awaitListening();
        awaitEast(instance);
        return instance;
    }

    private Map<String, String> settings() {
        Map<String, String> settings = new HashMap<>();
        settings.put("ANNALS_DATABASE_URL", home.database().withPassword());
        settings.put("ANNALS_DATABASES", "main,east");
        settings.put("ANNALS_DATABASES_EAST_URL", path.url(east.database()).withPassword());
        settings.put("ANNALS_DATABASES_EAST_TRUSTED", "true");
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        settings.put("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1");
        return settings;
    }

    private static void awaitEast(ServiceProcess instance) throws Exception {
        Await.until("east is used", () -> health(instance).contains("\"east\": \"reads and writes\""));
    }

    private static String health(ServiceProcess instance) throws Exception {
        return managed(instance, "/q/health");
    }

    private static String managed(ServiceProcess instance, String path) throws Exception {
        return HTTP.send(
                        HttpRequest.newBuilder(instance.managementUri(path)).build(),
                        HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @AfterEach
    void stop() throws Exception {
        service.close();
        path.close();
    }

    private CompletableFuture<Answer> send(String token, String method, String pathAndQuery, String body) {
        URI uri = pathAndQuery.startsWith("http") ? URI.create(pathAndQuery) : service.uri(pathAndQuery);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        return HTTP.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .thenApply(answer -> new Answer(answer.statusCode(), answer.body()));
    }

    private Answer done(int status, CompletableFuture<Answer> sent) throws Exception {
        Answer answer = sent.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        return answer;
    }

    private Project newProject(String database) throws Exception {
        String body = "{\"name\": \"" + UUID.randomUUID().toString().replace('-', ' ') + "\", \"database\": \""
                + database + "\"}";
        UUID id = UUID.fromString(done(201, send(ADMIN, "POST", "/v1/projects", body))
                .json()
                .get("id")
                .asText());
        String scopes = "{\"scopes\": [\"read\", \"write\", \"sequence\", \"redact\", \"stream\"]}";
        String token = done(201, send(ADMIN, "POST", "/v1/projects/" + id + "/tokens", scopes))
                .json()
                .get("token")
                .asText();
        return new Project(id, token);
    }

    private CompletableFuture<Answer> append(Project project, String action) {
        return send(project.token(), "POST", LOGS, "{\"action\": \"" + action + "\", \"message\": \"m\"}");
    }

    private CompletableFuture<Answer> get(Project project, String pathAndQuery) {
        return send(project.token(), "GET", pathAndQuery, "");
    }

    @Test
    void allOfAProjectIsInItsDatabaseAndNothingOfItInAnother() throws Exception {
        Project project = newProject("east");
        String record = "";
        for (String action : List.of("first", "second", "third")) {
            record = done(201, append(project, action)).json().get("id").asText();
        }
        JsonNode page = done(200, get(project, LOGS + "?limit=10")).json();
        assertThat(page.findValuesAsText("action")).containsExactly("first", "second", "third");

        CompletableFuture<Answer> poll = get(project, page.get("poll_more").asText() + "&wait=60");
        east.run("insert into annals.audit_record (project_id, action) values ('" + project.id() + "', 'fourth')");
        assertThat(done(200, poll).json().findValuesAsText("action")).containsExactly("fourth");

        Await.until(
                "east's records are counted",
                () -> east.number("select count(*) from annals.projection_checkpoint where projection = 'statistics'"
                                + " and sequence_id = 4 and project_id = '" + project.id() + "'")
                        == 1);
        assertThat(done(200, get(project, LOGS + "?q=action:second")).json().findValuesAsText("action"))
                .containsExactly("second");
        done(200, get(project, LOGS + "/facets"));
        done(200, get(project, LOGS + "/statistics?by=day"));
        assertThat(done(200, get(project, LOGS + "/log/1/checkpoint")).text().lines())
                .element(1)
                .isEqualTo("4");
        done(201, send(project.token(), "PUT", "/v1/sequences/numbers", "{\"kind\": \"BATCH\"}"));
        done(200, send(project.token(), "POST", "/v1/sequences/numbers/values", ""));
        done(
                200,
                send(
                        project.token(),
                        "POST",
                        LOGS + "/" + record + "/redactions",
                        "{\"fields\": [\"message\"], \"reason\": \"r\"}"));
        assertThat(done(200, get(project, LOGS + "/export")).text()).contains("\"third\"");
        done(201, send(ADMIN, "POST", "/v1/projects/" + project.id() + "/holds", "{\"reason\": \"r\"}"));
        awaitAlert(project);
        awaitStream(project);

        assertThat(tablesWith(project, home)).containsExactly("access_token");
        assertThat(tablesWith(project, east))
                .contains(
                        "alert",
                        "audit_record",
                        "feed_segment",
                        "legal_hold",
                        "merkle_log",
                        "redaction",
                        "sequence",
                        "stream");
        assertThat(actions(home)).doesNotContainAnyElementsOf(OF_THE_PROJECT);
        assertThat(actions(east)).containsAll(OF_THE_PROJECT);
    }

    private void awaitAlert(Project project) throws Exception {
        String alert = "{\"q\": \"action:alarm\", \"threshold\": 0, \"interval_seconds\": 60}";
        done(201, send(project.token(), "PUT", "/v1/alerts/alarms", alert));
        done(201, append(project, "alarm"));
        Await.until("the alert is raised", () -> actions(east).contains("annals.alert.raise"));
    }

    private void awaitStream(Project project) throws Exception {
        List<String> received = new CopyOnWriteArrayList<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            received.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        receiver.start();
        try {
            String stream = "{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                    + receiver.getAddress().getPort()
                    + "/\", \"secret\": \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"}}";
            done(201, send(project.token(), "PUT", "/v1/streams/events", stream));
            Await.until("the stream delivers", () -> received.stream().anyMatch(body -> body.contains("\"alarm\"")));
        } finally {
            receiver.stop(0);
        }
    }

    @Test
    void aStreamOfAllProjectsDeliversThoseOfMembersAndTheirAdministrationToo() throws Exception {
        Project here = newProject("main");
        Project before = newProject("east");
        done(201, append(before, "before_the_stream"));
        List<String> received = new CopyOnWriteArrayList<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            received.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        receiver.start();
        try {
            String stream = "{\"all_projects\": true, \"sink\": {\"type\": \"otlp\", \"url\": \"http://127.0.0.1:"
                    + receiver.getAddress().getPort() + "/v1/logs\"}}";
            done(201, send(ADMIN, "PUT", "/v1/streams/all", stream));
            done(201, append(here, "in_home"));
            awaitReceived(received, "before_the_stream", "in_home");
            done(201, append(before, "after_the_stream"));
            Project later = newProject("east");
            done(201, append(later, "of_a_later_project"));
            String alert = "{\"q\": \"action:alarm\", \"threshold\": 0, \"interval_seconds\": 60}";
            done(201, send(later.token(), "PUT", "/v1/alerts/alarms", alert));
            done(201, append(later, "alarm"));
            awaitReceived(received, "after_the_stream", "of_a_later_project", "annals.alert.raise");

            done(202, send(ADMIN, "POST", "/v1/projects/" + here.id() + "/move", "{\"database\": \"east\"}"));
            Await.until(
                    "it has moved",
                    () -> done(200, send(ADMIN, "GET", "/v1/projects/" + here.id() + "/move", ""))
                            .json()
                            .path("state")
                            .asText()
                            .equals("moved"));
            done(201, append(here, "moved_to_east"));
            awaitReceived(received, "moved_to_east");
            Await.until(
                    "nothing is left",
                    () -> done(200, send(ADMIN, "GET", "/v1/streams/all", ""))
                                    .json()
                                    .path("lag")
                                    .asLong()
                            == 0);
            for (String action : List.of("before_the_stream", "in_home", "after_the_stream", "moved_to_east")) {
                assertThat(received.stream().filter(body -> body.contains("\"" + action + "\"")))
                        .hasSize(1);
            }
        } finally {
            receiver.stop(0);
        }
        String tokens = "/v1/projects/annals-east/tokens";
        for (String scope : List.of("write", "stream", "redact", "admin")) {
            done(422, send(ADMIN, "POST", tokens, "{\"scopes\": [\"" + scope + "\"]}"));
        }
        String token = done(201, send(ADMIN, "POST", tokens, "{\"scopes\": [\"read\"]}"))
                .json()
                .get("token")
                .asText();
        assertThat(done(200, send(token, "GET", LOGS + "?q=action:annals.alert.raise", ""))
                        .json()
                        .get("results"))
                .hasSize(1);
        for (String change : List.of("{\"name\": \"mine\"}", "{\"closed\": true}", "{\"retention_days\": 1}")) {
            assertThat(send(ADMIN, "PATCH", "/v1/projects/annals-east", change)
                            .get(LIMIT_SECONDS, TimeUnit.SECONDS)
                            .status())
                    .isBetween(400, 499);
        }
        assertThat(send(ADMIN, "POST", "/v1/projects/annals-east/move", "{\"database\": \"main\"}")
                        .get(LIMIT_SECONDS, TimeUnit.SECONDS)
                        .status())
                .isBetween(400, 499);
    }

    private static void awaitReceived(List<String> received, String... actions) throws Exception {
        for (String action : actions) {
            Await.until(
                    action + " is delivered",
                    () -> received.stream().anyMatch(body -> body.contains("\"" + action + "\"")));
        }
    }

    /** The tables that have rows of the project, besides its own. */
    private static List<String> tablesWith(Project project, SqlFixture database) throws SQLException {
        List<String> found = new ArrayList<>();
        for (String table :
                database.texts("select table_name from information_schema.columns join information_schema.tables"
                        + " using (table_schema, table_name) where table_schema = 'annals' and column_name = 'project_id'"
                        + " and table_type = 'BASE TABLE' order by table_name")) {
            if (database.number("select count(*) from annals." + table + " where project_id = '" + project.id() + "'")
                    > 0) {
                found.add(table);
            }
        }
        return found;
    }

    private static List<String> actions(SqlFixture database) throws SQLException {
        return database.texts("select distinct action from annals.feed where project_id = annals.administration()");
    }

    @Test
    void aDatabaseThatFreezesHoldsUpNothingOfAnother() throws Exception {
        Project here = newProject("main");
        Project there = newProject("east");
        done(201, append(here, "before"));
        done(201, append(there, "before"));
        String more = done(200, get(here, LOGS)).json().get("poll_more").asText() + "&wait=60";
        String moreThere = done(200, get(there, LOGS)).json().get("poll_more").asText() + "&wait=60";
        CompletableFuture<Answer> waiting = get(here, more);
        get(there, moreThere);

        path.swallow();
        // More than a database's pools have connections, and than read for waiting clients at a time.
        List<CompletableFuture<Answer>> stuck = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            stuck.add(append(there, "stuck"));
            stuck.add(get(there, LOGS));
            stuck.add(get(there, LOGS + "?q=action:none" + i + "&wait=30"));
            stuck.add(get(there, LOGS + "/facets?top=" + (1 + i)));
        }
        east.run("insert into annals.audit_record (project_id, action) values ('" + there.id() + "', 'unseen')");
        home.run("insert into annals.audit_record (project_id, action) values ('" + here.id() + "', 'written')");
        assertThat(done(200, waiting).json().findValuesAsText("action")).containsExactly("written");
        for (int i = 0; i < 20; i++) {
            done(201, append(here, "during"));
            done(200, get(here, LOGS + "?limit=1"));
            done(200, get(here, LOGS + "/facets"));
        }
        assertThat(done(200, get(here, LOGS + "?q=action:during&limit=50"))
                        .json()
                        .findValuesAsText("action"))
                .hasSize(20);
        assertThat(stuck).anyMatch(each -> !each.isDone());

        path.heal();
        path.cut();
        Await.until(
                "east is written to again",
                () -> append(there, "after")
                                .get(LIMIT_SECONDS, TimeUnit.SECONDS)
                                .status()
                        == 201);
    }

    @Test
    void aDatabaseThatHangsHoldsUpNoComparison() throws Exception {
        Await.until("east has noted home", () -> east.number("select count(*) from annals.database_end") == 1);
        try (Connection slow = east.connect()) {
            SqlFixture.execute(slow, "select pg_advisory_lock(47)");
            east.run(
                    "create function public.hang() returns trigger language plpgsql as $$ begin"
                            + " perform pg_advisory_xact_lock_shared(47); return null; end $$",
                    "create trigger hangs before insert on annals.database_end for each statement execute function public.hang()",
                    "delete from annals.database_end");
            Await.until(
                    "the next comparison has begun",
                    () -> east.number(
                                    "select count(*) from pg_locks where locktype = 'advisory' and objid = 47 and not granted"
                                            + " and database = (select oid from pg_database where datname = current_database())")
                            > 1);
        }
        Await.until("east has noted home again", () -> east.number("select count(*) from annals.database_end") == 1);
    }

    @Test
    void aClientThatWaitsForAProjectThatNoDatabaseHasAsksHomeOnceASecond() throws Exception {
        Project project = newProject("east");
        done(201, append(project, "first"));
        get(project, done(200, get(project, LOGS)).json().get("poll_more").asText() + "&wait=60");
        Await.until("the client waits", () -> managed(service, "/q/metrics").contains("\nannals_live_waits 1.0"));
        home.run("create sequence public.questions", "grant usage on sequence public.questions to public");
        home.run(
                "create or replace function annals.database_of(project annals.project) returns text language plpgsql as $$ begin"
                        + " perform nextval('public.questions') where current_query() like '%as database from annals.project where id%';"
                        + " return project.moved_to; end $$");
        long began = System.nanoTime();
        east.run(
                "set local session_replication_role = replica",
                "update annals.project set placement = 'gone', moved_to = 'main' where id = '" + project.id() + "'");
        Await.until("home is asked", () -> home.number("select last_value from public.questions") >= 3);
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(Duration.ofSeconds(2));
    }

    private CompletableFuture<Answer> create(String name, String database) {
        return send(ADMIN, "POST", "/v1/projects", "{\"name\": \"" + name + "\", \"database\": \"" + database + "\"}");
    }

    @Test
    void aNameIsThatOfOneProjectInAllDatabases() throws Exception {
        done(201, create("taken", "east"));
        for (String database : List.of("east", "main")) {
            assertThat(done(409, create("taken", database)).text()).contains("project-name-taken");
            assertThat(done(409, create("annals", database)).text()).contains("project-name-taken");
        }
        east.run("update annals.project set name = 'renamed there' where name = 'taken'");
        done(409, create("renamed there", "east"));

        for (int round = 0; round < 10; round++) {
            String name = "wanted " + round;
            List<CompletableFuture<Answer>> sent = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                sent.add(create(name, "east"));
                sent.add(create(name, "main"));
            }
            List<Integer> statuses = new ArrayList<>();
            for (CompletableFuture<Answer> each : sent) {
                statuses.add(each.get(LIMIT_SECONDS, TimeUnit.SECONDS).status());
            }
            assertThat(statuses).containsExactlyInAnyOrder(201, 409, 409, 409, 409, 409);
            String here = "select count(*) from annals.project where placement = 'here' and name = '" + name + "'";
            assertThat(home.number(here) + east.number(here)).isEqualTo(1);
        }
    }

    @Test
    void onlyAdministratorsSeeDatabasesAndChooseOneByItsName() throws Exception {
        Project project = newProject("east");
        done(403, get(project, "/v1/databases"));
        done(401, send("a-token-that-is-none", "GET", "/v1/databases", ""));
        assertThat(done(200, send(ADMIN, "GET", "/v1/databases", "")).json().findValuesAsText("name"))
                .containsExactly("main", "east");
        for (String database : List.of(
                "5",
                "true",
                "[\"east\"]",
                "{\"name\": \"east\"}",
                "\"\"",
                "\"EAST\"",
                "\"east \"",
                "\"" + "e".repeat(50_000) + "\"")) {
            Answer refused = done(
                    422,
                    send(ADMIN, "POST", "/v1/projects", "{\"name\": \"refused\", \"database\": " + database + "}"));
            assertThat(refused.text()).contains("/database").hasSizeLessThan(1_000);
        }
    }

    @Test
    void aServiceThatIsKilledBetweenTheTwoCommitsOfACreationLeavesAProjectThatTheNextOneTakesOver() throws Exception {
        home.run(
                "create function public.sleep_at_commit() returns trigger language plpgsql as"
                        + " 'begin perform pg_sleep(60); return null; end'",
                "create constraint trigger sleeps after insert on annals.project deferrable initially deferred"
                        + " for each row execute function public.sleep_at_commit()");
        CompletableFuture<Answer> unanswered = create("interrupted", "east");
        String here = "select id from annals.project where placement = 'here' and name = 'interrupted'";
        Await.until("east has committed", () -> east.texts(here).size() == 1);
        service.signal("KILL");
        service.awaitEnd();
        assertThat(unanswered).failsWithin(Duration.ofSeconds(LIMIT_SECONDS));
        home.run("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'"
                + " and datname = current_database()");
        home.run("drop function public.sleep_at_commit() cascade");

        service = startInstance();
        done(404, send(ADMIN, "GET", "/v1/projects/interrupted", ""));
        JsonNode made = done(201, create("interrupted", "east")).json();
        assertThat(made.get("id").asText()).isEqualTo(east.text(here));
        assertThat(made.get("database").asText()).isEqualTo("east");
        done(409, create("interrupted", "east"));
        assertThat(home.number("select count(*) from annals.project where name = 'interrupted'"))
                .isEqualTo(1);
    }

    @Test
    void aMemberWithoutThisReleasesSchemaIsNotUsed() throws Exception {
        String last = " from annals.flyway_schema_history where script like '%privileges.sql'";
        east.run("create table public.noted as select *" + last, "delete" + last);
        assertThat(east.number("select count(*) from public.noted")).isEqualTo(1);
        Map<String, String> settings = settings();
        settings.put("ANNALS_DATABASE_MIGRATE_AT_START", "false");
        try (ServiceProcess other = ServiceProcess.start(settings).awaitListening()) {
            Await.until(
                    "east is refused",
                    () -> other.output.stream()
                            .anyMatch(line -> line.contains("The database east is not used")
                                    && line.contains("this release needs 1 more migrations")));
            String created = other.uri("/v1/projects").toString();
            done(503, send(ADMIN, "POST", created, "{\"name\": \"too early\", \"database\": \"east\"}"));
            assertThat(health(other)).doesNotContain("\"east\": \"reads and writes\"");
            assertThat(east.number("select count(*) from annals.project where name = 'too early'"))
                    .isZero();

            east.run("insert into annals.flyway_schema_history select * from public.noted", "drop table public.noted");
            awaitEast(other);
        }
    }

    @Test
    void homeIsNoMemberOfItself() throws Exception {
        SqlFixture alone = SqlFixture.ofTheSchemaAlone();
        Map<String, String> settings = settings();
        settings.put("ANNALS_DATABASE_URL", alone.database().withPassword());
        settings.put("ANNALS_DATABASES_EAST_URL", alone.database().withPassword());
        try (ServiceProcess first = ServiceProcess.start(settings).awaitListening()) {
            Await.until(
                    "east is refused",
                    () -> first.output.stream()
                            .anyMatch(line -> line.contains(
                                    "ANNALS_DATABASES_EAST_URL leads to main, the home of this service")));
            assertThat(alone.number("select count(*) from annals.database")).isZero();
        }
    }

    @Test
    void anotherInstanceUsesANewProjectAtOnce() throws Exception {
        try (ServiceProcess other = startInstance()) {
            for (int i = 0; i < 5; i++) {
                Project project = newProject("east");
                String appended = other.uri(LOGS).toString();
                done(201, send(project.token(), "POST", appended, "{\"action\": \"append\"}"));
                String found = other.uri("/v1/projects/" + project.id()).toString();
                assertThat(done(200, send(ADMIN, "GET", found, ""))
                                .json()
                                .get("database")
                                .asText())
                        .isEqualTo("east");
            }
        }
    }
}
