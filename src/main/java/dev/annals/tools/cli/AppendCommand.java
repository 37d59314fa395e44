package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.proof.LineReader;
import dev.annals.tools.command.Terminals;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Appends records. Each gets an id before it is sent, so that a request without an answer can be repeated: each record is stored
 * once, however often the service fails.
 */
@Command(
        name = "append",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Appends the record that the options describe; without --action, NDJSON from standard input.")
@RegisterForReflection
public final class AppendCommand extends AnswerCommand {

    private static final int BATCH_LINES = 1_000;
    private static final int BATCH_BYTES = 1 << 20;
    private static final String WHAT_TO_DO =
            "Describe one record with --action=<what was done> and further options, or pass records as NDJSON, one per line,"
                    + " on standard input: annals append < records.ndjson";

    @Option(
            names = "--id",
            description = "A UUID. With your own id, the command can be repeated and stores the record once.")
    @Nullable
    UUID id;

    @Option(names = "--action", description = "The action, such as volume_create.")
    @Nullable
    String action;

    @Option(names = "--actor-type", description = "The actor: the kind,")
    @Nullable
    String actorType;

    @Option(names = "--actor-id", description = "the id,")
    @Nullable
    String actorId;

    @Option(names = "--actor-name", description = "the name.")
    @Nullable
    String actorName;

    @Option(names = "--subject-type", description = "The subject: the kind,")
    @Nullable
    String subjectType;

    @Option(names = "--subject-id", description = "the id,")
    @Nullable
    String subjectId;

    @Option(names = "--subject-name", description = "the name.")
    @Nullable
    String subjectName;

    @Option(names = "--outcome", description = "The outcome, such as success.")
    @Nullable
    String outcome;

    @Option(names = "--ip-address", description = "The actor's address.")
    @Nullable
    String ipAddress;

    @Option(names = "--message", description = "A sentence for people.")
    @Nullable
    String message;

    @Option(names = "--timestamp", description = "The time of the action (RFC 3339). Default: now.")
    @Nullable
    String timestamp;

    @Option(names = "--metadata", paramLabel = "JSON", description = "Other data, as a JSON object.")
    @Nullable
    String metadata;

    private final SequentialGuid guids = new SequentialGuid();
    private final ByteArrayOutputStream batch = new ByteArrayOutputStream();
    private final List<Long> batchLines = new ArrayList<>();
    private long line;
    private long stored;
    private long refused;
    private long lastSequenceId;

    @Override
    @SuppressWarnings("SystemOut") // a command line tool
    int run() throws IOException, InterruptedException {
        if (action != null) {
            add(fromOptions(action));
        } else {
            requireInput();
            LineReader lines = new LineReader(System.in);
            for (byte[] next = lines.next(); next != null; next = lines.next()) {
                add(next);
                // Slow input is sent at once, fast input in large requests.
                if (!lines.hasMore()) {
                    send();
                }
            }
        }
        send();
        if (stored == 0 && refused == 0) {
            throw new ClientFailure(ClientFailure.USAGE, "Standard input contains no record. " + WHAT_TO_DO);
        }
        say(
                Json.mapper()
                        .createObjectNode()
                        .put("stored", stored)
                        .put("refused", refused)
                        .put("last_sequence_id", lastSequenceId == 0 ? null : lastSequenceId),
                stored + (stored == 1 ? " record is" : " records are") + " stored"
                        + (lastSequenceId == 0 ? "" : ", up to sequence id " + lastSequenceId)
                        + (refused == 0 ? "." : "; " + refused + (refused == 1 ? " is" : " are") + " refused."));
        return refused == 0 ? 0 : ClientFailure.REFUSED;
    }

    private void requireInput() throws InterruptedException {
        boolean described = Stream.of(
                        id,
                        actorType,
                        actorId,
                        actorName,
                        subjectType,
                        subjectId,
                        subjectName,
                        outcome,
                        ipAddress,
                        message,
                        timestamp,
                        metadata)
                .anyMatch(Objects::nonNull);
        if (described) {
            throw new ClientFailure(ClientFailure.USAGE, "The record has no action. " + WHAT_TO_DO);
        }
        if (Terminals.isTerminal(0) || Terminals.isClosed(0)) {
            throw new ClientFailure(ClientFailure.USAGE, "No record to append. " + WHAT_TO_DO);
        }
    }

    private byte[] fromOptions(String what) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = Json.exact().createGenerator(bytes)) {
            json.writeStartObject();
            string(json, "id", id == null ? null : id.toString());
            string(json, "action", what);
            party(json, "actor", actorType, actorId, actorName);
            party(json, "subject", subjectType, subjectId, subjectName);
            string(json, "outcome", outcome);
            string(json, "ip_address", ipAddress);
            string(json, "message", message);
            string(json, "timestamp", timestamp);
            if (metadata != null) {
                json.writeFieldName("metadata");
                json.writeTree(Json.exact().readTree(metadata));
            }
            json.writeEndObject();
        } catch (JsonProcessingException e) {
            throw new ClientFailure(ClientFailure.USAGE, "--metadata is not JSON: " + e.getOriginalMessage());
        }
        return bytes.toByteArray();
    }

    private static void party(
            JsonGenerator json,
            String name,
            @Nullable String type,
            @Nullable String partyId,
            @Nullable String partyName)
            throws IOException {
        if (type != null || partyId != null || partyName != null) {
            json.writeObjectFieldStart(name);
            string(json, "type", type);
            string(json, "id", partyId);
            string(json, "name", partyName);
            json.writeEndObject();
        }
    }

    private static void string(JsonGenerator json, String name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }

    private void add(byte[] text) throws IOException, InterruptedException {
        line++;
        if (text == LineReader.TOO_LONG) {
            refuse(line, "The line is longer than any record may be.");
            return;
        }
        if (new String(text, StandardCharsets.UTF_8).isBlank()) {
            return;
        }
        byte[] record;
        try {
            record = withId(text);
        } catch (JsonProcessingException e) {
            refuse(line, "The line is not JSON: " + e.getOriginalMessage());
            return;
        }
        if (batchLines.size() == BATCH_LINES || batch.size() + record.length > BATCH_BYTES) {
            send();
        }
        batch.write(record);
        batch.write('\n');
        batchLines.add(line);
    }

    /** The unchanged record, with an id in front if it has none. The service reports other faults. */
    private byte[] withId(byte[] record) throws IOException {
        long open;
        boolean empty = true;
        try (JsonParser json = Json.FACTORY.createParser(record)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return record;
            }
            open = json.currentLocation().getByteOffset();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                empty = false;
                boolean isId = json.currentName().equals("id");
                JsonToken value = json.nextToken();
                if (isId) {
                    return value == JsonToken.VALUE_NULL ? withIdInPlaceOfNull(record) : record;
                }
                json.skipChildren();
            }
        }
        if (open < 0) {
            // Not UTF-8.
            return record;
        }
        ByteArrayOutputStream with = new ByteArrayOutputStream(record.length + 48);
        with.write(record, 0, (int) open);
        with.write(("\"id\":\"" + guids.next() + "\"" + (empty ? "" : ",")).getBytes(StandardCharsets.US_ASCII));
        with.write(record, (int) open, record.length - (int) open);
        return with.toByteArray();
    }

    private byte[] withIdInPlaceOfNull(byte[] record) throws IOException {
        return Json.exact()
                .writeValueAsBytes(((ObjectNode) Json.exact().readTree(record))
                        .put("id", guids.next().toString()));
    }

    private void send() throws IOException, InterruptedException {
        if (batchLines.isEmpty()) {
            return;
        }
        Connection.Request request = service.request(Connection.FEED + "/import")
                .by("POST")
                .with("application/x-ndjson", batch.toByteArray())
                .repeatable();
        JsonNode summary = Json.mapper().readTree(service.send(request, Duration.ZERO));
        stored +=
                summary.path("stored").asLong() + summary.path("stored_before").asLong();
        lastSequenceId =
                Math.max(lastSequenceId, summary.path("last_sequence_id").asLong());
        long unnamed = summary.path("refused").asLong();
        for (JsonNode refusal : summary.path("refusals")) {
            int place = refusal.path("line").asInt() - 1;
            refuse(
                    batchLines.get(place),
                    Connection.Problem.of(refusal.path("problem")).text());
            unnamed--;
        }
        if (unnamed > 0) {
            refused += unnamed;
            Terminal.say(unnamed + " more of the lines " + batchLines.get(0) + " to "
                    + batchLines.get(batchLines.size() - 1) + " are refused.");
        }
        batch.reset();
        batchLines.clear();
    }

    private void refuse(long at, String why) {
        refused++;
        Terminal.say("Line " + at + " is refused. " + why);
    }
}
