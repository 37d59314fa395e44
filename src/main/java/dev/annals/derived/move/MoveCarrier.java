package dev.annals.derived.move;

import dev.annals.access.places.Places;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.JdbcConnections;
import dev.annals.kernel.database.PeriodicTask;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.database.StateGauges;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Carries moves that no other instance carries, each on a thread of its own, and keeps their leases. */
@ApplicationScoped
class MoveCarrier {

    private static final Logger LOG = Logger.getLogger(MoveCarrier.class);
    private static final Sql FIND_MOVES_TO_CARRY = Sql.named("derived/move/find_moves_to_carry");
    private static final Sql LEASE_MOVE = Sql.named("derived/move/lease_move");
    private static final Sql COUNT_MOVES = Sql.named("derived/move/count_moves");
    private static final Sql RELEASE_MOVE = Sql.named("derived/move/release_move");

    /** Each has three connections, and reads and writes as fast as its databases do. */
    private static final int MOST = 4;

    private static final Duration INTERVAL = Duration.ofSeconds(1);
    private static final Duration RETRY_DELAY = Duration.ofSeconds(4);
    private static final Duration RENEWAL = Duration.ofSeconds(2);
    /** Before the lease ends, a mover that could not renew it stops. */
    private static final Duration LEASE_KNOWN = Duration.ofSeconds(ProjectMove.LEASE_SECONDS - 3);

    private static final Duration FIRST_BACK_OFF = Duration.ofMillis(250);
    private static final Duration LONGEST_BACK_OFF = Duration.ofSeconds(30);
    /** For the rest of a move that is sealed. */
    private static final Duration STOP_LIMIT = Duration.ofSeconds(5);

    private final Databases databases;
    private final Pool home;
    private final String homeName;
    private final JdbcConnections connections;
    private final Places places;
    private final Vertx vertx;
    private final UUID instance = UUID.randomUUID();
    private final Map<UUID, Carried> carried = new ConcurrentHashMap<>();
    /** Moves that have failed here, by their ids. */
    private final Map<UUID, BackOff> backOffs = new ConcurrentHashMap<>();

    private final PeriodicTask search =
            new PeriodicTask(() -> search().replaceWith(false), INTERVAL, RETRY_DELAY, LOG, "Moves of projects");
    private final StateGauges states;
    private final Timer pauses;
    private volatile long renewals = -1;
    private volatile boolean stopping;

    MoveCarrier(Databases databases, JdbcConnections connections, Places places, Vertx vertx, MeterRegistry metrics) {
        this.databases = databases;
        this.home = databases.home().pool();
        this.homeName = databases.home().name();
        this.connections = connections;
        this.places = places;
        this.vertx = vertx;
        this.states = new StateGauges(
                databases.home(), COUNT_MOVES, List.of("copying", "switched", "cancelling"), "moves", null, metrics);
        this.pauses = Timer.builder("annals.moves.pause")
                .description("From the seal of a moving project in its old database until it is open in the new one")
                .register(metrics);
        Gauge.builder("annals.moves.running", carried, Map::size)
                .description("Moves that this instance carries")
                .strongReference(true)
                .register(metrics);
    }

    /** @param until by {@link System#nanoTime} */
    private record BackOff(int tries, long until) {

        static BackOff after(@Nullable BackOff last) {
            int tries = last == null ? 0 : last.tries;
            Duration pause = DatabaseFailure.backOff(FIRST_BACK_OFF, LONGEST_BACK_OFF, tries);
            return new BackOff(tries + 1, System.nanoTime() + pause.toNanos());
        }
    }

    void start(@Observes StartupEvent event) {
        if (!databases.members().isEmpty()) {
            search.start();
            renewals = vertx.setPeriodic(
                    RENEWAL.toMillis(), tick -> carried.values().forEach(this::renew));
            states.start(vertx, () -> stopping);
        }
    }

    void stop(@Observes ShutdownEvent event) {
        stopping = true;
        search.stop();
        vertx.cancelTimer(renewals);
        carried.values().forEach(each -> each.thread.interrupt());
        long end = System.nanoTime() + STOP_LIMIT.toNanos();
        for (Carried each : carried.values()) {
            each.await(end);
            each.move.abort();
            each.await(System.nanoTime() + INTERVAL.toNanos());
        }
    }

    /** Carries a move at once, unless this instance carries it, or {@link #MOST} others: a search finds it later. */
    void wake(UUID id, UUID projectId, String target) {
        backOffs.remove(id);
        if (!databases.members().isEmpty()) {
            carry(id, projectId, target);
        }
    }

    private synchronized void carry(UUID id, UUID projectId, String target) {
        if (!stopping && carried.size() < MOST && !carried.containsKey(id)) {
            Carried made = new Carried(id, projectId, target);
            carried.put(id, made);
            made.thread.start();
        }
    }

    private Uni<Void> search() {
        long now = System.nanoTime();
        backOffs.values()
                .removeIf(backOff -> now - backOff.until > Duration.ofHours(1).toNanos());
        if (carried.size() >= MOST) {
            return Uni.createFrom().voidItem();
        }
        UUID[] except = Stream.concat(
                        carried.keySet().stream(),
                        backOffs.entrySet().stream()
                                .filter(backOff -> backOff.getValue().until - now > 0)
                                .map(Map.Entry::getKey))
                .toArray(UUID[]::new);
        return FIND_MOVES_TO_CARRY
                .bind("databases", connections.names().toArray(String[]::new))
                .bind("except", except)
                .bind("most", MOST)
                .execute(home)
                .invoke(rows -> {
                    for (Row row : rows) {
                        carry(row.getUUID("id"), row.getUUID("project_id"), row.getString("target"));
                    }
                })
                .replaceWithVoid();
    }

    /** A copy of a large chunk, or the wait for a seal, takes longer than a lease. */
    private void renew(Carried each) {
        long began = System.nanoTime();
        if (began - each.renewed > LEASE_KNOWN.toNanos()) {
            LOG.warnf("The move %s stops here: home does not answer, and the lease ends", each.id);
            each.move.abort();
            return;
        }
        each.renew(() -> LEASE_MOVE
                .bind("id", each.id)
                .bind("instance", instance)
                .bind("seconds", ProjectMove.LEASE_SECONDS)
                .execute(home)
                .invoke(leased -> each.renewed = began)
                .onFailure()
                .invoke(failure -> {
                    if (failure instanceof PgException error
                            && ProjectMove.CARRIED_ELSEWHERE.equals(error.getSqlState())) {
                        LOG.infof("The move %s stops here: another instance carries it", each.id);
                        each.move.abort();
                    }
                })
                .replaceWithVoid()
                .onFailure()
                .recoverWithNull());
    }

    private final class Carried implements Runnable, ProjectMove.Connections, ProjectMove.Progress {

        private final UUID id;
        private final UUID projectId;
        private final String target;
        private final ProjectMove move;
        private final Thread thread;
        private volatile long renewed = System.nanoTime();
        private CompletableFuture<Void> renewals = CompletableFuture.completedFuture(null);
        private boolean released;
        /** When this mover sealed, by {@link System#nanoTime}; 0 before. */
        private long sealed;

        Carried(UUID id, UUID projectId, String target) {
            this.id = id;
            this.projectId = projectId;
            this.target = target;
            this.move = new ProjectMove(this, homeName, id, instance, this);
            this.thread = new Thread(this, "annals-move");
            thread.setDaemon(true);
        }

        @Override
        public void run() {
            try {
                move.run();
                backOffs.remove(id);
            } catch (SQLException | RuntimeException e) {
                failed(e);
            } finally {
                // A stop interrupts.
                Thread.interrupted();
                release();
                carried.remove(id);
            }
        }

        @Override
        public Connection open(String database) throws SQLException {
            return connections.open(database, "annals-move");
        }

        @Override
        public boolean trusts(String database) {
            return databases.named(database).map(Database::trusted).orElse(false);
        }

        @Override
        public void reached(ProjectMove.Step step, long sequenceId) {
            switch (step) {
                case BEGUN, ARRIVING, COPYING -> {
                    if (stopping) {
                        throw new CancellationException("the instance is stopping");
                    }
                }
                case SEALED -> sealed = System.nanoTime();
                case SWITCHED -> noteTarget();
                case OPENED -> {
                    noteTarget();
                    if (sealed != 0) {
                        pauses.record(System.nanoTime() - sealed, TimeUnit.NANOSECONDS);
                    }
                }
                case ENDED -> LOG.infof("The move %s of project %s to %s has ended", id, projectId, target);
                case COPIED, LEFT, STAYED, DISCARDED -> {}
            }
        }

        private void noteTarget() {
            places.note(projectId, target.equals(homeName) ? null : target);
        }

        private void failed(Exception failure) {
            if (stopping || ProjectMove.isCarriedElsewhere(failure)) {
                return;
            }
            // In one step: a cancel removes the back-off at any time.
            BackOff backOff = backOffs.compute(id, (same, last) -> BackOff.after(last));
            if (backOff.tries == 1) {
                LOG.warnf(
                        "The move %s of project %s to %s waits, and goes on by itself: %s",
                        id,
                        projectId,
                        target,
                        failure instanceof SQLException error ? ProjectMove.reason(error) : failure);
            }
        }

        private synchronized void renew(Supplier<Uni<Void>> renewal) {
            if (!released) {
                renewals = CompletableFuture.allOf(renewals, renewal.get().subscribeAsCompletionStage());
            }
        }

        private synchronized CompletableFuture<Void> endRenewals() {
            released = true;
            return renewals;
        }

        /** Another instance then need not wait for the end of the lease. A renewal that reaches home later would take it again. */
        private void release() {
            try {
                endRenewals()
                        .orTimeout(STOP_LIMIT.toMillis(), TimeUnit.MILLISECONDS)
                        .join();
                RELEASE_MOVE
                        .bind("id", id)
                        .bind("instance", instance)
                        .execute(home)
                        .await()
                        .atMost(STOP_LIMIT);
            } catch (RuntimeException e) {
                LOG.debugf(e, "The lease of the move %s ends by itself", id);
            }
        }

        void await(long end) {
            try {
                thread.join(
                        Math.max(1, Duration.ofNanos(end - System.nanoTime()).toMillis()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
