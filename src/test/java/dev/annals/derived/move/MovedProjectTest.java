package dev.annals.derived.move;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static dev.annals.derived.move.MovedDatabases.killedAt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.move.MovedDatabases.KilledException;
import dev.annals.derived.move.ProjectMove.Step;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A project moves between databases, and its feed goes on: nothing is lost, doubled, skipped or refused. */
@BesideTheService
@Timeout(180)
class MovedProjectTest {

    private final MovedDatabases databases = new MovedDatabases();
    private final SqlFixture home = databases.home();
    private UUID project;

    @BeforeEach
    void makeProject() throws SQLException {
        project = home.insertProject();
    }

    private UUID start(String target) throws SQLException {
        return databases.start(project, target);
    }

    private void moveTo(String target) throws SQLException {
        databases.finish(start(target));
    }

    private String placement(String database) throws SQLException {
        return databases.placement(project, database);
    }

    /** The rows of each table that moves, without what belongs to a database. */
    private List<String> rows(String database) throws SQLException {
        List<String> rows = new ArrayList<>();
        SqlFixture sql = databases.of(database);
        for (String table : sql.texts(
                "select name from annals.moved_tables() where way in ('feed', 'tree', 'state') order by number")) {
            String of = sql.text("select replace(annals.of_project('" + table + "'), '$1', '''" + project + "''')");
            rows.addAll(sql.texts(
                    "select '" + table + " ' || (to_jsonb(r) - array['incarnation', 'epoch'])::text from annals."
                            + table + " as r where " + of + " order by 1"));
        }
        return rows;
    }

    private void fill() throws SQLException {
        home.insertAsWriter(project, "'a', 'm' || n", 300);
        for (int i = 0; i < 20; i++) {
            home.insertAsWriter(project, "'b', null", 1);
        }
        String id = "'" + project + "'";
        home.run(
                "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value) values"
                        + " (gen_random_uuid(), " + id + ", 'numbers', 'SYNCHRONOUS', 1, 1000, 1, 0, 1),"
                        + " (gen_random_uuid(), " + id + ", 'native', 'NATIVE', 1, 1000, 1, 0, 1),"
                        + " (gen_random_uuid(), " + id + ", 'series', 'RECYCLED_SERIES', 1, 3000000, 1, 0, 1)",
                "insert into annals.audit_record (project_id, action, number_sequence) select " + id
                        + ", 'n', 'numbers' from generate_series(1, 5)",
                "select annals.claim_series(id) from annals.sequence where name = 'series' and project_id = " + id,
                "select nextval(annals.native_sequence_name(id)::regclass) from annals.sequence where name = 'native' and project_id = "
                        + id,
                "select annals.set_hold(" + id + ", gen_random_uuid(), 'actor 1', null, 'a reason')",
                "select annals.set_alert(" + id + ", gen_random_uuid(), 'alert', 'action:a', 3, 60, true, 10, null)",
                "select annals.grant_writer('annals_writer', " + id + ")",
                "insert into annals.feed_horizon (project_id) values (" + id + ")",
                "select annals.set_stream(" + id
                        + ", gen_random_uuid(), 'stream', 'webhook', 'https://sink.invalid/', null,"
                        + " 'json', '{}', 'stop', 1, false, false, '0', 10)",
                "select annals.set_catalogue(" + id
                        + ", 'mark', 'accept', '[{\"name\": \"a\", \"title\": \"A\"}]', true, 100, 100000, null, null)",
                "select annals.set_view(" + id + ", gen_random_uuid(), 'view', '{}', null, null, 10, null, null)",
                "select annals.set_look(" + id + ", 'Look', '#123456', null, '{}')");
        WrittenLog.grow(home, project, 256);
        redact("1");
        redact("301");
    }

    /** The record at a place. */
    private void redact(String place) throws SQLException {
        home.run("select annals.redact('" + project
                + "', id, array['message'], 'r', null, sha256('x'), gen_random_uuid(), null, null)"
                + " from annals.feed where project_id = '" + project + "' and message is not null and sequence_id >= "
                + place + " - 290 order by sequence_id limit 1");
    }

    @Test
    void theTargetHasAllThatTheSourceHad() throws Exception {
        fill();
        List<String> before = rows(HOME);

        moveTo("east");

        assertThat(rows("east")).containsExactlyElementsOf(before);
        assertThat(placement(HOME)).isEqualTo("gone east");
        assertThat(placement("east")).isEqualTo("here -");
        assertThat(databases.of("east").checkFeed(project)).isEqualTo(327);
        for (String database : List.of(HOME, "east")) {
            assertThat(databases.of(database).texts("select annals.administration_differences()"))
                    .isEmpty();
        }
        SqlFixture east = databases.of("east");
        assertThat(east.text("select incarnation = annals.incarnation() from annals.merkle_log where project_id = '"
                        + project + "'"))
                .isEqualTo("t");
        east.run("insert into annals.audit_record (project_id, action, number_sequence) values ('" + project
                + "', 'n', 'numbers')");
        assertThat(east.text("select max(number_value) from annals.audit_record where project_id = '" + project + "'"))
                .isEqualTo("6");
        assertThat(
                        east.text(
                                "select nextval(annals.native_sequence_name(id)::regclass) from annals.sequence where name = 'native'"))
                .isEqualTo("2");

        databases.removeCopy(project, HOME);
        assertThat(rows(HOME)).allMatch(row -> row.startsWith("writer_grant "));
        moveTo("west");
        assertThat(placement(HOME)).isEqualTo("gone west");
        moveTo(HOME);
        assertThat(placement(HOME)).isEqualTo("here -");
        assertThat(placement("west")).isEqualTo("gone main");
        assertThat(home.checkFeed(project)).isEqualTo(328);
        assertThat(home.texts("select annals.administration_differences()")).isEmpty();
        assertThat(rows(HOME)).containsExactlyElementsOf(rows("west"));
    }

    /** A redaction draws the seed of its tile, also of one that the log has not reached. */
    @Test
    void aSeedThatIsDrawnBehindTheCopiedOnesMovesToo() throws Exception {
        fill();
        String seed =
                "insert into annals.merkle_seed (project_id, tile, seed) values ('" + project + "', %d, sha256('s'))";
        home.run(seed.formatted(2));
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPIED)).run())
                .isInstanceOf(KilledException.class);
        home.run("set local session_replication_role = replica", seed.formatted(1));
        List<String> before = rows(HOME);

        databases.finish(move);

        assertThat(rows("east")).containsExactlyElementsOf(before);
    }

    @Test
    void eachTableWithProjectsSaysHowItMoves() throws SQLException {
        assertThat(home.texts("select name from annals.moved_tables() where name <> 'sequence_series' order by 1"))
                .isEqualTo(home.texts(
                        "select c.table_name from information_schema.columns as c join information_schema.tables as t"
                                + " using (table_schema, table_name) where c.table_schema = 'annals' and c.column_name = 'project_id'"
                                + " and t.table_type = 'BASE TABLE' order by 1"));
    }

    @Test
    void nothingChangesAtTheSourceOnceItIsSealed() throws Exception {
        fill();
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.SEALED)).run())
                .isInstanceOf(KilledException.class);
        String of = " where project_id = '" + project + "'";
        for (String change : List.of(
                "update annals.sequence set next_value = next_value + 1" + of,
                "update annals.sequence_series set next_value = next_value + 1",
                "update annals.merkle_log set size = size" + of,
                "update annals.alert set match_count = 0" + of,
                "delete from annals.saved_view" + of,
                "update annals.stream_progress set epoch = epoch + 1, leased_by = gen_random_uuid(), leased_until = now()"
                        + of,
                "select annals.set_hold('" + project + "', gen_random_uuid(), 'actor 2', null, 'a reason')",
                "select annals.rename_project('" + project + "', 'another name')",
                "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation) values ('"
                        + project + "', 'log', 0, 1)",
                "insert into annals.audit_record (project_id, action) values ('" + project + "', 'a')")) {
            assertThatThrownBy(() -> home.run(change))
                    .as(change)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("AN307"));
        }
        assertThatThrownBy(
                        () -> home.run(
                                "select nextval(annals.native_sequence_name(id)::regclass) from annals.sequence where name = 'native'"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42P01"));
        databases.cancel(move);
        databases.finish(move);
        assertThat(placement(HOME)).isEqualTo("here -");
        assertThat(
                        home.text(
                                "select nextval(annals.native_sequence_name(id)::regclass) from annals.sequence where name = 'native'"))
                .isEqualTo("2");
        assertThat(rows("east")).allMatch(row -> row.startsWith("writer_grant "));
        assertThat(databases.of("east").texts("select annals.administration_differences()"))
                .isEmpty();
    }

    @Test
    void nothingExpiresWhileAProjectMoves() throws Exception {
        home.insertAsWriter(project, "'a', 'm'", 3);
        String expired = "select coalesce(annals.expired_through('" + project + "', 10), -1)";
        home.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set recorded_at = '2001-01-01' where project_id = '" + project + "'");
        home.run(
                "select annals.set_retention('" + project + "', 1)",
                "insert into annals.merkle_log (project_id, size, frontier) values ('" + project
                        + "', 3, decode(repeat('00', 64), 'hex'))",
                "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation) values ('"
                        + project + "', 'statistics', 3, 1)");
        assertThat(home.number(expired)).isEqualTo(3);
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.BEGUN)).run())
                .isInstanceOf(KilledException.class);
        assertThat(home.number(expired)).isEqualTo(-1);
        databases.cancel(move);
        databases.finish(move);
        assertThat(home.number(expired)).isEqualTo(3);
    }

    @ParameterizedTest
    @EnumSource(names = {"BEGUN", "ARRIVING", "COPYING", "SEALED", "COPIED", "SWITCHED", "LEFT", "OPENED", "ENDED"})
    void aMoveGoesOnAfterItsMoverHasDied(Step step) throws Exception {
        fill();
        List<String> before = rows(HOME);
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(step)).run()).isInstanceOf(KilledException.class);
        if (step != Step.ENDED) {
            assertThatThrownBy(() -> new ProjectMove(
                                    database -> databases.connect(database, "annals_service"),
                                    HOME,
                                    move,
                                    UUID.randomUUID(),
                                    (s, at) -> {})
                            .run())
                    .as("another mover before the lease ends")
                    .hasMessageContaining("another instance carries it");
        }
        databases.finish(move);
        assertThat(rows("east")).containsExactlyElementsOf(before);
        assertThat(placement("east")).isEqualTo("here -");
        assertThat(placement(HOME)).isEqualTo("gone east");
        assertThat(databases.state(move)).isEqualTo("done");
    }

    @Test
    void noTwoDatabasesAnswerReaders() throws Exception {
        fill();
        databases.finish(start("east"));
        databases.removeCopy(project, HOME);
        String readable =
                "select count(*) from annals.project where placement in ('here', 'sealed') and id = '" + project + "'";
        Map<Step, Long> answering = new EnumMap<>(Step.class);
        databases
                .mover(start(HOME), (step, at) -> {
                    try {
                        answering.put(
                                step,
                                databases.of("east").number(readable)
                                        + databases.home().number(readable));
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                })
                .run();
        assertThat(answering.remove(Step.LEFT)).isZero();
        assertThat(answering)
                .hasSizeGreaterThan(5)
                .allSatisfy((step, databases) ->
                        assertThat(databases).as("%s", step).isEqualTo(1));
    }

    @ParameterizedTest
    @EnumSource(names = {"BEGUN", "ARRIVING", "COPYING", "SEALED", "COPIED", "SWITCHED"})
    void aMoveIsCancelledUntilItIsSwitched(Step step) throws Exception {
        fill();
        List<String> before = rows(HOME);
        UUID move = start("east");
        boolean[] cancelled = {false};
        List<Step> steps = new ArrayList<>();
        databases
                .mover(move, (reached, at) -> {
                    steps.add(reached);
                    if (reached == step) {
                        try {
                            cancelled[0] = databases.cancel(move);
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    }
                })
                .run();
        assertThat(cancelled[0]).isEqualTo(step != Step.SWITCHED);
        assertThat(steps.contains(Step.SWITCHED)).isNotEqualTo(cancelled[0]);
        assertThat(databases.state(move)).isEqualTo(cancelled[0] ? "cancelled" : "done");
        assertThat(placement(HOME)).isEqualTo(cancelled[0] ? "here -" : "gone east");
        assertThat(rows(HOME)).containsExactlyElementsOf(before);
        if (cancelled[0]) {
            assertThat(rows("east")).allMatch(row -> row.startsWith("writer_grant "));
        } else {
            assertThat(rows("east")).containsExactlyElementsOf(before);
        }
        if (cancelled[0]) {
            moveTo("east");
            assertThat(rows("east")).containsExactlyElementsOf(before);
        }
    }

    @Test
    void theErrorOfAMoveHasNoValuesOfRecords() throws Exception {
        home.insertAsWriter(project, "'a', 'confidential'", 1);
        databases.of("east").run("alter table annals.audit_record add constraint refused check (message is null)");
        UUID move = start("east");
        assertThatThrownBy(() -> databases.finish(move)).hasMessageContaining("confidential");
        assertThat(home.text("select last_error from annals.move where id = '" + move + "'"))
                .contains("violates check constraint")
                .doesNotContain("confidential");
    }

    @Test
    void anOldMoverSealsAndBringsNothing() throws Exception {
        home.insertAsWriter(project, "'a', 'm'", 30);
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPYING)).run())
                .isInstanceOf(KilledException.class);
        databases.cancel(move);
        databases.finish(move);
        SqlFixture east = databases.of("east");
        for (String late : List.of(
                "select annals.seal_project('" + project + "', 'east', 1)",
                "select annals.begin_move('" + project + "', 'east', 1)",
                "select annals.leave_project('" + project + "', 1)")) {
            assertThat(home.as("annals_service", late)).as(late).isEqualTo("55000");
        }
        UUID next = start("east");
        assertThatThrownBy(() -> databases.mover(next, killedAt(Step.ARRIVING)).run())
                .isInstanceOf(KilledException.class);
        for (String late : List.of(
                "select annals.seal_project('" + project + "', 'east', 1)",
                "select annals.take_places('" + project + "', 1, array[gen_random_uuid()], '{1}', '{1}', '{1}')",
                "select annals.open_project('" + project + "', 1, '{}', false)")) {
            assertThat((late.contains("seal") ? home : east).as("annals_service", late))
                    .as(late)
                    .isEqualTo("55000");
        }
        String places =
                "select annals.take_places('" + project + "', 2, array[gen_random_uuid()], '{7}', '{7}', '{1}')";
        assertThat(east.as("annals_service", places)).as("of no mover").isEqualTo("55000");
        assertThat(east.as("annals_service", become(), places))
                .as("not the next place")
                .isEqualTo("22000");
        assertThat(east.as("annals_service", become(), "select annals.open_project('" + project + "', 2, '{}', false)"))
                .as("not all has arrived")
                .isEqualTo("22000");
        databases.finish(next);
        assertThat(east.checkFeed(project)).isEqualTo(30);
    }

    /** Makes a session that of the last mover. */
    private String become() {
        return "select set_config('annals.mover', mover::text, true) from annals.arrival where project_id = '" + project
                + "'";
    }

    @Test
    void theServiceRemovesNoRecordsThatWerePlacedHere() throws Exception {
        home.insertAsWriter(project, "'a', 'm'", 3);
        String id = "'" + project + "'";
        moveTo("east");
        assertThat(home.as("annals_service", "select annals.remove_left(" + id + ", 100)"))
                .isEqualTo("42501");
        assertThat(home.as("annals_service", "select annals.discard_arrival(" + id + ", 9, 100)"))
                .isEqualTo("done");
        assertThat(home.as(
                        "annals_service",
                        "select annals.arrive_project(" + id + ", 'a name', '{}', 'east', 9, gen_random_uuid())"))
                .isEqualTo("55000");
        for (String table : List.of("audit_record", "append", "feed_segment")) {
            assertThatThrownBy(() -> home.run("delete from annals." + table + " where project_id = " + id))
                    .isInstanceOf(SQLException.class);
        }
        assertThat(home.checkFeed(project)).isEqualTo(3);
        assertThatThrownBy(() -> databases.of("east").run("select annals.remove_left(" + id + ", 100)"))
                .isInstanceOf(SQLException.class);
        for (String unknown : List.of("null", "'" + UUID.randomUUID() + "'")) {
            assertThatThrownBy(() -> home.run("select annals.remove_left(" + unknown + ", 100)"))
                    .hasMessageContaining("this database does not have project " + unknown.replace("'", ""));
        }
        assertThat(databases.of("east").checkFeed(project)).isEqualTo(3);
    }

    @Test
    void noWriterStoresRecordsAtPlacesThatArrivedOrBehindTheSeal() throws Exception {
        UUID append = UUID.randomUUID();
        String records = "array['%s', '%s']::uuid[]".formatted(UUID.randomUUID(), UUID.randomUUID());
        String id = "'" + project + "'";
        home.run(
                "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark,"
                        + " next_value) values (gen_random_uuid(), " + id
                        + ", 'numbers', 'SYNCHRONOUS', 1, 1000, 1, 0, 1)");
        assertThat(home.as(
                        "annals_service",
                        "insert into annals.audit_record (project_id, id, placed_with, action, recorded_by_role)"
                                + " select " + id + ", r, '" + append + "', 'a', null from unnest(" + records
                                + ") as r",
                        "insert into annals.append (project_id, id, record_ids) values (" + id + ", '" + append + "', "
                                + records + ")"))
                .isEqualTo("done");
        UUID move = start("east");
        for (Step step : List.of(Step.COPYING, Step.SEALED)) {
            assertThatThrownBy(() -> databases.mover(move, killedAt(step)).run())
                    .isInstanceOf(KilledException.class);
            for (String database : step == Step.COPYING ? List.of("east") : List.of("east", HOME)) {
                for (String lone : List.of("yes", "no")) {
                    for (String values : List.of("'" + append + "', 'a', null", "gen_random_uuid(), 'a', 'numbers'")) {
                        assertThat(databases
                                        .of(database)
                                        .as(
                                                "annals_writer",
                                                "set annals.moving_project = " + id,
                                                "set annals.lone_record = " + lone,
                                                "insert into annals.audit_record (project_id, id, action, number_sequence)"
                                                        + " values (" + id + ", " + values + ")"))
                                .as(database + " " + lone + " " + values)
                                // The second: the append itself is here already.
                                .isEqualTo(lone.equals("no") && values.endsWith("null") ? "23505" : "AN307");
                    }
                }
                for (String call : List.of(
                        "select annals.take_places(" + id + ", 1, array[gen_random_uuid()], '{3}', '{3}', '{1}')",
                        "select annals.arrived_with_place(" + id + ", '" + append + "')",
                        "update annals.sequence set next_value = 1",
                        "insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)"
                                + " values (" + id + ", gen_random_uuid(), 3, 3)")) {
                    for (String role : List.of("annals_writer", "pg_monitor")) {
                        assertThat(databases.of(database).as(role, "set annals.moving_project = " + id, call))
                                .as(role + " " + call)
                                .isEqualTo("42501");
                    }
                }
            }
        }
        databases.finish(move);
        assertThat(databases.of("east").checkFeed(project)).isEqualTo(2);
    }

    @Test
    void theSealWaitsForAnInsertOfWhatItsCopyTakes() throws Exception {
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPYING)).run())
                .isInstanceOf(KilledException.class);
        String seal = "select annals.seal_project('" + project + "', 'east', 1)";
        try (Connection other = home.connect()) {
            SqlFixture.execute(
                    other,
                    "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark,"
                            + " next_value) values (gen_random_uuid(), '" + project
                            + "', 'numbers', 'SYNCHRONOUS', 1, 1000, 1, 0, 1)");
            assertThat(home.as("annals_service", "set lock_timeout = '100ms'", seal))
                    .isEqualTo("55P03");
            other.commit();
        }
        databases.finish(move);
        assertThat(databases
                        .of("east")
                        .text("select count(*) from annals.sequence where project_id = '" + project + "'"))
                .isEqualTo("1");
    }

    @Test
    void changesWhileRecordsAreCopiedArriveToo() throws Exception {
        fill();
        String id = "'" + project + "'";
        UUID move = start("east");
        boolean[] changed = {false};
        databases
                .mover(move, (step, at) -> {
                    if (step == Step.COPYING && !changed[0]) {
                        changed[0] = true;
                        try {
                            redact("2");
                            home.insertAsWriter(project, "'late', 'm'", 3);
                            home.run(
                                    "insert into annals.audit_record (project_id, action, number_sequence) values ("
                                            + id + ", 'n', 'numbers')",
                                    "update annals.merkle_seed set seed = sha256('other') where tile = 1 and project_id = "
                                            + id,
                                    "select annals.set_retention(" + id + ", 30)",
                                    "select annals.limit_project(" + id + ", '{\"records_per_second\": 5}')",
                                    "select annals.rename_project(" + id + ", 'renamed ' || " + id + ")");
                            home.run("select annals.close_project(" + id + ")");
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    }
                })
                .run();
        SqlFixture east = databases.of("east");
        assertThat(rows("east")).containsExactlyElementsOf(rows(HOME));
        String row =
                "select concat_ws(' ', name, closed_at, retention_days, limits) from annals.project where id = " + id;
        assertThat(east.text(row)).isEqualTo(home.text(row)).contains("renamed", " 30 ", "records_per_second");
        assertThat(east.number("select max(number) from annals.redaction where project_id = " + id))
                .isEqualTo(3);
        assertThat(east.as(
                        "annals_writer",
                        "insert into annals.audit_record (project_id, action) values (" + id + ", 'a')"))
                .isEqualTo("55000");
        assertThat(east.texts("select annals.administration_differences()")).isEmpty();
        databases.removeCopy(project, HOME);
        moveTo(HOME);
        assertThat(rows(HOME)).containsExactlyElementsOf(rows("east"));
        assertThat(home.text(row)).isEqualTo(east.text(row));
        assertThat(home.texts("select annals.administration_differences()")).isEmpty();
    }

    private static final String NUMBERS =
            "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)"
                    + " values (gen_random_uuid(), '%s', 'late', 'SYNCHRONOUS', 1, 1000, 1, 0, 1)";

    @Test
    void aRowThatIsInsertedWhileTheSealWaitsForTheProjectIsSealedToo() throws Exception {
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPYING)).run())
                .isInstanceOf(KilledException.class);
        String late = " from annals.sequence where name = 'late' and project_id = '" + project + "'";
        try (Connection placing = home.connect();
                Connection drawing = home.connect()) {
            SqlFixture.execute(placing, "select from annals.project where id = '" + project + "' for no key update");
            CompletableFuture<String> sealed = CompletableFuture.supplyAsync(() -> {
                try {
                    return home.as("annals_service", "select annals.seal_project('" + project + "', 'east', 1)");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            Await.until(
                    "the seal waits",
                    () -> home.number("select count(*) from pg_stat_activity where datname = current_database()"
                                    + " and wait_event_type = 'Lock'")
                            == 1);
            home.run(NUMBERS.formatted(project));
            SqlFixture.execute(drawing, "update annals.sequence set next_value = 7 where name = 'late'");
            placing.rollback();
            assertThat(sealed.get()).as("it would not know of the row").isEqualTo("55P03");
            drawing.commit();
        }
        databases.finish(move);
        assertThat(databases.of("east").text("select next_value" + late)).isEqualTo("7");
    }

    @Test
    void aDrawThatWaitsForTheSealDrawsNothing() throws Exception {
        fill();
        UUID move = start("east");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPYING)).run())
                .isInstanceOf(KilledException.class);
        try (Connection sealing = home.connect()) {
            SqlFixture.execute(sealing, "select annals.seal_project('" + project + "', 'east', 1)");
            CompletableFuture<String> drawn = CompletableFuture.supplyAsync(() -> {
                try {
                    return home.as(
                            "annals_service",
                            "select annals.draw_native(id, 1) from annals.sequence where name = 'native'");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            Await.until(
                    "the draw waits",
                    () -> home.number("select count(*) from pg_stat_activity where datname = current_database()"
                                    + " and wait_event_type = 'Lock'")
                            == 1);
            sealing.commit();
            assertThat(drawn.get()).as("the target may have the value too").isEqualTo("AN307");
        }
        databases.finish(move);
    }

    @Test
    void aTransactionWithAnOldSnapshotSeesTheSeal() throws Exception {
        home.run(NUMBERS.formatted(project));
        UUID move = start("east");
        try (Connection old = home.connect()) {
            SqlFixture.execute(old, "set transaction isolation level repeatable read");
            SqlFixture.execute(old, "select 1");
            assertThatThrownBy(
                            () -> databases.mover(move, killedAt(Step.SEALED)).run())
                    .isInstanceOf(KilledException.class);
            assertThatThrownBy(() ->
                            SqlFixture.execute(old, "update annals.sequence set next_value = 7 where name = 'late'"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        databases.finish(move);
    }

    @Test
    void noRowOfAProjectThatIsHereIsRemovedBesideACopy() throws Exception {
        fill();
        UUID left = home.insertProject();
        databases.finish(databases.start(left, "east"));
        for (String table : List.of("redaction", "feed_horizon", "audit_record")) {
            assertThat(home.as("none", "select annals.remove_left('" + left + "', 1)", "delete from annals." + table))
                    .as(table)
                    .isEqualTo("23001");
        }
    }
}
