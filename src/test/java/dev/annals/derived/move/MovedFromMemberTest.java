package dev.annals.derived.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A project moves out of a member whose owner lies: nothing of other projects changes, and no record arrives that its log has not. */
@BesideTheService
@Timeout(180)
class MovedFromMemberTest {

    private final MovedDatabases databases = new MovedDatabases();
    private final SqlFixture member = databases.of("east");
    private final SqlFixture west = databases.of("west");
    private UUID project;
    /** A project of the target. */
    private UUID victim;

    private String id;
    private List<String> before;

    @BeforeEach
    void makeProjects() throws SQLException {
        project = databases.home().insertProject();
        id = "'" + project + "'";
        victim = databases.home().insertProject();
        databases.finish(databases.start(victim, "west"));
        databases.home().insertAsWriter(project, "'a', 'm' || n", 300);
        databases.home().insertAsWriter(project, "'a', 'lone'", 1);
        WrittenLog.grow(databases.home(), project, 300);
        west.insertAsWriter(victim, "'theirs', 'm'", 3);
        west.run("select annals.set_hold('" + victim + "', gen_random_uuid(), 'actor 1', null, 'a reason')");
        databases.finish(databases.start(project, "east"));
        before = state();
    }

    private List<String> state() throws SQLException {
        return west.texts("select f::text from annals.feed as f where project_id = '" + victim + "' union all"
                + " select p::text from annals.project as p where id = '" + victim + "' union all"
                + " select h::text from annals.legal_hold as h where project_id = '" + victim + "' order by 1");
    }

    private void requireRefused(UnaryOperator<String> lie, String why) throws SQLException {
        UUID move = databases.start(project, "west");
        ProjectMove mover = new ProjectMove(
                database -> {
                    Connection real = databases.connect(database, "annals_service");
                    return database.equals("east") ? WatchedConnection.of(real, sql -> {}, lie) : real;
                },
                MovedDatabases.HOME,
                move,
                move,
                (step, at) -> {});
        assertThatThrownBy(mover::run).hasMessageContaining(why);
        assertThat(state()).isEqualTo(before);
        assertThat(databases.placement(project, "west")).isEqualTo("arriving east");
        assertThat(databases.home().text("select last_error from annals.move where id = '" + move + "'"))
                .contains(why);
        databases.cancel(move);
        databases.finish(move);
        assertThat(west.number("select count(*) from annals.audit_record where project_id = " + id))
                .isZero();
        assertThat(databases.placement(project, "east")).isEqualTo("here -");
    }

    /** There, they may reach private addresses, and use the identity of the service. */
    @Test
    void streamsOfADatabaseThatIsNotTrustedArePausedInOneThatIs() throws Exception {
        SqlFixture east = databases.of("east");
        for (String name : List.of("running", "paused")) {
            east.run(
                    "select annals.set_stream(" + id + ", gen_random_uuid(), '" + name
                            + "', 'webhook', 'http://127.0.0.1/', null, 'json', '{}', 'stop', 1, false, false, '0', 10, null, null)");
        }
        east.run("select annals.pause_stream(" + id + ", 'paused')");
        UUID move = databases.start(project, "west");
        new ProjectMove(
                        new ProjectMove.Connections() {
                            @Override
                            public Connection open(String database) throws SQLException {
                                return databases.connect(database, "annals_service");
                            }

                            @Override
                            public boolean trusts(String database) {
                                return !database.equals("east");
                            }
                        },
                        MovedDatabases.HOME,
                        move,
                        move,
                        (step, at) -> {})
                .run();
        assertThat(databases.placement(project, "west")).isEqualTo("here -");
        assertThat(west.texts(
                        "select (name, paused_at is not null, pause_reason)::text from annals.stream where project_id = "
                                + id + " order by name"))
                .satisfiesExactly(
                        paused -> assertThat(paused).isEqualTo("(paused,t,)"),
                        running -> assertThat(running).contains("running,t", "came from the database east"));
    }

    @Test
    void recordsAndAppendsOfOtherProjectsAreRefused() throws Exception {
        String of = "'" + victim + "'::uuid";
        requireRefused(sql -> sql.replace("select r.project_id", "select " + of), "records are of project");
        requireRefused(
                sql -> sql.replace("select a.project_id, a.id", "select " + of + ", a.id"), "appends are of project");
        requireRefused(
                sql -> sql.replace("select a.project_id, a.id", "select " + of + ", gen_random_uuid()"),
                "appends are of project");
    }

    @Test
    void recordsWithoutAPlaceAreRefused() throws Exception {
        // Each is an append of its own, and would be placed at COMMIT.
        requireRefused(
                sql -> sql.contains("annals.audit_record")
                        ? sql.replace("r.id, r.placed_with", "gen_random_uuid(), r.placed_with")
                        : sql,
                "records are of project");
        requireRefused(
                sql -> sql.contains("annals.audit_record")
                        ? sql.replace(" order by p.sequence_id", " union all " + second(sql) + " limit 1000")
                        : sql,
                "records are of project");
    }

    private static String second(String sql) {
        String one = sql.substring(sql.indexOf("select"), sql.indexOf(" order by p.sequence_id"));
        return "("
                + one.replace(
                        "r.id, r.placed_with",
                        "'00000000-0000-4000-8000-000000000001'::uuid,"
                                + " '00000000-0000-4000-8000-000000000001'::uuid")
                + " limit 1)";
    }

    @Test
    void recordsThatTheLogHasNotAreRefused() throws Exception {
        requireRefused(sql -> sql.replace("r.action", "'forged'::varchar"), "are not those that the log");
        requireRefused(sql -> sql.replace("r.message", "nullif(r.message, 'm290')"), "are not those that the log");
    }

    @Test
    void whatTheMemberSaysOfOtherProjectsIsNothing() throws Exception {
        String begin = "create or replace function annals.begin_move(project_id uuid, database text, epoch bigint)"
                + " returns annals.project language plpgsql security definer as $$ declare made annals.project; begin"
                + " update annals.project as p set is_moving = true, placement_epoch = $3 where p.id = $1 returning * into made;"
                + " made.id := '%1$s'; made.name := 'annals'; return made; end $$";
        member.run(
                begin.formatted(victim),
                "set local session_replication_role = replica",
                "update annals.project set name = 'a name of home' where id = " + id);
        member.run("select annals.set_stream(" + id
                + ", gen_random_uuid(), 'all', 'webhook', 'https://thief.invalid/', null, 'json', '{}', 'stop', 1, false,"
                + " false, '0', 10)");
        member.run(
                "set local session_replication_role = replica",
                "update annals.stream set all_projects = true where project_id = " + id);
        UUID move = databases.start(project, "west");
        databases.finish(move);
        assertThat(state()).isEqualTo(before);
        assertThat(west.text("select name from annals.project where id = " + id))
                .isEqualTo(project.toString());
        assertThat(west.number("select count(*) from annals.stream where all_projects"))
                .isZero();
    }

    @Test
    void rowsWithTheIdsOfOthersReplaceNone() throws Exception {
        member.run("insert into annals.legal_hold (id, project_id, actor_id, reason) values ('"
                + west.text("select id from annals.legal_hold where project_id = '" + victim + "'") + "', " + id
                + ", 'actor 1', 'mine')");
        requireRefused(sql -> sql, "have the ids of other rows here");
    }
}
