package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.InstalledPostgres;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * A fault happens under load again and again: a few times, or, with {@code -Dsurvival.minutes}, for so long. At the end what the
 * clients were told is compared with what the feed says.
 *
 * <p>A recovery lasts from the moment at which the fault happens until each writer was answered what it asked after that moment, or
 * as long as one of them waited for an answer later on. A fault that lasts says itself when it is over, with {@link
 * Clients#measureRecovery}: the recovery is counted from there.
 *
 * <p>A long run is a light load, so that all faults can run at the same time on two cores: about eight records a second, and a fault
 * every 30 to 60 s, since each may start a process of the service, which takes seconds of a core. The times are then those of the
 * fault, not of a machine that has too much to do.
 */
abstract class RepeatedFault {

    private static final int MINUTES = Integer.getInteger("survival.minutes", 0);
    private static final int WRITERS = 4;
    private static final int READERS = 6;
    private static final int RECORDS_BETWEEN = 50;
    private static final int LEAST_SECONDS_BETWEEN = 30;
    private static final int MOST_SECONDS_BETWEEN = 60;
    private static final Duration AFTER_RECORD = Duration.ofMillis(500);
    private static final Duration AFTER_FEED = Duration.ofSeconds(1);

    @TempDir
    Path directory;

    Instances instances;
    Clients clients;

    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    /** A fault. It is over when the method returns, even if its consequences are not. */
    interface Fault {
        void happen(int times) throws Exception;
    }

    /** Starts the database, whatever stands before it, and {@link #startClients}. */
    abstract void start() throws Exception;

    @BeforeEach
    void startAll() throws Exception {
        start();
    }

    @AfterEach
    void stopAll() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    /** Closes it after the test, and before what was opened earlier. */
    <T extends AutoCloseable> T closeLater(T opened) {
        open.push(opened);
        return opened;
    }

    InstalledPostgres startServer() throws Exception {
        return closeLater(InstalledPostgres.start(directory));
    }

    /** Starts two instances of the service on this database, and clients of both. */
    void startClients(DatabaseUrl database) throws Exception {
        startClients(2, Map.of("ANNALS_DATABASE_URL", database.withPassword()));
    }

    /** Starts so many instances with these settings, and their clients, at a pace at which they can go on for hours. */
    void startClients(int count, Map<String, String> settings) throws Exception {
        instances = closeLater(Instances.start(count, settings));
        clients = closeLater(instances.clients());
        if (MINUTES > 0) {
            clients.pace(AFTER_RECORD, AFTER_FEED);
        }
        clients.start(WRITERS, READERS).awaitTold(RECORDS_BETWEEN);
    }

    /**
     * Lets it happen, and compares.
     *
     * @param times how often, unless this is a long run
     */
    Verdict run(String name, int times, Fault fault) throws Exception {
        List<Duration> recoveries = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(MINUTES);
        while (recoveries.size() < times || System.nanoTime() - end < 0) {
            if (MINUTES > 0) {
                TimeUnit.SECONDS.sleep(
                        ThreadLocalRandom.current().nextInt(LEAST_SECONDS_BETWEEN, MOST_SECONDS_BETWEEN + 1));
            }
            clients.awaitTold(RECORDS_BETWEEN);
            // For the log: of this time alone.
            clients.measurePause();
            clients.measureRecovery();
            fault.happen(recoveries.size());
            Duration recovery = clients.awaitRecovery();
            recoveries.add(recovery);
            Survived.happened(name, recoveries.size(), recovery, clients);
        }
        Verdict verdict = clients.end();
        Survived.note(name, recoveries, clients, verdict);
        return verdict;
    }

    /** The same; nothing may be lost, doubled, skipped or at another place, and no reader told that the feed was set back. */
    void assertSoundWhen(String name, int times, Fault fault) throws Exception {
        Verdict verdict = run(name, times, fault);
        assertThat(verdict.isSound()).as("%s; %s", verdict, clients).isTrue();
        assertThat(clients.rewound()).as("%s", clients).isZero();
    }
}
