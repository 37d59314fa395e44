package dev.annals.delivery;

import io.quarkus.runtime.ShutdownEvent;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;

/** Opens sinks. */
@ApplicationScoped
class Sinks {

    private static final int IDLE_SECONDS = 30;

    private final Targets targets;
    private final SinkSecrets secrets;
    private final DeliveryConfig config;
    private final Vertx vertx;
    private final HttpClient http;

    Sinks(Targets targets, SinkSecrets secrets, DeliveryConfig config, Vertx vertx) {
        this.targets = targets;
        this.secrets = secrets;
        this.config = config;
        this.vertx = vertx;
        this.http = vertx.createHttpClient(new HttpClientOptions()
                .setVerifyHost(true)
                .setMaxPoolSize(config.concurrent())
                .setMaxWaitQueueSize(config.concurrent())
                .setKeepAliveTimeout(IDLE_SECONDS)
                .setConnectTimeout((int) config.timeout().toMillis()));
    }

    void stop(@Observes ShutdownEvent event) {
        http.close();
    }

    /**
     * Opens a stream's sink; connects to nothing yet.
     *
     * @throws SinkSecrets.UnreadableSecretException if its secret cannot be decrypted
     */
    Sink open(NamedStream stream) {
        String secret =
                stream.secret() == null ? "" : secrets.decrypt(stream.projectId(), stream.id(), stream.secret());
        return switch (stream.sinkType()) {
            case WEBHOOK -> new WebhookSink(stream, secret, targets, http, config.timeout());
            case POSTGRESQL -> new PostgresSink(stream, secret, targets, vertx, config.timeout());
            case OTLP -> new OtlpSink(stream, secret, targets, http, config.timeout());
            case KAFKA -> new KafkaSink(stream, secret, targets, vertx, config);
        };
    }
}
