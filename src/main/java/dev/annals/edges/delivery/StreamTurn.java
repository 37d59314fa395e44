package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.ProjectBusyException;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.NoMemoryException;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.Cancellable;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Delivers batches of one stream while this instance holds its lease. The sink acknowledges each batch before the next is read, so a slow
 * sink receives one batch at a time. The turn ends after its batches, at the end of the feed, or with a failure:
 *
 * <table>
 *   <caption>Outcomes of a batch</caption>
 *   <tr><th>outcome</th><th>cursor</th><th>then</th></tr>
 *   <tr><td>delivered</td><td>advances</td><td>next batch</td></tr>
 *   <tr><td>failed</td><td>stays</td><td>lease returned, retry after a growing pause</td></tr>
 *   <tr><td>refused, several records</td><td>stays</td><td>the same records one at a time</td></tr>
 *   <tr><td>refused, one record</td><td>stays</td><td>as failed, until the refusals are used up</td></tr>
 *   <tr><td>refused for good, dead letters on</td><td>advances</td><td>the record is noted, next batch</td></tr>
 *   <tr><td>refused for good, dead letters off, or gone</td><td>stays</td><td>the stream stops</td></tr>
 *   <tr><td>moved</td><td>stays</td><td>lease returned; the next turn asks the sink for its cursor</td></tr>
 * </table>
 *
 * <p>Every write has the lease's epoch. It changes nothing, and the turn ends, if the lease was lost or the stream was rewound.
 */
final class StreamTurn {

    /** Mostly some seconds. Then other streams have their turn. */
    private static final int TURN = 50;
    /** The first pause is this part of the longest: one second of 15 minutes. */
    private static final int FIRST_RETRY = 900;

    private static final Logger LOG = Logger.getLogger(StreamTurn.class);
    private static final Sql ADVANCE_STREAM = Sql.named("edges/delivery/advance_stream");
    private static final Sql BEGIN_GENERATION = Sql.named("edges/delivery/begin_generation");
    private static final Sql RENEW_STREAM_LEASE = Sql.named("edges/delivery/renew_stream_lease");
    private static final Sql RELEASE_STREAM = Sql.named("edges/delivery/release_stream");
    private static final Sql DEFER_STREAM = Sql.named("edges/delivery/defer_stream");
    private static final Sql FAIL_STREAM = Sql.named("edges/delivery/fail_stream");
    private static final Sql PASS_BY_RECORD = Sql.named("edges/delivery/pass_by_record");
    private static final Sql STOP_STREAM = Sql.named("edges/delivery/stop_stream");
    private static final int RENEWALS = 3;
    private static final int MAX_ERROR = 1_024;

    private final StreamScheduler scheduler;
    private final Pool pool;
    private final NamedStream stream;
    private final Vertx vertx;
    private final DeliveryConfig config;
    private final AtomicBoolean ended = new AtomicBoolean();
    private volatile @Nullable Sink sink;
    private volatile @Nullable Cancellable turn;
    private volatile long timer;
    /** In {@link System#nanoTime} of this instance; not later than the end in the database. */
    private volatile long leaseEnds;

    private int size;
    private boolean failedBefore;
    private Instant delivered;

    private int refusals;

    /** @param asked when this instance asked for the lease, as {@link System#nanoTime} */
    StreamTurn(
            StreamScheduler scheduler, Pool pool, NamedStream stream, long asked, Vertx vertx, DeliveryConfig config) {
        this.scheduler = scheduler;
        this.pool = pool;
        this.stream = stream;
        this.vertx = vertx;
        this.config = config;
        this.leaseEnds = asked + config.lease().toNanos();
        // Send records one at a time to find the refused one.
        this.size = stream.progress().refusals() > 0 ? 1 : scheduler.batchRecords(stream);
        OffsetDateTime delivered = stream.progress().deliveredAt();
        this.delivered = (delivered == null ? stream.createdAt() : delivered).toInstant();
        this.refusals = stream.progress().refusals();
        this.failedBefore = stream.progress().failures() > 0;
    }

    NamedStream stream() {
        return stream;
    }

    void start() {
        timer = vertx.setPeriodic(Math.max(1, config.lease().toMillis() / RENEWALS), tick -> renew());
        turn = Uni.createFrom()
                .deferred(this::begin)
                .onFailure()
                .recoverWithUni(this::unread)
                .subscribe()
                .with(done -> end(), failure -> {
                    LOG.debugf(failure, "A turn of stream %s broke off; its lease ends by itself", stream.name());
                    end();
                });
        if (ended.get()) {
            vertx.cancelTimer(timer);
        }
    }

    private void end() {
        if (ended.compareAndSet(false, true)) {
            vertx.cancelTimer(timer);
            Sink open = sink;
            if (open != null) {
                open.close();
            }
            scheduler.ended(stream);
        }
    }

    private boolean isLost() {
        return System.nanoTime() - leaseEnds >= 0;
    }

    private void renew() {
        if (isLost()) {
            lose();
            return;
        }
        long asked = System.nanoTime();
        lease(RENEW_STREAM_LEASE)
                .bind("lease_millis", config.lease().toMillis())
                .execute(pool)
                .subscribe()
                .with(
                        rows -> {
                            if (rows.iterator().hasNext()) {
                                leaseEnds = asked + config.lease().toNanos();
                            } else {
                                lose();
                            }
                        },
                        failure -> LOG.debug("The lease is renewed at the next tick, or ends", failure));
    }

    /** Cancels a request that is under way, too: another instance may send the same batch now. */
    private void lose() {
        if (!ended.get()) {
            LOG.debugf("The lease of stream %s is lost", stream.name());
            breakOff();
        }
    }

    /** Ends the turn at once. The caller returns the lease. */
    void breakOff() {
        Cancellable running = turn;
        if (running != null) {
            running.cancel();
        }
        end();
    }

    private Binds lease(Sql statement) {
        return statement
                .bind("stream_id", stream.id())
                .bind("project_id", stream.projectId())
                .bind("epoch", stream.progress().epoch());
    }

    Uni<Void> release() {
        return lease(RELEASE_STREAM).execute(pool).replaceWithVoid();
    }

    private Uni<Void> begin() {
        Sink opened;
        try {
            opened = scheduler.open(stream);
        } catch (SinkSecrets.UnreadableSecretException | Targets.RefusedTargetException e) {
            return failed(new Sink.Outcome.Failed(String.valueOf(e.getMessage()), null), false);
        }
        sink = opened;
        FeedQuery query = scheduler.query(stream);
        return scheduler
                .onServiceLoop(opened.begin(stream.progress().cursor()))
                .map(Begun::new)
                .onFailure()
                .recoverWithItem(failure -> new Begun(null, opened.explain(failure)))
                .chain(begun -> begun.at() == null
                        ? failed(new Sink.Outcome.Failed(String.valueOf(begun.why()), null), false)
                        : mayContinueAt(begun.at())
                                ? batches(opened, query, begun.at(), TURN)
                                : lease(BEGIN_GENERATION).execute(pool).replaceWithVoid());
    }

    /** An archive delivers again the records that only the store's metadata claims to have. */
    private boolean mayContinueAt(Cursor at) {
        return !stream.archive()
                || at.sequenceId() <= stream.progress().cursor().sequenceId();
    }

    /** @param why the cursor is unknown; set if {@code at} is null */
    private record Begun(@Nullable Cursor at, @Nullable String why) {

        Begun(Cursor at) {
            this(at, null);
        }
    }

    private Uni<Void> batches(Sink to, FeedQuery query, Cursor at, int left) {
        if (left == 0 || scheduler.endsTurns() || isLost()) {
            return release();
        }
        FeedQuery next = at.equals(Cursor.START) ? query : query.from(at);
        return scheduler
                .withPage(stream, next.withLimit(size), page -> deliver(to, page, at))
                .chain(done -> done.goesOn()
                        ? batches(to, query, done.at(), left - 1)
                        : Uni.createFrom().voidItem());
    }

    /** @param goesOn otherwise the lease was returned or lost */
    private record Done(Cursor at, boolean goesOn) {}

    private Uni<Done> deliver(Sink to, FeedPage page, Cursor at) {
        Sink.Batch batch = new Sink.Batch(stream, page.records(), at, page.pollMore());
        if (isLost()) {
            return over(at, Uni.createFrom().voidItem());
        }
        if (batch.records().isEmpty() && batch.after().equals(at)) {
            return over(at, release());
        }
        Duration wait = page.next() == null && !batch.records().isEmpty()
                ? scheduler.patience(stream, delivered)
                : Duration.ZERO;
        if (!wait.isZero()) {
            return over(at, defer(wait));
        }
        return scheduler.onServiceLoop(to.deliver(batch)).chain(outcome -> {
            if (outcome instanceof Sink.Outcome.Delivered) {
                return delivered(batch, page.next() != null);
            } else if (outcome instanceof Sink.Outcome.Failed failed) {
                return over(at, failed(failed, false));
            } else if (outcome instanceof Sink.Outcome.Refused refused) {
                return refused(to, batch, refused);
            }
            // The next turn asks the sink for its cursor.
            return over(at, release());
        });
    }

    /** Returns the lease. Nothing is delivered before the time is over. */
    Uni<Void> defer(Duration wait) {
        return lease(DEFER_STREAM)
                .bind("pause_millis", Math.max(1, wait.toMillis()))
                .execute(pool)
                .replaceWithVoid();
    }

    private static Uni<Done> over(Cursor at, Uni<Void> last) {
        return last.replaceWith(new Done(at, false));
    }

    private Uni<Done> delivered(Sink.Batch batch, boolean more) {
        long asked = System.nanoTime();
        int records = batch.records().size();
        return lease(ADVANCE_STREAM)
                .bind("before", batch.before().sequenceId())
                .bind("through", batch.after().sequenceId())
                .bind("cursor", batch.after().toString())
                .bind("records", records)
                .bind("lease_millis", config.lease().toMillis())
                .execute(pool)
                .chain(rows -> {
                    if (rows.iterator().hasNext()) {
                        succeeded(records);
                    }
                    Duration pause = stream.format().pause();
                    return records == 0 || pause.isZero()
                            ? goOn(rows, batch.after(), more, asked)
                            : over(batch.after(), defer(pause));
                });
    }

    private void succeeded(int records) {
        scheduler.noteDelivered(stream, records);
        if (records > 0) {
            delivered = Instant.now();
        }
        refusals = 0;
        size = Math.min(2 * size, scheduler.batchRecords(stream));
        if (failedBefore && records > 0) {
            failedBefore = false;
            LOG.infof("The stream %s of project %s delivers again", stream.name(), stream.projectId());
        }
    }

    /** @param rows none if the lease is lost */
    private Uni<Done> goOn(RowSet<Row> rows, Cursor at, boolean more, long asked) {
        if (!rows.iterator().hasNext()) {
            LOG.debugf("The lease of stream %s is lost", stream.name());
            return over(at, Uni.createFrom().voidItem());
        }
        leaseEnds = asked + config.lease().toNanos();
        return more && rows.iterator().next().getBoolean("goes_on")
                ? Uni.createFrom().item(new Done(at, true))
                : over(at, release());
    }

    private Uni<Done> refused(Sink to, Sink.Batch batch, Sink.Outcome.Refused refused) {
        if (refused.gone()) {
            return over(batch.before(), stop(refused.why() + " It wants nothing any more."));
        }
        if (batch.records().size() > 1) {
            size = 1;
            return Uni.createFrom().item(new Done(batch.before(), true));
        }
        if (refusals + 1 < stream.maxRefusals()) {
            return over(batch.before(), failed(new Sink.Outcome.Failed(refused.why(), null), true));
        }
        EncodedRecord record = batch.records().get(0);
        if (!stream.deadLetters()) {
            return over(
                    batch.before(),
                    stop("The record " + record.sequenceId() + " was refused " + stream.maxRefusals() + " times: "
                            + refused.why()));
        }
        scheduler.noteFailure();
        LOG.infof(
                "The stream %s of project %s passes by record %d: %s",
                stream.name(), stream.projectId(), record.sequenceId(), refused.why());
        long asked = System.nanoTime();
        return scheduler
                .onServiceLoop(to.deliver(new Sink.Batch(stream, List.of(), batch.before(), batch.after())))
                .chain(outcome -> outcome instanceof Sink.Outcome.Delivered
                        ? lease(PASS_BY_RECORD)
                                .bind("cursor", batch.after().toString())
                                .bind("sequence_id", record.sequenceId())
                                .bind("record_id", record.id())
                                .bind("reason", cut(refused.why()))
                                .bind("lease_millis", config.lease().toMillis())
                                .execute(pool)
                                .chain(rows -> {
                                    refusals = 0;
                                    return goOn(rows, batch.after(), true, asked);
                                })
                        : over(batch.before(), release()));
    }

    private Uni<Void> failed(Sink.Outcome.Failed failed, boolean refused) {
        scheduler.noteFailure();
        if (!failedBefore) {
            LOG.warnf(
                    "The stream %s of project %s cannot deliver; it is tried again from time to time: %s",
                    stream.name(), stream.projectId(), failed.why());
        }
        return lease(FAIL_STREAM)
                .bind("refused", refused)
                .bind("pause_millis", pause(failed.after()).toMillis())
                .bind("error", cut(failed.why()))
                .execute(pool)
                .replaceWithVoid();
    }

    private Duration pause(@Nullable Duration asked) {
        // A delivery in this turn has ended the series of failures.
        int before = failedBefore ? stream.progress().failures() : 0;
        Duration pause =
                DatabaseFailure.backOff(config.maxRetryDelay().dividedBy(FIRST_RETRY), config.maxRetryDelay(), before);
        // Streams that failed together do not try again together.
        long millis = pause.toMillis() + ThreadLocalRandom.current().nextLong(pause.toMillis() / 4 + 1);
        if (asked != null) {
            millis = Math.max(millis, asked.toMillis());
        }
        return Duration.ofMillis(Math.min(millis, config.maxRetryDelay().toMillis()));
    }

    private Uni<Void> stop(String reason) {
        scheduler.noteFailure();
        LOG.warnf("The stream %s of project %s is stopped: %s", stream.name(), stream.projectId(), reason);
        return lease(STOP_STREAM).bind("reason", cut(reason)).execute(pool).replaceWithVoid();
    }

    /** The feed could not be read. */
    private Uni<Void> unread(Throwable failure) {
        if (failure instanceof ProblemException problem) {
            ProblemType type = problem.problem().type();
            if (type == ProblemType.FEED_REWOUND || type == ProblemType.RECORDS_EXPIRED) {
                return stop(problem.problem().detail());
            }
        }
        boolean passes = failure instanceof ProblemException
                || failure instanceof NoMemoryException
                || failure instanceof ProjectBusyException
                || ElsewhereException.isOf(failure)
                || DatabaseFailure.isOutage(failure);
        if (!passes) {
            LOG.errorf(failure, "The stream %s of project %s breaks off", stream.name(), stream.projectId());
            return failed(new Sink.Outcome.Failed("A fault of the service; its log has more.", null), false);
        }
        LOG.debugf(failure, "The stream %s goes on later", stream.name());
        long millis = TimeUnit.SECONDS.toMillis(1);
        return Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(Duration.ofMillis(millis))
                .chain(this::release);
    }

    private static String cut(String text) {
        return text.length() <= MAX_ERROR ? text : text.substring(0, MAX_ERROR);
    }
}
