package dev.annals.delivery;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import javax.security.auth.Subject;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.MetadataRecoveryStrategy;
import org.apache.kafka.clients.MetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.KafkaAdminClient;
import org.apache.kafka.clients.admin.internals.AdminMetadataManager;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.internals.ProducerInterceptors;
import org.apache.kafka.clients.producer.internals.ProducerMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ChannelBuilder;
import org.apache.kafka.common.network.ConnectionMode;
import org.apache.kafka.common.network.InvalidReceiveException;
import org.apache.kafka.common.network.SaslChannelBuilder;
import org.apache.kafka.common.network.Selector;
import org.apache.kafka.common.network.TransportLayer;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.authenticator.SaslClientAuthenticator;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;

/**
 * Makes clients of Kafka that connect to nothing but addresses where sinks may be. Brokers say where the other brokers are, and may say
 * anything: so the client asks {@link Targets} at each connection, and connects to the address that it gets. And it believes no broker
 * that wants to send more than {@value #MAX_ANSWER_BYTES} bytes, for which it would make room at once.
 *
 * <p>The client has a place for both, but not in what it publishes: its two constructors for tests take a network of one's own. They are
 * called by reflection; with a version that lacks them, no stream to Kafka delivers.
 */
final class KafkaClients {

    private static final int MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;
    private static final int SIZE_BYTES = 4;
    private static final int MAX_BATCH_BYTES = 512 * 1_024;
    private static final Duration IDLE = Duration.ofMinutes(1);
    private static final LogContext LOG = new LogContext();
    private static final Pattern SHOWN_HOST = Pattern.compile("[0-9A-Za-z:._-]{1,253}");

    private final KafkaUrl url;
    private final String login;
    private final Targets targets;
    private final int millis;
    private final int batchBytes;
    private final int memoryBytes;
    private volatile @Nullable String refusal;

    /**
     * @param login {@code user:password}; empty without one
     * @param limit how long anything may take
     * @param batchBytes how much is sent at a time
     * @param memoryBytes how much waits to be sent
     */
    KafkaClients(KafkaUrl url, String login, Targets targets, Duration limit, int batchBytes, int memoryBytes) {
        this.url = url;
        this.login = login;
        this.targets = targets;
        this.millis = (int) limit.toMillis();
        this.batchBytes = Math.min(batchBytes, MAX_BATCH_BYTES);
        this.memoryBytes = memoryBytes;
    }

    /** Why the last broker was not connected to that must not be; null if there was none. */
    @Nullable
    String refusal() {
        return refusal;
    }

    /** Connects to nothing yet. */
    Producer<byte[], byte[]> producer(String transactionalId) {
        Map<String, Object> settings = settings(transactionalId);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId);
        // A transaction that nobody ends holds up everybody who reads what is committed.
        settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, millis);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, millis);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, millis);
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
        settings.put(ProducerConfig.BATCH_SIZE_CONFIG, batchBytes);
        settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, memoryBytes);
        settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, memoryBytes);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        ProducerConfig config = new ProducerConfig(settings);
        ProducerMetadata metadata = new ProducerMetadata(
                config.getLong(ProducerConfig.RETRY_BACKOFF_MS_CONFIG),
                config.getLong(ProducerConfig.RETRY_BACKOFF_MAX_MS_CONFIG),
                config.getLong(ProducerConfig.METADATA_MAX_AGE_CONFIG),
                config.getLong(ProducerConfig.METADATA_MAX_IDLE_CONFIG),
                LOG,
                new ClusterResourceListeners(),
                Time.SYSTEM);
        metadata.bootstrap(url.brokers());
        ApiVersions versions = new ApiVersions();
        KafkaClient network = network(config, null, metadata, versions);
        return made(network, () -> producer(config, metadata, network, versions));
    }

    @SuppressWarnings("unchecked") // Its serializers say what it takes.
    private static Producer<byte[], byte[]> producer(
            ProducerConfig config, ProducerMetadata metadata, KafkaClient network, ApiVersions versions)
            throws ReflectiveOperationException {
        Constructor<?> constructor = KafkaProducer.class.getDeclaredConstructor(
                ProducerConfig.class,
                Serializer.class,
                Serializer.class,
                ProducerMetadata.class,
                KafkaClient.class,
                ProducerInterceptors.class,
                ApiVersions.class,
                Time.class);
        constructor.setAccessible(true);
        return (Producer<byte[], byte[]>) constructor.newInstance(
                config,
                new ByteArraySerializer(),
                new ByteArraySerializer(),
                metadata,
                network,
                null,
                versions,
                Time.SYSTEM);
    }

    /** Connects to nothing yet. */
    Admin admin(String name) {
        Map<String, Object> settings = settings(name);
        settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, millis);
        AdminClientConfig config = new AdminClientConfig(settings);
        AdminMetadataManager metadata = new AdminMetadataManager(
                LOG,
                config.getLong(AdminClientConfig.RETRY_BACKOFF_MS_CONFIG),
                config.getLong(AdminClientConfig.METADATA_MAX_AGE_CONFIG),
                false);
        metadata.update(Cluster.bootstrap(url.brokers()), Time.SYSTEM.milliseconds());
        KafkaClient network = network(config, metadata.updater(), null, new ApiVersions());
        return made(network, () -> {
            Method create = KafkaAdminClient.class.getDeclaredMethod(
                    "createInternal",
                    AdminClientConfig.class,
                    AdminMetadataManager.class,
                    KafkaClient.class,
                    Time.class);
            create.setAccessible(true);
            return (Admin) create.invoke(null, config, metadata, network, Time.SYSTEM);
        });
    }

    /** Makes a client. */
    @FunctionalInterface
    private interface Making<T> {
        T client() throws ReflectiveOperationException;
    }

    private static <T> T made(KafkaClient network, Making<T> making) {
        try {
            return making.client();
        } catch (InvocationTargetException e) {
            Utils.closeQuietly(network, "network");
            throw new KafkaException("the client cannot be made", e.getCause());
        } catch (ReflectiveOperationException e) {
            Utils.closeQuietly(network, "network");
            throw new IllegalStateException("Kafka's client is another one than was tested", e);
        }
    }

    private Map<String, Object> settings(String name) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, url.servers());
        settings.put(CommonClientConfigs.CLIENT_ID_CONFIG, name);
        settings.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, protocol().name);
        settings.put(CommonClientConfigs.REQUEST_TIMEOUT_MS_CONFIG, millis);
        settings.put(CommonClientConfigs.SOCKET_CONNECTION_SETUP_TIMEOUT_MS_CONFIG, (long) millis);
        settings.put(CommonClientConfigs.SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS_CONFIG, (long) millis);
        settings.put(CommonClientConfigs.METRIC_REPORTER_CLASSES_CONFIG, "");
        // Brokers may ask for metrics of their clients.
        settings.put(CommonClientConfigs.ENABLE_METRICS_PUSH_CONFIG, false);
        if (url.mechanism() != null) {
            settings.put(SaslConfigs.SASL_MECHANISM, url.mechanism());
            settings.put(SaslConfigs.SASL_LOGIN_CLASS, KafkaLogin.class);
            settings.put(SaslConfigs.SASL_JAAS_CONFIG, jaas());
        }
        return settings;
    }

    private SecurityProtocol protocol() {
        if (url.mechanism() == null) {
            return url.tls() ? SecurityProtocol.SSL : SecurityProtocol.PLAINTEXT;
        }
        return url.tls() ? SecurityProtocol.SASL_SSL : SecurityProtocol.SASL_PLAINTEXT;
    }

    private String jaas() {
        int colon = login.indexOf(':');
        return KafkaLogin.class.getName() + " required " + KafkaLogin.NAME + "=" + quoted(login.substring(0, colon))
                + " " + KafkaLogin.PASSWORD + "=" + quoted(login.substring(colon + 1)) + ";";
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private NetworkClient network(
            AbstractConfig config,
            @Nullable MetadataUpdater updater,
            @Nullable Metadata metadata,
            ApiVersions versions) {
        Metrics metrics = new Metrics();
        ChannelBuilder channels = channels(config);
        Selector selector = new Selector(
                MAX_ANSWER_BYTES, IDLE.toMillis(), metrics, Time.SYSTEM, "annals", Map.of(), false, channels, LOG);
        return new NetworkClient(
                updater,
                metadata,
                selector,
                config.getString(CommonClientConfigs.CLIENT_ID_CONFIG),
                5,
                config.getLong(CommonClientConfigs.RECONNECT_BACKOFF_MS_CONFIG),
                config.getLong(CommonClientConfigs.RECONNECT_BACKOFF_MAX_MS_CONFIG),
                config.getInt(CommonClientConfigs.SEND_BUFFER_CONFIG),
                config.getInt(CommonClientConfigs.RECEIVE_BUFFER_CONFIG),
                millis,
                millis,
                millis,
                Time.SYSTEM,
                true,
                versions,
                null,
                LOG,
                this::resolve,
                null,
                Long.MAX_VALUE,
                MetadataRecoveryStrategy.NONE);
    }

    /** For each connection, by whatever name a broker has. May block. */
    private InetAddress[] resolve(String host) throws UnknownHostException {
        try {
            InetAddress address = targets.allowed(host);
            if (!url.tls() && !targets.isNamed(address)) {
                throw new Targets.RefusedTargetException(
                        "Without TLS, brokers may only be at addresses that ANNALS_STREAMS_ALLOWED_HOSTS names.");
            }
            return new InetAddress[] {address};
        } catch (Targets.RefusedTargetException e) {
            refusal = SHOWN_HOST.matcher(host).matches()
                    ? e.getMessage()
                    : "A broker says that another one is at a host whose name is none.";
            throw new UnknownHostException("refused");
        }
    }

    private ChannelBuilder channels(AbstractConfig config) {
        String mechanism = url.mechanism();
        if (mechanism == null) {
            return ClientUtils.createChannelBuilder(config, Time.SYSTEM, LOG);
        }
        ChannelBuilder channels = new BoundedLogin(
                Map.of(mechanism, JaasContext.loadClientContext(config.values())), protocol(), mechanism);
        channels.configure(config.values());
        return channels;
    }

    /** The selector looks at sizes only once somebody is logged in. */
    private static final class BoundedLogin extends SaslChannelBuilder {

        BoundedLogin(Map<String, JaasContext> contexts, SecurityProtocol protocol, String mechanism) {
            super(
                    ConnectionMode.CLIENT,
                    contexts,
                    protocol,
                    null,
                    false,
                    mechanism,
                    null,
                    null,
                    null,
                    Time.SYSTEM,
                    LOG,
                    version -> {
                        throw new IllegalStateException("a client answers nobody");
                    });
        }

        @Override
        protected SaslClientAuthenticator buildClientAuthenticator(
                Map<String, ?> configs,
                AuthenticateCallbackHandler handler,
                String id,
                String host,
                String principal,
                TransportLayer transport,
                Subject subject) {
            return super.buildClientAuthenticator(configs, handler, id, host, principal, bounded(transport), subject);
        }

        private static TransportLayer bounded(TransportLayer transport) {
            return (TransportLayer) Proxy.newProxyInstance(
                    TransportLayer.class.getClassLoader(),
                    new Class<?>[] {TransportLayer.class},
                    (proxy, method, arguments) -> {
                        try {
                            Object result = method.invoke(transport, arguments);
                            if (method.getName().equals("read") && arguments[0] instanceof ByteBuffer bytes) {
                                requireBounded(bytes);
                            }
                            return result;
                        } catch (InvocationTargetException e) {
                            throw Optional.ofNullable(e.getCause()).orElse(e);
                        }
                    });
        }

        // Each answer begins with its size, which is read into a buffer of its own.
        private static void requireBounded(ByteBuffer bytes) throws IOException {
            if (bytes.capacity() == SIZE_BYTES && !bytes.hasRemaining() && bytes.getInt(0) > MAX_ANSWER_BYTES) {
                throw new InvalidReceiveException("too much");
            }
        }
    }
}
