package dev.annals.edges.delivery;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * A webhook: each batch is one POST, signed according to Standard Webhooks 1.0. Splunk and Datadog get the secret in a header instead, and
 * have answers of their own. {@code webhook-id} is made from the project's id and the sequence ids of the first and the last record, so a
 * batch that is sent again has the same id.
 *
 * <p>An answer of 2xx acknowledges the batch. After 408, 425, 429, 5xx or no answer, it is sent again. 410 wants nothing any more. Every
 * other answer refuses the batch.
 */
final class WebhookSink implements Sink {

    private static final String HMAC = "HmacSHA256";
    private static final Pattern SECRET = Pattern.compile("whsec_[0-9A-Za-z+/]{32,88}={0,2}");
    private static final Pattern TOKEN = Pattern.compile("[!-~]{1,512}");
    private static final String PREFIX = "whsec_";
    private static final int SHOWN_BYTES = 1_024;

    private final NamedStream stream;
    private final URI url;
    private final String secret;
    private final HttpExchange http;

    /** @param secret {@code whsec_…}, or the token of Splunk or Datadog */
    WebhookSink(NamedStream stream, String secret, HttpExchange http) {
        this.stream = stream;
        this.url = URI.create(stream.url());
        this.secret = secret;
        this.http = http;
    }

    static void check(StreamFormat format, String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        HttpExchange.check(url, wrong);
        if (secret == null) {
            return;
        }
        if (isSigned(format) && !isSecret(secret)) {
            wrong.accept("secret", "It must be whsec_ and 24 to 64 bytes in Base64, as Standard Webhooks defines it.");
        } else if (!isSigned(format) && !TOKEN.matcher(secret).matches()) {
            wrong.accept("secret", "It must be the token or key alone, in visible ASCII.");
        }
    }

    /** Whether the secret signs the batch; otherwise it is sent. */
    private static boolean isSigned(StreamFormat format) {
        return switch (format) {
            case SPLUNK_HEC, DATADOG -> false;
            case JSON, CLOUDEVENTS, OCSF, CEF -> true;
        };
    }

    private static boolean isSecret(String secret) {
        if (!SECRET.matcher(secret).matches()) {
            return false;
        }
        try {
            int bytes = Base64.getDecoder().decode(secret.substring(PREFIX.length())).length;
            return bytes >= 24 && bytes <= 64;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        Buffer body = body(batch);
        return http.send(new HttpExchange.Request(HttpMethod.POST, url, headers(batch, body), body))
                .map(answer -> outcome(batch, answer))
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(explain(failure), null));
    }

    private Map<String, String> headers(Batch batch, Buffer body) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", stream.format().mediaType());
        switch (stream.format()) {
            case SPLUNK_HEC -> headers.put("Authorization", "Splunk " + secret);
            case DATADOG -> headers.put("DD-API-KEY", secret);
            case JSON, CLOUDEVENTS, OCSF, CEF -> {
                String id = id(batch);
                String seconds = Long.toString(Instant.now().getEpochSecond());
                headers.put("webhook-id", id);
                headers.put("webhook-timestamp", seconds);
                headers.put("webhook-signature", "v1," + signature(id, seconds, body));
            }
        }
        return headers;
    }

    private Outcome outcome(Batch batch, HttpExchange.Answer answer) {
        return switch (stream.format()) {
            case SPLUNK_HEC -> SplunkEvent.outcome(batch, answer);
            case DATADOG -> DatadogLog.outcome(answer);
            case JSON, CLOUDEVENTS, OCSF, CEF -> outcome(answer);
        };
    }

    private static Outcome outcome(HttpExchange.Answer answer) {
        if (answer.status() / 100 == 2) {
            String shown = answer.body()
                    .getString(0, Math.min(SHOWN_BYTES, answer.body().length()), "UTF-8");
            return new Outcome.Delivered(
                    shown.isEmpty() ? answer.text() : answer.text() + " " + shown.replace('\0', ' '));
        }
        return answer.outcome();
    }

    @Override
    public String explain(Throwable failure) {
        return http.explain(failure);
    }

    private Buffer body(Batch batch) {
        Buffer body = Buffer.buffer();
        String before = switch (stream.format()) {
            case JSON ->
                "{\"project_id\":\"" + stream.projectId() + "\",\"stream\":\"" + stream.name() + "\",\"records\":[\n";
            case SPLUNK_HEC -> "";
            case CLOUDEVENTS, OCSF, DATADOG, CEF -> "[\n";
        };
        body.appendString(before);
        boolean first = true;
        for (EncodedRecord record : batch.records()) {
            if (!first && !before.isEmpty()) {
                body.appendString(",");
            }
            first = false;
            record.appendTo(body);
        }
        return body.appendString(stream.format() == StreamFormat.JSON ? "]}" : before.isEmpty() ? "" : "]");
    }

    private String id(Batch batch) {
        if (batch.records().isEmpty()) {
            return stream.projectId() + ":0";
        }
        long firstId = batch.records().get(0).sequenceId();
        long lastId = batch.records().get(batch.records().size() - 1).sequenceId();
        return stream.projectId() + ":" + firstId + "-" + lastId;
    }

    private String signature(String id, String seconds, Buffer body) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring(PREFIX.length())), HMAC));
            mac.update((id + "." + seconds + ".").getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body.getBytes()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + HMAC, e);
        }
    }
}
