package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code action}: the catalogue of a project's actions. */
@Command(
        name = "action",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ActionCommand.Set.class,
            ActionCommand.Listing.class,
            ActionCommand.Show.class,
            ActionCommand.Constants.class
        },
        description =
                "Sets and lists a project's catalogue of actions, with the token in ANNALS_ADMIN_TOKEN, and prints"
                        + " it as constants of a language.")
@RegisterForReflection
public final class ActionCommand {

    private static final String ACTIONS = "/actions";
    /** As the service takes. */
    private static final int MAX_BYTES = 1_048_576;

    private static JsonNode read(Path file) throws IOException {
        byte[] bytes;
        try (var in = file.toString().equals("-") ? System.in : Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw new ClientFailure(2, "A catalogue may have " + MAX_BYTES + " bytes.");
        }
        return Json.mapper().readTree(new String(bytes, StandardCharsets.UTF_8));
    }

    private static String line(JsonNode action) {
        return String.join(
                "\t",
                text(action, "name"),
                text(action, "title"),
                text(action, "category"),
                text(action, "severity"),
                text(action, "ocsf_class"),
                action.path("metadata_schema").isNull() ? "" : "schema");
    }

    /** Tabs divide the columns. */
    private static String text(JsonNode action, String name) {
        return action.path(name).isNull() ? "" : action.path(name).asText().replace("\t", "\\t");
    }

    /** {@code action set}. */
    @Command(
            name = "set",
            mixinStandardHelpOptions = true,
            description = "Sets the whole catalogue of a project: policies and actions. Deletes other actions.")
    @RegisterForReflection
    static final class Set extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "FILE", description = "The catalogue as JSON; - for standard input.")
        Path file = Path.of("-");

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode catalogue = service.administer("PUT", path() + ACTIONS, read(file));
            print(catalogue, catalogue.path("actions").size() + " actions");
            return 0;
        }
    }

    /** {@code action list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description =
                    "Lists the actions of a project: name, title, category, severity, OCSF class, schema or none.")
    @RegisterForReflection
    static final class Listing extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode action :
                    service.administer("GET", path() + ACTIONS, null).path("actions")) {
                print(action, line(action));
            }
            return 0;
        }
    }

    /** {@code action show}. */
    @Command(
            name = "show",
            mixinStandardHelpOptions = true,
            description = "Prints the catalogue of a project as JSON, as annals action set takes it.")
    @RegisterForReflection
    static final class Show extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            Terminal.print(service.administer("GET", path() + ACTIONS, null));
            return 0;
        }
    }

    /** {@code action constants}. */
    @Command(
            name = "constants",
            mixinStandardHelpOptions = true,
            description = "Prints a source file with a constant for each action of the catalogue.")
    @RegisterForReflection
    static final class Constants extends ServiceCommand {

        @Option(names = "--language", required = true, description = "One of: ${COMPLETION-CANDIDATES}.")
        ActionConstants.@Nullable Language language;

        @Option(
                names = "--package",
                paramLabel = "NAME",
                description = "The package, for java and go. Default: none for java, actions for go.")
        @Nullable
        String packageName;

        @Parameters(
                index = "0",
                arity = "0..1",
                paramLabel = "FILE",
                description = "The catalogue as JSON. Default: that of the project of the token in ANNALS_TOKEN.")
        @Nullable
        Path file;

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode catalogue = file == null ? service.exchange("GET", "/v1/actions", null) : read(file);
            if (packageName != null && !packageName.matches("[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*")) {
                throw new ClientFailure(2, "This is not the name of a package.");
            }
            if (language == null) {
                throw new IllegalStateException("the option is required");
            }
            System.out.print(ActionConstants.of(catalogue.path("actions"), language, packageName));
            return 0;
        }
    }
}
