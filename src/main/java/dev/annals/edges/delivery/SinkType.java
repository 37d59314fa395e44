package dev.annals.edges.delivery;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The types of sinks. A new type is also added to {@link Sink}, and to the constraint {@code stream_sink_type}. */
enum SinkType {
    /** {@link WebhookSink} */
    WEBHOOK,
    /** {@link PostgresSink} */
    POSTGRESQL,
    /** {@link KafkaSink} */
    KAFKA,
    /** {@link OtlpSink} */
    OTLP,
    /** {@link SyslogSink} */
    SYSLOG,
    /** {@link S3Sink} */
    S3;

    /** In JSON and in the database. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<SinkType> of(String text) {
        return Arrays.stream(values()).filter(type -> type.text().equals(text)).findFirst();
    }

    static String names() {
        return Arrays.stream(values()).map(SinkType::text).collect(Collectors.joining(" or "));
    }

    /**
     * Checks the URL and the secret of a sink.
     *
     * @param wrong takes the name of a wrong field, and what is wrong with it
     */
    void check(StreamFormat format, String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        switch (this) {
            case WEBHOOK -> WebhookSink.check(format, url, secret, wrong);
            case POSTGRESQL -> PostgresSink.check(url, secret, wrong);
            case KAFKA -> KafkaUrl.check(url, secret, wrong);
            case OTLP -> OtlpSink.check(url, secret, wrong);
            case SYSLOG -> SyslogSink.check(url, secret, wrong);
            case S3 -> S3Sink.check(url, secret, wrong);
        }
    }

    /** Names, or addresses without brackets. */
    List<String> hosts(String url) {
        return switch (this) {
            case WEBHOOK, OTLP -> List.of(HttpExchange.host(URI.create(url)));
            case POSTGRESQL -> List.of(PostgresSink.host(url));
            case KAFKA -> KafkaUrl.parse(url).hosts();
            case SYSLOG -> List.of(SyslogSink.host(url));
            case S3 -> List.of(S3Sink.host(url));
        };
    }

    /**
     * Whether a request without a secret is incomplete.
     *
     * @param hadOne whether the stream had a secret for another URL
     */
    boolean needsSecret(String url, boolean hadOne) {
        return switch (this) {
            case WEBHOOK -> true;
            case POSTGRESQL, OTLP, SYSLOG -> hadOne;
            // Without a secret it uses the service's own identity, where that is allowed.
            case S3 -> false;
            case KAFKA -> KafkaUrl.parse(url).mechanism() != null;
        };
    }

    /** Whether a sink uses the service's {@link OwnIdentity}. */
    boolean usesOwnIdentity(String url, boolean hasSecret) {
        return switch (this) {
            case S3 -> !hasSecret;
            case POSTGRESQL -> PostgresSink.showsCertificate(url);
            case KAFKA -> KafkaUrl.parse(url).showsCertificate();
            case WEBHOOK, OTLP, SYSLOG -> false;
        };
    }
}
