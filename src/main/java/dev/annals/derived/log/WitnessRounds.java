package dev.annals.derived.log;

import dev.annals.access.places.Places;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.ProblemException;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Offers each log that has grown to its witnesses once in {@link LogConfig#witnessInterval}, also logs that have no readers. An instance
 * claims the logs that it offers, so that no other instance offers them.
 */
@ApplicationScoped
public class WitnessRounds {

    private static final Logger LOG = Logger.getLogger(WitnessRounds.class);
    private static final Sql CLAIM_LOGS_TO_OFFER = Sql.named("derived/log/claim_logs_to_offer");
    /** The logs that one statement looks at. */
    private static final int LOGS = 1_000;

    private static final int AT_ONCE = 8;
    /** The part of an interval after which a log is due: rounds of other instances may be a little early. */
    private static final double DUE = 0.5;

    private final Places places;
    private final PerDatabase<Round> databases;
    private final Vertx vertx;
    private final Checkpoints checkpoints;
    private final Witnesses witnesses;
    private final LogKeys keys;
    private final LogConfig config;
    private volatile long timer = -1;

    WitnessRounds(
            Places places,
            Databases databases,
            Vertx vertx,
            Checkpoints checkpoints,
            Witnesses witnesses,
            LogKeys keys,
            LogConfig config) {
        this.places = places;
        this.databases = new PerDatabase<>(databases, Round::new);
        this.vertx = vertx;
        this.checkpoints = checkpoints;
        this.witnesses = witnesses;
        this.keys = keys;
        this.config = config;
    }

    // The use of the bean reads the setting: a wrong one stops the start.
    void start(@Observes StartupEvent event) {
        if (witnesses.any() && keys.any()) {
            timer = vertx.setPeriodic(
                    config.witnessInterval().toMillis(), tick -> databases.all().forEach(Round::tick));
        }
    }

    void stop(@Observes ShutdownEvent event) {
        vertx.cancelTimer(timer);
    }

    Uni<Void> round(Database database) {
        return databases.of(database).run(null);
    }

    /** The logs of one database. */
    private final class Round {

        private final Database database;
        private final Pool pool;
        private volatile boolean offering;

        Round(Database database) {
            this.database = database;
            this.pool = database.pool();
        }

        void tick() {
            if (!offering) {
                offering = true;
                run(null).subscribe().with(done -> offering = false, failure -> {
                    offering = false;
                    LOG.debug("Logs cannot be offered to witnesses", failure);
                });
            }
        }

        private Uni<Void> run(@Nullable UUID after) {
            List<String> available = witnesses.available();
            return CLAIM_LOGS_TO_OFFER
                    .bind("after", after)
                    .bind("logs", LOGS)
                    .bind("witnesses", available.toArray(String[]::new))
                    .bind("seconds", config.witnessInterval().toMillis() / 1000.0 * DUE)
                    .execute(pool)
                    .chain(rows -> offer(database, rows))
                    .chain(last -> last == null ? Uni.createFrom().voidItem() : run(last));
        }
    }

    /** @return the last log of the part; null if no log follows it */
    private Uni<@Nullable UUID> offer(Database database, RowSet<Row> rows) {
        List<UUID> due = new ArrayList<>();
        UUID last = null;
        for (Row row : rows) {
            UUID projectId = row.getUUID("project_id");
            if (row.getBoolean("is_last")) {
                last = projectId;
            } else if (places.of(projectId) == database) {
                // Rows of a member may name projects of other databases.
                due.add(projectId);
            }
        }
        UUID end = last;
        return Multi.createFrom()
                .iterable(due)
                .onItem()
                .transformToUni(this::offer)
                .merge(AT_ONCE)
                .collect()
                .asList()
                .map(all -> end);
    }

    private Uni<Boolean> offer(UUID projectId) {
        return checkpoints
                .newest(projectId)
                .chain(checkpoints::offer)
                .replaceWith(true)
                .onFailure()
                .invoke(failure -> {
                    // The signer has already logged why a log is halted.
                    if (!(failure instanceof ProblemException)) {
                        LOG.debugf(failure, "The log of project %s is not offered", projectId);
                    }
                })
                .onFailure()
                .recoverWithItem(false);
    }
}
