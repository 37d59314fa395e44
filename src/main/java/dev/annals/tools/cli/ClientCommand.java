package dev.annals.tools.cli;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.concurrent.Callable;

/** A command of the client: any failure ends it with a sentence on standard error and an exit code. */
@RegisterForReflection
abstract class ClientCommand implements Callable<Integer> {

    /** Does what the command is for, and returns the exit code. */
    abstract int run() throws Exception;

    @Override
    @SuppressWarnings("CatchingUnchecked") // whatever it is, it ends the command
    public final Integer call() {
        try {
            return run();
        } catch (Exception e) {
            if (e instanceof Terminal.NobodyReads || e.getCause() instanceof Terminal.NobodyReads) {
                return ClientFailure.NOBODY_READS;
            }
            Terminal.say(e.getMessage() == null ? e.toString() : e.getMessage());
            return e instanceof ClientFailure failure ? failure.exitCode() : ClientFailure.FAILED;
        }
    }
}
