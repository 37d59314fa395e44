package dev.annals.tools.cli;

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

/** {@code grant}: opens projects to identities of the OpenID provider. */
@Command(
        name = "grant",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            GrantCommand.Make.class,
            GrantCommand.Listing.class,
            GrantCommand.Revoke.class,
            GrantCommand.Identities.class
        },
        description = "Makes, lists and revokes grants for identities of the OpenID provider, with the token in"
                + " ANNALS_ADMIN_TOKEN.")
@RegisterForReflection
public final class GrantCommand {

    /** {@code grant make}. */
    @Command(
            name = "make",
            mixinStandardHelpOptions = true,
            description = "Opens a project to identities with a claim, and prints the id of the grant.")
    @RegisterForReflection
    static final class Make extends ServiceCommand.OfProject {

        @Option(
                names = "--claim",
                required = true,
                description = "The claim, such as sub, groups or realm_access.roles.")
        @Nullable
        String claim;

        @Option(names = "--value", required = true, description = "The value of the claim, or one of its values.")
        @Nullable
        String value;

        @Option(
                names = "--scope",
                required = true,
                completionCandidates = GrantedScopes.class,
                description =
                        "${COMPLETION-CANDIDATES}; audit and admin in the project annals only. Repeat it for more.")
        List<String> scopes = new ArrayList<>();

        @Option(names = "--issuer", paramLabel = "URL", description = "The provider. Default: the one of the service.")
        @Nullable
        String issuer;

        @Option(names = "--description", description = "The purpose of the grant.")
        @Nullable
        String description;

        @Mixin
        LimitOptions limits = new LimitOptions();

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Json.mapper().createObjectNode();
            body.put("claim", claim).put("value", value);
            scopes.forEach(body.putArray("scopes")::add);
            if (issuer != null) {
                body.put("issuer", issuer);
            }
            body.put("description", description);
            body.set("limits", limits.toJson());
            service.tryOnce();
            JsonNode grant = service.administer("POST", path() + "/grants", body);
            print(grant, grant.path("id").asText());
            return 0;
        }
    }

    /** {@code grant list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists the grants of a project: id, claim, scopes, state, provider, description.")
    @RegisterForReflection
    static final class Listing extends ServiceCommand.OfProject {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode grant : service.list(path() + "/grants", "grants")) {
                List<String> scopes = new ArrayList<>();
                grant.path("scopes").forEach(scope -> scopes.add(scope.asText()));
                print(
                        grant,
                        String.join(
                                "\t",
                                grant.path("id").asText(),
                                column(grant, "claim") + "=" + column(grant, "value"),
                                String.join(",", scopes),
                                grant.path("revoked_at").isNull()
                                        ? "in force"
                                        : "revoked " + grant.path("revoked_at").asText(),
                                column(grant, "issuer"),
                                grant.path("description").isNull() ? "" : column(grant, "description")));
            }
            return 0;
        }
    }

    /** {@code grant revoke}. */
    @Command(
            name = "revoke",
            mixinStandardHelpOptions = true,
            description = "Revokes a grant, within 5 seconds everywhere. It stays in the list.")
    @RegisterForReflection
    static final class Revoke extends ServiceCommand.OfProject {

        @Parameters(index = "1", paramLabel = "ID", description = "The id of the grant.")
        @Nullable
        UUID id;

        @Override
        int run() throws IOException, InterruptedException {
            say(service.administer("DELETE", path() + "/grants/" + id, null), "The grant " + id + " is revoked.");
            return 0;
        }
    }

    /** {@code grant identities}. */
    @Command(
            name = "identities",
            mixinStandardHelpOptions = true,
            description =
                    "Lists the identities that have used a grant: id, provider, name at the provider, time of the first use.")
    @RegisterForReflection
    static final class Identities extends AnswerCommand {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode identity : service.list("/v1/identities", "identities")) {
                print(
                        identity,
                        String.join(
                                "\t",
                                identity.path("id").asText(),
                                column(identity, "issuer"),
                                identity.path("subject").isNull() ? "forgotten" : column(identity, "subject"),
                                identity.path("created_at").asText()));
            }
            return 0;
        }
    }

    /** Tabs divide the columns. */
    private static String column(JsonNode object, String name) {
        return object.path(name).asText().replace("\t", "\\t");
    }
}
