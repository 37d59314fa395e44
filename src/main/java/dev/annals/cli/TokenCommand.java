package dev.annals.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code token}: the tokens of a project. */
@Command(
        name = "token",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            TokenCommand.Issue.class,
            TokenCommand.Listing.class,
            TokenCommand.Rotate.class,
            TokenCommand.Revoke.class
        },
        description = "Issues, lists, rotates and revokes tokens, with the token in ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class TokenCommand {

    private static String path(String project) {
        return "/v1/projects/" + Connection.segment(project) + "/tokens";
    }

    /** Only the token goes to standard output, for scripts. */
    private static void show(JsonNode made) {
        Terminal.say("The token " + made.path("id").asText() + " is shown once:");
        Terminal.print(made.path("token").asText());
    }

    /** {@code token issue}. */
    @Command(name = "issue", mixinStandardHelpOptions = true, description = "Issues a token, and prints it.")
    @RegisterForReflection
    static final class Issue extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Option(
                names = "--scope",
                required = true,
                description =
                        "read, write, sequence or redact; of the project annals, audit or admin. Repeat it for more.")
        List<String> scopes = new ArrayList<>();

        @Option(names = "--description", description = "What it is for.")
        @Nullable
        String description;

        @Option(names = "--expires-at", paramLabel = "TIME", description = "Such as 2030-01-01T00:00:00Z.")
        @Nullable
        String expiresAt;

        @Option(
                names = "--address",
                paramLabel = "NETWORK",
                description = "From where it may be used, such as 192.0.2.0/24. Repeat it for more.")
        List<String> addresses = new ArrayList<>();

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Connection.JSON.createObjectNode();
            scopes.forEach(body.putArray("scopes")::add);
            body.put("description", description);
            body.put("expires_at", expiresAt);
            addresses.forEach(body.putArray("allowed_addresses")::add);
            service.tryOnce();
            show(service.administer("POST", path(project), body));
            return 0;
        }
    }

    /** {@code token list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the tokens of a project: id, scopes, state, hour of the last use, description.")
    @RegisterForReflection
    static final class Listing extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode token : service.list(path(project), "tokens")) {
                List<String> scopes = new ArrayList<>();
                token.path("scopes").forEach(scope -> scopes.add(scope.asText()));
                Terminal.print(String.join(
                        "\t",
                        token.path("id").asText(),
                        String.join(",", scopes),
                        state(token),
                        token.path("last_used_at").asText("").replace("null", "never used"),
                        token.path("description").isNull()
                                ? ""
                                : token.path("description").asText()));
            }
            return 0;
        }

        private static String state(JsonNode token) {
            if (!token.path("revoked_at").isNull()) {
                return "revoked " + token.path("revoked_at").asText();
            }
            return token.path("expires_at").isNull()
                    ? "valid"
                    : "valid until " + token.path("expires_at").asText();
        }
    }

    /** {@code token rotate}. */
    @Command(
            name = "rotate",
            mixinStandardHelpOptions = true,
            description = "Issues a token in the place of another, and prints it. The old one ends after the overlap.")
    @RegisterForReflection
    static final class Rotate extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(index = "0", paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the old token.")
        @Nullable
        UUID id;

        @Option(
                names = "--overlap",
                paramLabel = "SECONDS",
                description = "For how long the old one stays valid. Default: 86400, a day.")
        int overlap = 86_400;

        @Override
        int run() throws IOException, InterruptedException {
            service.tryOnce();
            show(service.administer(
                    "POST",
                    path(project) + "/" + id + "/rotate",
                    Connection.JSON.createObjectNode().put("overlap_seconds", overlap)));
            return 0;
        }
    }

    /** {@code token revoke}. */
    @Command(
            name = "revoke",
            mixinStandardHelpOptions = true,
            description = "Ends a token: it counts nowhere after 5 seconds. What is known of it stays.")
    @RegisterForReflection
    static final class Revoke extends ClientCommand {

        @Mixin
        Connection service = new Connection();

        @Parameters(index = "0", paramLabel = "PROJECT", description = "Its id, or its name.")
        String project = "";

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the token.")
        @Nullable
        UUID id;

        @Override
        int run() throws IOException, InterruptedException {
            service.administer("DELETE", path(project) + "/" + id, null);
            Terminal.say("The token " + id + " is revoked.");
            return 0;
        }
    }
}
