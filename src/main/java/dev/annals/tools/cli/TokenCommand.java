package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
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
            TokenCommand.Limit.class,
            TokenCommand.Rotate.class,
            TokenCommand.Revoke.class
        },
        description = "Issues, lists, limits, rotates and revokes tokens, with the token in ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class TokenCommand {

    /** Standard output gets only the token, for scripts. */
    private static void printToken(AnswerCommand command, JsonNode made) {
        String id = made.path("id").asText();
        Terminal.say("The token " + id + " is shown once:");
        try {
            command.print(made, made.path("token").asText());
        } catch (UncheckedIOException e) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    e.getMessage() + ". The token " + id + " exists and is lost: revoke it, and issue another one.");
        }
    }

    /** {@code token issue}. */
    @Command(name = "issue", mixinStandardHelpOptions = true, description = "Issues a token, and prints it.")
    @RegisterForReflection
    static final class Issue extends ServiceCommand.OfProject {

        @Option(
                names = "--scope",
                required = true,
                completionCandidates = GrantedScopes.class,
                description =
                        "${COMPLETION-CANDIDATES}; audit and admin in the project annals only. Repeat it for more.")
        List<String> scopes = new ArrayList<>();

        @Option(names = "--description", description = "The purpose of the token.")
        @Nullable
        String description;

        @Option(
                names = "--expires-at",
                paramLabel = "TIME",
                description = "The end of the token, such as 2030-01-01T00:00:00Z.")
        @Nullable
        String expiresAt;

        @Option(
                names = "--address",
                paramLabel = "NETWORK",
                description = "A network that may use the token, such as 192.0.2.0/24. Repeat it for more.")
        List<String> addresses = new ArrayList<>();

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Json.mapper().createObjectNode();
            scopes.forEach(body.putArray("scopes")::add);
            body.put("description", description);
            body.put("expires_at", expiresAt);
            addresses.forEach(body.putArray("allowed_addresses")::add);
            service.tryOnce();
            printToken(this, service.administer("POST", path() + "/tokens", body));
            return 0;
        }
    }

    /** {@code token list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the tokens of a project: id, scopes, state, hour of the last use, description.")
    @RegisterForReflection
    static final class Listing extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode token : service.list(path() + "/tokens", "tokens")) {
                List<String> scopes = new ArrayList<>();
                token.path("scopes").forEach(scope -> scopes.add(scope.asText()));
                print(
                        token,
                        String.join(
                                "\t",
                                token.path("id").asText(),
                                String.join(",", scopes),
                                state(token),
                                text(token.path("last_used_at"), "never used"),
                                text(token.path("description"), "")));
            }
            return 0;
        }

        private static String state(JsonNode token) {
            if (!token.path("revoked_at").isNull()) {
                return "revoked " + token.path("revoked_at").asText();
            }
            if (token.path("expires_at").isNull()) {
                return "valid";
            }
            // The clocks of the service and of this machine may differ.
            String end = token.path("expires_at").asText();
            return (Instant.parse(end).isAfter(Instant.now()) ? "valid until " : "expired ") + end;
        }
    }

    /** {@code token limit}. */
    @Command(
            name = "limit",
            mixinStandardHelpOptions = true,
            description =
                    "Sets the limits of a token, within those of its project, and prints them. An omitted option is no"
                            + " limit.")
    @RegisterForReflection
    static final class Limit extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the token.")
        @Nullable
        UUID id;

        @Mixin
        LimitOptions limits = new LimitOptions();

        @Override
        int run() throws IOException, InterruptedException {
            JsonNode token = limits.areAsked()
                    ? known()
                    : service.administer("PUT", path() + "/tokens/" + id + "/limits", limits.toJson());
            print(token.path("limits"), LimitOptions.line(token.path("limits")));
            return 0;
        }

        private JsonNode known() throws IOException, InterruptedException {
            for (JsonNode token : service.list(path() + "/tokens", "tokens")) {
                if (token.path("id").asText().equals(String.valueOf(id))) {
                    return token;
                }
            }
            throw new ClientFailure(ClientFailure.FAILED, "The project has no token with this id.");
        }
    }

    /** {@code token rotate}. */
    @Command(
            name = "rotate",
            mixinStandardHelpOptions = true,
            description = "Replaces a token by a new one, and prints it. The old one ends after the overlap.")
    @RegisterForReflection
    static final class Rotate extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the old token.")
        @Nullable
        UUID id;

        @Option(
                names = "--overlap",
                paramLabel = "SECONDS",
                description = "The time for which the old token stays valid. Default: 86400, a day.")
        int overlap = 86_400;

        @Override
        int run() throws IOException, InterruptedException {
            service.tryOnce();
            printToken(
                    this,
                    service.administer(
                            "POST",
                            path() + "/tokens/" + id + "/rotate",
                            Json.mapper().createObjectNode().put("overlap_seconds", overlap)));
            return 0;
        }
    }

    /** {@code token revoke}. */
    @Command(
            name = "revoke",
            mixinStandardHelpOptions = true,
            description = "Revokes a token, within 5 seconds everywhere. It stays in the list.")
    @RegisterForReflection
    static final class Revoke extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the token.")
        @Nullable
        UUID id;

        @Override
        int run() throws IOException, InterruptedException {
            say(service.administer("DELETE", path() + "/tokens/" + id, null), "The token " + id + " is revoked.");
            return 0;
        }
    }
}
