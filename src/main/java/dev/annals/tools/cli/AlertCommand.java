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
import picocli.CommandLine.Parameters;

/** {@code alert}: events when too many records match a query. */
@Command(
        name = "alert",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            AlertCommand.Set.class,
            AlertCommand.Listing.class,
            AlertCommand.Show.class,
            AlertCommand.Delete.class
        },
        description =
                "Manages alerts, which append an event when too many records match a query. Needs a token in ANNALS_TOKEN"
                        + " with the scope stream.")
@RegisterForReflection
public final class AlertCommand {

    private static final String ALERTS = "/v1/alerts";

    private static String line(JsonNode alert) {
        return String.join(
                "\t",
                alert.path("name").asText(),
                alert.path("state").asText(),
                "lag " + alert.path("lag").asText(),
                "raised " + alert.path("raised").asText(),
                "more than " + alert.path("threshold").asText() + " in "
                        + alert.path("interval_seconds").asText() + " s",
                alert.path("q").asText().replace('\t', ' '),
                alert.path("state").asText().equals("failing")
                        ? alert.path("last_error").asText()
                        : "");
    }

    /** A command on alerts. */
    @RegisterForReflection
    abstract static class OfAlerts extends AnswerCommand {

        final JsonNode ask(String method, String path, @Nullable JsonNode body)
                throws IOException, InterruptedException {
            return service.exchange(method, ALERTS + path, body);
        }
    }

    /** A command on one alert. */
    @RegisterForReflection
    abstract static class OfAlert extends OfAlerts {

        @Parameters(index = "0", paramLabel = "NAME", description = "The alert's name in the project.")
        String name = "";

        final String path() {
            return "/" + Connection.segment(name);
        }
    }

    /** {@code alert set}. */
    @Command(
            name = "set",
            mixinStandardHelpOptions = true,
            description = "Creates or changes an alert. It counts records from then on.")
    @RegisterForReflection
    static final class Set extends OfAlert {

        @Parameters(
                index = "1..*",
                arity = "1..*",
                paramLabel = "QUERY",
                description = "The records to count, as for annals search. Several words are joined by spaces.")
        List<String> query = new ArrayList<>();

        @Option(
                names = "--more-than",
                paramLabel = "N",
                required = true,
                description = "The number of matching records that an interval may have.")
        long threshold;

        @Option(
                names = "--in",
                paramLabel = "SECONDS",
                required = true,
                description = "The length of an interval: from 60 to 86400 seconds.")
        int seconds;

        @Option(names = "--disabled", description = "Stores the alert, but does not count.")
        boolean disabled;

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Json.mapper()
                    .createObjectNode()
                    .put("q", String.join(" ", query))
                    .put("threshold", threshold)
                    .put("interval_seconds", seconds)
                    .put("enabled", !disabled);
            JsonNode alert = ask("PUT", path(), body);
            print(alert, line(alert));
            return 0;
        }
    }

    /** {@code alert list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description =
                    "Lists the alerts of the project: name, state, lag, events, threshold, query, and the last error.")
    @RegisterForReflection
    static final class Listing extends OfAlerts {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode alert : ask("GET", "", null).path("alerts")) {
                print(alert, line(alert));
            }
            return 0;
        }
    }

    /** {@code alert show}. */
    @Command(name = "show", mixinStandardHelpOptions = true, description = "Shows an alert as JSON.")
    @RegisterForReflection
    static final class Show extends OfAlert {

        @Override
        int run() throws IOException, InterruptedException {
            show(ask("GET", path(), null));
            return 0;
        }
    }

    /** {@code alert delete}. */
    @Command(name = "delete", mixinStandardHelpOptions = true, description = "Deletes an alert. Its events stay.")
    @RegisterForReflection
    static final class Delete extends OfAlert {

        @Override
        int run() throws IOException, InterruptedException {
            ask("DELETE", path(), null);
            return 0;
        }
    }
}
