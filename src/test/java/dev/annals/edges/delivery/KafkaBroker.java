package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A broker of Kafka, in a process of its own. Clients without a login may do everything; the user annals may do what a test allows. */
public final class KafkaBroker implements AutoCloseable {

    static final String USER = "annals";
    /** A password with every character that has a meaning in the setting, and the name of a module that accepts any login. */
    static final String PASSWORD = "a\"; evil required x=\" \\\" \\ pass;word=ü:1";
    /** For SCRAM, whose passwords the tool that sets them reads otherwise. */
    static final String SCRAM_PASSWORD = "as-long-as-it-is-secret";

    private static final String STORE_PASSWORD = "no secret";
    private static final int PARTITIONS = 3;

    final int port;
    final int loginPort;
    final int tlsPort;
    /** Over TLS, for clients with the certificate of {@link #client}, which is their login. */
    final int mutualPort;

    final Certificate client;
    /** The address over TLS at which the broker names a forbidden address as its own. */
    final int lurePort;

    /** The forbidden address, with a listener that must get no connection. */
    final ServerSocket trap;

    private final List<String> options;
    private final Path directory;
    private Process process;
    private final Admin admin;

    /** Starts one that lives for seconds, and waits until it answers. */
    KafkaBroker() throws Exception {
        this("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");
    }

    /** Starts one with these options of its JVM, and waits until it answers. */
    public KafkaBroker(String... options) throws Exception {
        this.options = List.of(options);
        directory = Files.createTempDirectory("annals-kafka");
        List<Integer> ports = freePorts(6);
        port = ports.get(0);
        loginPort = ports.get(1);
        tlsPort = ports.get(2);
        lurePort = ports.get(3);
        mutualPort = ports.get(5);
        client = new Certificate(Files.createDirectory(directory.resolve("client")), USER);
        trap = new ServerSocket(0, 50, InetAddress.getByAddress(new byte[] {127, 0, 0, 2}));
        keytool(
                "-genkeypair",
                "-alias",
                "broker",
                "-keyalg",
                "EC",
                "-dname",
                "CN=broker",
                "-ext",
                "san=ip:127.0.0.1",
                "-keystore",
                file("keys.p12"));
        keytool("-exportcert", "-alias", "broker", "-keystore", file("keys.p12"), "-file", file("broker.crt"));
        keytool(
                "-importcert",
                "-noprompt",
                "-alias",
                "broker",
                "-keystore",
                file("trusted.p12"),
                "-file",
                file("broker.crt"));
        Files.writeString(directory.resolve("server.properties"), settings(ports.get(4)), StandardCharsets.UTF_8);
        Process format = java(
                "kafka.tools.StorageTool",
                "format",
                "-t",
                Uuid.randomUuid().toString(),
                "-c",
                file("server.properties"),
                "--add-scram",
                "SCRAM-SHA-512=[name=" + USER + ",password=" + SCRAM_PASSWORD + "]");
        assertThat(format.waitFor()).as(output()).isZero();
        admin = Admin.create(Map.of("bootstrap.servers", server(), "request.timeout.ms", 5_000));
        try {
            start();
        } catch (AssertionError e) {
            close();
            throw e;
        }
    }

    /** Starts it again where it was killed. */
    void start() throws Exception {
        process = java("kafka.Kafka", file("server.properties"));
        Await.until("the broker answers", this::isUp);
    }

    /** With SIGKILL. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sockets.add(new ServerSocket(0));
        }
        List<Integer> ports = new ArrayList<>();
        for (ServerSocket socket : sockets) {
            ports.add(socket.getLocalPort());
            socket.close();
        }
        return ports;
    }

    private String file(String name) {
        return directory.resolve(name).toString();
    }

    private String output() throws IOException {
        Path log = directory.resolve("output");
        return Files.exists(log) ? Files.readString(log) : "";
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(List.of(arguments));
        command.addAll(List.of("-storetype", "PKCS12", "-storepass", STORE_PASSWORD, "-J-XX:TieredStopAtLevel=1"));
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(keytool.waitFor()).as(said).isZero();
    }

    private String settings(int controller) {
        String login = "org.apache.kafka.common.security.plain.PlainLoginModule required user_" + USER + "=\""
                + PASSWORD.replace("\\", "\\\\").replace("\"", "\\\"") + "\";";
        List<String> lines = new ArrayList<>(List.of(
                "process.roles=broker,controller",
                "node.id=1",
                "controller.quorum.voters=1@127.0.0.1:" + controller,
                "controller.listener.names=CONTROLLER",
                "inter.broker.listener.name=OPEN",
                "listeners=" + listeners(controller, lurePort, "127.0.0.1"),
                "advertised.listeners="
                        + listeners(
                                0, trap.getLocalPort(), trap.getInetAddress().getHostAddress()),
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,OPEN:PLAINTEXT,LURE:SSL,MUTUAL:SSL,LOGIN:SASL_PLAINTEXT,"
                        + "SECURE:SASL_SSL",
                "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512,OAUTHBEARER",
                "listener.name.mutual.ssl.client.auth=required",
                "listener.name.mutual.ssl.truststore.location=" + client.trusted(),
                "listener.name.mutual.ssl.truststore.password=" + Certificate.trustedPassword(),
                "ssl.principal.mapping.rules=RULE:^CN=(.*)$/$1/",
                "ssl.keystore.location=" + file("keys.p12"),
                "ssl.keystore.password=" + STORE_PASSWORD,
                "log.dirs=" + file("data"),
                "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users=User:ANONYMOUS",
                "auto.create.topics.enable=false",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=" + PARTITIONS,
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=" + PARTITIONS));
        for (String listener : List.of("login", "secure")) {
            // A file of properties reads backslashes once more.
            lines.add("listener.name." + listener + ".plain.sasl.jaas.config=" + login.replace("\\", "\\\\"));
            lines.add("listener.name." + listener
                    + ".scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule"
                    + " required;");
            // Tokens without a signature, of any subject.
            lines.add("listener.name." + listener
                    + ".oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
                    + " required unsecuredLoginStringClaim_sub=\"broker\";");
        }
        return lines.stream().map(KafkaBroker::escaped).collect(Collectors.joining("\n"));
    }

    private static String escaped(String line) {
        return line.chars()
                .mapToObj(c -> c < 128 ? Character.toString(c) : String.format("\\u%04x", c))
                .collect(Collectors.joining());
    }

    private String listeners(int controller, int lure, String lureAddress) {
        return (controller == 0 ? "" : "CONTROLLER://127.0.0.1:" + controller + ",") + "OPEN://127.0.0.1:" + port
                + ",LOGIN://127.0.0.1:" + loginPort + ",SECURE://127.0.0.1:" + tlsPort + ",MUTUAL://127.0.0.1:"
                + mutualPort + ",LURE://" + lureAddress + ":"
                + lure;
    }

    private Process java(String main, String... arguments) throws IOException {
        String jars = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> entry.endsWith(".jar"))
                .collect(Collectors.joining(File.pathSeparator));
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-Djava.util.logging.manager=org.jboss.logmanager.LogManager", "-cp", jars, main));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("output").toFile()))
                .start();
    }

    private boolean isUp() throws Exception {
        assertThat(process.isAlive()).as(output()).isTrue();
        try {
            return !admin.describeCluster().nodes().get(10, TimeUnit.SECONDS).isEmpty();
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }

    /** A store of certificates that has the broker's alone. */
    String trustStore() {
        return file("trusted.p12");
    }

    /** A server with the broker's certificate that is no broker. */
    ServerSocket impostor() throws Exception {
        KeyStore store = KeyStore.getInstance(Path.of(file("keys.p12")).toFile(), STORE_PASSWORD.toCharArray());
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, STORE_PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context.getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
    }

    static String trustStorePassword() {
        return STORE_PASSWORD;
    }

    /** The address without a login. */
    public String server() {
        return "127.0.0.1:" + port;
    }

    /** A topic of several partitions. */
    public String newTopic(Map<String, String> settings) throws Exception {
        String topic = "audit." + Uuid.randomUuid();
        admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1).configs(settings)))
                .all()
                .get();
        return topic;
    }

    /** Allows the user something. */
    void allow(ResourceType type, String name, PatternType pattern, AclOperation operation) throws Exception {
        admin.createAcls(List.of(new AclBinding(
                        new ResourcePattern(type, name, pattern),
                        new AccessControlEntry("User:" + USER, "*", operation, AclPermissionType.ALLOW))))
                .all()
                .get();
    }

    OffsetAndMetadata offset(String group, String topic) throws Exception {
        return admin.listConsumerGroupOffsets(group, new ListConsumerGroupOffsetsOptions().requireStable(true))
                .partitionsToOffsetAndMetadata()
                .get()
                .get(new TopicPartition(topic, 0));
    }

    void setOffset(String group, String topic, long offset, String metadata) throws Exception {
        admin.alterConsumerGroupOffsets(
                        group, Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(offset, metadata)))
                .all()
                .get();
    }

    /** The committed records, partition after partition, after the running transactions have ended. */
    List<ConsumerRecord<String, byte[]>> committed(String topic) throws Exception {
        return read(topic, "read_committed");
    }

    /** All written records, including those of aborted transactions. */
    List<ConsumerRecord<String, byte[]>> written(String topic) throws Exception {
        return read(topic, "read_uncommitted");
    }

    private List<ConsumerRecord<String, byte[]>> read(String topic, String isolation) throws Exception {
        List<ConsumerRecord<String, byte[]>> records = new ArrayList<>();
        try (KafkaConsumer<String, byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", server(), "isolation.level", isolation),
                new StringDeserializer(),
                new ByteArrayDeserializer())) {
            Collection<TopicPartition> all = Stream.iterate(0, i -> i + 1)
                    .limit(PARTITIONS)
                    .map(i -> new TopicPartition(topic, i))
                    .toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = ends(all);
            // A producer hears that its transaction is committed a moment before readers see what it wrote.
            Await.until(
                    "the transactions in " + topic + " have ended",
                    () -> consumer.endOffsets(all).entrySet().stream()
                            .allMatch(stable -> stable.getValue() >= ends.get(stable.getKey())));
            while (all.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                consumer.poll(Duration.ofMillis(200)).forEach(records::add);
            }
        }
        records.sort(Comparator.<ConsumerRecord<String, byte[]>>comparingInt(ConsumerRecord::partition)
                .thenComparingLong(ConsumerRecord::offset));
        return records;
    }

    private Map<TopicPartition, Long> ends(Collection<TopicPartition> partitions) throws Exception {
        Map<TopicPartition, Long> ends = new HashMap<>();
        var found = admin.listOffsets(partitions.stream()
                .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest())));
        for (TopicPartition partition : partitions) {
            ends.put(partition, found.partitionResult(partition).get().offset());
        }
        return ends;
    }

    @Override
    public void close() throws IOException {
        admin.close(Duration.ZERO);
        trap.close();
        if (process != null) {
            process.destroyForcibly().onExit().join();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
