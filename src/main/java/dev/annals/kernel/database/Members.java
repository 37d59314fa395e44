package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.quarkus.runtime.ShutdownEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.inject.Instance;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.Config;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Prepares the members: updates their schemas, notes them in home, and opens their pools. A member that cannot be reached at the
 * start is prepared when it can be.
 */
@ApplicationScoped
public class Members {

    private static final Logger LOG = Logger.getLogger(Members.class);
    private static final Sql ADD_DATABASE = Sql.named("kernel/database/add_database");
    private static final Sql IDENTIFY_DATABASE = Sql.named("kernel/database/identify_database");
    /** A member that hangs delays the start by no more. */
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    private static final Duration PAUSE = Duration.ofSeconds(1);
    private static final Duration ANSWER = Duration.ofSeconds(30);
    private static final int THREADS = 8;
    /** Without them, a migration would wait for a server that hangs. */
    private static final String MIGRATIONS =
            "&ApplicationName=annals-migrations&tcpKeepAlive=true&loginTimeout=10&maxResultBuffer="
                    + DatabaseUrl.MAX_RESULT;

    private final Databases databases;
    private final Instance<Flyway> flyway;
    private final boolean migrates;
    private final Map<String, DatabaseUrl> urls;
    private final Set<Database> migrated = ConcurrentHashMap.newKeySet();
    private final Set<Database> open = ConcurrentHashMap.newKeySet();
    private final Map<Database, CompletableFuture<Void>> underWay = new ConcurrentHashMap<>();
    /** The last one of each member that is not open. */
    private final Map<Database, String> failures = new ConcurrentHashMap<>();

    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS, Members::daemon);
    private volatile @Nullable Thread again;

    Members(Databases databases, Instance<Flyway> flyway, AnnalsConfig annals, Config config) {
        this.databases = databases;
        this.flyway = flyway;
        this.migrates = annals.database().migrateAtStart();
        this.urls = NamedDatabase.all(config).stream()
                .filter(named -> named.url().isPresent())
                .collect(Collectors.toMap(
                        NamedDatabase::name, named -> named.url().orElseThrow()));
    }

    private interface Step {
        void run(Database member) throws SQLException;
    }

    /** Updates the schemas of the members that can be reached. */
    void prepareSchemas() {
        forEach(this::prepareSchema);
    }

    /**
     * Notes the members in home, and opens them.
     *
     * @throws IllegalStateException if home is a member of another service
     */
    void join() {
        requireHome();
        joinOnce();
        if (!databases.members().isEmpty()) {
            LOG.infof(
                    "%d of %d members are used",
                    open.size(), databases.members().size());
        }
        if (open.size() < databases.members().size()) {
            Thread thread = daemon(this::joinLater);
            again = thread;
            thread.start();
        }
    }

    private void joinOnce() {
        forEach(member -> {
            prepareSchema(member);
            join(member);
        });
    }

    private void joinLater() {
        try {
            while (open.size() < databases.members().size()) {
                Thread.sleep(PAUSE.toMillis());
                joinOnce();
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** The members that are not used, with the reason, once each has answered or failed. */
    public SortedMap<String, String> unused() {
        underWay.values().forEach(CompletableFuture::join);
        joinOnce();
        underWay.values().forEach(CompletableFuture::join);
        SortedMap<String, String> unused = new TreeMap<>();
        databases.members().stream()
                .filter(member -> !open.contains(member))
                .forEach(member -> unused.put(member.name(), failures.getOrDefault(member, "no answer yet")));
        return unused;
    }

    /** Whether this instance has reached and prepared the database since its start. */
    public boolean isUsed(Database database) {
        return database == databases.home() || open.contains(database);
    }

    private void requireHome() {
        try {
            String name = IDENTIFY_DATABASE
                    .execute(databases.home().reads())
                    .map(rows -> rows.iterator().next().getString("name"))
                    .await()
                    .atMost(ANSWER);
            if (name != null) {
                throw new IllegalStateException("ANNALS_DATABASE_URL leads to the database " + name
                        + " of another service. Name the database that has its tokens, and this one as a member.");
            }
        } catch (IllegalStateException e) {
            throw e;
        } catch (RuntimeException e) {
            LOG.warnf("The database was not looked at: %s", e);
        }
    }

    /** Takes a step with each member that is not open, and waits for those that answer. */
    private void forEach(Step step) {
        List<CompletableFuture<Void>> steps = databases.members().stream()
                .filter(member -> !open.contains(member))
                .map(member -> underWay.compute(
                        member,
                        (same, last) -> last == null || last.isDone()
                                ? CompletableFuture.runAsync(() -> take(step, member), threads)
                                : last))
                .toList();
        try {
            CompletableFuture.allOf(steps.toArray(CompletableFuture[]::new))
                    .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            LOG.debug("Not all members have answered");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private void take(Step step, Database member) {
        try {
            step.run(member);
            failures.remove(member);
        } catch (SQLException | RuntimeException e) {
            String reason =
                    String.valueOf(e.getMessage()).replace("ANNALS_DATABASE_", NamedDatabase.variables(member.name()));
            if (!reason.equals(failures.put(member, reason))) {
                LOG.errorf("The database %s is not used, and its projects wait: %s", member, reason);
            }
        }
    }

    private DatabaseUrl url(Database member) {
        return Objects.requireNonNull(urls.get(member.name()), "each member has a URL");
    }

    private void prepareSchema(Database member) {
        if (migrated.contains(member)) {
            return;
        }
        DatabaseUrl url = url(member);
        DatabaseCheck.requireServer(url);
        DatabaseCheck.prepareSchema(
                member.name(),
                new FluentConfiguration(Thread.currentThread().getContextClassLoader())
                        .configuration(flyway.get().getConfiguration())
                        .dataSource(url.jdbcUrl() + MIGRATIONS, url.user(), url.password())
                        .load(),
                migrates);
        migrated.add(member);
    }

    private void join(Database member) throws SQLException {
        if (!migrated.contains(member)) {
            return;
        }
        UUID id;
        try (Connection connection = url(member).connect()) {
            connection.setNetworkTimeout(Runnable::run, Math.toIntExact(ANSWER.toMillis()));
            id = id(connection);
            requireOther(member, id);
            try (PreparedStatement add =
                    ADD_DATABASE.bind("id", id).bind("name", member.name()).prepare(connection)) {
                add.execute();
            }
        }
        ADD_DATABASE
                .bind("id", id)
                .bind("name", member.name())
                .execute(databases.home().pool())
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull()
                .await()
                .atMost(ANSWER);
        open.add(member);
        member.open();
        LOG.logf(again == null ? Logger.Level.DEBUG : Logger.Level.INFO, "The database %s is used", member);
    }

    /** The first start of a service would note home in itself as a member, since home has no tokens yet. */
    private void requireOther(Database member, UUID id) {
        UUID home = IDENTIFY_DATABASE
                .execute(databases.home().reads())
                .map(rows -> rows.iterator().next().getUUID("id"))
                .await()
                .atMost(ANSWER);
        if (id.equals(home)) {
            throw new IllegalArgumentException(NamedDatabase.variables(member.name()) + "URL leads to "
                    + databases.home() + ", the home of this service. Name another database.");
        }
    }

    private static UUID id(Connection connection) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(IDENTIFY_DATABASE.text());
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getObject("id", UUID.class);
        }
    }

    void stop(@Observes ShutdownEvent event) {
        Thread thread = again;
        if (thread != null) {
            thread.interrupt();
        }
        threads.shutdownNow();
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "annals-members");
        thread.setDaemon(true);
        return thread;
    }
}
