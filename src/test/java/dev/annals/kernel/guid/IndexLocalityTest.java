package dev.annals.kernel.guid;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.BesideTheService;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Keys of several processes, which start at different times and idle differently, lie near the end of an index. */
@BesideTheService
class IndexLocalityTest {

    private static final int KEYS = 200_000;
    private static final int PROCESSES = 8;
    private static final Comparator<UUID> AS_SQL_SERVER = SqlServerGuid::compare;

    /** The time of all machines; each of them is off by a few milliseconds. */
    private long micros = Instant.parse("2026-03-01T12:00:00Z").toEpochMilli() * 1000;

    @Test
    void fewKeysLandOutsideTheLastHundredthOfTheIndex() {
        assertThat(shareOutside(this::sequential, SequentialGuid::compare)).isLessThan(0.01);
    }

    @Test
    void theSameHoldsInSqlServersLayoutAndOrder() {
        Function<InstantSource, Supplier<UUID>> sqlServer = clock -> {
            Supplier<UUID> keys = sequential(clock);
            return () -> SqlServerGuid.of(keys.get());
        };
        assertThat(shareOutside(sqlServer, AS_SQL_SERVER)).isLessThan(0.01);
    }

    @Test
    void aGeneratorThatOnlyCountsUpFromItsStartFails() {
        assertThat(shareOutside(IndexLocalityTest::counting, SequentialGuid::compare))
                .isGreaterThan(0.25);
    }

    @Test
    void fewKeysOfRealProcessesLandOutsideTheLastHundredthOfTheIndex() throws Exception {
        assertThat(shareOutsideOfProcesses(false)).isLessThan(0.01);
    }

    @Test
    void realProcessesThatOnlyCountUpFromTheirStartFail() throws Exception {
        assertThat(shareOutsideOfProcesses(true)).isGreaterThan(0.25);
    }

    /**
     * The share for processes that start one after the other, in an index that the first one has filled alone. Keys are
     * inserted in the order in which they were drawn; when this test reads them depends on how busy the machine is.
     */
    private static double shareOutsideOfProcesses(boolean counting) throws Exception {
        List<KeyDrawingProcess.Drawn> drawn = Collections.synchronizedList(new ArrayList<>());
        KeyDrawingProcess first = new KeyDrawingProcess(counting, 0, drawn::add);
        List<KeyDrawingProcess> processes = new ArrayList<>();
        int alone;
        try {
            awaitKeys(drawn, 20_000);
        } finally {
            first.end();
            alone = drawn.size();
        }
        try {
            for (int idleMillis : new int[] {2, 5, 40}) {
                processes.add(new KeyDrawingProcess(counting, idleMillis, drawn::add));
                awaitKeys(drawn, alone + 2_000 * processes.size());
            }
            awaitKeys(drawn, alone + 10_000);
        } finally {
            for (KeyDrawingProcess process : processes) {
                process.end();
            }
        }
        List<UUID> inserted = drawn.stream()
                .sorted(Comparator.comparingLong(KeyDrawingProcess.Drawn::nanos))
                .map(KeyDrawingProcess.Drawn::key)
                .toList();
        return (double) outside(inserted, SequentialGuid::compare) / (inserted.size() - alone);
    }

    private static void awaitKeys(List<KeyDrawingProcess.Drawn> drawn, int count) throws Exception {
        Await.until("there are " + count + " keys", () -> drawn.size() >= count);
    }

    private Supplier<UUID> sequential(InstantSource clock) {
        return new SequentialGuid(clock)::next;
    }

    private static Supplier<UUID> counting(InstantSource clock) {
        long[] next = {clock.millis() << 16};
        return () -> new UUID(next[0]++, 42);
    }

    /** The share of keys that, when they are inserted, have more than a hundredth of the index behind them. */
    private double shareOutside(Function<InstantSource, Supplier<UUID>> generator, Comparator<UUID> order) {
        Random random = new Random(7);
        List<Supplier<UUID>> processes = new ArrayList<>();
        List<UUID> inserted = new ArrayList<>();
        int active = 0;
        for (int i = 0; i < KEYS; i++) {
            if (i % (KEYS / PROCESSES / 2) == 0 && processes.size() < PROCESSES) {
                long skew = random.nextInt(-5_000, 5_000);
                processes.add(generator.apply(() -> at(micros + skew)));
            }
            if (random.nextInt(100) == 0) {
                // The process that was active before idles for a random time.
                active = random.nextInt(processes.size());
            }
            int busy = random.nextInt(4) == 0 ? random.nextInt(processes.size()) : active;
            micros += random.nextInt(2_000);
            inserted.add(processes.get(busy).get());
        }
        return (double) outside(inserted, order) / KEYS;
    }

    private static Instant at(long micros) {
        return Instant.ofEpochSecond(micros / 1_000_000, micros % 1_000_000 * 1000);
    }

    private static int outside(List<UUID> inserted, Comparator<UUID> order) {
        List<UUID> sorted = new ArrayList<>(inserted);
        sorted.sort(order);
        // A Fenwick tree counts how many of the keys inserted so far stand at or before a place of the sorted list.
        int keys = inserted.size();
        int[] tree = new int[keys + 1];
        int outside = 0;
        for (int i = 0; i < keys; i++) {
            int place = Collections.binarySearch(sorted, inserted.get(i), order) + 1;
            int before = 0;
            for (int j = place; j > 0; j -= j & -j) {
                before += tree[j];
            }
            if (i - before > i / 100) {
                outside++;
            }
            for (int j = place; j <= keys; j += j & -j) {
                tree[j]++;
            }
        }
        return outside;
    }
}
