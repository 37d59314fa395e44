package dev.annals.edges.delivery;

import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * A webhook: each batch is one POST, signed according to Standard Webhooks 1.0. {@code webhook-id} is made from the project's id and the
 * sequence ids of the first and the last record, so a batch that is sent again has the same id. The formats of particular receivers send
 * the secret instead, in a header, in the body or as the URL, and have answers of their own.
 *
 * <p>An answer of 2xx acknowledges the batch. After 408, 425, 429, 5xx or no answer, it is sent again. 410 stops the stream. Every other
 * answer refuses the batch.
 */
final class WebhookSink implements Sink {

    private static final String HMAC = "HmacSHA256";
    private static final Pattern SECRET = Pattern.compile("whsec_[0-9A-Za-z+/]{32,88}={0,2}");
    private static final Pattern TOKEN = Pattern.compile("[!-~]{1,512}");
    private static final Pattern ROUTING_KEY = Pattern.compile("[0-9A-Za-z]{32}");
    private static final String PREFIX = "whsec_";
    private static final int SHOWN_BYTES = 1_024;

    private final NamedStream stream;
    private final URI url;
    private final String secret;
    private final HttpExchange http;

    /** @param secret as {@link #check} accepts it */
    WebhookSink(NamedStream stream, String secret, HttpExchange http) {
        this.stream = stream;
        this.url = switch (stream.format()) {
            case SLACK, TEAMS -> URI.create(secret);
            case ELASTIC -> ElasticDocument.url(stream.url());
            case JSON, CLOUDEVENTS, OCSF, CEF, SPLUNK_HEC, DATADOG, PAGERDUTY -> URI.create(stream.url());
        };
        this.secret = secret;
        this.http = http;
    }

    static void check(StreamFormat format, String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        List<String> wrongUrl = new ArrayList<>();
        HttpExchange.check(url, (field, detail) -> wrongUrl.add(detail));
        boolean isSecretUrl = format == StreamFormat.SLACK || format == StreamFormat.TEAMS;
        if (wrongUrl.isEmpty() && isSecretUrl && !isOrigin(URI.create(url))) {
            wrongUrl.add("It must end after the host: it is shown, and the whole URL of the webhook is the secret.");
        }
        wrongUrl.forEach(detail -> wrong.accept("url", detail));
        if (secret == null || !wrongUrl.isEmpty()) {
            return;
        }
        switch (format) {
            case JSON, CLOUDEVENTS, OCSF, CEF ->
                require(
                        isSecret(secret),
                        "It must be whsec_ and 24 to 64 bytes in Base64, as Standard Webhooks defines it.",
                        wrong);
            case SPLUNK_HEC, DATADOG, ELASTIC ->
                require(TOKEN.matcher(secret).matches(), "It must be the token or key alone, in visible ASCII.", wrong);
            case PAGERDUTY ->
                require(
                        ROUTING_KEY.matcher(secret).matches(),
                        "It must be the routing key: 32 letters and digits.",
                        wrong);
            case SLACK, TEAMS ->
                require(
                        isAt(URI.create(url), secret),
                        "It must be the webhook's whole URL, at the host of url.",
                        wrong);
        }
    }

    private static void require(boolean isRight, String detail, BiConsumer<String, String> wrong) {
        if (!isRight) {
            wrong.accept("secret", detail);
        }
    }

    private static boolean isOrigin(URI url) {
        return (url.getRawPath().isEmpty() || url.getRawPath().equals("/")) && url.getRawQuery() == null;
    }

    /** Whether a URL has this origin: hosts are checked for the origin alone. */
    private static boolean isAt(URI origin, String url) {
        List<String> wrong = new ArrayList<>();
        HttpExchange.check(url, (field, detail) -> wrong.add(detail));
        return wrong.isEmpty() && origin(URI.create(url)).equals(origin(origin));
    }

    private static String origin(URI url) {
        return (url.getScheme() + "://" + HttpExchange.authority(url)).toLowerCase(Locale.ROOT);
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
            case ELASTIC -> headers.put("Authorization", "ApiKey " + secret);
            case SLACK, TEAMS, PAGERDUTY -> {}
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
            case DATADOG -> outcome(answer, answer.status() == 202, answer.text());
            case ELASTIC -> ElasticDocument.outcome(batch, answer);
            case SLACK -> SlackMessage.outcome(answer);
            case TEAMS -> TeamsCard.outcome(answer);
            case PAGERDUTY -> PagerDutyEvent.outcome(answer, secret);
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

    /**
     * The outcome at a receiver that tells faults of the data from others: only 400 and 413 refuse the batch. A wrong key or address is no
     * fault of the records.
     */
    static Outcome outcome(HttpExchange.Answer answer, boolean isTaken, String why) {
        if (isTaken) {
            return new Outcome.Delivered(why);
        }
        return switch (answer.status()) {
            case 400, 413 -> new Outcome.Refused(why, false);
            case 410 -> new Outcome.Refused(why, true);
            default -> new Outcome.Failed(why, answer.failed().after());
        };
    }

    @Override
    public String explain(Throwable failure) {
        return http.explain(failure);
    }

    private Buffer body(Batch batch) {
        return switch (stream.format()) {
            case JSON ->
                joined(
                        "{\"project_id\":\"" + stream.projectId() + "\",\"stream\":\"" + stream.name()
                                + "\",\"records\":[\n",
                        batch,
                        "]}");
            case CLOUDEVENTS, OCSF, DATADOG, CEF -> joined("[\n", batch, "]");
            case SPLUNK_HEC, ELASTIC -> lines(batch);
            case SLACK -> joined(SlackMessage.head(stream.name()), batch, SlackMessage.TAIL);
            case TEAMS -> joined(TeamsCard.head(stream.name()), batch, TeamsCard.TAIL);
            case PAGERDUTY -> PagerDutyEvent.request(batch, secret);
        };
    }

    /** Records between commas, also after a head that has an element. */
    private static Buffer joined(String head, Batch batch, String tail) {
        Buffer body = Buffer.buffer(head);
        boolean first = head.endsWith("[\n");
        for (EncodedRecord record : batch.records()) {
            if (!first) {
                body.appendString(",");
            }
            first = false;
            record.appendTo(body);
        }
        return body.appendString(tail);
    }

    private static Buffer lines(Batch batch) {
        Buffer body = Buffer.buffer();
        batch.records().forEach(record -> record.appendTo(body));
        return body;
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
