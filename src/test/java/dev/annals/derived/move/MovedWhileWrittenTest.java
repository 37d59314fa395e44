package dev.annals.derived.move;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.move.MovedDatabases.KilledException;
import dev.annals.derived.move.ProjectMove.Step;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/**
 * Writers by INSERT, COPY and with numbers, and readers with an old map, while a project moves, its movers die and moves are
 * cancelled: nothing is lost, doubled, skipped or falsely refused.
 */
@BesideTheService
@Timeout(1800)
class MovedWhileWrittenTest {

    private static final int MOVES = Boolean.getBoolean("tests.long") ? 300 : 6;
    private static final Pattern DATABASE = Pattern.compile("\"database\": \"([a-z]+)\"");
    private static final List<Step> STEPS = List.of(
            Step.BEGUN, Step.ARRIVING, Step.COPYING, Step.SEALED, Step.COPIED, Step.SWITCHED, Step.LEFT, Step.OPENED);

    private final MovedDatabases databases = new MovedDatabases();
    private final Queue<UUID> committed = new ConcurrentLinkedQueue<>();
    private final Workers workers = new Workers();
    private final Queue<Throwable> failures = workers.failures;
    private final Random random = new Random(46);
    private UUID project;
    private volatile boolean written;
    /** Nothing is written any more. */
    private volatile boolean complete;

    /** Goes where the last error or page pointed. */
    private final class Client implements AutoCloseable {
        private final Map<String, Connection> connections = new HashMap<>();
        private final String role;
        private String database = HOME;

        Client(String role) {
            this.role = role;
        }

        Connection connection() throws SQLException {
            Connection known = connections.get(database);
            if (known == null || known.isClosed()) {
                known = databases.connect(database, role);
                known.setAutoCommit(false);
                connections.put(database, known);
            }
            return known;
        }

        void goTo(String other) throws InterruptedException {
            database = other;
            Thread.sleep(1);
        }

        @Override
        public void close() throws SQLException {
            for (Connection connection : connections.values()) {
                connection.close();
            }
        }
    }

    private static boolean isCut(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("08") || state.equals("57P01");
    }

    private void write(int records, String sequence, boolean copy) throws Exception {
        try (Client client = new Client("annals_writer")) {
            while (!written && failures.isEmpty()) {
                List<UUID> ids = new ArrayList<>();
                for (int i = 0; i < records; i++) {
                    ids.add(UUID.randomUUID());
                }
                while (!writeOnce(client, ids, sequence, copy)) {
                    assertThat(failures).isEmpty();
                }
                committed.addAll(ids);
                // The feed must not grow faster than moves end.
                Thread.sleep(5L + records / 2);
            }
        }
    }

    /** False if the records have to be sent again. */
    private boolean writeOnce(Client client, List<UUID> ids, String sequence, boolean copy) throws Exception {
        Connection connection = null;
        try {
            connection = client.connection();
            if (copy) {
                StringBuilder rows = new StringBuilder();
                ids.forEach(id -> rows.append(project).append('\t').append(id).append("\tcopied\n"));
                connection
                        .unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn(
                                "copy annals.audit_record (project_id, id, action) from stdin",
                                new StringReader(rows.toString()));
            } else {
                SqlFixture.execute(
                        connection,
                        "insert into annals.audit_record (project_id, id, action, number_sequence) select '" + project
                                + "', id, 'inserted', " + sequence + " from unnest('{"
                                + String.join(
                                        ",", ids.stream().map(UUID::toString).toList())
                                + "}'::uuid[]) as id");
            }
            connection.commit();
            return true;
        } catch (SQLException e) {
            if (isCut(e)) {
                if (connection != null) {
                    connection.abort(Runnable::run);
                }
                return false;
            }
            connection.rollback();
            if ("23505".equals(e.getSQLState()) && e.getMessage().contains("audit_record_pkey")) {
                return true; // stored before its connection ended
            }
            if (!"AN307".equals(e.getSQLState())) {
                throw e;
            }
            Matcher named =
                    DATABASE.matcher(((PSQLException) e).getServerErrorMessage().getDetail());
            assertThat(named.find()).isTrue();
            client.goTo(named.group(1));
            return false;
        }
    }

    /** Reads pages as read_feed.sql does: what the page says and whether the database has the project are of one snapshot. */
    private List<UUID> read() throws Exception {
        List<UUID> read = new ArrayList<>();
        long head = 0;
        boolean all = false;
        try (Client client = new Client("annals_service")) {
            while (!all && failures.isEmpty()) {
                boolean ended = complete;
                try (Statement statement = client.connection().createStatement();
                        ResultSet page =
                                statement.executeQuery("""
                                select p.placement in ('here', 'sealed'), coalesce(p.moved_to, 'main'),
                                  (select coalesce(max(last_sequence_id), 0) from annals.feed_segment where project_id = asked.id),
                                  array(select record_id from annals.places(asked.id, %d, %d) as f order by f.sequence_id)
                                from (select '%s'::uuid as id) as asked left join annals.project as p on p.id = asked.id
                                """.formatted(read.size() + 1, read.size() + 200, project))) {
                    page.next();
                    String elsewhere = page.getString(2);
                    if (page.getBoolean(1)) {
                        assertThat(page.getLong(3)).as("the end of the feed").isGreaterThanOrEqualTo(head);
                        head = page.getLong(3);
                        read.addAll(List.of((UUID[]) page.getArray(4).getArray()));
                        all = ended && read.size() == head;
                    } else {
                        client.connection().rollback();
                        client.goTo(elsewhere);
                        continue;
                    }
                    client.connection().rollback();
                } catch (SQLException e) {
                    if (!isCut(e)) {
                        throw e;
                    }
                }
            }
        }
        return read;
    }

    /** Returns whether the project has moved. */
    private boolean move(String target, int number, List<Long> pauses) throws SQLException {
        UUID move = databases.start(project, target);
        Step killed = number % 2 == 1 ? STEPS.get(random.nextInt(STEPS.size())) : null;
        boolean cancelled = number % 5 == 3;
        long[] sealed = {0};
        while (true) {
            Step dies = killed;
            killed = null;
            try {
                databases
                        .mover(move, (step, at) -> {
                            if (step == Step.SEALED) {
                                sealed[0] = System.nanoTime();
                            } else if (step == Step.OPENED && dies == null) {
                                pauses.add(System.nanoTime() - sealed[0]);
                            }
                            if (step == dies) {
                                throw new KilledException();
                            }
                        })
                        .run();
                return databases.state(move).equals("done");
            } catch (KilledException e) {
                if (cancelled) {
                    databases.cancel(move);
                }
            } catch (SQLException e) {
                if (!isCut(e)) {
                    throw e;
                }
            }
        }
    }

    @Test
    void noRecordIsLostDoubledOrSkippedWhileItsProjectMoves() throws Exception {
        project = databases.home().insertProject();
        databases
                .home()
                .run(
                        "insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark,"
                                + " next_value) values (gen_random_uuid(), '" + project
                                + "', 'numbers', 'SYNCHRONOUS', 1, 100000000, 1, 0, 1)");
        List<Thread> writers = List.of(
                workers.start(() -> write(1, "null", false)),
                workers.start(() -> write(2, "'numbers'", false)),
                workers.start(() -> write(300, "null", true)));
        List<List<UUID>> readers = new ArrayList<>(List.of(List.of(), List.of()));
        List<Thread> reading =
                List.of(workers.start(() -> readers.set(0, read())), workers.start(() -> readers.set(1, read())));

        List<String> names = List.of(HOME, "east", "west");
        List<Long> pauses = new ArrayList<>();
        String at = HOME;
        int moved = 0;
        try {
            for (int number = 0; number < MOVES && failures.isEmpty(); number++) {
                String target = names.get((names.indexOf(at) + 1 + random.nextInt(2)) % names.size());
                if (move(target, number, pauses)) {
                    databases.removeCopy(project, at);
                    at = target;
                    moved++;
                }
            }
        } catch (Exception e) {
            // Ends the clients, which would wait for the end of the move.
            failures.add(e);
        } finally {
            written = true;
            for (Thread thread : writers) {
                thread.join();
            }
            complete = true;
            for (Thread thread : reading) {
                thread.join();
            }
        }

        assertThat(failures).isEmpty();
        assertThat(moved).isGreaterThan(MOVES / 2);
        SqlFixture there = databases.of(at);
        assertThat(there.checkFeed(project)).isEqualTo(committed.size());
        List<UUID> feed = there.feed(project);
        assertThat(feed).containsExactlyInAnyOrderElementsOf(committed);
        for (List<UUID> read : readers) {
            assertThat(read).isEqualTo(feed);
        }
        assertThat(there.text(
                        "select count(*) = max(number_value) and bool_and(next) from (select number_value, number_value ="
                                + " row_number() over (order by sequence_id) as next from annals.feed where project_id = '"
                                + project + "' and number_value is not null) as numbered"))
                .as("numbers without a gap, in the order of the feed")
                .isEqualTo("t");
        for (String name : names) {
            assertThat(databases.of(name).texts("select annals.administration_differences()"))
                    .isEmpty();
        }
        pauses.sort(null);
        System.out.printf(
                "%d moves, %d records, pause p50 %.0f ms, max %.0f ms%n",
                moved, committed.size(), pauses.get(pauses.size() / 2) / 1e6, pauses.get(pauses.size() - 1) / 1e6);
    }
}
