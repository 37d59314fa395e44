package dev.annals.edges.delivery;

import io.netty.util.NetUtil;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.net.ssl.SSLEngine;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Makes clients of Kafka that connect only where {@link Targets} allows. The client itself resolves brokers that other brokers name: over
 * TLS, {@link Tls} checks each connection before a byte is sent. Without TLS no such hook exists, so the settings must name the brokers'
 * addresses.
 */
final class KafkaClients {

    private static final int MAX_BATCH_BYTES = 512 * 1_024;
    private static final Duration IDLE = Duration.ofMinutes(1);
    private static final Pattern SHOWN_HOST = Pattern.compile("[0-9A-Za-z:._-]{1,253}");

    private final KafkaUrl url;
    private final String login;
    private final Targets targets;
    private final OwnIdentity identity;
    private final HttpExchange http;
    private final int millis;
    private final int batchBytes;
    private final int memoryBytes;
    /** The hosts of the URL, by the address and port that the client gets. */
    private final Map<String, String> hosts = new ConcurrentHashMap<>();

    /** Kafka's client shares a login between clients with the same text of it. */
    private final String loginId = UUID.randomUUID().toString();

    private volatile @Nullable KafkaToken token;
    private volatile @Nullable String refusal;

    /**
     * @param login {@code user:password}, or the id and secret of an OAuth client; empty without one
     * @param http for tokens
     * @param limit for each request
     * @param batchBytes the most bytes sent at a time
     * @param memoryBytes the most bytes that wait
     */
    KafkaClients(
            KafkaUrl url,
            String login,
            Targets targets,
            OwnIdentity identity,
            HttpExchange http,
            Duration limit,
            int batchBytes,
            int memoryBytes) {
        this.url = url;
        this.login = login;
        this.targets = targets;
        this.identity = identity;
        this.http = http;
        this.millis = (int) limit.toMillis();
        this.batchBytes = Math.min(batchBytes, MAX_BATCH_BYTES);
        this.memoryBytes = memoryBytes;
    }

    /** Why a broker that another broker named is not allowed; null if all are. */
    @Nullable
    String refusal() {
        return refusal;
    }

    /**
     * The producer is not connected yet. Blocks while it resolves the brokers.
     *
     * @throws UnknownHostException if no broker of the URL has an address
     * @throws Targets.RefusedTargetException if no sink may be at one of them
     */
    Producer<byte[], byte[]> producer(String transactionalId) throws UnknownHostException {
        Map<String, Object> settings = settings(transactionalId);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId);
        // An open transaction blocks all consumers that read only committed records.
        settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, millis);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, millis);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, millis);
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
        settings.put(ProducerConfig.BATCH_SIZE_CONFIG, batchBytes);
        settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, memoryBytes);
        settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, memoryBytes);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** For requests about a group's offsets; otherwise as {@link #producer}. */
    Admin admin(String name) throws UnknownHostException {
        Map<String, Object> settings = settings(name);
        settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, millis);
        return Admin.create(settings);
    }

    private Map<String, Object> settings(String name) throws UnknownHostException {
        Map<String, Object> settings = new HashMap<>();
        settings.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, servers());
        settings.put(CommonClientConfigs.CLIENT_ID_CONFIG, name);
        settings.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, protocol().name);
        settings.put(CommonClientConfigs.REQUEST_TIMEOUT_MS_CONFIG, millis);
        settings.put(CommonClientConfigs.SOCKET_CONNECTION_SETUP_TIMEOUT_MS_CONFIG, (long) millis);
        settings.put(CommonClientConfigs.SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS_CONFIG, (long) millis);
        settings.put(CommonClientConfigs.CONNECTIONS_MAX_IDLE_MS_CONFIG, IDLE.toMillis());
        settings.put(CommonClientConfigs.METRIC_REPORTER_CLASSES_CONFIG, "");
        // Otherwise brokers may ask for the metrics of their clients.
        settings.put(CommonClientConfigs.ENABLE_METRICS_PUSH_CONFIG, false);
        settings.put(SslConfigs.SSL_ENGINE_FACTORY_CLASS_CONFIG, Tls.class);
        settings.put(Tls.CLIENTS, this);
        if (url.mechanism() != null) {
            BoundedScram.install();
            settings.put(SaslConfigs.SASL_MECHANISM, url.mechanism());
            settings.put(SaslConfigs.SASL_JAAS_CONFIG, jaas());
        }
        if (url.tokenUrl() != null) {
            if (token == null) {
                token = KafkaToken.of(http, url.tokenUrl(), url.scope(), login)
                        .await()
                        .atMost(Duration.ofMillis(2L * millis));
            }
            settings.put(SaslConfigs.SASL_LOGIN_CALLBACK_HANDLER_CLASS, KafkaToken.Login.class);
        }
        return settings;
    }

    private SecurityProtocol protocol() {
        if (url.mechanism() == null) {
            return url.tls() ? SecurityProtocol.SSL : SecurityProtocol.PLAINTEXT;
        }
        return url.tls() ? SecurityProtocol.SASL_SSL : SecurityProtocol.SASL_PLAINTEXT;
    }

    /** The token that {@link #settings} has asked for. */
    KafkaToken token() {
        return Objects.requireNonNull(token);
    }

    private String jaas() {
        String mechanism = Objects.requireNonNull(url.mechanism());
        return mechanism.equals(KafkaUrl.OAUTHBEARER)
                ? OAuthBearerLoginModule.class.getName() + " required login=" + quoted(loginId) + ";"
                : jaas(mechanism, login);
    }

    /** Within quotes, the client's parser treats only quotes and backslashes specially. */
    static String jaas(String mechanism, String login) {
        int colon = login.indexOf(':');
        Class<?> module = mechanism.equals("PLAIN") ? PlainLoginModule.class : ScramLoginModule.class;
        return module.getName() + " required username=" + quoted(login.substring(0, colon)) + " password="
                + quoted(login.substring(colon + 1)) + ";";
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** One broker that can be resolved suffices. */
    private List<String> servers() throws UnknownHostException {
        List<String> servers = new ArrayList<>();
        UnknownHostException unknown = null;
        for (InetSocketAddress broker : url.brokers()) {
            try {
                InetAddress address = targets.allowed(broker.getHostString());
                if (!url.tls() && !targets.isNamed(address)) {
                    throw new Targets.RefusedTargetException(
                            "Without TLS, brokers may only be at addresses that ANNALS_STREAMS_ALLOWED_HOSTS names.");
                }
                hosts.putIfAbsent(place(address.getHostAddress(), broker.getPort()), broker.getHostString());
                servers.add(NetUtil.toSocketAddressString(address.getHostAddress(), broker.getPort()));
            } catch (UnknownHostException e) {
                unknown = e;
            }
        }
        if (servers.isEmpty() && unknown != null) {
            throw unknown;
        }
        return servers;
    }

    private static String place(String host, int port) {
        return host + " " + port;
    }

    /**
     * The TLS engine of a connection to a broker.
     *
     * @param host an address from {@link #servers}, or what a broker has named
     * @throws KafkaException if no sink may be at the host
     */
    SSLEngine engine(String host, int port) {
        String known = hosts.get(place(host, port));
        try {
            if (known == null) {
                targets.requireAllAllowed(host);
            }
            return new BoundedTls(TlsClients.engine(
                    known == null ? host : known, port, url.showsCertificate() ? identity.certificate() : null));
        } catch (Targets.RefusedTargetException e) {
            refusal = SHOWN_HOST.matcher(host).matches()
                    ? e.getMessage()
                    : "A broker names another one whose host name is not valid.";
            throw new KafkaException("refused");
        } catch (UnknownHostException e) {
            throw new KafkaException("unknown");
        }
    }

    /** Kafka's client makes this class by its name and asks it for an engine before each connection. */
    @RegisterForReflection
    public static final class Tls implements SslEngineFactory {

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
}
