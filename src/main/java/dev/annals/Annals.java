package dev.annals;

import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.tools.benchmark.SequenceBenchmark;
import dev.annals.tools.cli.ActionCommand;
import dev.annals.tools.cli.AlertCommand;
import dev.annals.tools.cli.AppendCommand;
import dev.annals.tools.cli.ArchiveCommand;
import dev.annals.tools.cli.CheckCommand;
import dev.annals.tools.cli.DatabaseCommand;
import dev.annals.tools.cli.EraseCommand;
import dev.annals.tools.cli.ExportCommand;
import dev.annals.tools.cli.GrantCommand;
import dev.annals.tools.cli.HoldCommand;
import dev.annals.tools.cli.LinkCommand;
import dev.annals.tools.cli.ProjectCommand;
import dev.annals.tools.cli.RedactCommand;
import dev.annals.tools.cli.SearchCommand;
import dev.annals.tools.cli.StreamCommand;
import dev.annals.tools.cli.TailCommand;
import dev.annals.tools.cli.TokenCommand;
import dev.annals.tools.cli.WhoAmICommand;
import dev.annals.tools.command.GivenText;
import dev.annals.tools.embedded.EmbeddedDatabaseException;
import dev.annals.tools.ops.Copy;
import dev.annals.tools.ops.Doctor;
import dev.annals.tools.ops.LogCommand;
import dev.annals.tools.ops.Migrate;
import dev.annals.tools.ops.RebuildCommand;
import dev.annals.tools.ops.Reconcile;
import dev.annals.tools.ops.RestoreArchive;
import dev.annals.tools.ops.Verify;
import io.quarkus.runtime.annotations.QuarkusMain;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete.GenerateCompletion;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Column;
import picocli.CommandLine.Help.TextTable;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program's entry point, and the root of its commands. */
@QuarkusMain
@Command(
        name = "annals",
        synopsisSubcommandLabel = "COMMAND",
        description = "Without a command, runs the service.",
        footer = {
            "",
            "ANNALS_URL           the URL of the service; default: http://localhost:8080",
            "ANNALS_TOKEN         the token, which names the project",
            "ANNALS_PROJECT       the project, for a token of an OpenID provider that may use several",
            "ANNALS_ADMIN_TOKEN   a token of the project annals, for project, token, grant, hold, action and archive",
            "",
            "Each command has --help. Commands that print an answer of the service have --json.",
            "For completion in bash and zsh: source <(annals generate-completion)",
            "",
            "Exit codes of the client: 0 done; 1 failed; 2 wrong command line; 3 no token, or the wrong one;"
                    + " 4 the feed was set back to before the cursor; 5 refused: some records, or by a legal hold;"
                    + " 6 the log was forked; 7 records after the cursor have expired; 8 values are redacted without a"
                    + " record that says so; 9 the log has ended, and one with another key continues; 141 the reader of"
                    + " the output has closed it."
        })
@RegisterForReflection(
        targets = {Annals.class, Annals.Version.class, GenerateCompletion.class, HelpCommand.class},
        classNames = "picocli.CommandLine$AutoHelpMixin")
public final class Annals {

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help message and exit.")
    boolean help;

    @Option(
            names = {"-V", "--version"},
            versionHelp = true,
            description = "Print the version and exit.")
    boolean version;

    private static final List<String> CLIENT_COMMANDS = List.of(
            "tail",
            "search",
            "append",
            "export",
            "archive",
            "redact",
            "erase",
            "stream",
            "alert",
            "link",
            "whoami",
            "project",
            "token",
            "grant",
            "hold",
            "action",
            "database");

    private static final List<String> OPERATOR_COMMANDS = List.of(
            "serve",
            "migrate",
            "copy",
            "verify",
            "doctor",
            "log",
            "rebuild",
            "reconcile",
            "check",
            "sequence-benchmark");

    /** Commands that describe the others. */
    private static final List<String> ABOUT_COMMANDS = List.of("help", "generate-completion");

    private static final List<String> COMMANDS = Stream.of(CLIENT_COMMANDS, OPERATOR_COMMANDS, ABOUT_COMMANDS)
            .flatMap(List::stream)
            .toList();

    private Annals() {}

    /** The version of the program and of the PostgreSQL that it brings. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() throws IOException {
            Properties built = new Properties();
            try (InputStream file = Annals.class.getResourceAsStream("/version.properties")) {
                built.load(Objects.requireNonNull(file, "every build writes version.properties"));
            }
            return new String[] {
                "annals " + built.getProperty("annals") + ", with PostgreSQL " + built.getProperty("postgresql")
            };
        }
    }

    /**
     * Runs a command, by default {@code serve}. Exit code 1: it cannot start, with one sentence on standard error; 2: the command
     * line is wrong; the command defines others.
     */
    public static void main(String... arguments) {
        String[] given;
        try {
            GivenText.requireReadable(System.getenv(), "ANNALS_");
            given = GivenText.arguments(arguments);
        } catch (IllegalArgumentException e) {
            error().println(sentence(e));
            System.exit(CommandLine.ExitCode.USAGE);
            return;
        }
        if (given.length > 0) {
            System.exit(run(given));
        }
        try {
            // Without picocli, which takes time to read all commands.
            new Serve().run();
        } catch (IllegalArgumentException | EmbeddedDatabaseException e) {
            Serve.sayFailure(String.valueOf(sentence(e)));
            System.exit(CommandLine.ExitCode.SOFTWARE);
        }
    }

    private static @Nullable String sentence(Exception e) {
        return e instanceof InvalidPathException path ? GivenText.explained(path) : e.getMessage();
    }

    private static PrintWriter error() {
        return new PrintWriter(new OutputStreamWriter(System.err, StandardCharsets.UTF_8), true);
    }

    private static Path path(String text) {
        try {
            return GivenText.path(text);
        } catch (IllegalArgumentException e) {
            throw new CommandLine.TypeConversionException(e.getMessage());
        }
    }

    /** Runs the command of the first argument, and returns its exit code. */
    static int run(String... arguments) {
        return commandLine(arguments[0]).execute(arguments);
    }

    /**
     * The command of the first argument, or all commands: reading the options of all takes long.
     *
     * @param first the first argument
     */
    private static CommandLine commandLine(String first) {
        CommandLine root = new CommandLine(new Annals());
        boolean named = COMMANDS.contains(first) && !ABOUT_COMMANDS.contains(first);
        (named ? List.of(first) : COMMANDS).forEach(name -> root.addSubcommand(command(name)));
        CommandLine archive = root.getSubcommands().get("archive");
        if (archive != null) {
            // This subcommand works on a database, not on a service.
            archive.addSubcommand(RestoreArchive.class);
        }
        allCommands(root).forEach(command -> command.getCommandSpec().versionProvider(new Version()));
        root.getHelpSectionMap().remove(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING);
        root.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, help -> commandList(root));
        return root.registerConverter(UUID.class, Annals::id)
                .registerConverter(Path.class, Annals::path)
                .setErr(error())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(Annals::refuse)
                .setExecutionExceptionHandler(Annals::explain);
    }

    // Loads no class but the one that is returned.
    private static Class<?> command(String name) {
        return switch (name) {
            case "serve" -> Serve.class;
            case "tail" -> TailCommand.class;
            case "search" -> SearchCommand.class;
            case "append" -> AppendCommand.class;
            case "export" -> ExportCommand.class;
            case "check" -> CheckCommand.class;
            case "archive" -> ArchiveCommand.class;
            case "redact" -> RedactCommand.class;
            case "erase" -> EraseCommand.class;
            case "project" -> ProjectCommand.class;
            case "token" -> TokenCommand.class;
            case "grant" -> GrantCommand.class;
            case "hold" -> HoldCommand.class;
            case "action" -> ActionCommand.class;
            case "database" -> DatabaseCommand.class;
            case "stream" -> StreamCommand.class;
            case "alert" -> AlertCommand.class;
            case "link" -> LinkCommand.class;
            case "whoami" -> WhoAmICommand.class;
            case "help" -> HelpCommand.class;
            case "migrate" -> Migrate.class;
            case "copy" -> Copy.class;
            case "verify" -> Verify.class;
            case "doctor" -> Doctor.class;
            case "log" -> LogCommand.class;
            case "rebuild" -> RebuildCommand.class;
            case "reconcile" -> Reconcile.class;
            case "sequence-benchmark" -> SequenceBenchmark.class;
            case "generate-completion" -> GenerateCompletion.class;
            default -> throw new IllegalArgumentException("There is no command " + name + ".");
        };
    }

    private static String commandList(CommandLine root) {
        return commandList("Commands of the client", CLIENT_COMMANDS, root)
                + commandList("Commands of the operator", OPERATOR_COMMANDS, root)
                + commandList("Commands about commands", ABOUT_COMMANDS, root);
    }

    /** Each command with the first sentence of its description. */
    private static String commandList(String title, List<String> names, CommandLine root) {
        TextTable table = TextTable.forColumns(
                root.getColorScheme(),
                new Column(22, 2, Column.Overflow.SPAN),
                new Column(root.getUsageHelpWidth() - 22, 1, Column.Overflow.WRAP));
        root.getSubcommands().forEach((name, command) -> {
            if (names.contains(name)) {
                UsageMessageSpec usage = command.getCommandSpec().usageMessage();
                String text = String.join(" ", usage.header().length > 0 ? usage.header() : usage.description());
                table.addRowValues(name, text.replaceFirst("\\. .*", "."));
            }
        });
        return String.format("%n%s:%n%s", title, table);
    }

    private static UUID id(String text) {
        UUID id = CanonicalGuid.parse(text);
        if (id == null) {
            throw new CommandLine.TypeConversionException(
                    "'" + text + "' is no id, such as lists show in their first column");
        }
        return id;
    }

    private static Stream<CommandLine> allCommands(CommandLine command) {
        return Stream.concat(
                Stream.of(command), command.getSubcommands().values().stream().flatMap(Annals::allCommands));
    }

    private static int refuse(ParameterException e, String... arguments) {
        CommandLine line = e.getCommandLine();
        PrintWriter error = line.getErr();
        if (e instanceof UnmatchedArgumentException unmatched
                && !line.getSubcommands().isEmpty()) {
            boolean isRoot = line.getParent() == null;
            String within = isRoot ? "" : line.getCommandName() + " ";
            List<String> names = new ArrayList<>(line.getSubcommands().keySet());
            String last = names.remove(names.size() - 1);
            error.println("There is no command " + within
                    + unmatched.getUnmatched().get(0) + "; there "
                    + (names.isEmpty() ? "is only " : "are " + String.join(", ", names) + " and ") + last + "."
                    + (isRoot ? " Without one, the service runs." : ""));
        } else {
            error.println(e.getMessage());
            line.usage(error);
        }
        return line.getCommandSpec().exitCodeOnInvalidInput();
    }

    private static int explain(Exception e, CommandLine line, ParseResult parsed) throws Exception {
        if (e instanceof IllegalArgumentException
                || e instanceof EmbeddedDatabaseException
                || e instanceof IOException) {
            line.getErr().println(sentence(e));
            return line.getCommandSpec().exitCodeOnExecutionException();
        }
        throw e;
    }
}
