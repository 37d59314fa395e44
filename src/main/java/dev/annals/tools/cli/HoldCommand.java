package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code hold}: the legal holds of a project. */
@Command(
        name = "hold",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {HoldCommand.Set.class, HoldCommand.Listing.class, HoldCommand.Lift.class},
        description = "Sets, lists and lifts legal holds, with the token in ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class HoldCommand {

    private static final String HOLDS = "/holds";

    private static String line(JsonNode hold) {
        return String.join("\t", hold.path("id").asText(), covered(hold), state(hold), text(hold, "reason"));
    }

    private static String covered(JsonNode hold) {
        if (!hold.path("actor_id").isNull()) {
            return "actor " + text(hold, "actor_id");
        }
        return hold.path("subject_id").isNull() ? "the project" : "subject " + text(hold, "subject_id");
    }

    private static String state(JsonNode hold) {
        return hold.path("lifted_at").isNull()
                ? "in force since " + hold.path("created_at").asText()
                : "lifted " + hold.path("lifted_at").asText() + ": " + text(hold, "lift_reason");
    }

    /** Tabs divide the columns. */
    private static String text(JsonNode hold, String name) {
        return hold.path(name).asText().replace("\t", "\\t");
    }

    /** {@code hold set}. */
    @Command(
            name = "set",
            mixinStandardHelpOptions = true,
            description =
                    "Sets a legal hold, and prints its id. It stops the retention of the project, and redactions of an actor's"
                            + " records, of records about a subject, or without either, of all records of the project.")
    @RegisterForReflection
    static final class Set extends ServiceCommand.OfProject {

        @Option(names = "--actor-id", paramLabel = "ID", description = "Covers the records of this actor.")
        @Nullable
        String actorId;

        @Option(names = "--subject-id", paramLabel = "ID", description = "Covers the records about this subject.")
        @Nullable
        String subjectId;

        @Option(names = "--reason", required = true, description = "The reason, for administrators and auditors.")
        @Nullable
        String reason;

        @Override
        int run() throws IOException, InterruptedException {
            service.tryOnce();
            JsonNode hold = service.administer(
                    "POST",
                    path() + HOLDS,
                    Json.mapper()
                            .createObjectNode()
                            .put("actor_id", actorId)
                            .put("subject_id", subjectId)
                            .put("reason", reason));
            print(hold, hold.path("id").asText());
            return 0;
        }
    }

    /** {@code hold list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the legal holds of a project: id, what it covers, state, reason.")
    @RegisterForReflection
    static final class Listing extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode hold : service.list(path() + HOLDS, "holds")) {
                print(hold, line(hold));
            }
            return 0;
        }
    }

    /** {@code hold lift}. */
    @Command(
            name = "lift",
            mixinStandardHelpOptions = true,
            description = "Lifts a legal hold, which stays in the list.")
    @RegisterForReflection
    static final class Lift extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the hold.")
        @Nullable
        UUID id;

        @Option(names = "--reason", required = true, description = "The reason, for administrators and auditors.")
        @Nullable
        String reason;

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode hold = service.administer(
                    "POST",
                    path() + HOLDS + "/" + id + "/lift",
                    Json.mapper().createObjectNode().put("reason", reason));
            print(hold, line(hold));
            return 0;
        }
    }
}
