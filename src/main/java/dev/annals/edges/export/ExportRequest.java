package dev.annals.edges.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Caller;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedQuery;
import dev.annals.kernel.http.RequestParameters;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of an export.
 *
 * @param query cursor and filters; its limit is ignored
 * @param gzip whether the client accepts a compressed file
 */
record ExportRequest(ExportFormat format, FeedQuery query, boolean gzip) {

    private static final String FORMAT = "format";
    private static final List<String> KNOWN = Stream.concat(
                    Stream.of(FORMAT, FeedQuery.CURSOR), FeedQuery.FILTERS.stream())
            .toList();

    /**
     * Reads the parameters and headers of a request.
     *
     * @param acceptEncoding the headers {@code Accept-Encoding}
     * @throws dev.annals.kernel.http.ProblemException {@code invalid-parameter} or {@code invalid-cursor}
     */
    static ExportRequest read(
            MultivaluedMap<String, String> parameters, List<String> acceptEncoding, FeedConfig config, Caller caller) {
        RequestParameters.requireKnown(parameters, KNOWN);
        MultivaluedMap<String, String> ofFeed = new MultivaluedHashMap<>(parameters);
        ofFeed.remove(FORMAT);
        return new ExportRequest(
                format(parameters.getFirst(FORMAT)), FeedQuery.read(ofFeed, config, caller), takesGzip(acceptEncoding));
    }

    private static ExportFormat format(@Nullable String name) {
        return name == null
                ? ExportFormat.NDJSON
                : ExportFormat.named(name)
                        .orElseThrow(
                                () -> RequestParameters.invalid(FORMAT, "It is one of " + ExportFormat.names() + "."));
    }

    private static boolean takesGzip(List<String> acceptEncoding) {
        for (String header : acceptEncoding) {
            for (String coding : header.toLowerCase(Locale.ROOT).split(",", -1)) {
                String[] parts = coding.split(";", 2);
                if (parts[0].strip().equals("gzip")) {
                    return parts.length == 1 || !parts[1].replace(" ", "").matches("q=0(\\.0*)?");
                }
            }
        }
        return false;
    }

    /** Leaves filters out of the event: they may contain values that are redacted later. */
    void describe(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("format", format.name().toLowerCase(Locale.ROOT));
        json.writeNumberField(
                "after", query.cursor() == null ? 0 : query.cursor().sequenceId());
        json.writeEndObject();
    }
}
