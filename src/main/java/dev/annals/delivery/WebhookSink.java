package dev.annals.delivery;

import dev.annals.feed.Cursor;
import dev.annals.record.EncodedRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * A webhook: each batch is one POST, signed as Standard Webhooks 1.0 has it. {@code webhook-id} is the project's id, a colon, and the
 * sequence ids of the first and the last record, so that a batch that is sent again has the same one.
 *
 * <p>An answer of 2xx acknowledges the batch. 408, 425, 429 and 5xx, and no answer at all, are tried again; 410 says that there is
 * nothing any more; everything else refuses the batch. Redirects are not followed.
 */
final class WebhookSink implements Sink {

    private static final String HMAC = "HmacSHA256";
    private static final Pattern SECRET = Pattern.compile("whsec_[0-9A-Za-z+/]{32,88}={0,2}");
    private static final String PREFIX = "whsec_";
    private static final int SHOWN_BYTES = 1_024;

    private final NamedStream stream;
    private final byte[] key;
    private final HttpPost post;

    /** @param secret {@code whsec_…} */
    WebhookSink(NamedStream stream, String secret, Targets targets, HttpClient http, Duration limit) {
        this.stream = stream;
        this.key = Base64.getDecoder().decode(secret.substring(PREFIX.length()));
        this.post = new HttpPost(stream.url(), targets, http, limit);
    }

    /** As {@link Sink#check}. */
    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        HttpPost.check(url, wrong);
        if (secret != null && !isSecret(secret)) {
            wrong.accept("secret", "It must be whsec_ and 24 to 64 bytes in Base64, as Standard Webhooks has it.");
        }
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
    public Uni<Cursor> begin(Cursor known) {
        return Uni.createFrom().item(known);
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        return send(batch);
    }

    @Override
    public void close() {
        // The connections are everybody's.
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        return batch.records().isEmpty()
                ? Uni.createFrom().item(new Outcome.Taken("There was nothing to send."))
                : send(batch);
    }

    private Uni<Outcome> send(Batch batch) {
        Buffer body = body(batch);
        String id = id(batch);
        String seconds = Long.toString(Instant.now().getEpochSecond());
        return post.send(
                body,
                Map.of(
                        "Content-Type",
                        stream.format().mediaType(),
                        "webhook-id",
                        id,
                        "webhook-timestamp",
                        seconds,
                        "webhook-signature",
                        "v1," + signature(id, seconds, body)),
                WebhookSink::taken);
    }

    private static Outcome taken(HttpPost.Answer answer) {
        Buffer shown =
                answer.body().slice(0, Math.min(SHOWN_BYTES, answer.body().length()));
        return new Outcome.Taken(answer.told()
                + (shown.length() == 0
                        ? ""
                        : " " + shown.toString(StandardCharsets.UTF_8).replace('\0', ' ')));
    }

    private Buffer body(Batch batch) {
        Buffer body = Buffer.buffer();
        boolean plain = stream.format() == StreamFormat.JSON;
        body.appendString(
                plain
                        ? "{\"project_id\":\"" + stream.projectId() + "\",\"stream\":\"" + stream.name()
                                + "\",\"records\":[\n"
                        : "[\n");
        boolean first = true;
        for (EncodedRecord record : batch.records()) {
            if (!first) {
                body.appendString(",");
            }
            first = false;
            record.appendTo(body);
        }
        return body.appendString(plain ? "]}" : "]");
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
            mac.init(new SecretKeySpec(key, HMAC));
            mac.update((id + "." + seconds + ".").getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body.getBytes()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + HMAC, e);
        }
    }
}
