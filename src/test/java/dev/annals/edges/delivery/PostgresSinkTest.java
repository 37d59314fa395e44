package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.not;

import dev.annals.Await;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Another database has every record of the feed exactly once, whatever the service knows of it. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class PostgresSinkTest extends OneStream {

    private static final String STREAM = "/v1/streams/warehouse";
    private static final String WRITTEN =
            "select coalesce(string_agg(sequence_id::text, ',' order by number), '') from written";

    private DatabaseUrl sink;

    PostgresSinkTest() {
        super(STREAM);
    }

    @BeforeEach
    void makeAProjectAndADatabase() throws Exception {
        project = log.newProject("read", "write", "stream");
        sink = TestDatabase.createDatabase();
        run(
                "create table annals_record (project_id uuid not null, sequence_id bigint not null, record jsonb not null,"
                        + " delivered_at timestamptz not null default now(), primary key (project_id, sequence_id))",
                // Shows records that are written twice.
                "create table written (number bigserial, sequence_id bigint)",
                "create function note() returns trigger language plpgsql as $$ begin insert into written (sequence_id)"
                        + " values (new.sequence_id); return new; end $$",
                "create trigger note after insert or update on annals_record for each row execute function note()");
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        project.wrongRequest().delete(STREAM);
        log.checkFeed(project.id());
    }

    private void run(String... statements) throws Exception {
        try (Connection connection = sink.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private List<String> texts(String sql) throws Exception {
        try (Connection connection = sink.connect()) {
            return SqlFixture.texts(connection, sql);
        }
    }

    private String url() {
        return "postgresql://" + sink.user() + "@" + sink.host() + ":" + sink.port() + "/" + sink.database();
    }

    private Response set(String password) {
        return project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"postgresql\", \"url\": \"" + url() + "\", \"secret\": \"" + password
                        + "\"}, \"max_refusals\": 1}")
                .put(STREAM);
    }

    private static String ids(long from, long to) {
        return String.join(
                ",", LongStream.rangeClosed(from, to).mapToObj(Long::toString).toList());
    }

    @Test
    void itHasEveryRecordOnceInOrderAndWithItsCursor() throws Exception {
        append(250);
        set(sink.password()).then().statusCode(201).body("sink.url", not(containsString(sink.password())));
        awaitLag(0);
        append(7);
        awaitLag(0);
        assertThat(texts(WRITTEN)).containsExactly(ids(1, 257));
        assertThat(texts("select record ->> 'message' from annals_record where sequence_id = 250"))
                .containsExactly("Record 250");
        assertThat(texts("select cursor from annals_cursor")).containsExactly(get().<String>path("cursor"));
    }

    /** As after a crash between the commit there and the note of it here. */
    @Test
    void aCursorBehindTheSinkWritesNothingTwice() throws Exception {
        append(150);
        set(sink.password()).then().statusCode(201);
        awaitLag(0);
        log.run("update annals.stream_progress set cursor = '0' where stream_id = '" + get().path("id") + "'");
        append(10);
        awaitLag(0);
        assertThat(texts(WRITTEN)).containsExactly(ids(1, 160));
    }

    @Test
    void oneThatIsRewoundWritesAgainAndLeavesNothingTwice() throws Exception {
        append(20);
        set(sink.password()).then().statusCode(201);
        awaitLag(0);
        rewind("15");
        awaitLag(0);
        assertThat(texts(WRITTEN)).containsExactly(ids(1, 20) + "," + ids(16, 20));
        assertThat(texts("select count(*)::text from annals_record")).containsExactly("20");
    }

    @Test
    void aTestLeavesNothingThereAndAWrongPasswordIsTold() throws Exception {
        append(1);
        set("wrong " + sink.password()).then().statusCode(201);
        Await.until("it fails", () -> "failing".equals(get().path("state")));
        get().then().body("last_error", containsString("28P01"));
        post("pause").then().statusCode(200);
        set(sink.password()).then().statusCode(200).body("state", equalTo("paused"));
        post("test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("delivered"))
                .body("sequence_id", equalTo(1));
        assertThat(texts("select count(*)::text from written")).containsExactly("0");
        post("resume").then().statusCode(200);
        awaitLag(0);
        assertThat(texts(WRITTEN)).containsExactly("1");
    }

    @Test
    void aRefusedRecordStopsTheStream() throws Exception {
        run("alter table annals_record add constraint no_fives check (sequence_id <> 5)");
        append(10);
        set(sink.password()).then().statusCode(201);
        Await.until("it stops", () -> "stopped".equals(get().path("state")));
        get().then().body("stop_reason", containsString("The record 5 was refused"));
        assertThat(texts(WRITTEN)).containsExactly(ids(1, 4));
    }

    @Test
    void aPasswordIsNotShownAndOtherParametersAreRefused() {
        for (String url : List.of(
                "postgresql://u:secret@127.0.0.1:5432/d",
                "postgresql://u@127.0.0.1,127.0.0.2/d",
                "postgresql://u@127.0.0.1/d?sslmode=verify-ca&sslrootcert=/etc/passwd",
                "postgresql://u@10.0.0.1/d",
                "https://127.0.0.1/")) {
            Response refused = project.wrongRequest()
                    .contentType("application/json")
                    .body("{\"sink\": {\"type\": \"postgresql\", \"url\": \"" + url + "\"}}")
                    .put(STREAM);
            assertThat(refused.statusCode()).as(url).isEqualTo(422);
            assertThat(pointers(refused.then().extract())).as(url).containsExactly("/sink/url");
        }
    }
}
