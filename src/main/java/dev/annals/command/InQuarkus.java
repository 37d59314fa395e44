package dev.annals.command;

import io.quarkus.arc.Unremovable;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import jakarta.enterprise.context.Dependent;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** Runs the service, or a parsed command, in Quarkus, and exits the process when that ends. */
public final class InQuarkus {

    /** Quarkus makes its application itself, and passes it only strings. */
    private static @Nullable Callable<Integer> parsed;

    private InQuarkus() {}

    /**
     * Serves until the process is told to stop, then exits.
     *
     * @param stopped runs when Quarkus has stopped
     */
    public static void serve(Runnable stopped) {
        Quarkus.run(null, (exitCode, failure) -> {
            stopped.run();
            exit(exitCode, failure);
        });
    }

    /** Runs a command with the migrations and the pools alone, without HTTP, then exits with its exit code. */
    public static void run(Callable<Integer> command) {
        System.setProperty("quarkus.http.host-enabled", "false");
        System.setProperty("quarkus.management.host-enabled", "false");
        System.setProperty("quarkus.log.level", "ERROR");
        parsed = command;
        Quarkus.run(Application.class, InQuarkus::exit);
    }

    /** What Quarkus makes and runs. */
    @Dependent
    @Unremovable
    static final class Application implements QuarkusApplication {
        @Override
        public int run(String... arguments) throws Exception {
            return Objects.requireNonNull(parsed, "a command was parsed before").call();
        }
    }

    /** The outermost message that this program wrote itself, which says what to do; else the innermost one. */
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

    // A wrong setting fails before Quarkus can log it.
    @SuppressWarnings("SystemOut") // a command line tool
    private static void exit(int exitCode, @Nullable Throwable failure) {
        if (failure != null) {
            System.err.println("The service stops: " + reason(failure));
        }
        System.exit(exitCode);
    }
}
