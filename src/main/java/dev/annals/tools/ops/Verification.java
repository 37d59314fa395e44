package dev.annals.tools.ops;

import dev.annals.access.tokens.OperationEvents;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.tools.command.Progress;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Verifies feeds in the background, as {@code annals verify} does: each feed in ranges from its beginning to its end, then new records,
 * and all of it again after the configured round. The instances share the work; each reads on a thread and a connection of its own,
 * within its configured rate.
 *
 * <p>A record without a place belongs to no range. The comparison of the schema finds disabled triggers, which are its cause.
 */
@ApplicationScoped
class Verification {

    private static final Logger LOG = Logger.getLogger(Verification.class);
    private static final Sql ADD_VERIFICATIONS = Sql.named("tools/ops/add_verifications");
    private static final Sql TAKE_VERIFICATION = Sql.named("tools/ops/take_verification");
    private static final Sql NOTE_VERIFICATION = Sql.named("tools/ops/note_verification");
    private static final Sql COUNT_UNSOUND = Sql.named("tools/ops/count_unsound");

    /** Records of a range, in whole tiles of the log. */
    private static final int RECORDS = 8_192;
    /** The limit of time for a range. */
    private static final Duration LEASE = Duration.ofMinutes(15);
    /** Findings in an event, for each kind of check. */
    private static final int NAMED = 10;

    private static final int MOST_CHARACTERS = 300;
    /** Short, so that a service that restarts often verifies, too. */
    private static final Duration FIRST = Duration.ofMinutes(1);

    private final OperationEvents events;
    private final VerificationConfig settings;
    private final Config config;
    private final Counter verified;
    /** The number of projects by database. */
    private final Map<String, Long> unsound = new ConcurrentHashMap<>();
    /** By database. */
    private final Map<String, List<String>> schemaDifferences = new ConcurrentHashMap<>();

    private volatile @Nullable Thread thread;

    Verification(OperationEvents events, VerificationConfig settings, Config config, MeterRegistry metrics) {
        this.events = events;
        this.settings = settings;
        this.config = config;
        this.verified = Counter.builder("annals.verification.records")
                .description("Records that were verified in the background by this instance")
                .register(metrics);
        Gauge.builder("annals.verification.unsound.projects", this, verification -> sum(verification.unsound.values()))
                .description("Projects with findings in this round or the one before, by any instance")
                .register(metrics);
        Gauge.builder(
                        "annals.verification.schema.differences",
                        this,
                        verification -> verification.schemaDifferences.values().stream()
                                .mapToInt(List::size)
                                .sum())
                .description("Differences between the schema and the one that this version ships")
                .register(metrics);
    }

    private static long sum(Collection<Long> numbers) {
        return numbers.stream().mapToLong(Long::longValue).sum();
    }

    void start(@Observes StartupEvent event) {
        if (settings.enabled()) {
            Thread started = new Thread(this::run, "annals-verification");
            started.setDaemon(true);
            started.start();
            thread = started;
        }
    }

    void stop(@Observes ShutdownEvent event) {
        Thread started = thread;
        if (started != null) {
            started.interrupt();
        }
    }

    private void run() {
        try {
            Duration pause = FIRST.compareTo(settings.interval()) < 0 ? FIRST : settings.interval();
            while (true) {
                Thread.sleep(pause.toMillis());
                boolean more = false;
                try {
                    more = look(settings.interval());
                } catch (SQLException | RuntimeException e) {
                    LOG.warnf("Feeds could not be verified. The service tries again: %s", e.getMessage());
                }
                pause = more ? Duration.ZERO : settings.interval();
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Verifies what is due.
     *
     * @param most the time to go on, to the end of a range; new projects, the schema and other instances' findings wait meanwhile
     * @return true if more may be due
     */
    boolean look(Duration most) throws SQLException, InterruptedException {
        List<NamedDatabase> databases = NamedDatabase.all(config);
        boolean more = false;
        SQLException failed = null;
        for (NamedDatabase database : databases) {
            try {
                more |= look(
                        database.name(),
                        database.url()
                                .orElseThrow(() -> new IllegalStateException("a service that runs has a database")),
                        most.dividedBy(databases.size()));
            } catch (SQLException e) {
                failed = e;
            }
        }
        if (failed != null) {
            throw failed;
        }
        return more;
    }

    private boolean look(String database, DatabaseUrl url, Duration most) throws SQLException, InterruptedException {
        try (Connection connection = url.connect()) {
            // A broken connection ends in a failure.
            connection.setNetworkTimeout(Runnable::run, Math.toIntExact(LEASE.toMillis()));
            connection.setAutoCommit(false);
            if (onlyReads(connection)) {
                return false; // the primary's instances verify
            }
            long began = System.nanoTime();
            verifySchema(database, connection);
            begin(connection);
            try (Statement add = connection.createStatement()) {
                add.executeUpdate(ADD_VERIFICATIONS.text());
            }
            connection.commit();
            Due due;
            do {
                due = take(connection);
                if (due != null) {
                    verify(database, connection, due);
                }
            } while (due != null && System.nanoTime() - began < most.toNanos());
            countUnsound(database, connection); // the other instances may have found something
            return due != null;
        }
    }

    private static boolean onlyReads(Connection connection) throws SQLException {
        try (Statement ask = connection.createStatement();
                ResultSet row = ask.executeQuery("select pg_is_in_recovery()")) {
            row.next();
            return row.getBoolean(1);
        } finally {
            connection.rollback();
        }
    }

    /** Takes the service's role in each transaction, because a pooler may give each one another session. */
    private static void begin(Connection connection) throws SQLException {
        try (Statement role = connection.createStatement()) {
            role.execute("set local role annals_service");
        }
    }

    private void verifySchema(String database, Connection connection) throws SQLException {
        FeedCheck.begin(connection);
        begin(connection);
        List<String> differences = ShippedSchema.differences(connection);
        connection.rollback();
        if (!differences.isEmpty() && !differences.equals(schemaDifferences.get(database))) {
            report(
                    "schema",
                    "annals",
                    differences.size(),
                    differences.stream().limit(NAMED).toList());
        }
        schemaDifferences.put(database, differences);
    }

    /** A range to verify. */
    private record Due(UUID projectId, long sequenceId, long head, Duration roundAge) {}

    private @Nullable Due take(Connection connection) throws SQLException {
        begin(connection);
        try (PreparedStatement take = TAKE_VERIFICATION
                        .bind("seconds", Math.toIntExact(LEASE.toSeconds()))
                        .prepare(connection);
                ResultSet row = take.executeQuery()) {
            return !row.next()
                    ? null
                    : new Due(
                            row.getObject("project_id", UUID.class),
                            row.getLong("sequence_id"),
                            row.getLong("head"),
                            Duration.ofSeconds(row.getLong("round_age")));
        } finally {
            connection.commit();
        }
    }

    private void verify(String database, Connection connection, Due due) throws SQLException, InterruptedException {
        boolean again = due.sequenceId >= due.head && due.roundAge.compareTo(settings.round()) >= 0;
        long since = again ? 0 : Math.min(due.sequenceId, due.head);
        long through = Math.min(due.head, since + RECORDS);
        long began = System.nanoTime();
        int found = 0;
        if (through > since) {
            List<String> named = new ArrayList<>();
            FeedCheck.begin(connection);
            begin(connection);
            FeedCheck check = new FeedCheck(connection, due.projectId, NAMED, named::add, Progress.none());
            FeedCheck.Range range = new FeedCheck.Range(since, through);
            found = check.places(range) + check.records(range);
            connection.rollback();
            if (found > 0) {
                report("project", due.projectId.toString(), found, named);
            }
            verified.increment((double) (through - since));
        }
        begin(connection);
        try (PreparedStatement note = NOTE_VERIFICATION
                .bind("project_id", due.projectId)
                .bind("sequence_id", through)
                .bind("first", again)
                .bind("findings", found)
                .bind(
                        "seconds",
                        through < due.head
                                ? 0
                                : Math.toIntExact(settings.interval().toSeconds()))
                .prepare(connection)) {
            note.executeUpdate();
        }
        connection.commit();
        if (found > 0) {
            countUnsound(database, connection);
        }
        long millis = (through - since) * 1_000 / settings.recordsPerSecond();
        Thread.sleep(Math.max(0, millis - (System.nanoTime() - began) / 1_000_000));
    }

    private void countUnsound(String database, Connection connection) throws SQLException {
        begin(connection);
        try (Statement count = connection.createStatement();
                ResultSet row = count.executeQuery(COUNT_UNSOUND.text())) {
            row.next();
            unsound.put(database, row.getLong("projects"));
        }
        connection.commit();
    }

    private void report(String subjectType, String subjectId, int found, List<String> named) {
        LOG.errorf("Verification: %s %s is not sound (findings: %d): %s", subjectType, subjectId, found, named);
        events.unsound(subjectType, subjectId, json -> {
                    json.writeStartObject();
                    json.writeNumberField("findings", found);
                    json.writeArrayFieldStart("first");
                    for (String finding : named) {
                        json.writeString(
                                finding.length() > MOST_CHARACTERS
                                        ? finding.substring(0, MOST_CHARACTERS) + "…"
                                        : finding);
                    }
                    json.writeEndArray();
                    json.writeEndObject();
                })
                .await()
                .atMost(LEASE);
    }
}
