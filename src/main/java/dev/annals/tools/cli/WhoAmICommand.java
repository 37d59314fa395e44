package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code whoami}: shows the token in ANNALS_TOKEN. */
@Command(
        name = "whoami",
        mixinStandardHelpOptions = true,
        description = "Shows the project, the scopes and the end of the token in ANNALS_TOKEN.")
@RegisterForReflection
public final class WhoAmICommand extends AnswerCommand {

    @Override
    int run() throws IOException, InterruptedException {
        JsonNode caller = Json.mapper().readTree(service.send(service.request("/v1/whoami"), Duration.ZERO));
        if (json) {
            show(caller);
            return 0;
        }
        List<String> scopes = new ArrayList<>();
        caller.path("scopes").forEach(scope -> scopes.add(scope.asText()));
        JsonNode project = caller.path("project");
        Terminal.print("project  " + project.path("name").asText() + " ("
                + project.path("id").asText() + ")" + (project.path("closed_at").isNull() ? "" : ", closed"));
        Terminal.print("scopes   " + String.join(", ", scopes));
        JsonNode identity = caller.path("identity");
        Terminal.print(
                identity.isObject()
                        ? "identity " + identity.path("id").asText() + " ("
                                + identity.path("subject").asText() + ", by "
                                + identity.path("issuer").asText() + ")"
                        : "token    " + text(caller.path("token_id"), "the one of the service's settings"));
        Terminal.print("expires  " + text(caller.path("expires_at"), "never"));
        return 0;
    }
}
