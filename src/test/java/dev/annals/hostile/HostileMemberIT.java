package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.tools.embedded.TestDatabase;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The owner of a member database writes any row and replaces any function there. That is felt by the member's projects alone. The settings
 * trust east, so that its streams reach the receiver, and do not trust west.
 */
@Timeout(180)
class HostileMemberIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String BUCKET = "s3+https://bucket.example.org/the-service-may-write/here";
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture east = SqlFixture.on(TestDatabase.createDatabase());
    private final SqlFixture west = SqlFixture.on(TestDatabase.createDatabase());
    private final List<String> received = new CopyOnWriteArrayList<>();
    private HttpServer receiver;
    private ServiceProcess service;
    private Project ofHome;
    private Project ofEast;
    private Project ofWest;

    private record Project(UUID id, String token, String database) {}

    @BeforeEach
    void start() throws Exception {
        receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            received.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        receiver.start();
        Map<String, String> settings = new HashMap<>();
        settings.put("ANNALS_DATABASE_URL", home.database().withPassword());
        settings.put("ANNALS_DATABASES", "main,east,west");
        settings.put("ANNALS_DATABASES_EAST_URL", east.database().withPassword());
        settings.put("ANNALS_DATABASES_EAST_TRUSTED", "true");
        settings.put("ANNALS_DATABASES_WEST_URL", west.database().withPassword());
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        settings.put("ANNALS_STREAMS_ALLOWED_HOSTS", "*,127.0.0.1");
        settings.put("ANNALS_STREAMS_OWN_IDENTITY", BUCKET);
        settings.put("ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS", BUCKET);
        service = ServiceProcess.start(settings).awaitListening();
        for (String member : List.of("east", "west")) {
            Await.until(member + " is used", () -> health().contains("\"" + member + "\": \"reads and writes\""));
        }
        ofHome = create("main");
        ofEast = create("east");
        ofWest = create("west");
        for (Project each : List.of(ofHome, ofEast, ofWest)) {
            append(each, 201);
        }
    }

    @AfterEach
    void stop() {
        service.close();
        receiver.stop(0);
    }

    private String health() throws Exception {
        return HTTP.send(
                        HttpRequest.newBuilder(service.managementUri("/q/health"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString())
                .body();
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

    private JsonNode done(int status, HttpResponse<String> answer) throws Exception {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        return JSON.readTree(answer.body());
    }

    private Project create(String database) throws Exception {
        String body = "{\"name\": \"of " + database + "\", \"database\": \"" + database + "\"}";
        UUID id = UUID.fromString(
                done(201, send(ADMIN, "POST", "/v1/projects", body)).get("id").asText());
        JsonNode token = done(
                201,
                send(
                        ADMIN,
                        "POST",
                        "/v1/projects/" + id + "/tokens",
                        "{\"scopes\": [\"read\", \"write\", \"stream\"]}"));
        return new Project(id, token.get("token").asText(), database);
    }

    private JsonNode append(Project project, int status) throws Exception {
        return done(
                status,
                send(
                        project.token,
                        "POST",
                        LOGS,
                        "{\"action\": \"honest\", \"message\": \"secret of " + project.database + "\"}"));
    }

    private String otlp() {
        return "http://127.0.0.1:" + receiver.getAddress().getPort() + "/v1/logs";
    }

    private static void setStream(SqlFixture in, UUID owner, String name, String type, String url, boolean allProjects)
            throws SQLException {
        in.run(
                ("select annals.set_stream('%s', gen_random_uuid(), '%s', '%s', '%s', null, 'json', '{}', 'stop', 1, %s, false,"
                                + " '0', 1000)")
                        .formatted(owner, name, type, url, allProjects));
    }

    private static void pretend(SqlFixture in, UUID projectOfAnother) throws SQLException {
        in.run("select annals.create_project('x" + projectOfAnother + "', '" + projectOfAnother + "')");
        for (int i = 0; i < 2; i++) {
            in.run("insert into annals.audit_record (project_id, action, message) values ('" + projectOfAnother
                    + "', 'forged', 'forged " + projectOfAnother + "')");
        }
    }

    private static UUID administration(SqlFixture of) throws SQLException {
        return UUID.fromString(of.text("select annals.administration()"));
    }

    @Test
    void aStreamReadsNoFeedOfAnotherDatabase() throws Exception {
        List<UUID> foreign = List.of(ofHome.id, ofWest.id, administration(home), administration(west));
        for (UUID each : foreign) {
            pretend(east, each);
            setStream(east, each, "steals", "otlp", otlp(), false);
        }
        setStream(east, administration(east), "steals-all", "otlp", otlp(), true);
        setStream(east, ofEast.id, "own", "otlp", otlp(), false);
        // A stream of an own project, with progress in the feed of another one.
        east.run(
                "set local session_replication_role = replica",
                "insert into annals.stream_progress (stream_id, project_id, cursor) select id, '" + ofHome.id
                        + "', '0' from annals.stream where name = 'own'");
        append(ofEast, 201);

        Await.until(
                "each row was looked at twice",
                () -> east.number("select count(*) from annals.stream_progress where epoch < 3 and project_id in ('"
                                + String.join(
                                        "', '",
                                        foreign.stream().map(UUID::toString).toList()) + "')")
                        == 0);
        Await.until(
                "east's own project is delivered twice",
                () -> received.stream()
                                .filter(body -> body.contains("secret of east"))
                                .count()
                        >= 2);
        assertThat(received)
                // its events name the project, and those of home and west name theirs
                .noneMatch(body -> body.contains("of main") || body.contains("of west"))
                .noneMatch(body -> body.contains("forged"));
        assertThat(service.output).noneMatch(line -> line.contains(" ERROR "));
    }

    @Test
    void aStreamHasNoIdentityOfTheServiceAndNoPrivateSink() throws Exception {
        setStream(west, ofWest.id, "private", "otlp", otlp(), false);
        setStream(west, ofWest.id, "identity", "s3", BUCKET, false);
        setStream(west, administration(west), "all", "s3", BUCKET, true);
        setStream(
                west,
                ofWest.id,
                "certificate",
                "postgresql",
                "postgresql://annals@203.0.114.1/db?sslcertmode=require",
                false);

        for (String name : List.of("private", "identity", "all", "certificate")) {
            Await.until(
                    name + " is refused",
                    () -> west.texts("select coalesce(max(last_error), '') from annals.stream_progress as p join"
                                    + " annals.stream as s on s.id = stream_id where name = '" + name + "'")
                            .get(0)
                            .contains("ANNALS_DATABASES_WEST_TRUSTED"));
        }
        assertThat(received).isEmpty();
        String sink = "{\"sink\": {\"type\": \"otlp\", \"url\": \"" + otlp() + "\"}}";
        assertThat(done(422, send(ofWest.token, "PUT", "/v1/streams/private-too", sink))
                        .toString())
                .contains("ANNALS_DATABASES_WEST_TRUSTED");
        done(201, send(ofEast.token, "PUT", "/v1/streams/private-too", sink));
        done(201, send(ofHome.token, "PUT", "/v1/streams/private-too", sink));
    }

    @Test
    void tokensOfItsOpenNothing() throws Exception {
        String forged = "annals_" + "f".repeat(43);
        for (UUID project : List.of(ofHome.id, administration(home))) {
            west.run(
                    "set local session_replication_role = replica",
                    "insert into annals.access_token (id, project_id, token_hash, scopes) values (gen_random_uuid(), '"
                            + project + "', sha256('" + forged + "' || '" + project + "'::bytea), '{admin}')");
            done(401, send(forged + project, "GET", LOGS, ""));
        }
        west.run(
                "set local session_replication_role = replica",
                "insert into annals.access_token (id, project_id, token_hash, scopes) values (gen_random_uuid(), '"
                        + ofWest.id + "', sha256('" + forged + "'), '{read}')");
        done(401, send(forged, "GET", LOGS, ""));
    }

    @Test
    void anAlertCountsNoRecordsOfAnotherDatabase() throws Exception {
        append(ofHome, 201);
        pretend(east, ofHome.id);
        east.run("select annals.set_alert('" + ofHome.id
                + "', gen_random_uuid(), 'counts', 'action:honest', 0, 60, true, 10)");
        east.run("insert into annals.audit_record (project_id, action) values ('" + ofHome.id + "', 'forged')");
        Await.until(
                "it has counted", () -> east.number("select sequence_id from annals.alert where name = 'counts'") == 3);
        assertThat(east.number("select count(*) from annals.feed where action = 'annals.alert.raise'"))
                .isZero();
    }

    @Test
    void itSealsNoProjectOfAnother() throws Exception {
        for (Project claimed : List.of(ofHome, ofWest)) {
            pretend(east, claimed.id);
            east.run(
                    "set local session_replication_role = replica",
                    "update annals.project set placement_epoch = 99 where id = '" + claimed.id + "'");
        }
        // Home lacks what east says that it has noted, and both others were promoted.
        String claimsMore = "update annals.database_end set head = 1000000, incarnation = 'another'";
        for (int round = 1; round <= 2; round++) {
            String before = "the one before " + round;
            east.run(claimsMore);
            home.run("update annals.admission set incarnation = '" + before + "'");
            west.run("update annals.admission set incarnation = '" + before + "'");
            for (SqlFixture promoted : List.of(home, west)) {
                Await.until(
                        "it is admitted",
                        () -> promoted.number(
                                        "select count(*) from annals.admission where incarnation = '" + before + "'")
                                == 0);
            }
            append(ofHome, 201);
            append(ofWest, 201);
        }
        for (SqlFixture promoted : List.of(home, west)) {
            assertThat(promoted.number("select count(*) from annals.project where placement = 'sealed'"))
                    .isZero();
        }
    }

    @Test
    void itSpeaksForNoOtherMember() throws Exception {
        UUID ofTheOther = administration(west);
        Await.until("home has noted west", () -> noted(ofTheOther) == 1);
        east.run("create sequence public.asked", "grant usage on sequence public.asked to public");
        east.run(
                "create or replace function annals.database_state(out id uuid, out incarnation text, out admitted boolean,"
                        + " out head bigint, out mark integer, out log_size bigint, out log_root bytea) language plpgsql as $$ begin"
                        + " perform nextval('public.asked'); id := '" + ofTheOther
                        + "'; incarnation := 'forged'; admitted := false;"
                        + " head := 1000000; mark := 1; log_size := 0; log_root := ''; end $$");
        Await.until("east is asked", () -> east.number("select last_value from public.asked") >= 4);
        assertThat(home.number("select count(*) from annals.database_end where incarnation = 'forged' and id = '"
                        + ofTheOther + "'"))
                .isZero();
        append(ofWest, 201);
    }

    private long noted(UUID database) throws SQLException {
        return home.number("select count(*) from annals.database_end where id = '" + database + "'");
    }

    @Test
    void aDatabaseThatCannotBeAdmittedSaysWhy() throws Exception {
        west.run(
                "create function public.refuse() returns trigger language plpgsql as"
                        + " $$ begin raise 'an audit trigger\nof the operator failed'; end $$",
                "update annals.admission set incarnation = 'the one before'",
                "create trigger audits before update on annals.admission for each row execute function public.refuse()");
        JsonNode refused = append(ofWest, 503);
        assertThat(refused.get("type").asText()).endsWith("project-moving");
        assertThat(refused.get("detail").asText()).contains("restored or promoted", "log");
        Await.until("the log has a line", () -> lines("an audit trigger of the operator failed") > 0);
        append(ofWest, 503);
        assertThat(lines("an audit trigger of the operator failed")).isEqualTo(1);
        assertThat(lines("The database west was not compared")).isEqualTo(1);
        append(ofEast, 201);
        west.run("drop trigger audits on annals.admission");
        Await.until(
                "west is written again",
                () -> send(ofWest.token, "POST", LOGS, "{\"action\": \"a\"}").statusCode() == 201);
    }

    private long lines(String text) {
        return service.output.stream().filter(line -> line.contains(text)).count();
    }
}
