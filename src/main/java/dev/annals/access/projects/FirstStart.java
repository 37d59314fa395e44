package dev.annals.access.projects;

import dev.annals.access.tokens.AccessTokens;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseFailure;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.quarkus.vertx.http.HttpServer;
import io.quarkus.vertx.http.HttpServerStart;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.event.ObservesAsync;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Prepares a new database: makes a first project, a token for it, and an admin token. They are made once the service listens,
 * and written to a file that only its user can read. The log never contains them.
 */
@ApplicationScoped
class FirstStart {

    private static final Logger LOG = Logger.getLogger(FirstStart.class);
    private static final FileAttribute<?>[] ONLY_OWN =
            FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                    ? new FileAttribute<?>[] {
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                    }
                    : new FileAttribute<?>[0];

    private static final String FIRST_RECORD = """
            -H "Content-Type: application/json" \\
                -d '{"action": "hello", "message": "The first record"}'\s""";

    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(5);

    private final Projects projects;
    private final HttpServer server;
    private final Path file;
    /** The settings name an admin token, for a database that is not the service's own. It needs no other tokens. */
    private final boolean administered;

    private volatile boolean stopping;
    private volatile boolean done;
    private volatile @Nullable Thread thread;

    FirstStart(Projects projects, HttpServer server, AnnalsConfig config) {
        this.projects = projects;
        this.server = server;
        this.file = config.firstTokensFile()
                .orElse(config.dataDir().resolve("first-tokens"))
                .toAbsolutePath()
                .normalize();
        this.administered = AccessTokens.ofSettings(config).isPresent() && !StartSettings.usesOwnDatabase();
        if (AccessTokens.given(config).isPresent()
                && AccessTokens.ofSettings(config).isEmpty()) {
            LOG.warn(
                    "ANNALS_ADMIN_TOKEN is a token that Annals has issued. The service ignores the setting: the token counts"
                            + " until it is revoked in the database. Choose a text of your own for the setting.");
        }
    }

    /** Creates this bean at the start, so that a file without an admin token stops the service then. */
    void start(@Observes StartupEvent event) {}

    /** Waits until new tokens are written. */
    void stop(@Observes ShutdownEvent event) throws InterruptedException {
        stopping = true;
        Thread started = thread;
        if (started != null) {
            started.join(STOP_LIMIT.toMillis());
        }
    }

    // In a thread of its own, so that the service can be stopped at once.
    void listening(@ObservesAsync HttpServerStart start) {
        Thread started = new Thread(this::look, "annals-first-start");
        started.setDaemon(true);
        thread = started;
        started.start();
    }

    /** Whether the first tokens are written, are not needed, or cannot be made, which the log says. */
    boolean isDone() {
        return done;
    }

    private void look() {
        boolean isAway = false;
        while (!done) {
            try {
                tryToLook();
                done = true;
            } catch (RuntimeException e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                if (stopping) {
                    LOG.info("The service was stopped before it checked for first tokens. The next start checks.");
                    return;
                }
                if (DatabaseFailure.isOutage(e) || DatabaseFailure.isTransient(cause)) {
                    if (!isAway) {
                        LOG.warnf("The first tokens wait for the database: %s", cause);
                    }
                    isAway = true;
                    pause();
                } else {
                    LOG.error("The first tokens were not made. Start again when the database can be written.", e);
                    done = true;
                }
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(RETRY.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void tryToLook() {
        try {
            Projects.DatabaseState databaseState =
                    projects.databaseState().await().indefinitely();
            if (!databaseState.isNew()) {
                return;
            }
            if (administered) {
                projects.begin(projects.withoutTokens()).await().indefinitely();
            } else {
                begin(databaseState.restored());
            }
        } catch (FileAlreadyExistsException e) {
            LOG.errorf(
                    "This database has no tokens, and none were made: the file %s exists already, with the tokens of another"
                            + " database. Move it, or name another file in ANNALS_FIRST_TOKENS_FILE, and start"
                            + " again.",
                    file);
        } catch (IOException e) {
            LOG.errorf(
                    "The first tokens cannot be written to %s (%s), so none were made. Name another file in"
                            + " ANNALS_FIRST_TOKENS_FILE, and start again.",
                    file, e.getMessage());
        }
    }

    /**
     * Writes the file first: otherwise a failure would lose the tokens. Never replaces a file: it has the tokens of another
     * database.
     */
    private void begin(@Nullable UUID restored) throws IOException {
        if (Files.exists(file)) {
            if (!projects.databaseState().await().indefinitely().isNew()) {
                return; // another instance that shares the file was faster
            }
            throw new FileAlreadyExistsException(file.toString(), null, "it has the tokens of another database");
        }
        Projects.FirstTokens first = projects.drawFirst(restored);
        Path parent = file.getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        Path written = file.resolveSibling(file.getFileName() + "." + UUID.randomUUID());
        Files.createFile(written, ONLY_OWN);
        try {
            Files.writeString(written, text(first), StandardCharsets.UTF_8, StandardOpenOption.TRUNCATE_EXISTING);
            if (projects.begin(first).await().indefinitely()) {
                Files.move(written, file);
                LOG.info("""

                        The first tokens of this database are in %s: keep them elsewhere, and remove the file.
                        Try them:
                          . '%s'
                          curl -H "Authorization: Bearer $ANNALS_TOKEN" %shttp://localhost:%d/v1/project-logs
                        """.formatted(file, file, first.restored() ? "" : FIRST_RECORD, server.getPort()));
            }
        } finally {
            Files.deleteIfExists(written);
        }
    }

    private static String text(Projects.FirstTokens first) {
        String admin = first.admin() == null ? "" : """
                # Administers projects and tokens.
                export ANNALS_ADMIN_TOKEN=%s
                """.formatted(first.admin());
        return """
                # Made at the first start, %s. Keep them where secrets are kept, and remove this file.
                # %s (%s).
                export ANNALS_TOKEN=%s
                %s""".formatted(
                        Instant.now().truncatedTo(ChronoUnit.SECONDS),
                        first.restored() ? "Reads the restored archive" : "Reads and writes the project default",
                        first.projectId(),
                        Objects.requireNonNull(first.token(), "it was drawn"),
                        admin);
    }
}
