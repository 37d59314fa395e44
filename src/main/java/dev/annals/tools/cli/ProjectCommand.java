package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.tools.command.Progress;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code project}: the projects of a service. */
@Command(
        name = "project",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ProjectCommand.Create.class,
            ProjectCommand.Listing.class,
            ProjectCommand.Rename.class,
            ProjectCommand.Retain.class,
            ProjectCommand.Limit.class,
            ProjectCommand.Look.class,
            ProjectCommand.Move.class,
            ProjectCommand.Close.class
        },
        description =
                "Creates, lists, renames, limits, moves and closes projects, and sets their retention and look, with the"
                        + " token in ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class ProjectCommand {

    private static final String PATH = "/v1/projects";

    private static String line(JsonNode project) {
        return project.path("id").asText() + "\t" + project.path("name").asText() + "\t"
                + (project.path("closed_at").isNull()
                        ? "open"
                        : "closed " + project.path("closed_at").asText())
                + (project.path("retention_days").isNull()
                        ? ""
                        : "\tkeeps " + project.path("retention_days").asText() + " days")
                + (project.path("archive_required").asBoolean() ? "\tarchives first" : "")
                + (project.path("archived_through").asLong() == 0
                        ? ""
                        : "\tarchived up to " + project.path("archived_through").asText())
                + (project.path("awaits_archive").asBoolean() ? "\twaits for an archive" : "");
    }

    /** {@code project create}. */
    @Command(name = "create", mixinStandardHelpOptions = true, description = "Creates a project, and prints its id.")
    @RegisterForReflection
    static final class Create extends AnswerCommand {

        @Parameters(paramLabel = "NAME", description = "The name.")
        @Nullable
        String name;

        @Option(
                names = "--database",
                paramLabel = "<name>",
                description = "One of annals database list. Default: the one with the fewest records.")
        @Nullable
        String database;

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode asked = Json.mapper().createObjectNode().put("name", name);
            if (database != null) {
                asked.put("database", database);
            }
            JsonNode project = service.administer("POST", PATH, asked);
            print(project, project.path("id").asText());
            return 0;
        }
    }

    /** {@code project list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the projects: id, name, state, and the database if they are in several.")
    @RegisterForReflection
    static final class Listing extends AnswerCommand {

        @Override
        int run() throws IOException, InterruptedException {
            List<JsonNode> projects = service.list(PATH, "projects");
            boolean apart = projects.stream()
                            .map(project -> project.path("database").asText())
                            .distinct()
                            .count()
                    > 1;
            for (JsonNode project : projects) {
                print(
                        project,
                        line(project)
                                + (apart ? "\tin " + project.path("database").asText() : ""));
            }
            return 0;
        }
    }

    /** {@code project rename}. */
    @Command(name = "rename", mixinStandardHelpOptions = true, description = "Gives a project another name.")
    @RegisterForReflection
    static final class Rename extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "NAME", description = "The new name.")
        @Nullable
        String name;

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode project = service.administer(
                    "PATCH", path(), Json.mapper().createObjectNode().put("name", name));
            print(project, line(project));
            return 0;
        }
    }

    /** {@code project retain}. */
    @Command(
            name = "retain",
            mixinStandardHelpOptions = true,
            description =
                    "Sets how long a project keeps its records, and whether they have to be archived before they expire."
                            + " An omitted value stays.")
    @RegisterForReflection
    static final class Retain extends ServiceCommand.OfProject {

        @Parameters(index = "1", arity = "0..1", paramLabel = "DAYS", description = "From 1 to 36500, or \"forever\".")
        @Nullable
        String days;

        @Option(
                names = "--archive-required",
                negatable = true,
                description = "Records expire only after annals archive has written them to a file.")
        @Nullable
        Boolean archiveRequired;

        @Override
        int run() throws IOException, InterruptedException {
            if (days == null && archiveRequired == null) {
                throw new ClientFailure(ClientFailure.USAGE, "Give DAYS, --archive-required or --no-archive-required.");
            }
            ObjectNode change = Json.mapper().createObjectNode();
            if (archiveRequired != null) {
                change.put("archive_required", archiveRequired);
            }
            if (days == null) {
                return print(change);
            }
            if (days.equals("forever")) {
                change.putNull("retention_days");
            } else if (days.matches("[0-9]{1,9}")) {
                change.put("retention_days", Integer.parseInt(days));
            } else {
                throw new ClientFailure(
                        ClientFailure.USAGE, "DAYS is \"" + days + "\", but has to be a whole number or forever.");
            }
            return print(change);
        }

        private int print(ObjectNode change) throws IOException, InterruptedException {
            JsonNode project = service.administer("PATCH", path(), change);
            print(project, line(project));
            return 0;
        }
    }

    /** {@code project limit}. */
    @Command(
            name = "limit",
            mixinStandardHelpOptions = true,
            description = "Sets the limits that all tokens of a project share, and prints them. Each instance of the"
                    + " service counts on its own. An omitted option is no limit. Without options, it only prints"
                    + " the limits.")
    @RegisterForReflection
    static final class Limit extends ServiceCommand.OfProject {

        @Mixin
        LimitOptions limits = new LimitOptions();

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode project = limits.areAsked()
                    ? service.administer("GET", path(), null)
                    : service.administer("PUT", path() + "/limits", limits.toJson());
            print(project.path("limits"), LimitOptions.line(project.path("limits")));
            return 0;
        }
    }

    /** {@code project look}. */
    @Command(
            name = "look",
            mixinStandardHelpOptions = true,
            description =
                    "Sets how links show a project in the viewer, and prints it. An omitted option is removed. Without"
                            + " options, it only prints the look.")
    @RegisterForReflection
    static final class Look extends ServiceCommand.OfProject {

        @Option(names = "--name", description = "The application's name.")
        @Nullable
        String name;

        @Option(names = "--colour", paramLabel = "#RRGGBB", description = "The colour of buttons, such as #1b57c4.")
        @Nullable
        String colour;

        @Option(names = "--logo", paramLabel = "FILE", description = "A PNG, JPEG or WebP image of 32 KiB at most.")
        @Nullable
        Path logo;

        @Option(
                names = "--embedder",
                paramLabel = "ORIGIN",
                description = "Pages that may show a link to the whole project in a frame, such as"
                        + " https://app.example.org. Repeat it for more.")
        List<String> embedders = new ArrayList<>();

        @Override
        int run() throws IOException, InterruptedException {
            boolean changes = name != null || colour != null || logo != null || !embedders.isEmpty();
            JsonNode look = changes
                    ? service.administer("PUT", path() + "/look", body())
                    : service.administer("GET", path() + "/look", null);
            show(look);
            return 0;
        }

        private ObjectNode body() throws IOException {
            ObjectNode body = Json.mapper().createObjectNode().put("name", name).put("colour", colour);
            if (logo != null) {
                body.put("logo", Files.readAllBytes(logo));
            }
            embedders.forEach(body.putArray("embedders")::add);
            return body;
        }
    }

    /** {@code project move}. */
    @Command(
            name = "move",
            mixinStandardHelpOptions = true,
            description =
                    "Moves a project to another database, while it is written and read, and prints the move: its id,"
                            + " databases, state, and how far the records are copied. Without options, it only prints the newest"
                            + " move. The move goes on if this command ends.",
            exitCodeListHeading = "Exit codes:%n",
            exitCodeList = {"0:done", "1:refused; with --follow, also a move that ended otherwise"})
    @RegisterForReflection
    static final class Move extends ServiceCommand.OfProject {

        private static final Duration LOOK = Duration.ofMillis(500);

        @ArgGroup
        @Nullable
        Change change;

        @Option(names = "--follow", description = "Wait until the move ends, and show its progress.")
        boolean follow;

        @RegisterForReflection
        static final class Change {

            @Option(
                    names = "--database",
                    paramLabel = "<name>",
                    description = "Move there: one of annals database list.")
            @Nullable
            String database;

            @Option(names = "--cancel", description = "Cancel the move: the project stays where it is.")
            boolean cancel;
        }

        @Override
        int run() throws IOException, InterruptedException {
            boolean cancels = change != null && change.cancel;
            JsonNode move;
            if (change == null) {
                move = newest();
            } else if (cancels) {
                move = service.administer("DELETE", path() + "/move", null);
            } else {
                ObjectNode asked = Json.mapper().createObjectNode().put("database", change.database);
                move = service.administer("POST", path() + "/move", asked);
            }
            if (follow) {
                move = followed(move);
            }
            print(move, line(move));
            return follow && !state(move).equals(cancels ? "cancelled" : "moved") ? ClientFailure.FAILED : 0;
        }

        private JsonNode newest() throws IOException, InterruptedException {
            return service.administer("GET", path() + "/move", null);
        }

        private JsonNode followed(JsonNode started) throws IOException, InterruptedException {
            Progress progress = Progress.onTerminal();
            JsonNode move = started;
            String said = "";
            while (move.path("ended_at").isNull()) {
                String error = text(move.path("error"), "");
                if (!error.isEmpty() && !error.equals(said)) {
                    said = error;
                    Terminal.say("The move goes on by itself after a failure: " + error);
                }
                progress.show("annals: " + state(move) + ", " + copied(move));
                Thread.sleep(LOOK.toMillis());
                move = newest();
            }
            progress.end();
            return move;
        }

        private static String state(JsonNode move) {
            return move.path("state").asText();
        }

        private static String copied(JsonNode move) {
            return move.path("copied").asText() + " of " + text(move.path("last_sequence_id"), "?") + " copied";
        }

        private static String line(JsonNode move) {
            return move.path("id").asText() + "\tfrom " + move.path("from").asText() + " to "
                    + move.path("database").asText() + "\t" + state(move) + "\t" + copied(move)
                    + (move.path("error").isNull()
                            ? ""
                            : "\t" + move.path("error").asText());
        }
    }

    /** {@code project close}. */
    @Command(
            name = "close",
            mixinStandardHelpOptions = true,
            description = "Closes a project for good: it takes no more records, and still serves those that it has.")
    @RegisterForReflection
    static final class Close extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode project = service.administer("POST", path() + "/close", null);
            print(project, line(project));
            return 0;
        }
    }
}
