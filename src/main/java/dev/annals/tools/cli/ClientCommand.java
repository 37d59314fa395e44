package dev.annals.tools.cli;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.concurrent.Callable;

/** A command of the client. A failure ends it with a sentence on standard error and an exit code. */
@RegisterForReflection
abstract class ClientCommand implements Callable<Integer> {

    /** Runs the command, and returns the exit code. */
    abstract int run() throws Exception;

    @Override
    @SuppressWarnings("CatchingUnchecked") // every failure ends the command
    public final Integer call() {
        try {
            return run();
        } catch (Exception e) {
            if (e instanceof Terminal.ClosedPipe || e.getCause() instanceof Terminal.ClosedPipe) {
                return ClientFailure.CLOSED_PIPE;
            }
            Terminal.say(e.getMessage() == null ? e.toString() : e.getMessage());
            return e instanceof ClientFailure failure ? failure.exitCode() : ClientFailure.FAILED;
        }
    }
}
