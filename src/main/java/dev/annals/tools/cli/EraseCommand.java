package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.follower.Page;
import dev.annals.proof.LeafRecord;
import dev.annals.tools.command.Progress;
import dev.annals.tools.command.Terminals;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Redacts personal data in all records of a person. One request redacts a record completely or not at all, so the same command
 * continues after an interruption.
 */
@Command(
        name = "erase",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Removes a person from a project's records for good. It first shows the number of records, and asks."
                        + " Needs a token with the scopes read and redact.",
        footer = {
            "",
            "Without --field: of records by the person, actor.id, actor.name, ip_address, message and metadata; of records about"
                    + " the person, subject.id, subject.name, message and metadata.",
            "Exit codes: 0 nothing is left; 1 not confirmed; 5 records under a legal hold are unchanged."
        })
@RegisterForReflection
public final class EraseCommand extends AnswerCommand {

    private static final List<String> OF_AN_ACTOR =
            List.of("actor.id", "actor.name", "ip_address", "message", "metadata");
    private static final List<String> OF_A_SUBJECT = List.of("subject.id", "subject.name", "message", "metadata");
    private static final String RESERVED = "annals.";
    private static final int PAGE = 500;
    /** Further causes share a count. */
    private static final int CAUSES = 100;

    @Option(names = "--actor-id", paramLabel = "ID", description = "The person is the actor of the records.")
    @Nullable
    String actorId;

    @Option(names = "--subject-id", paramLabel = "ID", description = "The person is the subject of the records.")
    @Nullable
    String subjectId;

    @Option(
            names = "--reason",
            required = true,
            description = "The reason, which stays in the feed. Do not name the person.")
    String reason = "";

    @Option(names = "--field", description = "A field to redact, in place of those listed below. Repeat it for more.")
    Set<String> fields = new LinkedHashSet<>();

    @Option(names = "--dry-run", description = "Show the number of records, and change nothing.")
    boolean dryRun;

    @Option(names = "--yes", description = "Do not ask.")
    boolean yes;

    private final Map<String, Integer> refused = new LinkedHashMap<>();

    @Override
    int run() throws IOException, InterruptedException {
        if ((actorId == null) == (subjectId == null)) {
            throw new ClientFailure(ClientFailure.USAGE, "Give either --actor-id or --subject-id.");
        }
        if (reason.contains(id())) {
            throw new ClientFailure(ClientFailure.USAGE, "The reason stays in the feed. Do not name the person in it.");
        }
        if (!LeafRecord.REDACTABLE.containsAll(fields)) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--field has to be one of " + String.join(", ", new TreeSet<>(LeafRecord.REDACTABLE)) + ".");
        }
        if (fields.isEmpty()) {
            fields.addAll(actorId != null ? OF_AN_ACTOR : OF_A_SUBJECT);
        }
        Found found = find();
        if (json) {
            show(found.toJson());
        } else {
            found.print();
        }
        if (found.records == 0 || dryRun) {
            Terminal.say(found.records == 0 ? "Nothing to redact." : "Nothing was redacted: this was a dry run.");
            return 0;
        }
        if (!yes && !confirmed(found)) {
            Terminal.say("Nothing was redacted. With --yes, the command does not ask.");
            return ClientFailure.FAILED;
        }
        return redact(found);
    }

    private String id() {
        return actorId != null ? actorId : subjectId == null ? "" : subjectId;
    }

    /** The records to redact. */
    private static final class Found {
        private long records;
        private long first;
        private long last;
        private String from = "";
        private String to = "";
        private final Map<String, Long> fields = new TreeMap<>();

        void add(JsonNode record, List<String> left) {
            last = record.path("sequence_id").asLong();
            to = record.path("timestamp").asText();
            if (records++ == 0) {
                first = last;
                from = to;
            }
            left.forEach(field -> fields.merge(field, 1L, Long::sum));
        }

        ObjectNode toJson() {
            ObjectNode json = Json.mapper()
                    .createObjectNode()
                    .put("records", records)
                    .put("first_sequence_id", records == 0 ? null : first)
                    .put("last_sequence_id", records == 0 ? null : last);
            ObjectNode counts = json.putObject("fields");
            fields.forEach(counts::put);
            return json;
        }

        void print() {
            Terminal.print("records\t" + records);
            if (records > 0) {
                Terminal.print("first\t" + first + "\t" + from);
                Terminal.print("last\t" + last + "\t" + to);
            }
            fields.forEach((field, count) -> Terminal.print(field + "\t" + count));
        }
    }

    /** Processes a record of the person. */
    private interface Visitor {
        void visit(JsonNode record, List<String> left) throws IOException, InterruptedException;
    }

    private Found find() throws IOException, InterruptedException {
        Found found = new Found();
        visit(Long.MAX_VALUE, found::add);
        return found;
    }

    /** Visits each record with values to redact, up to a sequence id. */
    private void visit(long last, Visitor visitor) throws IOException, InterruptedException {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put(actorId != null ? "actor" : "subject", id());
        parameters.put("limit", Integer.toString(PAGE));
        String next = "";
        while (next != null) {
            Page<byte[]> page = PageReader.parse(
                    service.send(service.request(Connection.FEED + Connection.query(parameters)), Duration.ZERO));
            for (byte[] json : page.records()) {
                JsonNode record = Json.mapper().readTree(json);
                if (record.path("sequence_id").asLong() > last) {
                    return;
                }
                List<String> left = left(record);
                if (!left.isEmpty()) {
                    visitor.visit(record, left);
                }
            }
            next = page.next();
            parameters.put("cursor", next);
        }
    }

    /** The fields to redact. The filter also matches names, which may belong to another person. */
    private List<String> left(JsonNode record) {
        JsonNode party = record.path(actorId != null ? "actor" : "subject");
        if (!party.path("id").asText().equals(id())
                || record.path("action").asText().startsWith(RESERVED)) {
            return List.of();
        }
        List<String> left = new ArrayList<>();
        for (String field : fields) {
            JsonNode value = record.at("/" + field.replace('.', '/'));
            if (!value.isMissingNode() && !(value.isObject() && value.isEmpty())) {
                left.add(field);
            }
        }
        return left;
    }

    private static boolean confirmed(Found found) throws IOException, InterruptedException {
        if (!Terminals.isTerminal(0)) {
            return false;
        }
        Terminal.say("These values are removed for good from " + records(found.records) + ". Type yes to redact them:");
        String answer = new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset())).readLine();
        return answer != null && answer.strip().equals("yes");
    }

    private static String records(long count) {
        return Terminal.count(count, "record");
    }

    private int redact(Found found) throws IOException, InterruptedException {
        long[] done = {0};
        Progress progress = Progress.onTerminal();
        visit(found.last, (record, left) -> {
            try {
                sendRedaction(record.path("id").asText(), left, reason);
                done[0]++;
            } catch (ClientFailure e) {
                if (e.exitCode() != ClientFailure.REFUSED) {
                    throw e;
                }
                String cause = e.getMessage() == null ? "" : e.getMessage();
                refused.merge(refused.size() < CAUSES || refused.containsKey(cause) ? cause : "More:", 1, Integer::sum);
            }
            progress.show("annals: " + done[0] + " of " + records(found.records));
        });
        progress.end();
        refused.forEach((cause, count) ->
                Terminal.say(records(count) + (count == 1 ? " is unchanged. " : " are unchanged. ") + cause));
        say(
                Json.mapper()
                        .createObjectNode()
                        .put("redacted", done[0])
                        .put(
                                "unchanged",
                                refused.values().stream()
                                        .mapToInt(Integer::intValue)
                                        .sum()),
                records(done[0]) + (done[0] == 1 ? " was" : " were") + " redacted.");
        return refused.isEmpty() ? 0 : ClientFailure.REFUSED;
    }
}
