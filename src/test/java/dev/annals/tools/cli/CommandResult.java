package dev.annals.tools.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.ServiceProcess;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The end of a command.
 *
 * @param output of both kinds
 */
record CommandResult(int exitCode, String output) {

    private static final int LIMIT_SECONDS = 120;

    /** Runs a command without input to its end. It prints no stack trace. */
    static CommandResult run(ProcessBuilder command) throws Exception {
        Process process = command.redirectErrorStream(true).start();
        CompletableFuture<Process> end = process.onExit().orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS);
        var unused = end.exceptionally(tooLong -> process.destroyForcibly());
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(output).doesNotContain("\tat ");
        return new CommandResult(end.get().exitValue(), output);
    }

    /** Runs a program with these settings to its end. It prints no stack trace. */
    static CommandResult run(Map<String, String> settings, List<String> arguments) throws Exception {
        try (ServiceProcess program = ServiceProcess.start(settings, arguments.toArray(String[]::new))) {
            int ended = program.awaitEnd();
            String output = String.join("\n", program.output);
            assertThat(output).doesNotContain("\tat ");
            return new CommandResult(ended, output);
        }
    }

    /** Runs a command that has to succeed, and returns its output. */
    static String succeed(ProcessBuilder command) throws Exception {
        CommandResult result = run(command);
        assertThat(result.exitCode()).as(result.output()).isZero();
        return result.output();
    }

    /** Runs a command that has to fail. */
    static void assertRefused(int exitCode, String says, ProcessBuilder command) throws Exception {
        CommandResult result = run(command);
        assertThat(result.output()).contains(says);
        assertThat(result.exitCode()).as(result.output()).isEqualTo(exitCode);
    }
}
