package dev.annals.cli;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;

/** The commands {@code tail}, {@code append} and {@code export}. */
@Command(
        name = "annals",
        mixinStandardHelpOptions = true,
        subcommands = {TailCommand.class, AppendCommand.class, ExportCommand.class, HelpCommand.class},
        synopsisSubcommandLabel = "COMMAND",
        description = "Without a command it is the service. With one it is a client of a service.",
        footer = {
            "",
            "ANNALS_URL     the service; http://localhost:8080 where it is not set",
            "ANNALS_TOKEN   the token, which names the project",
            "",
            "On the machine of a service there are also migrate, verify and sequence-benchmark, each with --help.",
            "",
            "Exit codes: 0 done; 1 failed; 2 wrong command line; 3 no token, or not the right one;",
            "4 the feed was set back behind the cursor; 5 some of the records were refused."
        })
public final class Client {

    /** The commands. */
    public static final List<String> NAMES = List.of("tail", "append", "export", "help");

    private static final List<String> HELP = List.of("--help", "-h");

    private Client() {}

    /** Whether a command line is the client's. */
    public static boolean isFor(String... arguments) {
        return arguments.length > 0 && (NAMES.contains(arguments[0]) || HELP.contains(arguments[0]));
    }

    /**
     * Runs a command line.
     *
     * @return the exit code
     */
    public static int run(String... arguments) {
        return new CommandLine(new Client())
                .setExecutionExceptionHandler((e, command, result) -> explain(e))
                .execute(arguments);
    }

    private static int explain(Exception e) {
        Terminal.say(e.getMessage() == null ? e.toString() : e.getMessage());
        return e instanceof ClientFailure failure ? failure.exitCode() : ClientFailure.FAILED;
    }
}
