package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
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
            ProjectCommand.Close.class
        },
        description = "Creates, lists, renames, limits and closes projects, and sets their retention and look, with the"
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

        @Option(names = "--colour", paramLabel = "#RRGGBB", description = "Of buttons and links, such as #1b57c4.")
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
