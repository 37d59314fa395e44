package dev.annals.derived.move;

import static dev.annals.Tools.need;
import static dev.annals.derived.move.MovedDatabases.HOME;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.PgBouncer;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.Driver;
import org.postgresql.PGConnection;

/** SQL writers whose project moves: those behind PgBouncer see no error, and others follow it. */
@Slow
@BesideTheService
@Timeout(300)
class MovedSqlWritersTest {

    private static final int MOVES = Boolean.getBoolean("tests.long") ? 20 : 4;
    private static final int WRITERS = 4;
    private static final String PASSWORD = "of-a-writer";
    /** PgBouncer's commands take it in quotes alone. */
    private static final String ALIAS = "the-shop";

    @TempDir
    Path directory;

    private final MovedDatabases databases = new MovedDatabases();
    private final Queue<UUID> committed = new ConcurrentLinkedQueue<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final Queue<Long> waits = new ConcurrentLinkedQueue<>();
    private final CountDownLatch triedAgain = new CountDownLatch(1);
    private UUID project;
    private volatile boolean written;

    private static String address(DatabaseUrl url) {
        return "host=127.0.0.1 port=" + url.port() + " dbname=" + url.database();
    }

    private void write(DatabaseUrl pooler) {
        long longest = 0;
        try (Connection connection = pooler.connect();
                Statement insert = connection.createStatement()) {
            // Each transaction may have another session.
            connection.unwrap(PGConnection.class).setPrepareThreshold(0);
            while (!written) {
                UUID id = UUID.randomUUID();
                long began = System.nanoTime();
                insert.execute("insert into annals.audit_record (project_id, id, action) values ('" + project + "', '"
                        + id + "', 'inserted')");
                longest = Math.max(longest, System.nanoTime() - began);
                committed.add(id);
                Thread.sleep(2);
            }
        } catch (Exception e) {
            failures.add(e);
        }
        waits.add(longest);
    }

    /** In place of a service, which carries the move when the script's command asks it to. */
    private void carry(Path asked, String target) {
        try {
            Await.until("the script asks for the move", () -> Files.exists(asked));
            databases.finish(databases.start(project, target));
        } catch (Throwable e) {
            failures.add(e);
        }
    }

    private int move(PgBouncer pooler, DatabaseUrl owner, String from, String target) throws Exception {
        Path asked = directory.resolve(UUID.randomUUID().toString());
        Thread mover = new Thread(() -> carry(asked, target));
        mover.start();
        ProcessBuilder script = new ProcessBuilder(
                "examples/pgbouncer/move",
                ALIAS,
                project.toString(),
                address(databases.of(from).database()),
                address(databases.of(target).database()),
                "touch",
                asked.toString());
        script.environment()
                .putAll(Map.of(
                        "PATIENCE", "1",
                        "PGUSER", owner.user(),
                        "PGPASSWORD", owner.password(),
                        "PGBOUNCER_INI", pooler.settings().toString(),
                        "PGBOUNCER_ADMIN",
                                "host=127.0.0.1 port=" + pooler.url("", "", "").port()));
        Process moving = script.redirectErrorStream(true).start();
        try (BufferedReader lines = moving.inputReader()) {
            lines.lines()
                    .peek(System.out::println)
                    .filter(line -> line.contains("tried again"))
                    .forEach(line -> {
                        triedAgain.countDown();
                    });
        }
        mover.join();
        return moving.waitFor();
    }

    /** Keeps a transaction open until the script has given up a pause because of it. */
    private Thread holdOpen(DatabaseUrl pooler) throws InterruptedException {
        CountDownLatch inserted = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try (Connection connection = pooler.connect();
                    Statement insert = connection.createStatement()) {
                UUID id = UUID.randomUUID();
                connection.setAutoCommit(false);
                insert.execute("insert into annals.audit_record (project_id, id, action) values ('" + project + "', '"
                        + id + "', 'held')");
                inserted.countDown();
                triedAgain.await();
                connection.commit();
                committed.add(id);
            } catch (Exception e) {
                failures.add(e);
            }
        });
        holder.start();
        inserted.await();
        return holder;
    }

    /** {@code examples/pgbouncer/move} moves it. */
    @Test
    void writersBehindPgBouncerSeeNoErrorWhileTheirProjectMoves() throws Exception {
        need(Files.isExecutable(Path.of("/usr/bin/psql")), "psql");
        project = databases.home().insertProject();
        String writer = "writer_" + UUID.randomUUID().toString().replace("-", "");
        DatabaseUrl owner = databases.home().database();
        databases
                .home()
                .run(
                        "create role " + writer + " login password '" + PASSWORD + "'",
                        "select annals.grant_writer('" + writer + "', '" + project + "')");
        try (PgBouncer pooler = PgBouncer.start(
                directory,
                ALIAS + " = " + address(owner),
                "transaction",
                Map.of(owner.user(), owner.password(), writer, PASSWORD))) {
            List<Thread> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                writers.add(new Thread(() -> write(pooler.url(writer, PASSWORD, ALIAS))));
            }
            writers.forEach(Thread::start);
            writers.add(holdOpen(pooler.url(writer, PASSWORD, ALIAS)));
            String at = HOME;
            for (int i = 0; i < MOVES && failures.isEmpty(); i++) {
                String target = at.equals(HOME) ? "east" : HOME;
                int before = committed.size();
                Await.until("more is written", () -> committed.size() > before + 100 || !failures.isEmpty());
                assertThat(move(pooler, owner, at, target)).isZero();
                databases.removeCopy(project, at);
                at = target;
            }
            written = true;
            for (Thread thread : writers) {
                thread.join();
            }
            assertThat(failures).isEmpty();
            SqlFixture there = databases.of(at);
            assertThat(there.checkFeed(project)).isEqualTo(committed.size());
            assertThat(there.feed(project)).containsExactlyInAnyOrderElementsOf(committed);
        }
        databases.home().run("drop role " + writer);
        System.out.printf(
                "%d moves, %d records, longest commits of the writers %s ms%n",
                MOVES,
                committed.size(),
                waits.stream().map(wait -> wait / 1_000_000).toList());
    }

    /** {@code examples/sql/Writer.java} in a process of its own. */
    @Test
    void theExampleOfAWriterFollowsItsProject() throws Exception {
        project = databases.home().insertProject();
        String driver = Path.of(Driver.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI())
                .toString();
        Process writer = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        driver,
                        "examples/sql/Writer.java",
                        project.toString(),
                        "main=" + jdbc(HOME),
                        "east=" + jdbc("east"))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (PrintWriter actions = new PrintWriter(writer.getOutputStream(), true, StandardCharsets.UTF_8)) {
            actions.println("before");
            Await.until("the first record is stored", () -> databases.home().checkFeed(project) == 1);
            databases.finish(databases.start(project, "east"));
            actions.println("after");
            actions.println("again");
        }
        assertThat(writer.waitFor()).isZero();
        assertThat(databases.of("east").checkFeed(project)).isEqualTo(3);
    }

    private String jdbc(String database) {
        DatabaseUrl url = databases.of(database).database();
        return url.jdbcUrl() + "&user=" + url.user() + "&password=" + url.password();
    }
}
