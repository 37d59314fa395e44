package dev.annals.bench.pages;

import dev.annals.bench.BenchDatabase;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Reads pages of one kind and counts them. */
final class PageReaders {

    private static final Duration WARM_UP = Duration.ofMillis(300);
    private static final long END_LIMIT_SECONDS = 60;

    private final PageCase page;
    private final int readers;
    private final int pageSize;
    private final int records;
    private final BenchDatabase database;
    private final LongAdder pages = new LongAdder();
    private volatile boolean stopping;

    PageReaders(PageCase page, int readers, int pageSize, int records, BenchDatabase database) {
        this.page = page;
        this.readers = readers;
        this.pageSize = pageSize;
        this.records = records;
        this.database = database;
    }

    double rate(Duration duration) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(readers);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < readers; i++) {
                int seed = i;
                ends.add(threads.submit(() -> read(seed)));
            }
            TimeUnit.MILLISECONDS.sleep(WARM_UP.toMillis());
            long begin = System.nanoTime();
            long before = pages.sum();
            TimeUnit.MILLISECONDS.sleep(duration.toMillis());
            long after = pages.sum();
            long nanos = System.nanoTime() - begin;
            stopping = true;
            for (Future<?> end : ends) {
                end.get(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            }
            return (after - before) * 1e9 / nanos;
        } finally {
            stopping = true;
            threads.shutdownNow();
        }
    }

    private Void read(int seed) throws SQLException {
        SplittableRandom random = new SplittableRandom(seed);
        try (Connection connection = database.connect();
                PreparedStatement read = page.read().prepare(connection)) {
            // As the service's connections are.
            BenchDatabase.execute(connection, "set plan_cache_mode = force_generic_plan");
            BenchDatabase.execute(connection, "set enable_seqscan = off");
            while (!stopping) {
                long behind = random.nextInt(1, records - pageSize);
                var project = page.projects().get(random.nextInt(page.projects().size()));
                // One more than the page has, as every reader asks who must know whether there is a next page.
                page.read().bind(read, List.of(project, behind, pageSize + 1));
                readPage(read, behind);
                pages.increment();
            }
        }
        return null;
    }

    private void readPage(PreparedStatement read, long behind) throws SQLException {
        long last = behind;
        int found = 0;
        try (ResultSet row = read.executeQuery()) {
            int id = row.findColumn("id");
            while (row.next()) {
                last = Math.max(last, place(row));
                if (row.getObject(id) != null) {
                    found++;
                }
            }
        }
        if (found < pageSize || last != behind + found) {
            throw new IllegalStateException(
                    "A page behind " + behind + " has " + found + " records up to " + last + ": " + page);
        }
    }

    /** The last place that the row names: for the whole page, in a row of its own before the records, or that of its record. */
    private static long place(ResultSet row) throws SQLException {
        if (!row.getMetaData().getColumnLabel(1).equals("record_ids")) {
            return row.getLong(1);
        }
        Array numbers = row.getArray("numbers");
        return numbers == null ? 0 : ((Long[]) numbers.getArray())[0];
    }
}
