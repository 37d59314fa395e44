package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.path.json.JsonPath;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An instance dies, or stands still, in the middle of delivering: another one goes on, and the sinks have what is promised. */
@Slow
class TakeoverIT {

    private static final int RECORDS = 8_000;

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private final DatabaseUrl warehouse = TestDatabase.createDatabase();
    private ServiceProcess first;
    private ServiceProcess second;
    private Receiver receiver;
    private Project project;

    @BeforeEach
    void startOneThatDelivers() throws Exception {
        receiver = new Receiver();
        // Slows the delivery, so that it has a middle.
        receiver.behaviour = request -> new Receiver.Answer(204, Map.of(), 250);
        run(
                warehouse,
                "create table annals_record (project_id uuid not null, sequence_id bigint not null, record jsonb not null,"
                        + " delivered_at timestamptz not null default now(), primary key (project_id, sequence_id))",
                "create table written (number bigserial, sequence_id bigint)",
                "create function note() returns trigger language plpgsql as $$ begin perform pg_sleep(0.002); insert into"
                        + " written (sequence_id) values (new.sequence_id); return new; end $$",
                "create trigger note after insert or update on annals_record for each row execute function note()");
        first = start();
        project = first.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        run(
                database,
                "insert into annals.audit_record (project_id, action) select '" + project.id()
                        + "', 'act' from generate_series(1, " + RECORDS + ")");
        set("siem", "webhook", receiver.url(), Receiver.SECRET);
        set(
                "warehouse",
                "postgresql",
                "postgresql://" + warehouse.user() + "@" + warehouse.host() + ":" + warehouse.port() + "/"
                        + warehouse.database(),
                warehouse.password());
        Await.until(
                "it is in the middle",
                () -> receiver.taken().size() > 500 && written().size() > 100);
        second = start();
    }

    @AfterEach
    void stopBoth() {
        first.close();
        second.close();
        receiver.close();
    }

    private ServiceProcess start() throws Exception {
        return StreamingService.start(database, "ANNALS_STREAMS_LEASE", "2s");
    }

    private void set(String name, String type, String url, String secret) {
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"" + type + "\", \"url\": \"" + url + "\", \"secret\": \"" + secret
                        + "\"}}")
                .put(first.uri("/v1/streams/" + name))
                .then()
                .statusCode(201);
    }

    private static void run(DatabaseUrl url, String... statements) throws Exception {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private List<String> written() throws Exception {
        try (Connection connection = warehouse.connect()) {
            return SqlFixture.texts(connection, "select sequence_id::text from written order by number");
        }
    }

    private List<Integer> lags() {
        return new JsonPath(given().header("Authorization", "Bearer " + project.token())
                        .get(second.uri("/v1/streams"))
                        .asString())
                .getList("streams.lag");
    }

    private static List<Long> all() {
        return LongStream.rangeClosed(1, RECORDS).boxed().toList();
    }

    private void assertEverythingIsThere() throws Exception {
        Await.until("everything is delivered", () -> lags().equals(List.of(0, 0)));
        assertThat(receiver.taken()).isEqualTo(all());
        receiver.checkOrder();
        assertThat(written()).isEqualTo(all().stream().map(String::valueOf).collect(Collectors.toList()));
        assertThat(second.output)
                .noneMatch(line -> line.contains(Receiver.SECRET) || line.contains(warehouse.password()));
    }

    @Test
    void afterAKillTheOtherOneGoesOn() throws Exception {
        int before = receiver.requests.size();
        first.close();
        Await.until("the other one delivers", () -> receiver.requests.size() > before + 1);
        assertEverythingIsThere();
    }

    @Test
    @TakesLong
    void oneThatWasFrozenNeitherGoesOnNorMovesTheCursor() throws Exception {
        first.signal("STOP");
        int before = receiver.requests.size();
        Await.until("the other one delivers", () -> receiver.requests.size() > before + 3);
        first.signal("CONT");
        assertEverythingIsThere();
        assertThat(receiver.requests.stream()
                        .collect(Collectors.groupingBy(Receiver.Delivered::id, Collectors.counting()))
                        .values()
                        .stream()
                        .filter(times -> times > 1)
                        .count())
                .as("batches that came twice")
                .isLessThanOrEqualTo(1);
    }
}
