package dev.annals.edges.delivery;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.security.KeyStore;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import javax.net.ssl.SSLEngine;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.jspecify.annotations.Nullable;

/** TLS for Kafka's client, which makes this by its name and asks it for an engine at each connection, before anything is sent. */
@RegisterForReflection
public final class KafkaTls implements SslEngineFactory {

    /** The setting with the {@link KafkaClients} that decide where a connection may go. */
    static final String CLIENTS = "annals.clients";

    private @Nullable KafkaClients clients;

    @Override
    public void configure(Map<String, ?> settings) {
        clients = (KafkaClients) settings.get(CLIENTS);
    }

    @Override
    public SSLEngine createClientSslEngine(String host, int port, String endpointIdentification) {
        return Objects.requireNonNull(clients).engine(host, port);
    }

    @Override
    public SSLEngine createServerSslEngine(String host, int port) {
        throw new UnsupportedOperationException("a client serves nobody");
    }

    @Override
    public boolean shouldBeRebuilt(Map<String, Object> settings) {
        return false;
    }

    @Override
    public Set<String> reconfigurableConfigs() {
        return Set.of();
    }

    @Override
    public @Nullable KeyStore keystore() {
        return null;
    }

    @Override
    public @Nullable KeyStore truststore() {
        return null;
    }

    @Override
    public void close() {
        // An engine belongs to its connection.
    }
}
