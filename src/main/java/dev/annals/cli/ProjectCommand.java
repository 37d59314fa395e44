package dev.annals.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
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
            ProjectCommand.Close.class
        },
        description = "Creates, lists, renames and closes projects, with the token in ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class ProjectCommand {

    private static final String PATH = "/v1/projects";

    private static String line(JsonNode project) {
        return project.path("id").asText() + "\t" + project.path("name").asText() + "\t"
                + (project.path("closed_at").isNull()
                        ? "open"
                        : "closed " + project.path("closed_at").asText());
    }

    /** {@code project create}. */
    @Command(name = "create", mixinStandardHelpOptions = true, description = "Creates a project, and prints its id.")
    @RegisterForReflection
    static final class Create extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(paramLabel = "NAME", description = "Its name.")
        @Nullable
        String name;

        @Override
        int run() throws IOException, InterruptedException {
            Terminal.print(service.administer(
                            "POST", PATH, Connection.JSON.createObjectNode().put("name", name))
                    .path("id")
                    .asText());
            return 0;
        }
    }

    /** {@code project list}. */
    @Command(name = "list", mixinStandardHelpOptions = true, description = "Lists the projects: id, name, state.")
    @RegisterForReflection
    static final class Listing extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode project : service.list(PATH, "projects")) {
                Terminal.print(line(project));
            }
            return 0;
        }
    }

    /** {@code project rename}. */
    @Command(name = "rename", mixinStandardHelpOptions = true, description = "Gives a project another name.")
    @RegisterForReflection
    static final class Rename extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(index = "0", paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Parameters(index = "1", paramLabel = "NAME", description = "Its new name.")
        @Nullable
        String name;

        @Override
        int run() throws IOException, InterruptedException {
            Terminal.print(line(service.administer(
                    "PATCH",
                    PATH + "/" + Connection.segment(project),
                    Connection.JSON.createObjectNode().put("name", name))));
            return 0;
        }
    }

    /** {@code project close}. */
    @Command(
            name = "close",
            mixinStandardHelpOptions = true,
            description = "Closes a project for good: it takes no more records, and still serves those that it has.")
    @RegisterForReflection
    static final class Close extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Override
        int run() throws IOException, InterruptedException {
            Terminal.print(line(service.administer("POST", PATH + "/" + Connection.segment(project) + "/close", null)));
            return 0;
        }
    }
}
