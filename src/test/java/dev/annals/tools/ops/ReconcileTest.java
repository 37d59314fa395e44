package dev.annals.tools.ops;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static dev.annals.derived.move.MovedDatabases.killedAt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.access.places.Claims;
import dev.annals.derived.move.MovedDatabases;
import dev.annals.derived.move.MovedDatabases.KilledException;
import dev.annals.derived.move.ProjectMove.Step;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import dev.annals.tools.command.Progress;
import dev.annals.tools.embedded.TestDatabase;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A database is restored to before, during or after a move. No two databases accept records of the project, no reader skips a record
 * that it would have got, and the project goes on.
 */
@BesideTheService
@Timeout(180)
class ReconcileTest {

    private static final List<String> NAMES = List.of(HOME, "east", "west");
    private static final Sql READ_CLAIMS = Sql.named("access/places/read_claims");
    private static final Sql FIND_UNPROVEN_CLAIMS = Sql.named("access/places/find_unproven_claims");
    private static final Sql ADMIT = Sql.named("access/places/admit");

    /** Databases with the schema, as only those of one service have it: each has a project annals of its own. */
    private static final Map<String, DatabaseUrl> TEMPLATES = new LinkedHashMap<>();

    private MovedDatabases databases;
    private UUID project;

    /** When the backup is made. */
    private enum When {
        BEFORE,
        ARRIVING,
        SEALED,
        SWITCHED,
        AFTER
    }

    /** A place of the feed, as a reader keeps it. */
    private record Place(long sequenceId, int mark, UUID record) {}

    @BeforeAll
    static void makeTemplates() throws SQLException {
        for (String name : NAMES) {
            DatabaseUrl template = TestDatabase.createDatabase();
            TestDatabase.migrate(template);
            TEMPLATES.put(name, template);
        }
        for (String member : List.of("east", "west")) {
            String id = SqlFixture.on(TEMPLATES.get(member)).text("select annals.administration()");
            for (String database : List.of(HOME, member)) {
                SqlFixture.on(TEMPLATES.get(database))
                        .run("select annals.add_database('" + id + "', '" + member + "')");
            }
        }
        for (DatabaseUrl template : TEMPLATES.values()) {
            SqlFixture.on(template).leave();
        }
    }

    @BeforeEach
    void makeDatabases() throws SQLException {
        Map<String, SqlFixture> made = new HashMap<>();
        for (String name : NAMES) {
            String database = TEMPLATES.get(name).database() + "_" + System.nanoTime() % 1_000_000;
            server("create database " + database + " template "
                    + TEMPLATES.get(name).database());
            made.put(name, SqlFixture.on(TEMPLATES.get(name).withDatabase(database)));
        }
        databases = new MovedDatabases(made);
        project = databases.home().insertProject();
        write(HOME, 30);
        databases.finish(databases.start(project, "east"));
        assertThat(reconcile()).as("nothing to reconcile").isEqualTo("1 projects: all databases agree.\n");
    }

    private void write(String database, int records) throws SQLException {
        databases.of(database).insertAsWriter(project, "'a', 'm' || n", records);
    }

    private Map<String, DatabaseUrl> urls() {
        Map<String, DatabaseUrl> urls = new LinkedHashMap<>();
        NAMES.forEach(name -> urls.put(name, databases.of(name).database()));
        return urls;
    }

    private String reconcile(String... options) throws SQLException {
        StringWriter printed = new StringWriter();
        Reconcile command = new Reconcile();
        command.dryRun = List.of(options).contains("--dry-run");
        int code = command.run(urls(), new PrintWriter(printed), Progress.none());
        assertThat(code).as(printed.toString()).isEqualTo(printed.toString().contains("need a decision") ? 1 : 0);
        return printed.toString();
    }

    private String verify() {
        StringWriter printed = new StringWriter();
        new Verify().run(urls(), new PrintWriter(printed));
        return printed.toString();
    }

    /** Copies a database, as a backup does. */
    private String backUp(String name) throws SQLException {
        SqlFixture database = databases.of(name);
        String copy = database.database().database() + "_" + System.nanoTime() % 1_000_000;
        database.leave();
        server("select pg_terminate_backend(pid) from pg_stat_activity where datname = '"
                + database.database().database() + "'");
        server("create database " + copy + " template " + database.database().database());
        return copy;
    }

    private void restore(String name, String copy) throws SQLException {
        String restored = databases.of(name).database().database();
        databases.of(name).leave();
        server("drop database " + restored + " with (force)");
        server("create database " + restored + " template " + copy);
    }

    private static void server(String sql) throws SQLException {
        try (Connection connection =
                TEMPLATES.get(HOME).withDatabase("postgres").connect()) {
            SqlFixture.execute(connection, sql);
        }
    }

    /** As an instance does it that notices the restore. */
    private void admit(String restored) throws SQLException {
        Map<String, String> ofHome = read(HOME, READ_CLAIMS.bind("own", HOME));
        Claims claims = new Claims(ofHome.get("claims"), ofHome.get("moves"));
        for (String other : NAMES) {
            if (!other.equals(restored) && !other.equals(HOME)) {
                claims.add(other, read(other, READ_CLAIMS.bind("own", other)).get("claims"));
            }
        }
        StringBuilder marks = new StringBuilder();
        try (Connection connection = databases.of(restored).database().connect();
                PreparedStatement select = FIND_UNPROVEN_CLAIMS
                        .bind("own", restored)
                        .bind("claims", claims.toString())
                        .prepare(connection);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                String mark = databases
                        .of(row.getString("database"))
                        .text("select annals.mark_at('" + row.getString("project_id") + "', " + row.getLong("head")
                                + ")");
                marks.append(marks.isEmpty() ? "" : ",")
                        .append("{\"project_id\": \"%s\", \"database\": \"%s\", \"mark\": %s}"
                                .formatted(row.getString("project_id"), row.getString("database"), mark));
            }
        }
        read(
                restored,
                ADMIT.bind("own", restored)
                        .bind("claims", claims.toString())
                        .bind("marks", "[" + marks + "]")
                        .bind("set_back", false));
    }

    private Map<String, String> read(String database, Binds statement) throws SQLException {
        Map<String, String> columns = new HashMap<>();
        try (Connection connection = databases.of(database).database().connect();
                PreparedStatement select = statement.prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            for (int i = 1; i <= row.getMetaData().getColumnCount(); i++) {
                columns.put(row.getMetaData().getColumnName(i), row.getString(i));
            }
        }
        return columns;
    }

    private List<Place> places(String database) throws SQLException {
        List<Place> places = new ArrayList<>();
        try (Connection connection = databases.of(database).connect();
                PreparedStatement select = connection.prepareStatement(
                        "select sequence_id, mark, record_id from annals.places(?, 1, 1000000) order by sequence_id")) {
            select.setObject(1, project);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    places.add(new Place(row.getLong(1), row.getInt(2), row.getObject(3, UUID.class)));
                }
            }
        }
        return places;
    }

    /** The databases that accept a record of the project. */
    private List<String> accepting() throws SQLException {
        List<String> accepting = new ArrayList<>();
        for (String name : NAMES) {
            String answer = databases
                    .of(name)
                    .as(
                            "annals_writer",
                            "insert into annals.audit_record (project_id, action) values ('" + project + "', 'tried')");
            if (answer.equals("done")) {
                accepting.add(name);
            } else {
                assertThat(answer).as(name).isEqualTo("AN307");
            }
        }
        return accepting;
    }

    /** A reader with a cursor of before either is refused, or has read all that is before its cursor. */
    private void requireNoSkip(List<Place> acknowledged, String database) throws SQLException {
        List<Place> now = places(database);
        for (Place read : acknowledged) {
            boolean known = databases
                    .of(database)
                    .text("select annals.has_place('" + project + "', " + read.sequenceId + ", " + read.mark + ")")
                    .equals("t");
            if (known) {
                int end = (int) read.sequenceId;
                assertThat(now.subList(0, end)).isEqualTo(acknowledged.subList(0, end));
            }
        }
    }

    private static Stream<Arguments> restores() {
        if (!Boolean.getBoolean("tests.long")) {
            return Stream.of(
                    Arguments.of(List.of(HOME), When.ARRIVING),
                    Arguments.of(List.of("east"), When.BEFORE),
                    Arguments.of(List.of("west"), When.BEFORE),
                    Arguments.of(List.of("west"), When.SEALED),
                    Arguments.of(List.of("east", HOME), When.BEFORE));
        }
        return Stream.of(
                        List.of(HOME),
                        List.of("east"),
                        List.of("west"),
                        List.of("east", HOME),
                        List.of("west", HOME),
                        List.of("east", "west"))
                .flatMap(victims -> Stream.of(When.values()).map(when -> Arguments.of(victims, when)));
    }

    private Map<String, String> backUp(List<String> names) throws SQLException {
        Map<String, String> copies = new LinkedHashMap<>();
        for (String name : names) {
            copies.put(name, backUp(name));
        }
        return copies;
    }

    @ParameterizedTest
    @MethodSource("restores")
    void aProjectGoesOnAfterTheRestoreOfDatabases(List<String> victims, When when) throws Exception {
        Map<String, String> backups = when == When.BEFORE ? backUp(victims) : Map.of();
        UUID move = databases.start(project, "west");
        for (Step step : List.of(Step.ARRIVING, Step.SEALED, Step.SWITCHED)) {
            assertThatThrownBy(() -> databases.mover(move, killedAt(step)).run())
                    .isInstanceOf(KilledException.class);
            if (step == Step.ARRIVING) {
                write("east", 3);
            }
            if (when.name().equals(step.name())) {
                backups = backUp(victims);
            }
        }
        databases.finish(move);
        write("west", 5);
        if (when == When.AFTER) {
            backups = backUp(victims);
        }
        write("west", 2);
        List<Place> acknowledged = places("west");
        assertThat(acknowledged).hasSize(40);
        assertThat(reconcile()).endsWith("all databases agree.\n");

        for (String victim : victims) {
            restore(victim, backups.get(victim));
        }

        assertThat(accepting())
                .as("before an instance or an operator has looked")
                .isSubsetOf("west")
                .doesNotContainAnyElementsOf(victims);
        for (String victim : victims) {
            admit(victim);
        }
        List<String> open = accepting();
        assertThat(open).as("once an instance has looked").isSubsetOf("west");
        String verdict = verify();
        if (victims.size() == 1) {
            String victim = victims.get(0);
            if (when != When.AFTER) {
                assertThat(verdict).contains(victim + ": the database was set back", "Not sound");
            }
            boolean contradicts = when != When.AFTER && !(victim.equals(HOME) && when == When.SWITCHED);
            assertThat(verdict.contains(project + " (" + project + "): "))
                    .as(verdict)
                    .isEqualTo(contradicts);
        }
        acknowledged = open.isEmpty() || victims.contains("west") ? acknowledged : places("west");

        String printed = reconcile();

        if (databases.home().number("select count(*) from annals.move where ended_at is null") == 1) {
            databases.finish(move);
        }
        assertThat(accepting()).as(printed).hasSize(1);
        String winner = NAMES.stream()
                .filter(name -> placement(name).equals("here"))
                .findFirst()
                .orElseThrow();
        boolean westLacksIt = victims.contains("west") && when.compareTo(When.SEALED) < 0;
        if (westLacksIt || victims.size() == 1) {
            assertThat(winner).as(printed).isEqualTo(westLacksIt ? "east" : "west");
        }
        requireNoSkip(acknowledged, winner);
        databases.of(winner).checkFeed(project);
        if (!victims.contains("west")) {
            assertThat(places(winner)).as("nothing is lost").containsAll(acknowledged);
        }
        assertThat(verify()).as(printed).containsAnyOf("Sound: ", " 0 of ");
        assertThat(reconcile()).isEqualTo("1 projects: all databases agree.\n");
        databases.removeCopy(project, HOME);
        databases.finish(databases.start(project, HOME));
        assertThat(accepting()).containsExactly(HOME);
    }

    private String placement(String database) {
        try {
            return databases
                    .of(database)
                    .texts("select placement from annals.project where id = '" + project + "'")
                    .stream()
                    .findFirst()
                    .orElse("nowhere");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The mover, and no operator, brings back what a target has lost before it was opened. */
    @ParameterizedTest
    @EnumSource(
            value = When.class,
            names = {"BEFORE", "ARRIVING", "SEALED"})
    void aTargetThatIsRestoredBeforeItWasOpenedIsCopiedAgain(When when) throws Exception {
        String backup = when == When.BEFORE ? backUp("west") : null;
        UUID move = databases.start(project, "west");
        for (Step step : List.of(Step.ARRIVING, Step.SEALED, Step.SWITCHED)) {
            assertThatThrownBy(() -> databases.mover(move, killedAt(step)).run())
                    .isInstanceOf(KilledException.class);
            if (when.name().equals(step.name())) {
                backup = backUp("west");
            }
        }
        List<Place> acknowledged = places("east");
        restore("west", backup);
        admit("west");
        assertThat(accepting()).isEmpty();
        assertThat(reconcile("--dry-run")).as("the mover goes on").isEqualTo("1 projects: all databases agree.\n");

        databases.finish(move);

        assertThat(places("west")).isEqualTo(acknowledged);
        assertThat(accepting()).containsExactly("west");
    }

    @Test
    void aSourceThatIsRestoredDuringTheCopyDoesNotMoveItsNewRecordsToOldPlaces() throws Exception {
        String backup = backUp("east");
        write("east", 3);
        UUID move = databases.start(project, "west");
        assertThatThrownBy(() -> databases.mover(move, killedAt(Step.COPYING)).run())
                .isInstanceOf(KilledException.class);
        restore("east", backup);
        admit("east");
        write("east", 4);

        assertThatThrownBy(() -> databases.finish(move)).hasMessageContaining("the source was set back");

        databases.cancel(move);
        databases.finish(move);
        assertThat(accepting()).containsExactly("east");
        databases.of("east").checkFeed(project);
    }

    /** The records are acknowledged while no instance could know: a copy of the files has the same name, and no gate holds. */
    @Test
    void recordsThatOnlyTheLosingCopyHasAreKeptToBeRead() throws Exception {
        String backup = backUp("east");
        databases.finish(databases.start(project, "west"));
        restore("east", backup);
        databases.of("east").run("update annals.admission set incarnation = annals.incarnation()");
        write("east", 2);
        write("west", 1);

        assertThat(verify()).contains(project + " (" + project + "): the project is in several databases: east, west");
        String printed = reconcile();

        assertThat(printed)
                .contains("east has records that west lacks: it ends at 32", "1 of 1 projects need a decision");
        assertThat(accepting()).containsExactly("west");
        assertThat(places("east")).hasSize(32);
        assertThat(verify()).contains("the project is in several databases: east (suspended), west");
        String drop = printed.lines()
                .filter(line -> line.contains("select annals.yield_project"))
                .map(line -> line.substring(line.indexOf("select")))
                .findFirst()
                .orElseThrow();
        databases.of("east").run(drop);
        assertThat(reconcile()).endsWith("1 projects: all databases agree.\n");
    }

    @Test
    void aProjectThatHomeHasLostIsAddedAgain() throws Exception {
        String backup = backUp(HOME);
        UUID made = UUID.randomUUID();
        databases.of(HOME).run("select annals.create_project('made', '" + made + "', null, null, 'east')");
        databases.of("east").run("select annals.create_project('made', '" + made + "')");
        restore(HOME, backup);
        assertThat(verify()).contains(made + " (made): the project is in east, and home does not know it");
        assertThat(reconcile()).contains("→ main: add it, in east", "all databases agree.");
        assertThat(databases.of(HOME).text("select moved_to from annals.project where name = 'made'"))
                .isEqualTo("east");
    }

    @Test
    void verifyNamesRecordsThatAreLost() throws Exception {
        String off = "set local session_replication_role = replica";
        databases.of("east").run(off, "delete from annals.feed_segment where project_id = '" + project + "'");
        assertThat(verify()).contains("the feed ends at 0 in east, and had 30 records when it was moved there");
        databases.home().run(off, "update annals.move set head = 0 where project_id = '" + project + "'");
        assertThat(verify()).contains("the feed ends at 0 in east, and main keeps 30 records");
    }

    @Test
    void verifyNamesAnotherRoot() throws Exception {
        databases
                .home()
                .run(
                        "set local session_replication_role = replica",
                        "update annals.move set log_root = '\\x00' where project_id = '" + project + "'");
        assertThat(verify()).contains("the log in east has another root for 0 records than when it was moved there");
    }

    @Test
    void verifyNamesASuspendedProject() throws Exception {
        databases
                .of("east")
                .run(
                        "set local session_replication_role = replica",
                        "update annals.project set placement = 'sealed', is_moving = false, moved_to = 'east' where id = '"
                                + project + "'");
        assertThat(verify()).contains("the project is suspended in east: run annals reconcile");
    }

    /** The names of the databases to which the URLs of home, east and west lead. */
    @ParameterizedTest
    @ValueSource(strings = {"main,west,east", "main,east,east", "main,main,west", "east,main,west", "main,other,west"})
    void aUrlThatLeadsElsewhereChangesNothing(String elsewhere) throws Exception {
        Map<String, DatabaseUrl> known = urls();
        known.put("other", TEMPLATES.get(HOME));
        Map<String, DatabaseUrl> wrong = new LinkedHashMap<>();
        String[] names = elsewhere.split(",");
        for (int i = 0; i < names.length; i++) {
            wrong.put(NAMES.get(i), known.get(names[i]));
        }
        PrintWriter printed = new PrintWriter(new StringWriter());
        assertThatThrownBy(() -> new Reconcile().run(wrong, printed, Progress.none()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("leads to");
        assertThat(reconcile()).isEqualTo("1 projects: all databases agree.\n");
    }

    @Test
    void theServiceMayNotReconcile() throws SQLException {
        for (String call : List.of(
                "place_project('%s', 'here', 1, 2, false)",
                "yield_project('%s', 'here', 1, 2, 'west', false)",
                "abandon_move('%s')",
                "adopt_project('{\"id\": \"%s\"}', 'west')")) {
            for (String role : List.of("annals_service", "annals_writer")) {
                assertThat(databases.of("east").as(role, "select annals." + call.formatted(project)))
                        .isEqualTo("42501");
            }
        }
        for (String call : List.of(
                "admit('east', '[]', '[]', true)",
                "counter_claims('east', '[]')",
                "mark_at(gen_random_uuid(), 1)",
                "note_end(gen_random_uuid(), '', 1, 1, 1, '')",
                "has_place(gen_random_uuid(), 1, 1)")) {
            assertThat(databases.of("east").as("annals_writer", "select annals." + call))
                    .isEqualTo("42501");
        }
    }

    /** Of home's project, which is in east, and of one in home: east's and west's owners say that they have them. */
    @Test
    void whatAMembersOwnerSaysDecidesAboutNoProjectOfAnother() throws Exception {
        UUID other = databases.home().insertProject();
        databases.home().insertAsWriter(other, "'a', 'm' || n", 5);
        for (UUID claimed : List.of(project, other)) {
            for (String name : List.of("east", "west")) {
                if (claimed.equals(other) || name.equals("west")) {
                    databases.of(name).run("select annals.create_project('" + claimed + "', '" + claimed + "')");
                    databases.of(name).insertAsWriter(claimed, "'forged', 'm' || n", 9);
                    databases
                            .of(name)
                            .run(
                                    "set local session_replication_role = replica",
                                    "update annals.project set placement_epoch = 9223372036854775807 where id = '"
                                            + claimed + "'");
                }
            }
        }
        for (String name : NAMES) {
            admit(name);
        }
        assertThat(placement(HOME, other)).isEqualTo("here");
        assertThat(placement("east", project)).isEqualTo("here");

        String printed = reconcile();

        assertThat(printed).contains("need a decision");
        assertThat(placement(HOME, other)).isEqualTo("here");
        assertThat(placement("east", project)).isEqualTo("here");
        assertThat(placement("west", project)).isEqualTo("sealed");
        assertThat(databases.home().text("select moved_to from annals.project where id = '" + project + "'"))
                .isEqualTo("east");
        databases.home().insertAsWriter(other, "'a', 'm' || n", 1);
        write("east", 1);
    }

    private String placement(String database, UUID of) throws SQLException {
        return databases.of(database).text("select placement from annals.project where id = '" + of + "'");
    }

    @Test
    void whatOperatorsAddKeepsNoDatabaseFromBeingAdmitted() throws Exception {
        SqlFixture east = databases.of("east");
        east.run(
                "update annals.admission set incarnation = 'the one before'",
                "create publication everything for all tables",
                "create table public.audit (row jsonb)",
                "create function public.audits() returns trigger language plpgsql as"
                        + " $$ begin insert into public.audit values (to_jsonb(new)); return null; end $$",
                "create trigger audits after insert or update on annals.admission for each row execute function public.audits()",
                "create function public.notes() returns event_trigger language plpgsql as $$ begin"
                        + " insert into public.audit values (to_jsonb(tg_tag)); end $$",
                "create event trigger notes on ddl_command_end execute function public.notes()");
        try {
            assertThat(accepting()).isEmpty();
            admit("east");
            assertThat(accepting()).containsExactly("east");
            assertThat(east.texts("select c.relname from pg_class as c where relnamespace = 'annals'::regnamespace"
                            + " and relkind = 'r' and not exists ("
                            + "select from pg_index as i where i.indrelid = c.oid and i.indisprimary)"))
                    .as("a publication of all tables refuses updates of these")
                    .isEmpty();
        } finally {
            east.run("drop event trigger notes");
        }
    }

    @Test
    void aDryRunChangesNothing() throws Exception {
        String backup = backUp("east");
        databases.finish(databases.start(project, "west"));
        restore("east", backup);
        admit("east");
        assertThat(placement("east")).isEqualTo("sealed");
        assertThat(reconcile("--dry-run")).contains("→ east: leave it to west", "1 of 1 projects would be changed");
        assertThat(placement("east")).isEqualTo("sealed");
        assertThat(reconcile()).contains("→ east: leave it to west", "all databases agree.");
        assertThat(placement("east")).isEqualTo("gone");
    }
}
