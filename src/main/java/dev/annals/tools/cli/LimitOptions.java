package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The limits of a project or a token on the command line. */
@RegisterForReflection
final class LimitOptions {

    @Option(names = "--records-per-second", paramLabel = "RECORDS", description = "Records appended.")
    @Nullable
    Long recordsPerSecond;

    @Option(names = "--bytes-per-second", paramLabel = "BYTES", description = "Bytes of records appended.")
    @Nullable
    Long bytesPerSecond;

    @Option(names = "--requests-per-second", paramLabel = "REQUESTS", description = "Requests of all kinds.")
    @Nullable
    Long requestsPerSecond;

    @Option(names = "--streams", paramLabel = "STREAMS", description = "Open streams and waiting long polls.")
    @Nullable
    Long streams;

    @Option(names = "--exports", paramLabel = "EXPORTS", description = "Running exports.")
    @Nullable
    Long exports;

    @Option(
            names = "--seconds-ahead",
            paramLabel = "SECONDS",
            description = "How far the time of a record may be ahead of the clock.")
    @Nullable
    Long secondsAhead;

    @Option(names = "--none", description = "No limits at all.")
    boolean none;

    /**
     * True without any option: then the command shows the limits and sets none.
     *
     * @throws ClientFailure if {@code --none} is combined with limits
     */
    boolean areAsked() {
        boolean any = !toJson().properties().stream()
                .allMatch(limit -> limit.getValue().isNull());
        if (any && none) {
            throw new ClientFailure(ClientFailure.USAGE, "Name limits, or --none, but not both.");
        }
        return !any && !none;
    }

    /** The limits as JSON. An omitted option is null, which is no limit. */
    ObjectNode toJson() {
        return Json.mapper()
                .createObjectNode()
                .put("records_per_second", recordsPerSecond)
                .put("bytes_per_second", bytesPerSecond)
                .put("requests_per_second", requestsPerSecond)
                .put("streams", streams)
                .put("exports", exports)
                .put("seconds_ahead", secondsAhead);
    }

    /** The limits of an answer on one line. */
    static String line(JsonNode limits) {
        List<String> parts = new ArrayList<>();
        limits.properties()
                .forEach(limit ->
                        parts.add(limit.getKey() + "=" + limit.getValue().asText()));
        return parts.isEmpty() ? "no limits" : String.join(" ", parts);
    }
}
