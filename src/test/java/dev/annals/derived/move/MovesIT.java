package dev.annals.derived.move;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Moves of projects in the packaged service, which has two databases. */
@Timeout(180)
class MovesIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture east = SqlFixture.on(TestDatabase.createDatabase());
    private ServiceProcess service;
    private String project;
    private String token;

    @BeforeEach
    void start() throws Exception {
        startService();
        project = send(ADMIN, "POST", "/v1/projects", "{\"name\": \"moved\", \"database\": \"main\"}", 201)
                .get("id")
                .asText();
        token = send(ADMIN, "POST", "/v1/projects/moved/tokens", "{\"scopes\": [\"read\", \"write\"]}", 201)
                .get("token")
                .asText();
    }

    private void startService() throws Exception {
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        home.database().withPassword(),
                        "ANNALS_DATABASES",
                        "main,east",
                        "ANNALS_DATABASES_EAST_URL",
                        east.database().withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        ADMIN,
                        "ANNALS_LOG_KEY",
                        AuditLogFixture.LOG_KEY))
                .awaitListening();
        Await.until(
                "east is used",
                () -> send(ADMIN, "GET", "/v1/databases", "", 200)
                        .findValuesAsText("reachable")
                        .equals(List.of("true", "true")));
    }

    @AfterEach
    void stop() {
        service.close();
    }

    private HttpResponse<String> send(String by, String method, String path, String body) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(service.uri(path))
                        .header("Authorization", "Bearer " + by)
                        .header("Content-Type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private JsonNode send(String by, String method, String path, String body, int status) throws Exception {
        HttpResponse<String> answer = send(by, method, path, body);
        assertThat(answer.statusCode())
                .as("%s %s: %s", method, path, answer.body())
                .isEqualTo(status);
        return JSON.readTree(answer.body());
    }

    private JsonNode move(String database, int status) throws Exception {
        return send(ADMIN, "POST", "/v1/projects/moved/move", "{\"database\": \"" + database + "\"}", status);
    }

    private JsonNode newest() throws Exception {
        return send(ADMIN, "GET", "/v1/projects/moved/move", "", 200);
    }

    private void awaitState(String state) throws Exception {
        Await.until("the move is " + state, () -> newest().get("state").asText().equals(state));
    }

    private void append(String action) throws Exception {
        Await.until(
                "the record is appended",
                () -> send(token, "POST", LOGS, "{\"action\": \"" + action + "\"}")
                                .statusCode()
                        == 201);
    }

    private List<String> actions() throws Exception {
        return send(token, "GET", LOGS, "", 200).findValuesAsText("action");
    }

    private String database() throws Exception {
        return send(ADMIN, "GET", "/v1/projects/moved", "", 200).get("database").asText();
    }

    @Test
    void aProjectMovesAndMovesBack() throws Exception {
        send(ADMIN, "GET", "/v1/projects/moved/move", "", 404);
        send(ADMIN, "DELETE", "/v1/projects/moved/move", "", 404);
        append("first");
        HttpResponse<String> accepted = send(ADMIN, "POST", "/v1/projects/moved/move", "{\"database\": \"east\"}");
        assertThat(accepted.statusCode()).as(accepted.body()).isEqualTo(202);
        assertThat(accepted.headers().firstValue("Location")).hasValue("/v1/projects/" + project + "/move");
        JsonNode started = JSON.readTree(accepted.body());
        assertThat(started.get("from").asText()).isEqualTo("main");
        assertThat(started.get("database").asText()).isEqualTo("east");
        awaitState("moved");
        append("second");
        assertThat(actions()).containsExactly("first", "second");
        assertThat(database()).isEqualTo("east");
        String metrics = HTTP.send(
                        HttpRequest.newBuilder(service.managementUri("/q/metrics"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString())
                .body();
        assertThat(metrics.lines())
                .anyMatch(line -> line.startsWith("annals_moves_pause_seconds_count") && line.endsWith(" 1.0"))
                .anyMatch(line -> line.startsWith("annals_moves_running "))
                .anyMatch(line -> line.startsWith("annals_moves{database=\"main\",state=\"copying\"}"));
        JsonNode moved = newest();
        assertThat(moved.get("id")).isEqualTo(started.get("id"));
        assertThat(moved.get("copied").asLong()).isEqualTo(1);
        assertThat(moved.get("last_sequence_id").asLong()).isEqualTo(1);
        assertThat(moved.get("ended_at").isNull()).isFalse();
        send(ADMIN, "DELETE", "/v1/projects/moved/move", "", 409);
        assertThat(move("east", 409).get("detail").asText()).contains("already");
        assertThat(home.texts("select action from annals.feed where project_id = annals.administration()"
                        + " and action like 'annals.move.%' order by sequence_id"))
                .containsExactly("annals.move.start", "annals.move.switch", "annals.move.end");

        assertThat(move("main", 409).get("detail").asText()).contains("keeps a copy", "remove_left('" + project);
        new MovedDatabases(Map.of(MovedDatabases.HOME, home, "east", east))
                .removeCopy(UUID.fromString(project), MovedDatabases.HOME);
        move("main", 202);
        awaitState("moved");
        append("third");
        assertThat(actions()).containsExactly("first", "second", "third");
        assertThat(database()).isEqualTo("main");
        assertThat(home.checkFeed(UUID.fromString(project))).isEqualTo(3);
    }

    @Test
    void aMoveThatWaitsIsShownIsCancelledAndGoesOnAtAnotherInstance() throws Exception {
        append("first");
        home.run(
                "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)"
                        + " values (gen_random_uuid(), '" + project + "', 'numbers', 'SYNCHRONOUS', 1, 1000, 1, 0, 1)");
        try (Connection writer = home.connect()) {
            SqlFixture.execute(writer, "select from annals.sequence where project_id = '" + project + "' for update");
            move("east", 202);
            Await.until("its record is copied", () -> newest().get("copied").asLong() == 1);
            assertThat(newest().get("state").asText()).isEqualTo("copying");
            assertThat(newest().get("last_sequence_id").asLong()).isEqualTo(1);
            assertThat(move("east", 409).get("detail").asText()).contains("moving already");
            send(ADMIN, "DELETE", "/v1/projects/moved/move", "", 202);
            awaitState("cancelled");
            send(ADMIN, "DELETE", "/v1/projects/moved/move", "", 409);
            append("second");
            assertThat(database()).isEqualTo("main");

            move("east", 202);
            Await.until("both records are copied", () -> newest().get("copied").asLong() == 2);
            home.run(
                    "create function public.delay_renewal() returns trigger language plpgsql as $$ begin"
                            + " if current_query() like '%.lease_move%' and current_setting('application_name') <> 'annals-move'"
                            + " then perform pg_sleep(1.9); end if; return null; end $$",
                    "create trigger delays before update on annals.move for each statement execute function public.delay_renewal()");
            String delayed =
                    "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
            Await.until("a renewal is on its way", () -> home.number(delayed) > 0);
            service.signal("TERM");
            service.awaitEnd();
            Await.until("the renewal has arrived", () -> home.number(delayed) == 0);
            home.run("drop function public.delay_renewal() cascade");
            assertThat(home.texts(
                            "select leased_by::text from annals.move where ended_at is null and leased_by is not null"))
                    .isEmpty();
            service.close();
            startService();
            Await.until(
                    "another instance carries it",
                    () -> home.number("select count(*) from annals.move where leased_by is not null") == 1);
            writer.commit();
        }
        awaitState("moved");
        append("third");
        assertThat(actions()).containsExactly("first", "second", "third");
        assertThat(database()).isEqualTo("east");
    }

    @Test
    void aProjectThatItsTargetDoesNotAcceptYetIsUnavailable() throws Exception {
        append("first");
        east.run("create schema gate");
        east.run("create function gate.open() returns trigger language plpgsql as $$ begin"
                + " perform pg_advisory_xact_lock_shared(46); return null; end $$");
        east.run("create trigger zz_gate after update on annals.project for each row when (new.placement = 'here')"
                + " execute function gate.open()");
        try (Connection slow = east.connect()) {
            SqlFixture.execute(slow, "select pg_advisory_lock(46)");
            move("east", 202);
            Await.until(
                    "the source has left",
                    () -> home.text("select placement from annals.project where id = '" + project + "'")
                            .equals("gone"));
            for (HttpResponse<String> answer :
                    List.of(send(token, "POST", LOGS, "{\"action\": \"second\"}"), send(token, "GET", LOGS, ""))) {
                assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
                assertThat(answer.headers().firstValue("Retry-After")).isPresent();
            }
        }
        awaitState("moved");
        append("third");
        assertThat(actions()).containsExactly("first", "third");
    }

    @Test
    void onlyAdministratorsMoveProjectsAndOnlyWhereTheyCan() throws Exception {
        for (String wrong : List.of("\"west\"", "\"\"", "5", "null", "[\"east\"]", "\"" + "e".repeat(50_000) + "\"")) {
            JsonNode refused = send(ADMIN, "POST", "/v1/projects/moved/move", "{\"database\": " + wrong + "}", 422);
            assertThat(refused.findValuesAsText("pointer")).containsOnly("/database");
            assertThat(refused.toString()).hasSizeLessThan(1_000);
        }
        send(ADMIN, "POST", "/v1/projects/moved/move", "{}", 422);
        send(ADMIN, "POST", "/v1/projects/moved/move", "{\"database\": \"east\", \"more\": 1}", 422);
        move("main", 409);
        send(ADMIN, "POST", "/v1/projects/annals/move", "{\"database\": \"east\"}", 409);
        send(ADMIN, "POST", "/v1/projects/none/move", "{\"database\": \"east\"}", 404);
        String auditor = send(ADMIN, "POST", "/v1/projects/annals/tokens", "{\"scopes\": [\"audit\"]}", 201)
                .get("token")
                .asText();
        for (String other : List.of(token, auditor)) {
            send(other, "POST", "/v1/projects/moved/move", "{\"database\": \"east\"}", 403);
            send(other, "DELETE", "/v1/projects/moved/move", "", 403);
        }
        send(token, "GET", "/v1/projects/moved/move", "", 403);
        send(auditor, "GET", "/v1/projects/moved/move", "", 404);
        assertThat(home.number("select count(*) from annals.move")).isZero();

        home.run("insert into annals.restored_archive values ('" + project + "', 1, 1, 'a checkpoint', '', '')");
        assertThat(move("east", 409).get("detail").asText()).contains("restored archive");
    }

    private record Command(int exitCode, List<String> output) {}

    private Command command(String... arguments) throws Exception {
        Map<String, String> settings = Map.of("ANNALS_URL", service.uri("").toString(), "ANNALS_ADMIN_TOKEN", ADMIN);
        try (ServiceProcess command = ServiceProcess.start(settings, arguments)) {
            command.awaitEnd();
            return new Command(command.process().exitValue(), List.copyOf(command.output));
        }
    }

    @Test
    void theCommandMovesFollowsAndCancels() throws Exception {
        append("first");
        assertThat(command("project", "move", "moved")).satisfies(never -> {
            assertThat(never.exitCode()).isEqualTo(1);
            assertThat(never.output()).anyMatch(line -> line.contains("The project has never moved."));
        });
        assertThat(command("project", "move", "moved", "--database=west").exitCode())
                .isEqualTo(1);
        assertThat(command("project", "move", "moved", "--database=east", "--cancel")
                        .exitCode())
                .isEqualTo(2);
        Command followed = command("project", "move", "moved", "--database=east", "--follow");
        assertThat(followed.exitCode()).as("%s", followed.output()).isZero();
        assertThat(followed.output()).anyMatch(line -> line.endsWith("\tfrom main to east\tmoved\t1 of 1 copied"));
        assertThat(command("project", "move", "moved").output())
                .anyMatch(line -> line.endsWith("\tfrom main to east\tmoved\t1 of 1 copied"));
        Command late = command("project", "move", "moved", "--cancel");
        assertThat(late.exitCode()).isEqualTo(1);
        assertThat(late.output()).anyMatch(line -> line.contains("To undo it, move the project back."));
    }
}
