package dev.annals.tools.command;

import io.quarkus.arc.Unremovable;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import jakarta.enterprise.context.Dependent;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jboss.logmanager.ExtHandler;
import org.jboss.logmanager.LogContext;
import org.jspecify.annotations.Nullable;

/** Runs the service or a parsed command in Quarkus, and then exits the process. */
public final class InQuarkus {

    private static final Logger LOG = Logger.getLogger(InQuarkus.class);

    /** Static, because Quarkus creates the application and passes only strings. */
    private static @Nullable Callable<Integer> parsed;

    private InQuarkus() {}

    /**
     * Serves until the process is stopped, then exits.
     *
     * @param stopped runs when Quarkus has stopped
     * @param early takes the reason of a failure before the log exists
     */
    public static void serve(Runnable stopped, Consumer<String> early) {
        Quarkus.run(null, (exitCode, failure) -> {
            stopped.run();
            exit(exitCode, failure, logIsUp() ? LOG::error : early);
        });
    }

    /** Runs a command with migrations and pools but without HTTP, then exits with its exit code. */
    public static void run(Callable<Integer> command) {
        System.setProperty("quarkus.http.host-enabled", "false");
        System.setProperty("quarkus.management.host-enabled", "false");
        System.setProperty("quarkus.log.level", "ERROR");
        parsed = command;
        Quarkus.run(Application.class, (exitCode, failure) -> exit(exitCode, failure, System.err::println));
    }

    /** The application that Quarkus creates and runs. */
    @Dependent
    @Unremovable
    static final class Application implements QuarkusApplication {
        @Override
        public int run(String... arguments) throws Exception {
            return Objects.requireNonNull(parsed, "a command was parsed before").call();
        }
    }

    /** The outermost message of this program, which names a remedy; without one, the innermost message. */
    private static @Nullable String reason(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null && !isOurs(cause)) {
            cause = cause.getCause();
        }
        return cause.getMessage();
    }

    private static boolean isOurs(Throwable failure) {
        StackTraceElement[] trace = failure.getStackTrace();
        return trace.length > 0 && trace[0].getClassName().startsWith("dev.annals.");
    }

    // A wrong setting fails before Quarkus can log.
    private static boolean logIsUp() {
        return Stream.of(LogContext.getLogContext().getLogger("").getHandlers())
                .anyMatch(handler -> handler instanceof ExtHandler parent && parent.getHandlers().length > 0);
    }

    private static void exit(int exitCode, @Nullable Throwable failure, Consumer<String> report) {
        if (failure != null) {
            report.accept("The service stops: " + reason(failure));
        }
        System.exit(exitCode);
    }
}
