package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import picocli.CommandLine.Command;

/** {@code database}: the databases of a service. */
@Command(
        name = "database",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = DatabaseCommand.Listing.class,
        description = "Lists the databases of the service, with the token in ANNALS_ADMIN_TOKEN.",
        footer = {
            "",
            "To add a database, put its name at the end of ANNALS_DATABASES, set ANNALS_DATABASES_<NAME>_URL at each instance,"
                    + " and start them anew."
        })
@RegisterForReflection
public final class DatabaseCommand {

    private DatabaseCommand() {}

    /** {@code database list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description =
                    "Lists the databases: name, state, projects, about how many records, bytes, version of the schema.")
    @RegisterForReflection
    static final class Listing extends AnswerCommand {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode database :
                    service.administer("GET", "/v1/databases", null).path("databases")) {
                print(database, line(database));
            }
            return 0;
        }

        private static String line(JsonNode database) {
            String name = database.path("name").asText() + "\t" + role(database);
            return database.path("reachable").asBoolean()
                    ? name + "\t" + database.path("projects").asText() + " projects\t" + suspended(database)
                            + database.path("records").asText() + " records\t"
                            + database.path("bytes").asText() + " bytes\tschema "
                            + database.path("schema_version").asText()
                    : name + "\tdoes not answer";
        }

        private static String role(JsonNode database) {
            if (database.path("home").asBoolean()) {
                return "home";
            }
            return database.path("pinned").asBoolean() ? "pinned" : "member";
        }

        private static String suspended(JsonNode database) {
            long suspended = database.path("suspended").asLong();
            return suspended == 0 ? "" : suspended + " suspended\t";
        }
    }
}
