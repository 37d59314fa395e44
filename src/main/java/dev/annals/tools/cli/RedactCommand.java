package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.proof.LineReader;
import dev.annals.proof.RedactionEvent;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Redacts fields of a record; or, after a restore, repeats the redactions since the backup. */
@Command(
        name = "redact",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Removes values of a record for good. Needs a token with the scope redact.",
        footer = {
            "",
            "--replay reads NDJSON that annals export wrote before a restore, with or without --proof, and repeats the"
                    + " redactions in its records with the action annals.redact."
        })
@RegisterForReflection
public final class RedactCommand extends AnswerCommand {

    private static final int MAX_LINE_BYTES = 1 << 24;

    @Parameters(arity = "0..1", paramLabel = "ID", description = "The id of the record.")
    @Nullable
    UUID id;

    @Option(
            names = "--field",
            description = "A field to redact, such as actor.name, ip_address, message or metadata. Repeat it for more.")
    List<String> fields = new ArrayList<>();

    @Option(names = "--reason", description = "The reason, which stays in the feed.")
    @Nullable
    String reason;

    @Option(
            names = "--replay",
            paramLabel = "FILE",
            description = "Repeats the redactions in a file; - for standard input.")
    @Nullable
    Path replay;

    private int done;
    private int refused;

    @Override
    int run() throws IOException, InterruptedException {
        if (replay != null) {
            if (id != null || !fields.isEmpty() || reason != null) {
                throw new ClientFailure(ClientFailure.USAGE, "--replay cannot be used with a record, field or reason.");
            }
            return replay(replay);
        }
        if (id == null || fields.isEmpty() || reason == null) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "Give the id of a record, at least one --field, and a --reason; or --replay.");
        }
        say(
                sendRedaction(id.toString(), fields, reason),
                "Redacted: " + String.join(", ", fields) + " of record " + id + ".");
        return 0;
    }

    private int replay(Path file) throws IOException, InterruptedException {
        try (InputStream in =
                new BufferedInputStream(file.toString().equals("-") ? System.in : Files.newInputStream(file), 65_536)) {
            LineReader lines = new LineReader(in, MAX_LINE_BYTES);
            long line = 0;
            for (byte[] next = lines.next(); next != null; next = lines.next()) {
                line++;
                replay(line, next);
            }
        } catch (NoSuchFileException e) {
            throw new ClientFailure(ClientFailure.USAGE, "There is no file " + e.getFile() + ".");
        }
        say(
                Json.mapper().createObjectNode().put("redacted", done).put("refused", refused),
                done + (done == 1 ? " redaction is" : " redactions are") + " in effect"
                        + (refused == 0 ? "." : "; " + refused + (refused == 1 ? " is" : " are") + " refused."));
        return refused == 0 ? 0 : ClientFailure.REFUSED;
    }

    private void replay(long line, byte[] text) throws InterruptedException {
        try {
            JsonNode event = Json.mapper().readTree(text);
            if (event == null || !event.path("action").asText().equals(RedactionEvent.ACTION)) {
                return;
            }
            List<String> names = new ArrayList<>();
            event.path("metadata").path("fields").forEach(name -> names.add(name.asText()));
            String why = event.path("message").asText();
            UUID record = UUID.fromString(event.path("subject").path("id").asText());
            sendRedaction(record.toString(), names, why.isEmpty() ? "The reason was redacted" : why);
            done++;
        } catch (ClientFailure e) {
            if ((e.exitCode() != ClientFailure.FAILED && e.exitCode() != ClientFailure.REFUSED)
                    || e.getMessage() == null
                    || e.getMessage().startsWith("Given up")) {
                throw e;
            }
            refuse(line, e.getMessage());
        } catch (JsonProcessingException e) {
            refuse(line, "It is not JSON: " + e.getOriginalMessage());
        } catch (IOException | IllegalArgumentException e) {
            refuse(line, "It is no record that annals export wrote: " + e.getMessage());
        }
    }

    private void refuse(long line, String why) {
        refused++;
        Terminal.say("Line " + line + " is refused. " + why);
    }
}
