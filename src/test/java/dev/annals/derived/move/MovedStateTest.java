package dev.annals.derived.move;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static dev.annals.derived.move.MovedDatabases.killedAt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.move.MovedDatabases.KilledException;
import dev.annals.derived.move.ProjectMove.Step;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a project has besides its records moves with it, whatever is lost on the way, and takes few rows under the seal. */
@BesideTheService
@Timeout(300)
class MovedStateTest {

    private final MovedDatabases databases = new MovedDatabases();
    private final SqlFixture home = databases.home();
    private final SqlFixture east = databases.of("east");
    private UUID project;
    private String id;

    @BeforeEach
    void makeProject() throws SQLException {
        project = home.insertProject();
        id = "'" + project + "'";
    }

    private void fill() throws SQLException {
        home.insertAsWriter(project, "'a', 'm' || n", 300);
        home.run(
                "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)"
                        + " select gen_random_uuid(), " + id
                        + ", k, k, 1, 3000000, 1, 0, 500 from unnest(array['SYNCHRONOUS', 'NATIVE', 'RECYCLED_SERIES']) as k",
                "select annals.claim_series(id) from annals.sequence where kind = 'RECYCLED_SERIES' and project_id = "
                        + id,
                "select nextval(annals.native_sequence_name(id)::regclass) from annals.sequence, generate_series(1, 500)"
                        + " where kind = 'NATIVE' and project_id = " + id,
                "select annals.set_hold(" + id + ", gen_random_uuid(), 'actor 1', null, 'a reason')",
                "select annals.set_alert(" + id + ", gen_random_uuid(), 'alert', 'action:a', 3, 60, true, 10, null)",
                "select annals.grant_writer('annals_writer', " + id + ")",
                "select annals.set_retention(" + id + ", 30)",
                "select annals.set_stream(" + id
                        + ", gen_random_uuid(), 'stream', 'webhook', 'https://sink.invalid/', null,"
                        + " 'json', '{}', 'stop', 1, false, false, '0', 10)",
                "select annals.set_view(" + id + ", gen_random_uuid(), 'view', '{}', null, null, 10, null, null)");
        letters(1, 3);
        WrittenLog.grow(home, project, 256);
    }

    private void letters(int from, int through) throws SQLException {
        home.run(
                "insert into annals.stream_dead_letter (stream_id, project_id, sequence_id, record_id, reason) select id, "
                        + id + ", n, gen_random_uuid(), 'refused' from annals.stream, generate_series(" + from + ", "
                        + through
                        + ") as n where project_id = " + id);
    }

    private ProjectMove mover(UUID move, Consumer<String> source, ProjectMove.Progress progress) {
        return new ProjectMove(
                database -> {
                    Connection real = databases.connect(database, "annals_service");
                    return database.equals(HOME) ? WatchedConnection.of(real, source, sql -> sql) : real;
                },
                HOME,
                move,
                move,
                progress);
    }

    private String digests(SqlFixture of) throws SQLException {
        return of.text("select annals.moved_digests(" + id + ")");
    }

    /** The target was set back to before this change of it, after the move was decided. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from annals.legal_hold where project_id = :id",
                "update annals.legal_hold set reason = 'another' where project_id = :id",
                "update annals.sequence set next_value = 1 where project_id = :id and kind = 'SYNCHRONOUS'",
                "update annals.sequence_series set next_value = first_value + 7 where sequence_id in (select id from annals.sequence where project_id = :id)",
                "select setval(annals.native_sequence_name(id)::regclass, 1, false) from annals.sequence where kind = 'NATIVE' and project_id = :id",
                "delete from annals.alert where project_id = :id",
                "delete from annals.writer_grant where project_id = :id",
                "delete from annals.stream where project_id = :id",
                "delete from annals.stream_dead_letter where project_id = :id",
                "update annals.stream_progress set cursor = '0' where project_id = :id",
                "delete from annals.saved_view where project_id = :id",
                "update annals.merkle_log set checkpoint = 'an older note' where project_id = :id",
                "delete from annals.merkle_log where project_id = :id",
                "update annals.project set retention_days = null where id = :id",
                "delete from annals.merkle_seed where project_id = :id",
                "delete from annals.merkle_tile where project_id = :id"
            })
    void aTargetThatHasLostTheLastOfItIsNotOpenedWithout(String lost) throws Exception {
        fill();
        home.run("update annals.stream_progress set cursor = '7-0000000a' where project_id = " + id);
        UUID move = databases.start(project, "east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.LEFT)).run())
                .isInstanceOf(KilledException.class);
        String before = digests(home);
        assertThat(digests(east)).isEqualTo(before);
        east.run("set local session_replication_role = replica", lost.replace(":id", id));
        if (lost.contains("annals.stream ")) {
            east.run(
                    "set local session_replication_role = replica",
                    "delete from annals.stream_progress where project_id = " + id,
                    "delete from annals.stream_dead_letter where project_id = " + id);
        }
        assertThat(digests(east)).isNotEqualTo(before);
        assertThat(east.as(
                        "annals_service",
                        "select annals.open_project(" + id + ", 1, '" + before.replace("'", "''") + "', false)"))
                .isEqualTo("22000");

        databases.finish(move);

        assertThat(databases.placement(project, "east")).isEqualTo("here -");
        // The name of the database that signs is another one since.
        east.run(
                "set local session_replication_role = replica",
                "update annals.merkle_log set incarnation = annals.incarnation() where project_id = " + id);
        home.run(
                "set local session_replication_role = replica",
                "update annals.merkle_log set incarnation = (select '" + east.text("select annals.incarnation()")
                        + "') where project_id = " + id);
        assertThat(digests(east)).isEqualTo(digests(home));
    }

    @Test
    void theFeedMovesFromItsFirstPlaceOnHoweverManyHaveExpired() throws Exception {
        home.insertAsWriter(project, "'a', 'm'", 24_999);
        home.insertAsWriter(project, "'a', 'm'", 1);
        home.insertAsWriter(project, "'a', 'm'", 50);
        String segment = " from annals.feed_segment where project_id = " + id + " and first_sequence_id";
        // As remove_expired() leaves it.
        home.run(
                "set local session_replication_role = replica",
                "insert into annals.feed_horizon (project_id, sequence_id, record_id, recorded_before, entries) values ("
                        + id + ", 25000, gen_random_uuid(), now(), decode(repeat('07', 25000 % 256 * 32), 'hex'))",
                "delete from annals.audit_record as r using annals.places(" + id
                        + ", 1, 25000) as p where r.project_id = " + id + " and r.id = p.record_id",
                "delete from annals.append where project_id = " + id + " and id in (select append_id" + segment
                        + " < 25000)",
                "delete" + segment + " < 25000");
        UUID move = databases.start(project, "east");
        databases.finish(move);
        assertThat(databases.state(move)).isEqualTo("done");
        String feed =
                "select string_agg(f::text, ',' order by sequence_id) from annals.feed as f where project_id = " + id;
        assertThat(east.text(feed)).isEqualTo(home.text(feed)).isNotNull();
        assertThat(east.number("select min(first_sequence_id) from annals.feed_segment where project_id = " + id))
                .isEqualTo(25_000);

        // All of it, with and without a copy that was lost.
        UUID empty = home.insertProject();
        id = "'" + empty + "'";
        home.insertAsWriter(empty, "'a', 'm'", 1);
        home.run(
                "set local session_replication_role = replica",
                "insert into annals.feed_horizon (project_id, sequence_id, record_id, recorded_before, entries) values ("
                        + id + ", 30000, gen_random_uuid(), now(), decode(repeat('07', 30000 % 256 * 32), 'hex'))",
                "update annals.feed_segment set first_sequence_id = 30000, last_sequence_id = 30000 where project_id = "
                        + id,
                "delete from annals.audit_record where project_id = " + id);
        UUID second = databases.start(empty, "east");
        assertThatThrownBy(() -> databases.mover(second, killedAt(Step.LEFT)).run())
                .isInstanceOf(KilledException.class);
        east.run(
                "set local session_replication_role = replica",
                "delete from annals.feed_segment where project_id = " + id,
                "delete from annals.append where project_id = " + id,
                "delete from annals.feed_horizon where project_id = " + id);
        databases.finish(second);
        assertThat(east.number("select max(last_sequence_id) from annals.feed_segment where project_id = " + id))
                .isEqualTo(30_000);
    }

    /** The copy of the tree takes as long as it is large. Writers go on meanwhile, and none of that may wait for the seal. */
    @Test
    void theSealFollowsTheLastLookAtTheFeedAtOnce() throws Exception {
        fill();
        boolean[] written = {false};
        long[] left = {-1};
        UUID move = databases.start(project, "east");
        mover(
                        move,
                        sql -> {
                            if (sql.contains("annals.merkle_tile") && sql.contains("next_tile") && !written[0]) {
                                written[0] = true;
                                insert(1_000);
                            }
                        },
                        (step, at) -> {
                            if (step == Step.SEALED) {
                                left[0] = 1_300 - at;
                            }
                        })
                .run();
        assertThat(written[0]).isTrue();
        assertThat(left[0]).as("records to copy while writers wait").isBetween(0L, 200L);
        assertThat(east.checkFeed(project)).isEqualTo(1_300);
    }

    private void insert(int records) {
        try {
            home.insertAsWriter(project, "'late', 'm'", records);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void underTheSealOnlyPagesThatDifferAreCopied() throws Exception {
        fill();
        letters(1_001, 21_000);
        List<String> pages = new ArrayList<>();
        boolean[] sealed = {false};
        UUID move = databases.start(project, "east");
        mover(
                        move,
                        sql -> {
                            if (sealed[0] && sql.contains("annals.moved_rows(")) {
                                pages.add(sql);
                            }
                        },
                        (step, at) -> {
                            sealed[0] |= step == Step.SEALED;
                            if (step == Step.COPYING) {
                                try {
                                    letters(21_001, 21_005);
                                } catch (SQLException e) {
                                    throw new IllegalStateException(e);
                                }
                            }
                        })
                .run();
        assertThat(pages).as("pages of dead letters and of the progress").hasSizeBetween(1, 3);
        assertThat(east.number("select count(*) from annals.stream_dead_letter where project_id = " + id))
                .isEqualTo(20_008);
        String digest = "select annals.moved_digest(" + id + ", 'stream_dead_letter')";
        assertThat(east.text(digest)).isEqualTo(home.text(digest));
    }

    /** However long it was, it may be slow or frozen: no time ends its session. */
    @Test
    void aMoverThatWasFrozenBringsNothingOnceAnotherHasBegun() throws Exception {
        fill();
        UUID move = databases.start(project, "east");
        Map<String, String> times = new LinkedHashMap<>();
        assertThatThrownBy(() -> databases
                        .mover(move, (step, at) -> {
                            if (step == Step.SEALED) {
                                try {
                                    assertThatThrownBy(() -> databases
                                                    .mover(move, killedAt(Step.COPIED))
                                                    .run())
                                            .isInstanceOf(KilledException.class);
                                    times.put("digests", digests(east));
                                } catch (SQLException e) {
                                    throw new IllegalStateException(e);
                                }
                            }
                        })
                        .run())
                .hasMessageContaining("another mover goes on");
        assertThat(digests(east)).isEqualTo(times.get("digests"));
        assertThat(home.text("select last_error from annals.move where id = '" + move + "'"))
                .contains("another mover goes on");
        databases.finish(move);
        assertThat(databases.placement(project, "east")).isEqualTo("here -");
    }

    @Test
    void theErrorThatIsNotedIsTheFirstAndNamesItsDatabase() throws Exception {
        fill();
        UUID move = databases.start(project, "east");
        assertThatThrownBy(() -> databases
                        .mover(move, (step, at) -> {
                            if (step == Step.ARRIVING) {
                                try {
                                    east.run(
                                            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = '"
                                                    + MovedDatabases.APPLICATION
                                                    + "' and datname = current_database()");
                                } catch (SQLException e) {
                                    throw new IllegalStateException(e);
                                }
                            }
                        })
                        .run())
                .isInstanceOf(SQLException.class);
        assertThat(home.text("select last_error from annals.move where id = '" + move + "'"))
                .startsWith("The connection to the target has ended. ")
                .doesNotContain("An I/O error occurred while sending to the backend. The");
        databases.finish(move);
    }

    /** The servers of two databases have other members of annals_writer. Here they are one server, so what the grant gave is taken back. */
    @Test
    void loginsMayDoTheSameAfterAMove() throws Exception {
        fill();
        String writer = "writer_" + project.toString().substring(0, 8);
        String group = "group_" + project.toString().substring(0, 8);
        String ofGroup = "member_" + project.toString().substring(0, 8);
        String operator = "operator_" + project.toString().substring(0, 8);
        String stranger = "stranger_" + project.toString().substring(0, 8);
        List<String> logins = List.of(writer, ofGroup, operator, stranger);
        home.run("create role " + group);
        for (String login : logins) {
            home.run("create role " + login + " login password 'of-a-login'");
        }
        home.run(
                "grant " + group + " to " + ofGroup,
                "grant annals_service to " + operator,
                "select annals.grant_writer('" + writer + "', " + id + ")",
                "select annals.grant_writer('" + group + "', " + id + ")");
        Map<String, String> before = permitted(home, logins);
        assertThat(before.get(writer + " insert")).isEqualTo("done");
        assertThat(before.get(ofGroup + " insert")).isEqualTo("done");
        assertThat(before.get(stranger + " insert")).isEqualTo("42501");
        home.run("revoke annals_writer from " + writer, "revoke annals_writer from " + group);

        databases.finish(databases.start(project, "east"));

        assertThat(permitted(east, logins)).isEqualTo(before);
    }

    private Map<String, String> permitted(SqlFixture database, List<String> logins) throws SQLException {
        Map<String, String> statements = new LinkedHashMap<>();
        statements.put("insert", "insert into annals.audit_record (project_id, action) values (" + id + ", 'a')");
        statements.put(
                "number",
                "insert into annals.audit_record (project_id, action, number_sequence) values (" + id
                        + ", 'n', 'SYNCHRONOUS')");
        statements.put(
                "draw",
                "select annals.draw_native(id, 1) from annals.sequence where kind = 'NATIVE' and project_id = " + id);
        statements.put("where", "select placement from annals.where_is(" + id + ")");
        statements.put("read", "select count(*) from annals.feed where project_id = " + id);
        statements.put("hold", "select annals.set_hold(" + id + ", gen_random_uuid(), 'actor 9', null, 'a reason')");
        statements.put("grant", "select annals.grant_writer('annals_writer', " + id + ")");
        statements.put("delete", "delete from annals.audit_record where project_id = " + id);
        statements.put("update", "update annals.sequence set next_value = next_value + 1 where project_id = " + id);
        Map<String, String> outcomes = new LinkedHashMap<>();
        for (String login : logins) {
            for (Map.Entry<String, String> statement : statements.entrySet()) {
                try (Connection connection =
                        DriverManager.getConnection(database.database().jdbcUrl(), login, "of-a-login")) {
                    SqlFixture.execute(connection, statement.getValue());
                    outcomes.put(login + " " + statement.getKey(), "done");
                } catch (SQLException e) {
                    outcomes.put(login + " " + statement.getKey(), e.getSQLState());
                }
            }
        }
        return outcomes;
    }
}
