package dev.annals.edges.delivery;

import dev.annals.derived.log.Checkpoints;
import dev.annals.kernel.database.Database;
import io.quarkus.runtime.ShutdownEvent;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;

/** Opens the sinks of streams. */
@ApplicationScoped
class SinkFactory {

    private static final int IDLE_SECONDS = 30;

    private final Targets targets;
    private final SinkSecrets secrets;
    private final OwnIdentity identity;
    private final DeliveryConfig config;
    private final Checkpoints checkpoints;
    private final Vertx vertx;
    private final SinkLoops loops;
    private final HttpClient client;
    private final WorkerExecutor syslogWorkers;

    SinkFactory(
            Targets targets,
            SinkSecrets secrets,
            OwnIdentity identity,
            DeliveryConfig config,
            Checkpoints checkpoints,
            Vertx vertx,
            SinkLoops loops) {
        this.targets = targets;
        this.secrets = secrets;
        this.identity = identity;
        this.config = config;
        this.checkpoints = checkpoints;
        this.vertx = vertx;
        this.loops = loops;
        this.client = loops.vertx()
                .createHttpClient(new HttpClientOptions()
                        .setVerifyHost(true)
                        .setMaxPoolSize(config.concurrent())
                        .setMaxWaitQueueSize(config.concurrent())
                        .setKeepAliveTimeout(IDLE_SECONDS)
                        .setConnectTimeout((int) config.timeout().toMillis()));
        this.syslogWorkers = vertx.createSharedWorkerExecutor("syslog-sink", config.concurrent());
    }

    void stop(@Observes ShutdownEvent event) {
        client.close();
        syslogWorkers.close();
    }

    /**
     * The sink connects when it is used.
     *
     * @param database with the stream's row
     * @throws SinkSecrets.UnreadableSecretException if its secret cannot be decrypted
     * @throws Targets.RefusedTargetException if it may not have the service's own identity
     */
    Sink open(Database database, NamedStream stream) {
        boolean isOwn = stream.sinkType().usesOwnIdentity(stream.url(), stream.secret() != null);
        if (isOwn) {
            identity.require(database, stream.url(), stream.allProjects(), stream.onlyPublic());
        }
        String secret = stream.secret() == null ? "" : secrets.decrypt(stream.ownerId(), stream.id(), stream.secret());
        Targets allowed = stream.onlyPublic() ? targets.onlyPublic() : targets.of(database);
        HttpExchange exchange = new HttpExchange(allowed, client, config.timeout());
        return switch (stream.sinkType()) {
            case WEBHOOK -> new WebhookSink(stream, secret, exchange);
            case POSTGRESQL -> new PostgresSink(stream, secret, allowed, identity, loops.vertx(), config.timeout());
            case OTLP -> new OtlpSink(stream, secret, exchange);
            case KAFKA -> new KafkaSink(stream, secret, allowed, identity, exchange, vertx, config);
            case S3 ->
                new S3Sink(
                        stream,
                        isOwn ? identity.atAws() : S3Credentials.of(secret),
                        exchange,
                        checkpoints,
                        vertx,
                        config.timeout());
            case SYSLOG -> new SyslogSink(stream, allowed, syslogWorkers, config.timeout());
        };
    }
}
