package dev.annals.bench.ordering;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.SampleRecords;
import dev.annals.kernel.guid.SequentialGuid;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Writes one variant under one load and counts what is committed. */
public final class Writers {

    private static final Duration WARM_UP = Duration.ofMillis(300);
    private static final long END_LIMIT_SECONDS = 60;

    private final Variant variant;
    private final NumberedStatement insert;
    private final Scenario scenario;
    private final BenchDatabase database;
    private final List<UUID> projects;
    private final SequentialGuid guids = new SequentialGuid();
    private final LongAdder committed = new LongAdder();
    private volatile boolean stopping;

    /** Writers into {@code projects}, of which the first are used, as many as the load asks for. */
    public Writers(Variant variant, Scenario scenario, BenchDatabase database, List<UUID> projects) {
        this.variant = variant;
        this.insert = variant.insert(scenario.rows());
        this.scenario = scenario;
        this.database = database;
        this.projects = projects.subList(0, scenario.projects());
    }

    /** Writes for some time. @return records committed in a second */
    public double rate(Duration duration) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(scenario.writers());
        List<Connection> connections = new ArrayList<>();
        try {
            for (int i = 0; i < scenario.writers(); i++) {
                connections.add(variant.connect(database, scenario.settings()));
            }
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < scenario.writers(); i++) {
                int seed = i;
                ends.add(threads.submit(() -> write(connections.get(seed), seed)));
            }
            TimeUnit.MILLISECONDS.sleep(WARM_UP.toMillis());
            long begin = System.nanoTime();
            long before = committed.sum();
            TimeUnit.MILLISECONDS.sleep(duration.toMillis());
            long after = committed.sum();
            long nanos = System.nanoTime() - begin;
            stopping = true;
            for (Future<?> end : ends) {
                end.get(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            }
            return (after - before) * 1e9 / nanos;
        } finally {
            stopping = true;
            threads.shutdownNow();
            for (Connection connection : connections) {
                connection.close();
            }
        }
    }

    /** Writes a number of records through one connection, without waiting for the disk. */
    public void write(long records) throws SQLException {
        try (Connection connection = variant.connect(database, "set synchronous_commit = off");
                PreparedStatement statement = insert.prepare(connection)) {
            SampleRecords samples = new SampleRecords(1, guids);
            for (long written = 0; written < records; written += scenario.rows()) {
                UUID project = projects.get((int) (written / scenario.rows() % projects.size()));
                insert(statement, project, samples);
            }
        }
    }

    private Void write(Connection connection, int seed) throws SQLException, InterruptedException {
        SplittableRandom random = new SplittableRandom(seed);
        SampleRecords samples = new SampleRecords(seed, guids);
        boolean held = !scenario.held().isZero();
        connection.setAutoCommit(!held);
        try (PreparedStatement statement = insert.prepare(connection)) {
            while (!stopping) {
                insert(statement, projects.get(random.nextInt(projects.size())), samples);
                if (held) {
                    TimeUnit.MILLISECONDS.sleep(scenario.held().toMillis());
                    connection.commit();
                }
                committed.add(scenario.rows());
            }
        }
        return null;
    }

    private void insert(PreparedStatement statement, UUID project, SampleRecords samples) throws SQLException {
        insert.bind(statement, variant.binds(project, samples.next(scenario.rows())));
        statement.execute();
    }
}
