package dev.annals.tools.benchmark;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import dev.annals.core.sequence.MaxPlusOneSequence;
import dev.annals.core.sequence.Sequence;
import dev.annals.core.sequence.Sequence.Definition;
import dev.annals.core.sequence.SequenceGenerator;
import dev.annals.core.sequence.Sequences;
import dev.annals.core.sequence.SynchronousSequence;
import dev.annals.kernel.database.DatabaseUrl;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** One measurement: threads that run transactions, each with one value. */
final class BenchmarkRun {

    private final BenchmarkOptions options;
    private final Pool pool;
    private final Sequences sequences;
    private final DatabaseUrl database;

    BenchmarkRun(BenchmarkOptions options, Pool pool, Sequences sequences, DatabaseUrl database) {
        this.options = options;
        this.pool = pool;
        this.sequences = sequences;
        this.database = database;
    }

    /**
     * The measured rates and times.
     *
     * @param perSecond values
     * @param p50 milliseconds of the median transaction; the others are percentiles, too
     */
    record Result(double perSecond, double p50, double p75, double p90, double p99) {}

    Result measure() throws SQLException, InterruptedException, ExecutionException {
        String schema = "annals_benchmark_" + UUID.randomUUID().toString().replace("-", "");
        UUID project = UUID.randomUUID();
        execute("select annals.create_project('" + schema + "', '" + project + "')");
        execute("create schema " + schema + "; grant usage on schema " + schema + " to annals_service");
        try {
            Supplier<Uni<?>> transaction = transaction(schema, project);
            long warm = System.nanoTime() + options.warmUp.toNanos();
            times(transaction, () -> System.nanoTime() - warm < 0);
            AtomicInteger left = new AtomicInteger(options.iterations);
            long start = System.nanoTime();
            List<Long> nanos = times(transaction, () -> left.getAndDecrement() > 0);
            double seconds = (System.nanoTime() - start) / 1e9;
            return new Result(
                    nanos.size() / seconds, millis(nanos, 50), millis(nanos, 75), millis(nanos, 90), millis(nanos, 99));
        } finally {
            execute("drop schema " + schema + " cascade");
        }
    }

    private Supplier<Uni<?>> transaction(String schema, UUID project) throws SQLException {
        if (options.mode.drawnKind().isPresent()) {
            Definition definition = Definition.of(options.mode.drawnKind().get());
            if (options.mode == BenchmarkMode.BATCH) {
                definition = definition.inBatchesOf(options.batchSize, 0);
            } else if (options.mode == BenchmarkMode.ASYNC_BATCH) {
                definition = definition.inBatchesOf(options.batchSize, options.lowWaterMark);
            }
            Sequence sequence = sequences
                    .define(project, "benchmark", definition)
                    .await()
                    .indefinitely()
                    .sequence();
            return options.mode == BenchmarkMode.SYNCHRONOUS ? synchronous(sequence) : drawn(sequence);
        }
        return options.mode == BenchmarkMode.NONE ? () -> pool.withTransaction(this::stayOpen) : rows(schema);
    }

    private Supplier<Uni<?>> synchronous(Sequence sequence) {
        SynchronousSequence values = sequences.synchronous(sequence);
        return () -> pool.withTransaction(
                transaction -> values.in(transaction).next().chain(value -> stayOpen(transaction)));
    }

    private Supplier<Uni<?>> drawn(Sequence sequence) {
        SequenceGenerator values = sequences.generator(sequence);
        return () -> values.next().chain(value -> pool.withTransaction(this::stayOpen));
    }

    private Supplier<Uni<?>> rows(String schema) throws SQLException {
        String table = schema + ".numbered";
        String identity = options.mode == BenchmarkMode.IDENTITY ? "generated always as identity" : "";
        execute("create table " + table + " (id uuid primary key, grp text not null, number bigint " + identity + ")");
        execute("grant select, insert on " + table + " to annals_service");
        if (options.mode == BenchmarkMode.MAX_PLUS_ONE) {
            execute("create index on " + table + " (number)");
            MaxPlusOneSequence values = new MaxPlusOneSequence(table, "number");
            String insert = "insert into " + table + " (id, grp, number) values ($1, $2, $3)";
            return () -> pool.withTransaction(transaction -> values.in(transaction)
                    .next()
                    .chain(value -> transaction.preparedQuery(insert).execute(row().addLong(value)))
                    .chain(() -> stayOpen(transaction)));
        }
        if (options.mode == BenchmarkMode.COMMIT_ORDERED) {
            execute("select annals.attach_commit_order('" + table + "', 'number', 'grp')");
        }
        String insert = "insert into " + table + " (id, grp) values ($1, $2)";
        return () -> pool.withTransaction(
                transaction -> transaction.preparedQuery(insert).execute(row()).chain(() -> stayOpen(transaction)));
    }

    private Tuple row() {
        int group = ThreadLocalRandom.current().nextInt(options.groups);
        return Tuple.of(UUID.randomUUID(), "group " + group);
    }

    private Uni<Void> stayOpen(SqlConnection transaction) {
        return options.transactionLatency.isZero()
                ? Uni.createFrom().voidItem()
                : Uni.createFrom().voidItem().onItem().delayIt().by(options.transactionLatency);
    }

    /** The nanoseconds of each transaction in ascending order; empty if the time was too short for one. */
    private List<Long> times(Supplier<Uni<?>> transaction, BooleanSupplier goesOn)
            throws InterruptedException, ExecutionException {
        AtomicInteger started = new AtomicInteger();
        Callable<List<Long>> worker = () -> {
            // Staggered: threads that begin together also commit together, and wait for each other.
            NANOSECONDS.sleep(options.transactionLatency.toNanos() * started.getAndIncrement() / options.threads);
            List<Long> nanos = new ArrayList<>();
            while (goesOn.getAsBoolean()) {
                long start = System.nanoTime();
                transaction.get().await().indefinitely();
                nanos.add(System.nanoTime() - start);
            }
            return nanos;
        };
        List<Long> all = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(options.threads);
        try {
            List<Callable<List<Long>>> workers = new ArrayList<>();
            for (int i = 0; i < options.threads; i++) {
                workers.add(worker);
            }
            for (Future<List<Long>> nanos : threads.invokeAll(workers)) {
                all.addAll(nanos.get());
            }
        } finally {
            threads.shutdown();
        }
        Collections.sort(all);
        return all;
    }

    private static double millis(List<Long> ascendingNanos, int percent) {
        int index = (int) Math.ceil(ascendingNanos.size() * percent / 100.0) - 1;
        return ascendingNanos.get(Math.max(0, index)) / 1e6;
    }

    // As the database's owner, because the service's role may not create tables.
    private void execute(String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
