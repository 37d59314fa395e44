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
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An instance that delivers to Kafka dies or freezes in the middle. Consumers of committed records get each record once, in order. */
@Slow
@TakesLong
class KafkaTakeoverIT {

    private static final int RECORDS = 3_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    private static KafkaBroker broker;

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private ServiceProcess first;
    private ServiceProcess second;
    private Project project;
    private String topic;

    @BeforeAll
    static void startBroker() throws Exception {
        broker = new KafkaBroker();
        broker.allow(ResourceType.TRANSACTIONAL_ID, "annals-", PatternType.PREFIXED, AclOperation.WRITE);
        broker.allow(ResourceType.GROUP, "annals-", PatternType.PREFIXED, AclOperation.READ);
    }

    @AfterAll
    static void stopBroker() throws Exception {
        if (broker != null) {
            broker.close();
        }
    }

    @BeforeEach
    void startOneThatDelivers() throws Exception {
        topic = broker.newTopic(Map.of());
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.WRITE);
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.READ);
        first = start();
        project = first.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("insert into annals.audit_record (project_id, action) select '" + project.id()
                    + "', 'act' from generate_series(1, " + RECORDS + ")");
        }
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"kafka\", \"url\": \"kafka://127.0.0.1:" + broker.tlsPort + "/" + topic
                        + "?sasl=scram-sha-512\", \"secret\": \"" + KafkaBroker.USER + ":"
                        + KafkaBroker.SCRAM_PASSWORD + "\"}}")
                .put(first.uri("/v1/streams/events"))
                .then()
                .statusCode(201);
        Await.until("it is in the middle", () -> committed().size() > 300);
        second = start();
    }

    @AfterEach
    void stopAll() throws Exception {
        first.close();
        second.close();
    }

    private ServiceProcess start() throws Exception {
        return StreamingService.start(
                database,
                "JAVA_TOOL_OPTIONS",
                "-Djavax.net.ssl.trustStore=" + broker.trustStore() + " '-Djavax.net.ssl.trustStorePassword="
                        + KafkaBroker.trustStorePassword() + "'",
                "ANNALS_STREAMS_LEASE",
                "2s",
                // Slows the delivery, so that it has a middle.
                "ANNALS_STREAMS_BATCH_RECORDS",
                "10");
    }

    private List<Long> committed() throws Exception {
        return broker.committed(topic).stream()
                .map(record -> {
                    try {
                        return JSON.readTree(record.value()).path("sequence_id").longValue();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .toList();
    }

    private void assertEverythingIsThereOnce() throws Exception {
        Await.until(
                "everything is delivered",
                () -> given().header("Authorization", "Bearer " + project.token())
                                .get(second.uri("/v1/streams/events"))
                                .<Integer>path("lag")
                        == 0);
        assertThat(committed())
                .isEqualTo(LongStream.rangeClosed(1, RECORDS).boxed().toList());
        assertThat(second.output).noneMatch(line -> line.contains(KafkaBroker.SCRAM_PASSWORD));
    }

    @Test
    void afterAKillTheOtherOneGoesOnBehindWhatWasCommitted() throws Exception {
        first.close();
        int before = committed().size();
        assertThat(before).as("records before the end").isLessThan(RECORDS);
        assertEverythingIsThereOnce();
    }

    @Test
    void oneThatWasFrozenWritesNothingAnyMore() throws Exception {
        first.signal("STOP");
        int before = committed().size();
        assertThat(before).as("records before the end").isLessThan(RECORDS);
        Await.until("the other one delivers", () -> committed().size() > before + 100);
        first.signal("CONT");
        assertEverythingIsThereOnce();
    }
}
