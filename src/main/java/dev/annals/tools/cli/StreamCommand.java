package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code stream}: delivers feeds to other systems. */
@Command(
        name = "stream",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            StreamCommand.Set.class,
            StreamCommand.Listing.class,
            StreamCommand.Show.class,
            StreamCommand.Test.class,
            StreamCommand.Pause.class,
            StreamCommand.Resume.class,
            StreamCommand.Rewind.class,
            StreamCommand.Feeds.class,
            StreamCommand.DeadLetters.class,
            StreamCommand.Delete.class
        },
        description = "Delivers a feed to another system. Needs a token in ANNALS_TOKEN with the scope stream.")
@RegisterForReflection
public final class StreamCommand {

    private static final String STREAMS = "/v1/streams";

    private static String line(JsonNode stream) {
        String fields = String.join(
                "\t",
                stream.path("name").asText(),
                stream.path("state").asText(),
                "lag " + stream.path("lag").asText(),
                stream.path("sink").path("url").asText(),
                why(stream));
        JsonNode link = stream.path("link");
        return link.isObject()
                ? fields + "\tset by link " + link.path("id").asText() + " of token "
                        + link.path("issued_by").asText()
                : fields;
    }

    private static String why(JsonNode stream) {
        return switch (stream.path("state").asText()) {
            case "stopped" -> stream.path("stop_reason").asText();
            case "paused" -> stream.path("pause_reason").asText("");
            case "failing" -> stream.path("last_error").asText();
            default -> "";
        };
    }

    /** A command on streams. */
    @RegisterForReflection
    abstract static class OfStreams extends AnswerCommand {

        final JsonNode ask(String method, String path, @Nullable JsonNode body)
                throws IOException, InterruptedException {
            return service.exchange(method, STREAMS + path, body);
        }

        final void printStream(JsonNode stream) {
            print(stream, line(stream));
        }
    }

    /** A command on one stream. */
    @RegisterForReflection
    abstract static class OfStream extends OfStreams {

        @Parameters(index = "0", paramLabel = "NAME", description = "The stream's name in the project.")
        String name = "";

        final String path(String rest) {
            return "/" + Connection.segment(name) + rest;
        }

        /** Prints one line for each element of a list, page after page. */
        final void printAll(String first, String list, Function<JsonNode, String> line)
                throws IOException, InterruptedException {
            String after = "";
            do {
                JsonNode page = ask("GET", path(first + after), null);
                page.path(list).forEach(element -> print(element, line.apply(element)));
                after = page.path("next").isNull()
                        ? ""
                        : "&after=" + page.path("next").asText();
            } while (!after.isEmpty());
        }
    }

    /** {@code stream set}. */
    @Command(
            name = "set",
            mixinStandardHelpOptions = true,
            description = "Creates or changes a stream. An omitted option has its default. An omitted secret stays"
                    + " while the sink stays.")
    @RegisterForReflection
    static final class Set extends OfStream {

        @Option(
                names = "--sink",
                paramLabel = "URL",
                required = true,
                description =
                        "https://… for a webhook, postgresql://user@host/database for a database, kafka://host:9092/topic, "
                                + "syslog+tls://host for a syslog receiver, s3+https://host/bucket/prefix for objects.")
        String sink = "";

        @Option(
                names = "--type",
                description =
                        "The type of the sink, if its URL does not show it: otlp. Default for https://…: webhook.")
        @Nullable
        String type;

        @Option(
                names = "--secret-file",
                paramLabel = "FILE",
                description =
                        "A file with the sink's secret: whsec_… for a webhook, a token for Splunk, a key for Datadog, Elastic or"
                                + " PagerDuty, the whole URL for Slack or Teams, a password for a database, user:password for Kafka, headers for OTLP, ACCESS_KEY:SECRET_KEY for S3.")
        @Nullable
        Path secretFile;

        @Option(
                names = "--format",
                description =
                        "json (the default), cloudevents or ocsf; cef for syslog; splunk_hec, datadog, elastic, slack, teams or"
                                + " pagerduty for their webhooks.")
        @Nullable
        String format;

        @Option(
                names = "--on-refusal",
                paramLabel = "WHAT",
                description = "stop (the default) at a record that the sink refuses for good, or dead_letter: skip it.")
        @Nullable
        String onRefusal;

        @Option(
                names = "--max-refusals",
                paramLabel = "N",
                description = "The refusals until a record is refused for good. Default: 5.")
        @Nullable
        Integer maxRefusals;

        @Option(names = "--cursor", description = "The place at which a new stream begins. Default: the oldest record.")
        @Nullable
        String cursor;

        @Option(
                names = "--all-projects",
                description = "Follows the feeds of all projects. Needs an admin's token, and cannot be changed later.")
        boolean allProjects;

        @Option(
                names = "--archive",
                description = "Records that the store has confirmed count as archived: see annals project retain."
                        + " Needs --all-projects and an s3 sink.")
        boolean archive;

        @Mixin
        Filters filters = new Filters();

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Json.mapper().createObjectNode();
            ObjectNode to = body.putObject("sink");
            to.put("type", type == null ? typeOf(sink) : type).put("url", sink);
            if (secretFile != null) {
                to.put("secret", secret(secretFile));
            }
            put(body, "format", format);
            put(body, "on_refusal", onRefusal);
            if (maxRefusals != null) {
                body.put("max_refusals", maxRefusals);
            }
            if (allProjects) {
                body.put("all_projects", true);
            }
            if (archive) {
                body.put("archive", true);
            }
            put(body, "cursor", cursor);
            for (Map.Entry<String, @Nullable String> filter :
                    filters.parameters().entrySet()) {
                put(body, filter.getKey(), filter.getValue());
            }
            printStream(ask("PUT", path(""), body));
            return 0;
        }

        private static String secret(Path file) {
            try {
                return Files.readString(file).strip();
            } catch (IOException e) {
                throw new ClientFailure(
                        ClientFailure.USAGE,
                        "The file " + file + " (--secret-file) cannot be read ("
                                + e.getClass().getSimpleName() + "). Name a file with the sink's secret as text.");
            }
        }

        private static String typeOf(String url) {
            return switch (url.replaceFirst("[:+].*", "")) {
                case "postgresql" -> "postgresql";
                case "kafka" -> "kafka";
                case "syslog" -> "syslog";
                case "s3" -> "s3";
                default -> "webhook";
            };
        }

        private static void put(ObjectNode body, String field, @Nullable String value) {
            if (value != null) {
                body.put(field, value);
            }
        }
    }

    /** {@code stream list}. */
    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description =
                    "Lists the streams of the project: name, state, lag, sink, the reason or the last error, and the link"
                            + " that set it.")
    @RegisterForReflection
    static final class Listing extends OfStreams {

        @Override
        int run() throws IOException, InterruptedException {
            for (JsonNode stream : ask("GET", "", null).path("streams")) {
                printStream(stream);
            }
            return 0;
        }
    }

    /** {@code stream show}. */
    @Command(name = "show", mixinStandardHelpOptions = true, description = "Shows a stream as JSON.")
    @RegisterForReflection
    static final class Show extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            show(ask("GET", path(""), null));
            return 0;
        }
    }

    /** {@code stream test}. */
    @Command(
            name = "test",
            mixinStandardHelpOptions = true,
            description =
                    "Sends one record to the sink, and prints the answer. Exit code 1: the sink did not accept it.")
    @RegisterForReflection
    static final class Test extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            service.tryOnce();
            JsonNode tested = ask("POST", path("/test"), null);
            String outcome = tested.path("outcome").asText();
            print(tested, outcome + "\t" + tested.path("answer").asText());
            return outcome.equals("delivered") ? 0 : 1;
        }
    }

    /** {@code stream pause}. */
    @Command(name = "pause", mixinStandardHelpOptions = true, description = "Pauses a stream until it is resumed.")
    @RegisterForReflection
    static final class Pause extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            printStream(ask("POST", path("/pause"), null));
            return 0;
        }
    }

    /** {@code stream resume}. */
    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = "Continues after a pause or a stop, and repeats a failed delivery at once.")
    @RegisterForReflection
    static final class Resume extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            printStream(ask("POST", path("/resume"), null));
            return 0;
        }
    }

    /** {@code stream rewind}. */
    @Command(
            name = "rewind",
            mixinStandardHelpOptions = true,
            description = "Moves a stream to another place of the feed. It continues with the record after the cursor.")
    @RegisterForReflection
    static final class Rewind extends OfStream {

        @Parameters(
                index = "1",
                paramLabel = "CURSOR",
                description = "A cursor, a sequence id, or 0 for the beginning.")
        String cursor = "";

        @Option(
                names = "--feed",
                paramLabel = "PROJECT",
                description = "The project's id, for a stream of all projects. Default: all feeds.")
        @Nullable
        String feed;

        @Override
        int run() throws IOException, InterruptedException {
            ObjectNode body = Json.mapper().createObjectNode().put("cursor", cursor);
            if (feed != null) {
                body.put("project_id", feed);
            }
            printStream(ask("POST", path("/rewind"), body));
            return 0;
        }
    }

    /** {@code stream feeds}. */
    @Command(
            name = "feeds",
            mixinStandardHelpOptions = true,
            description = "Lists the feeds that a stream follows: project, cursor, lag, and the last error.")
    @RegisterForReflection
    static final class Feeds extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            printAll(
                    "/feeds?limit=200",
                    "feeds",
                    of -> String.join(
                            "\t",
                            of.path("project_id").asText(),
                            of.path("cursor").asText(),
                            "lag " + of.path("lag").asText(),
                            of.path("failures").asInt() == 0
                                    ? ""
                                    : of.path("last_error").asText()));
            return 0;
        }
    }

    /** {@code stream dead-letters}. */
    @Command(
            name = "dead-letters",
            mixinStandardHelpOptions = true,
            description = "Lists the records that a stream has skipped: sequence id, id, time, reason.")
    @RegisterForReflection
    static final class DeadLetters extends OfStream {

        @Option(
                names = "--feed",
                paramLabel = "PROJECT",
                description = "The project's id, for a stream of all projects.")
        @Nullable
        String feed;

        @Override
        int run() throws IOException, InterruptedException {
            printAll(
                    "/dead-letters?limit=200" + (feed == null ? "" : "&project_id=" + Connection.segment(feed)),
                    "dead_letters",
                    letter -> String.join(
                            "\t",
                            letter.path("sequence_id").asText(),
                            letter.path("record_id").asText(),
                            letter.path("refused_at").asText(),
                            letter.path("reason").asText()));
            return 0;
        }
    }

    /** {@code stream delete}. */
    @Command(
            name = "delete",
            mixinStandardHelpOptions = true,
            description = "Deletes a stream with its cursor. Delivered records stay at the sink.")
    @RegisterForReflection
    static final class Delete extends OfStream {

        @Override
        int run() throws IOException, InterruptedException {
            ask("DELETE", path(""), null);
            return 0;
        }
    }
}
