package dev.annals.derived.alert;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryException;
import dev.annals.core.query.QueryParser;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.RepeatedLook;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.database.WatchedStates;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Counts for alerts: looks for those that have records to look at, and takes them on step by step, one transaction per step.
 *
 * <p>Any number of instances may do so at once. A step locks its alert's row, and skips one that is locked elsewhere. What it has counted
 * and the event that it appends are one transaction, so each interval has one event at most, whatever breaks.
 */
@ApplicationScoped
class Lookout {

    private static final Logger LOG = Logger.getLogger(Lookout.class);
    private static final Sql FIND_ALERTS_BEHIND = Sql.named("derived/alert/find_alerts_behind");
    private static final Sql LOCK_ALERT = Sql.named("derived/alert/lock_alert");
    private static final Sql COUNT_ALERT = Sql.named("derived/alert/count_alert");
    private static final Sql ADVANCE_ALERT = Sql.named("derived/alert/advance_alert");
    private static final Sql FAIL_ALERT = Sql.named("derived/alert/fail_alert");
    private static final Sql WATCH_ALERTS = Sql.named("derived/alert/watch_alerts");
    private static final List<String> STATES = List.of("active", "failing", "disabled");
    /** Of a statement that took longer than it may. */
    private static final String QUERY_CANCELED = "57014";
    /** More halvings than any number of records has. */
    private static final int MAX_HALVINGS = 30;

    /** The wait after a look that found nothing new: an alert may be late by that much, and an idle service asks once a second. */
    private static final Duration INTERVAL = Duration.ofSeconds(1);
    /** How many alerts one look covers; if more are behind, those that wait longest come first. Its query takes milliseconds then. */
    private static final int PER_LOOK = 100;
    /** How many steps an alert that is behind takes before the others have their turn. */
    private static final int STEPS = 8;
    /** How many records one step looks at, so that its transaction takes well under a second; half as many after each failure. */
    private static final int RECORDS = 1_000;
    /** How long an alert is left alone after a failure; the time doubles after each further one. */
    private static final Duration RETRY_DELAY = Duration.ofSeconds(1);
    /** The longest such time, so that a cause that is gone is noticed within minutes. */
    private static final Duration MAX_RETRY_DELAY = Duration.ofMinutes(5);

    private final Pool pool;
    private final AlertConfig config;
    private final int records;
    private final Duration retryDelay;
    private final Counter raised;
    private final Counter failures;
    private final RepeatedLook looks;
    private final WatchedStates watched;

    @Inject
    Lookout(@Reads Pool pool, AlertConfig config, MeterRegistry metrics) {
        this(pool, config, RECORDS, RETRY_DELAY, metrics);
    }

    private Lookout(Pool pool, AlertConfig config, int records, Duration retryDelay, MeterRegistry metrics) {
        this.pool = pool;
        this.config = config;
        this.records = records;
        this.retryDelay = retryDelay;
        this.looks = new RepeatedLook(this::look, INTERVAL, retryDelay, LOG, "Alerts");
        this.raised = Counter.builder("annals.alerts.raised")
                .description("Events of alerts that this instance has appended")
                .register(metrics);
        this.failures = Counter.builder("annals.alerts.failures")
                .description("Steps of alerts that failed at this instance")
                .register(metrics);
        this.watched = new WatchedStates(
                WATCH_ALERTS,
                STATES,
                "alerts",
                "Records that the alert which is farthest behind has still to look at, at the last look",
                metrics);
    }

    /** An instance that {@link #look} drives. */
    Lookout(Pool pool, AlertConfig config, int records, Duration retryDelay) {
        this(pool, config, records, retryDelay, new SimpleMeterRegistry());
    }

    /**
     * An alert that this transaction holds.
     *
     * @param through up to here its records are counted
     * @param head the last record of its feed
     */
    private record Held(
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

        static Held of(UUID id, Row row) {
            return new Held(
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

    /**
     * What a step has come to.
     *
     * @param more whether there are further records to look at
     * @param raised whether it has appended an event
     */
    private record Step(boolean more, boolean raised) {

        static final Step NONE = new Step(false, false);
    }

    void start(@Observes StartupEvent event, Vertx vertx) {
        if (config.enabled()) {
            looks.start();
            watched.start(pool, vertx, looks::stopped);
        }
    }

    void stop(@Observes ShutdownEvent event) {
        looks.stop();
    }

    /**
     * Looks for alerts that are behind, and takes them on.
     *
     * @return whether any of them has more to look at
     */
    Uni<Boolean> look() {
        return FIND_ALERTS_BEHIND
                .bind("most", PER_LOOK)
                .execute(pool)
                .chain(rows -> Multi.createFrom()
                        .iterable(rows)
                        .onItem()
                        .transformToUniAndConcatenate(row -> takeOn(row.getUUID("id"), STEPS))
                        .collect()
                        .asList()
                        // Those that were beyond the look wait longest now.
                        .map(unfinished -> unfinished.contains(true) || unfinished.size() == PER_LOOK));
    }

    private Uni<Boolean> takeOn(UUID id, int steps) {
        if (looks.stopped()) {
            return Uni.createFrom().item(false);
        }
        return pool.withTransaction(connection -> step(connection, id))
                .invoke(step -> raised.increment(step.raised() ? 1 : 0))
                .chain(step -> step.more() && steps > 1
                        ? takeOn(id, steps - 1)
                        : Uni.createFrom().item(step.more()))
                .onFailure()
                .recoverWithUni(failure -> failed(id, failure).replaceWith(false));
    }

    private Uni<Step> step(SqlConnection connection, UUID id) {
        return LOCK_ALERT.bind("id", id).execute(connection).chain(rows -> {
            for (Row row : rows) {
                return count(connection, Held.of(id, row));
            }
            return Uni.createFrom().item(Step.NONE);
        });
    }

    private Uni<Step> count(SqlConnection connection, Held held) {
        Query query;
        try {
            query = QueryParser.parse(held.q(), null);
        } catch (QueryException e) {
            return Uni.createFrom().failure(e);
        }
        return Filter.of(COUNT_ALERT, query)
                .bind("project_id", held.projectId())
                .bind("sequence_id", held.through())
                .bind("records", (long) Math.max(1, records >> Math.min(held.failures(), MAX_HALVINGS)))
                .bind("interval_seconds", held.intervalSeconds())
                .bind("threshold", held.threshold())
                .bind("window_start", held.windowStart())
                .bind("first_sequence_id", held.firstSequenceId())
                .bind("match_count", held.matches())
                .execute(connection)
                .chain(rows -> advance(connection, held, rows.iterator().next()));
    }

    private static Uni<Step> advance(SqlConnection connection, Held held, Row counted) {
        long through = counted.getLong("sequence_id");
        if (through == held.through()) {
            return Uni.createFrom().item(Step.NONE);
        }
        boolean raised = counted.getBoolean("raised");
        return ADVANCE_ALERT
                .bind("id", held.id())
                .bind("sequence_id", through)
                .bind("window_start", counted.getOffsetDateTime("window_start"))
                .bind("first_sequence_id", counted.getLong("first_sequence_id"))
                .bind("match_count", counted.getLong("match_count"))
                .bind("raised", raised)
                .execute(connection)
                .replaceWith(new Step(through < held.head(), raised));
    }

    /** Leaves the alert alone for a while, unless it was not the alert's fault: then the next look finds it as it is. */
    private Uni<Void> failed(UUID id, Throwable failure) {
        boolean tooSlow =
                failure instanceof PgException error && error.getSqlState().equals(QUERY_CANCELED);
        if (DatabaseFailure.isTransient(failure) && !tooSlow) {
            LOG.debugf(failure, "The alert %s goes on later", id);
            return Uni.createFrom().voidItem();
        }
        failures.increment();
        LOG.warnf(failure, "The alert %s is stuck; it is tried again from time to time", id);
        return FAIL_ALERT
                .bind("id", id)
                .bind("retry_millis", retryDelay.toMillis())
                .bind("max_retry_millis", MAX_RETRY_DELAY.toMillis())
                .bind("error", told(failure, tooSlow))
                .execute(pool)
                .replaceWithVoid();
    }

    private static String told(Throwable failure, boolean tooSlow) {
        if (tooSlow) {
            return "Its records could not be looked at in time. Fewer are looked at next time.";
        } else if (failure instanceof QueryException) {
            return "Its query cannot be read any more. At " + failure.getMessage() + ".";
        }
        return "A fault of the service; its log has more.";
    }
}
