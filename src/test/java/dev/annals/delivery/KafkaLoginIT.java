package dev.annals.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.embedded.TestDatabase;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.Test;

/**
 * The packaged program delivers to Kafka by each way to log in. Kafka's client finds its classes by name, so what works on the
 * JVM may not in a native executable.
 */
@Slow
class KafkaLoginIT {

    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    @TakesLong
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
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"action\": \"delivered\"}")
                .post(service.uri("/v1/project-logs"))
                .then()
                .statusCode(201);
        Map<String, Object> sink =
                new TreeMap<>(Map.of("type", "kafka", "url", "kafka://127.0.0.1:" + port + "/" + topic + parameters));
        if (!secret.isEmpty()) {
            sink.put("secret", secret);
        }
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body(Map.of("sink", sink))
                .put(service.uri("/v1/streams/events"))
                .then()
                .statusCode(201);
        Await.until(
                "a record is in the topic at port " + port + parameters,
                () -> !broker.committed(topic).isEmpty());
        assertThat(JSON.readTree(broker.committed(topic).get(0).value())
                        .path("action")
                        .textValue())
                .isEqualTo("delivered");
    }

    private static ServiceProcess start(KafkaBroker broker) throws Exception {
        return ServiceProcess.start(Map.of(
                        "JAVA_TOOL_OPTIONS",
                        "-Djavax.net.ssl.trustStore=" + broker.trustStore() + " '-Djavax.net.ssl.trustStorePassword="
                                + KafkaBroker.trustStorePassword() + "'",
                        "ANNALS_DATABASE_URL",
                        TestDatabase.createDatabase().withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        AuditLogFixture.ADMIN_TOKEN,
                        "ANNALS_STREAMS_KEY",
                        AuditLogFixture.STREAMS_KEY,
                        "ANNALS_STREAMS_ALLOWED_HOSTS",
                        "127.0.0.1"))
                .awaitListening();
    }
}
