package dev.annals.derived.alert;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.database.StateGauges;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Counts matching records for alerts of one database, and raises an alert once an interval has more than its threshold. Any number of
 * instances run one.
 *
 * <p>Each second it finds enabled alerts with records to count, and gives each a few steps. A step is one transaction: it locks the alert's
 * row, or skips the alert if another instance holds it; counts the next records; stores the progress; and appends the event if the alert is
 * raised. An interval therefore has at most one event, whatever breaks.
 *
 * <p>An alert whose step fails waits for a back-off, and then counts half as many records.
 */
final class AlertEvaluator {

    private static final Logger LOG = Logger.getLogger(AlertEvaluator.class);
    private static final Sql FIND_ALERTS_BEHIND = Sql.named("derived/alert/find_alerts_behind");
    private static final Sql LOCK_ALERT = Sql.named("derived/alert/lock_alert");
    private static final Sql COUNT_ALERT = Sql.named("derived/alert/count_alert");
    private static final Sql ADVANCE_ALERT = Sql.named("derived/alert/advance_alert");
    private static final Sql FAIL_ALERT = Sql.named("derived/alert/fail_alert");
    private static final Sql WATCH_ALERTS = Sql.named("derived/alert/watch_alerts");
    private static final List<String> STATES = List.of("active", "failing", "disabled");
    private static final String QUERY_CANCELED = "57014";

    private static final int MAX_HALVINGS = 30;

    private static final Duration INTERVAL = Duration.ofSeconds(1);
    /** The most alerts of one search, whose query then takes milliseconds. Those that wait longest are first. */
    private static final int MAX_DUE = 100;
    /** The most steps of one alert in a row. */
    private static final int STEPS = 8;
    /** Few enough for a transaction well under a second. */
    private static final int RECORDS = 1_000;
    /** Doubles after each further failure. */
    private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

    private static final Duration MAX_RETRY_DELAY = Duration.ofMinutes(5);

    private final Pool pool;
    private final Pool polls;
    private final AlertConfig config;
    private final int records;
    private final Duration retryDelay;
    private final Counter raised;
    private final Counter failures;
    private final PeriodicTask loop;
    private final StateGauges watched;
    private volatile boolean exist;

    AlertEvaluator(Database database, AlertConfig config, MeterRegistry metrics) {
        this(database, config, RECORDS, RETRY_DELAY, metrics);
    }

    private AlertEvaluator(
            Database database, AlertConfig config, int records, Duration retryDelay, MeterRegistry metrics) {
        this.pool = database.reads();
        this.polls = database.polls();
        this.config = config;
        this.records = records;
        this.retryDelay = retryDelay;
        this.loop = new PeriodicTask(
                database.unlessIdle(this::evaluateDue, () -> !exist), INTERVAL, retryDelay, LOG, "Alerts");
        this.raised = Counter.builder("annals.alerts.raised")
                .description("Events of alerts that this instance has appended")
                .register(metrics);
        this.failures = Counter.builder("annals.alerts.failures")
                .description("Steps of alerts that failed at this instance")
                .register(metrics);
        this.watched = new StateGauges(
                database,
                WATCH_ALERTS,
                STATES,
                "alerts",
                "Records still to count for the alert that is farthest behind, at the last measurement",
                metrics);
    }

    /** For tests, which call {@link #evaluateDue}. */
    AlertEvaluator(Database database, AlertConfig config, int records, Duration retryDelay) {
        this(database, config, records, retryDelay, new SimpleMeterRegistry());
    }

    /**
     * The row of an alert that this transaction has locked.
     *
     * @param through the last counted record
     * @param head the last record of the feed
     */
    private record Progress(
            UUID id,
            UUID projectId,
            String q,
            long threshold,
            int intervalSeconds,
            long through,
            @Nullable OffsetDateTime windowStart,
            @Nullable Long firstSequenceId,
            long matches,
            int failures,
            long head) {

        static Progress of(UUID id, Row row) {
            return new Progress(
                    id,
                    row.getUUID("project_id"),
                    row.getString("q"),
                    row.getLong("threshold"),
                    row.getInteger("interval_seconds"),
                    row.getLong("sequence_id"),
                    row.getOffsetDateTime("window_start"),
                    row.getLong("first_sequence_id"),
                    row.getLong("match_count"),
                    row.getInteger("failures"),
                    row.getLong("head"));
        }
    }

    private record Step(boolean more, boolean raised) {

        static final Step NONE = new Step(false, false);
    }

    void start(Vertx vertx) {
        if (config.enabled()) {
            loop.start();
            watched.start(vertx, loop::stopped);
        }
    }

    void stop() {
        loop.stop();
    }

    /**
     * Finds alerts that are due, and counts for each of them.
     *
     * @return whether some alerts have more to count
     */
    Uni<Boolean> evaluateDue() {
        return FIND_ALERTS_BEHIND
                .bind("most", MAX_DUE)
                .execute(polls)
                .chain(rows -> Multi.createFrom()
                        .iterable(due(rows))
                        .onItem()
                        .transformToUniAndConcatenate(id -> evaluate(id, STEPS))
                        .collect()
                        .asList()
                        // A full search may have left some out.
                        .map(unfinished -> unfinished.contains(true) || unfinished.size() == MAX_DUE));
    }

    private List<UUID> due(RowSet<Row> rows) {
        List<UUID> due = new ArrayList<>();
        for (Row row : rows) {
            exist = row.getBoolean("exist");
            UUID id = row.getUUID("id");
            if (id != null) {
                due.add(id);
            }
        }
        return due;
    }

    private Uni<Boolean> evaluate(UUID id, int steps) {
        if (loop.stopped()) {
            return Uni.createFrom().item(false);
        }
        return pool.withTransaction(connection -> step(connection, id))
                .invoke(step -> raised.increment(step.raised() ? 1 : 0))
                .chain(step -> step.more() && steps > 1
                        ? evaluate(id, steps - 1)
                        : Uni.createFrom().item(step.more()))
                .onFailure()
                .recoverWithUni(failure -> failed(id, failure).replaceWith(false));
    }

    private Uni<Step> step(SqlConnection connection, UUID id) {
        return LOCK_ALERT.bind("id", id).execute(connection).chain(rows -> {
            for (Row row : rows) {
                return count(connection, Progress.of(id, row));
            }
            return Uni.createFrom().item(Step.NONE);
        });
    }

    private Uni<Step> count(SqlConnection connection, Progress progress) {
        Query query;
        try {
            query = QueryParser.parse(progress.q(), null);
        } catch (QueryException e) {
            return Uni.createFrom().failure(e);
        }
        return Filter.of(COUNT_ALERT, query)
                .bind("project_id", progress.projectId())
                .bind("sequence_id", progress.through())
                .bind("records", (long) Math.max(1, records >> Math.min(progress.failures(), MAX_HALVINGS)))
                .bind("interval_seconds", progress.intervalSeconds())
                .bind("threshold", progress.threshold())
                .bind("window_start", progress.windowStart())
                .bind("first_sequence_id", progress.firstSequenceId())
                .bind("match_count", progress.matches())
                .execute(connection)
                .chain(rows -> advance(connection, progress, rows.iterator().next()));
    }

    private static Uni<Step> advance(SqlConnection connection, Progress progress, Row counted) {
        long through = counted.getLong("sequence_id");
        if (through == progress.through()) {
            return Uni.createFrom().item(Step.NONE);
        }
        boolean raised = counted.getBoolean("raised");
        return ADVANCE_ALERT
                .bind("id", progress.id())
                .bind("sequence_id", through)
                .bind("window_start", counted.getOffsetDateTime("window_start"))
                .bind("first_sequence_id", counted.getLong("first_sequence_id"))
                .bind("match_count", counted.getLong("match_count"))
                .bind("raised", raised)
                .execute(connection)
                .replaceWith(new Step(through < progress.head(), raised));
    }

    /** Starts a back-off, unless the alert is not the cause: then the next search finds it again. */
    private Uni<Void> failed(UUID id, Throwable failure) {
        boolean tooSlow =
                failure instanceof PgException error && error.getSqlState().equals(QUERY_CANCELED);
        if ((DatabaseFailure.isTransient(failure) && !tooSlow) || ElsewhereException.isOf(failure)) {
            LOG.debugf(failure, "The alert %s continues later", id);
            return Uni.createFrom().voidItem();
        }
        failures.increment();
        LOG.warnf(failure, "The alert %s is stuck; it is retried from time to time", id);
        return FAIL_ALERT
                .bind("id", id)
                .bind("retry_millis", retryDelay.toMillis())
                .bind("max_retry_millis", MAX_RETRY_DELAY.toMillis())
                .bind("error", describe(failure, tooSlow))
                .execute(pool)
                .replaceWithVoid();
    }

    private static String describe(Throwable failure, boolean tooSlow) {
        if (tooSlow) {
            return "Its records could not be read in time. The next step reads fewer.";
        } else if (failure instanceof QueryException) {
            return "Its query is no longer valid. At " + failure.getMessage() + ".";
        }
        return "An error of the service. Its log has the details.";
    }
}
