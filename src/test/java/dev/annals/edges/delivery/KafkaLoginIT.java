package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.Test;

/**
 * The packaged program delivers to Kafka by each way to log in. Kafka's client finds its classes by name, so what works on the
 * JVM may not in a native executable.
 */
@Slow
@TakesLong
class KafkaLoginIT {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Neither a broker that names another one, nor one that announces an answer for which there is no room. */
    @Test
    void overTlsNoBrokerLeadsItAstray() throws Exception {
        try (KafkaBroker broker = new KafkaBroker();
                ServiceProcess service = start(broker)) {
            broker.trap.setSoTimeout(60_000);
            CompletableFuture<Integer> trapped = CompletableFuture.supplyAsync(() -> firstByte(broker.trap));
            awaitError(service, broker.lurePort, "", "", "No sink may be at 127.0.0.2");
            assertThat(trapped.get()).as("what was sent there").isEqualTo(-1);
            for (String login : List.of("", "a:b")) {
                try (ServerSocket hostile = broker.impostor()) {
                    CompletableFuture<Long> sent = CompletableFuture.supplyAsync(() -> flood(hostile));
                    String sasl = login.isEmpty() ? "" : "?sasl=plain";
                    awaitError(service, hostile.getLocalPort(), sasl, login, "It did not answer");
                    assertThat(sent.get()).as("bytes that were read" + sasl).isLessThan(60_000_000);
                }
            }
        }
    }

    /** The first that comes at the first connection; -1 if it is ended before. */
    private static int firstByte(ServerSocket server) {
        try (Socket caller = server.accept()) {
            return caller.getInputStream().read();
        } catch (SocketException e) {
            return -1;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Answers with a hundred megabytes, and says how many went out. */
    private static long flood(ServerSocket server) {
        long sent = 0;
        try (Socket caller = server.accept()) {
            assertThat(caller.getInputStream().read()).isNotNegative();
            OutputStream out = caller.getOutputStream();
            out.write(new byte[] {0x06, 0, 0, 0});
            byte[] part = new byte[65_536];
            while (sent < 100_000_000) {
                out.write(part);
                sent += part.length;
            }
        } catch (IOException e) {
            // It has hung up.
        }
        return sent;
    }

    private static void awaitError(ServiceProcess service, int port, String parameters, String secret, String text)
            throws Exception {
        Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        set(service, project, port, "topic" + parameters, secret);
        Await.until(
                "it says: " + text,
                () -> String.valueOf(given().header("Authorization", "Bearer " + project.token())
                                .get(service.uri("/v1/streams/events"))
                                .<String>path("last_error"))
                        .contains(text));
    }

    @Test
    void itDeliversByEachWayToLogIn() throws Exception {
        try (KafkaBroker broker = new KafkaBroker();
                ServiceProcess service = start(broker)) {
            broker.allow(ResourceType.TRANSACTIONAL_ID, "annals-", PatternType.PREFIXED, AclOperation.WRITE);
            broker.allow(ResourceType.GROUP, "annals-", PatternType.PREFIXED, AclOperation.READ);
            deliver(service, broker, broker.port, "?tls=false", "");
            deliver(
                    service,
                    broker,
                    broker.loginPort,
                    "?tls=false&sasl=plain",
                    KafkaBroker.USER + ":" + KafkaBroker.PASSWORD);
            deliver(service, broker, broker.tlsPort, "?sasl=plain", KafkaBroker.USER + ":" + KafkaBroker.PASSWORD);
            deliver(
                    service,
                    broker,
                    broker.tlsPort,
                    "?sasl=scram-sha-512",
                    KafkaBroker.USER + ":" + KafkaBroker.SCRAM_PASSWORD);
        }
    }

    private static void deliver(ServiceProcess service, KafkaBroker broker, int port, String parameters, String secret)
            throws Exception {
        String topic = broker.newTopic(Map.of());
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.WRITE);
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.READ);
        Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        set(service, project, port, topic + parameters, secret);
        Await.until(
                "a record is in the topic at port " + port + parameters,
                () -> !broker.committed(topic).isEmpty());
        assertThat(JSON.readTree(broker.committed(topic).get(0).value())
                        .path("action")
                        .textValue())
                .isEqualTo("delivered");
    }

    /** Makes a stream of one record. */
    private static void set(ServiceProcess service, Project project, int port, String topic, String secret) {
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"action\": \"delivered\"}")
                .post(service.uri("/v1/project-logs"))
                .then()
                .statusCode(201);
        Map<String, Object> sink =
                new TreeMap<>(Map.of("type", "kafka", "url", "kafka://127.0.0.1:" + port + "/" + topic));
        if (!secret.isEmpty()) {
            sink.put("secret", secret);
        }
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body(Map.of("sink", sink))
                .put(service.uri("/v1/streams/events"))
                .then()
                .statusCode(201);
    }

    private static ServiceProcess start(KafkaBroker broker) throws Exception {
        return StreamingService.start(
                TestDatabase.createDatabase(),
                "JAVA_TOOL_OPTIONS",
                "-XX:+ExitOnOutOfMemoryError -Djavax.net.ssl.trustStore=" + broker.trustStore()
                        + " '-Djavax.net.ssl.trustStorePassword=" + KafkaBroker.trustStorePassword() + "'");
    }
}
