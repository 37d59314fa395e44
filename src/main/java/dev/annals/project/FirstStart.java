package dev.annals.project;

import dev.annals.config.AnnalsConfig;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.util.EnumSet;
import java.util.UUID;

/**
 * What a database needs before anyone can use it: an admin token, and on the embedded database a first project. The tokens
 * are printed once, to standard output and not to the log, and cannot be found anywhere else.
 */
@ApplicationScoped
class FirstStart {

    private static final String DEFAULT_PROJECT = "default";

    private final Projects projects;
    private final AccessTokens tokens;
    private final AnnalsConfig config;

    FirstStart(Projects projects, AccessTokens tokens, AnnalsConfig config) {
        this.projects = projects;
        this.tokens = tokens;
        this.config = config;
    }

    // Before the first request nobody is kept waiting: here, and only here, a thread may block.
    void prepare(@Observes StartupEvent event) {
        tokens.addAdmin().await().indefinitely().ifPresent(token -> print("""

                The admin token of this database, shown this once (or set ANNALS_ADMIN_TOKEN):
                  %s
                """.formatted(token)));
        if (config.embedded() && !projects.any().await().indefinitely()) {
            projects.add(DEFAULT_PROJECT).await().indefinitely().ifPresent(this::printTour);
        }
    }

    private void printTour(UUID projectId) {
        String token = tokens.add(
                        projectId, EnumSet.of(Scope.READ, Scope.WRITE, Scope.SEQUENCE), "made at the first start")
                .await()
                .indefinitely()
                .token();
        print("""

                The project "%s" (%s) and a token for all of it, shown this once:
                  export ANNALS_TOKEN=%s

                Try it:
                  curl -H "Authorization: Bearer $ANNALS_TOKEN" -H "Content-Type: application/json" \\
                    -d '{"action": "hello", "message": "The first record"}' http://localhost:%d/v1/project-logs
                """.formatted(DEFAULT_PROJECT, projectId, token, config.port()));
    }

    @SuppressWarnings("SystemOut") // a secret must not go to the log
    private static void print(String text) {
        System.out.println(text);
    }
}
