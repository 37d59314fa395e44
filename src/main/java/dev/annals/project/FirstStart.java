package dev.annals.project;

import dev.annals.config.AnnalsConfig;
import io.quarkus.vertx.http.HttpServerStart;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.ObservesAsync;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.UUID;
import org.jboss.logging.Logger;

/**
 * What a database needs before anyone can use it: a first project, a token for it, and an admin token. They are made when the
 * service listens, and written to a file that only its user can read. No log has them.
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

    private final Projects projects;
    private final Path file;
    /** The settings name an admin token, for a database that is not the service's own: whoever has it needs no other. */
    private final boolean administered;

    FirstStart(Projects projects, AnnalsConfig config) {
        this.projects = projects;
        this.file = config.firstTokensFile()
                .orElse(config.dataDir().resolve("first-tokens"))
                .toAbsolutePath()
                .normalize();
        this.administered = config.adminToken().isPresent() && !config.embedded();
    }

    // On a thread of its own, which may block.
    void listening(@ObservesAsync HttpServerStart start) {
        try {
            if (!projects.isNew().await().indefinitely()) {
                return;
            }
            if (administered) {
                projects.begin(projects.withoutTokens()).await().indefinitely();
            } else {
                begin(start.options().getPort());
            }
        } catch (IOException e) {
            LOG.errorf(
                    "The first tokens cannot be written to %s (%s), so none were made. Name another file in"
                            + " ANNALS_FIRST_TOKENS_FILE, and start again.",
                    file, e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("The first tokens were not made. Start again when the database can be written.", e);
        }
    }

    /** The file comes first: a token that was made and is shown nowhere would be lost. */
    private void begin(int port) throws IOException {
        Projects.FirstTokens first = projects.drawFirst();
        Path parent = file.getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        Path written = file.resolveSibling(file.getFileName() + "." + UUID.randomUUID());
        Files.createFile(written, ONLY_OWN);
        try {
            Files.writeString(written, text(first), StandardCharsets.UTF_8, StandardOpenOption.TRUNCATE_EXISTING);
            if (projects.begin(first).await().indefinitely()) {
                Files.move(written, file, StandardCopyOption.REPLACE_EXISTING);
                print("""

                        The first tokens of this database are in %s: keep them elsewhere, and remove the file.
                        Try them:
                          . '%s'
                          curl -H "Authorization: Bearer $ANNALS_TOKEN" -H "Content-Type: application/json" \\
                            -d '{"action": "hello", "message": "The first record"}' http://localhost:%d/v1/project-logs
                        """.formatted(file, file, port));
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
                # Reads and writes the project default (%s).
                export ANNALS_TOKEN=%s
                %s""".formatted(
                        Instant.now().truncatedTo(ChronoUnit.SECONDS),
                        first.projectId(),
                        Objects.requireNonNull(first.token(), "it was drawn"),
                        admin);
    }

    @SuppressWarnings("SystemOut") // for whoever starts the service by hand
    private static void print(String text) {
        System.out.println(text);
    }
}
