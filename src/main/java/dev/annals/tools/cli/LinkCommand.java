package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code link}: makes a viewer link. Standard output gets only its address, for scripts. */
@Command(
        name = "link",
        mixinStandardHelpOptions = true,
        description = "Makes a link to the viewer, and prints its address, which contains its token. Needs a token in"
                + " ANNALS_TOKEN with the scope link; with --whole-project also read, and stream for streams. annals token"
                + " revoke ends a link.")
@RegisterForReflection
public final class LinkCommand extends AnswerCommand {

    @Option(names = "--subject-id", paramLabel = "ID", description = "The subject whose records it shows.")
    @Nullable
    String subjectId;

    @Option(names = "--actor-id", paramLabel = "ID", description = "The actor whose records it shows.")
    @Nullable
    String actorId;

    @Option(names = "--whole-project", description = "It shows all records.")
    boolean wholeProject;

    @Option(
            names = "--capability",
            paramLabel = "NAME",
            description = "read, export or streams. Repeat it for more. Default: read, and export for an id.")
    List<String> capabilities = new ArrayList<>();

    @Option(
            names = "--expires-in",
            paramLabel = "SECONDS",
            defaultValue = "3600",
            description = "From 60 to 86400. Default: ${DEFAULT-VALUE}.")
    int seconds;

    @Override
    int run() throws IOException, InterruptedException {
        ObjectNode body = Json.mapper()
                .createObjectNode()
                .put("subject_id", subjectId)
                .put("actor_id", actorId)
                .put("whole_project", wholeProject)
                .put("expires_in_seconds", seconds);
        if (!capabilities.isEmpty()) {
            capabilities.forEach(body.putArray("capabilities")::add);
        }
        service.tryOnce();
        JsonNode link = service.exchange("POST", "/v1/viewer-links", body);
        say(
                link,
                "The link " + link.path("id").asText() + " is shown once, and valid until "
                        + link.path("expires_at").asText() + ":");
        if (!json) {
            Terminal.print(link.path("url").asText());
        }
        return 0;
    }
}
