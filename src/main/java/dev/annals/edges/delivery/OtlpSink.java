package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A receiver of logs by OTLP over HTTP, in JSON: each batch is one request with one resource, the service and the project. The secret
 * contains the headers for the receiver, one per line.
 *
 * <p>An answer of 2xx acknowledges the batch, unless it counts rejected log records. It does not name them, so the batch is refused, and
 * its records are sent one at a time. Other answers mean what they mean for {@link WebhookSink}.
 */
final class OtlpSink implements Sink {

    private static final int SHOWN_CHARACTERS = 512;
    private static final Pattern HEADER =
            Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):[ \\t]*([!-~]([ -~]*[!-~])?)");
    private static final Set<String> OWN = Set.of(
            "host",
            "content-type",
            "content-length",
            "content-encoding",
            "transfer-encoding",
            "connection",
            "expect",
            "te",
            "trailer",
            "upgrade",
            "user-agent");

    private final URI url;
    private final HttpExchange http;
    private final Map<String, String> headers;
    private final Buffer head;

    OtlpSink(NamedStream stream, String secret, HttpExchange http) {
        this.url = URI.create(stream.url());
        this.http = http;
        this.headers = headers(secret);
        this.headers.put("Content-Type", "application/json");
        this.head = head(stream);
    }

    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        HttpExchange.check(url, wrong);
        if (secret != null) {
            try {
                if (headers(secret).isEmpty()) {
                    wrong.accept("secret", "It must have a header, as in Name: value.");
                }
            } catch (IllegalArgumentException e) {
                wrong.accept(
                        "secret",
                        "It must be headers that are not the request's own, one per line, as in Name: value.");
            }
        }
    }

    /** @throws IllegalArgumentException if a line is no header, or a header that the request sets itself */
    private static Map<String, String> headers(String secret) {
        Map<String, String> headers = new LinkedHashMap<>();
        for (String line : secret.lines().filter(line -> !line.isBlank()).toList()) {
            Matcher header = HEADER.matcher(line.strip());
            if (!header.matches() || OWN.contains(header.group(1).toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException("no header");
            }
            headers.put(header.group(1), header.group(2));
        }
        return headers;
    }

    private static Buffer head(NamedStream stream) {
        return Buffer.buffer("{\"resourceLogs\":[{\"resource\":{\"attributes\":")
                .appendBytes(JsonBody.toBytes(256, json -> {
                    json.writeStartArray();
                    OtlpRecord.attribute("service.name", "annals", json);
                    OtlpRecord.attribute("annals.project_id", stream.projectId().toString(), json);
                    OtlpRecord.attribute("annals.stream", stream.name(), json);
                    json.writeEndArray();
                }))
                .appendString("},\"scopeLogs\":[{\"scope\":{\"name\":\"annals\"},\"logRecords\":[\n");
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        Buffer body = Buffer.buffer().appendBuffer(head);
        boolean first = true;
        for (EncodedRecord record : batch.records()) {
            if (!first) {
                body.appendString(",\n");
            }
            first = false;
            record.appendTo(body);
        }
        body.appendString("]}]}]}");
        return http.send(new HttpExchange.Request(HttpMethod.POST, url, headers, body))
                .map(OtlpSink::outcome)
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(explain(failure), null));
    }

    /** An answer of 200 may be {@code {"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "…"}}}. */
    private static Outcome outcome(HttpExchange.Answer answer) {
        if (answer.status() / 100 != 2) {
            return answer.outcome();
        }
        // Some receivers answer with a word, not with JSON.
        JsonNode partial = answer.json().path("partialSuccess");
        long rejected = partial.path("rejectedLogRecords").asLong();
        String shown = HttpExchange.Answer.shown(partial.path("errorMessage").asText(), SHOWN_CHARACTERS);
        return rejected > 0
                ? new Outcome.Refused("It rejected " + rejected + " log records. " + shown, false)
                : new Outcome.Delivered((answer.text() + " " + shown).strip());
    }

    @Override
    public String explain(Throwable failure) {
        return http.explain(failure);
    }
}
