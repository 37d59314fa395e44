package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A steady load of plain SQL on projects that keep their records for ever and for a moment. Records claim to be nearly a day old, so
 * that those of a project that keeps them for one day expire {@value #LIVES_SECONDS} seconds after they came.
 */
public final class RetentionPart implements Part {

    private static final int LIVES_SECONDS = 15;
    private static final int WRITERS = 2;
    private static final int RECORDS_PER_APPEND = 10;
    private static final int APPENDS_PER_SECOND = 50;
    private static final int SAMPLES = 6;
    private static final String TABLES =
            "array['audit_record', 'append', 'feed_segment', 'search_block', 'daily_count', 'daily_total', 'merkle_seed']";

    @Override
    public String name() {
        return "retention";
    }

    @Override
    public String title() {
        return "Retention beside appends";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Table table = new Table(
                "project keeps its records",
                "records/s",
                "commit, median ms",
                "commit, 99th percentile ms",
                "removed",
                "MiB of tables, at each sixth");
        try (BenchDatabase database = server.createDatabase("annals_bench_retention")) {
            database.migrate();
            // A minute's rest between two looks would be most of what is measured here.
            database.execute("alter system set autovacuum_naptime = '5s'");
            database.execute("select pg_reload_conf()");
            try (Target annals = new Targets(database).startAnnalsWith("ANNALS_RETENTION_INTERVAL", "1s")) {
                Progress.say("  " + annals + " removes what has expired");
                int seconds = settings.choose(30, 90);
                for (boolean retains : new boolean[] {false, true}) {
                    UUID project = database.addProjects(1).get(0);
                    if (retains) {
                        database.execute("select annals.set_retention('" + project + "', 1)");
                    }
                    table.row(measure(database, project, retains, seconds));
                }
                return """
                        %d writers send %d appends of %d records per second each by plain SQL, for %d seconds. The tables are those that hold
                        records and what is derived from them, all projects together, without the tiles of the log, which stay.
                        The first row's tables are still there in the second.

                        """.formatted(WRITERS, APPENDS_PER_SECOND, RECORDS_PER_APPEND, seconds) + table;
            } finally {
                database.execute("alter system reset autovacuum_naptime");
                database.execute("select pg_reload_conf()");
            }
        }
    }

    private static String[] measure(BenchDatabase database, UUID project, boolean retains, int seconds)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(WRITERS);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        long began = System.nanoTime();
        List<Future<long[]>> writers = new ArrayList<>();
        for (int i = 0; i < WRITERS; i++) {
            Callable<long[]> writer = () -> write(database, project, end);
            writers.add(threads.submit(writer));
        }
        List<String> sizes = new ArrayList<>();
        for (int i = 0; i < SAMPLES; i++) {
            TimeUnit.MILLISECONDS.sleep(seconds * 1000L / SAMPLES - 100);
            sizes.add(String.valueOf(
                    database.queryLong("select sum(pg_total_relation_size(('annals.' || t)::regclass)) / 1048576"
                            + " from unnest(" + TABLES + ") as t")));
        }
        long[] nanos = new long[0];
        for (Future<long[]> writer : writers) {
            long[] more = writer.get();
            int before = nanos.length;
            nanos = Arrays.copyOf(nanos, before + more.length);
            System.arraycopy(more, 0, nanos, before, more.length);
        }
        double took = (System.nanoTime() - began) / 1e9;
        threads.shutdown();
        Arrays.sort(nanos);
        return new String[] {
            retains ? LIVES_SECONDS + " s" : "for ever",
            String.format("%.0f", nanos.length * RECORDS_PER_APPEND / took),
            String.format("%.2f", nanos[nanos.length / 2] / 1e6),
            String.format("%.1f", nanos[nanos.length * 99 / 100] / 1e6),
            String.valueOf(database.queryLong("select annals.horizon('" + project + "')")),
            String.join(", ", sizes)
        };
    }

    /** Gives how long each append took. */
    private static long[] write(BenchDatabase database, UUID project, long end)
            throws SQLException, InterruptedException {
        List<Long> nanos = new ArrayList<>();
        try (Connection connection = database.connect();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, action, actor_id, message, metadata, recorded_at)
                        select ?, 'volume_create', 'user-' || n, 'Volume cache has been created', '{"size": 100}',
                          clock_timestamp() - interval '1 day' + make_interval(secs => ?)
                        from generate_series(1, ?) as n""")) {
            insert.setObject(1, project);
            insert.setInt(2, LIVES_SECONDS);
            insert.setInt(3, RECORDS_PER_APPEND);
            long next = System.nanoTime();
            while (next < end) {
                long wait = next - System.nanoTime();
                if (wait > 0) {
                    TimeUnit.NANOSECONDS.sleep(wait);
                }
                long began = System.nanoTime();
                insert.execute();
                nanos.add(System.nanoTime() - began);
                next += 1_000_000_000L / APPENDS_PER_SECOND;
            }
        }
        return nanos.stream().mapToLong(Long::longValue).toArray();
    }
}
