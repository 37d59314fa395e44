package dev.annals.survival;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Lets a fault happen under load again and again: a few times, or, with {@code -Dsurvival.minutes}, for so long. At the end what
 * the clients were told is compared with what the feed says.
 *
 * <p>A recovery lasts from the moment at which the fault happens until each writer was answered what it asked after that moment. A
 * fault that lasts says itself when it is over, with {@link Clients#measureRecovery}: the recovery is counted from there.
 */
final class RepeatedFault {

    private static final int MINUTES = Integer.getInteger("survival.minutes", 0);
    private static final int WRITERS = 4;
    private static final int READERS = 6;
    private static final int RECORDS_BETWEEN = 50;
    private static final int LEAST_SECONDS_BETWEEN = 8;
    private static final int MOST_SECONDS_BETWEEN = 20;

    /** What happens. The fault is over when it returns, even if its consequences are not. */
    interface Fault {
        void happen(int times) throws Exception;
    }

    private RepeatedFault() {}

    /** Whether this is a long run. */
    static boolean isLong() {
        return MINUTES > 0;
    }

    /** Lets clients begin, at a pace at which they can go on for hours. */
    static Clients start(Clients clients) throws Exception {
        if (isLong()) {
            clients.pace(Duration.ofMillis(100), Duration.ofMillis(250));
        }
        return clients.start(WRITERS, READERS).awaitTold(RECORDS_BETWEEN);
    }

    /**
     * Lets it happen, and compares.
     *
     * @param times how often, unless this is a long run
     */
    static Verdict run(String name, int times, Clients clients, Fault fault) throws Exception {
        List<Duration> recoveries = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(MINUTES);
        while (recoveries.size() < times || System.nanoTime() - end < 0) {
            if (isLong()) {
                TimeUnit.SECONDS.sleep(
                        ThreadLocalRandom.current().nextInt(LEAST_SECONDS_BETWEEN, MOST_SECONDS_BETWEEN + 1));
            }
            clients.awaitTold(RECORDS_BETWEEN);
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
}
