package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.not;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.core.feed.Cursor;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A topic has every record of the feed exactly once, whatever the service knows of it. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Slow
class KafkaSinkTest extends OneStream {

    private static final String STREAM = "/v1/streams/events";
    private static KafkaBroker broker;

    @Inject
    StreamStore streams;

    @Inject
    StreamSchedulers schedulers;

    private String topic;

    private StreamScheduler deliveries() {
        return schedulers.of(project.id());
    }

    @BeforeAll
    static void startABroker() throws Exception {
        broker = new KafkaBroker();
    }

    @AfterAll
    static void stopIt() throws Exception {
        broker.close();
    }

    KafkaSinkTest() {
        super(STREAM);
    }

    @BeforeEach
    void makeAProjectAndATopic() throws Exception {
        project = log.newProject("read", "write", "stream");
        topic = broker.newTopic(Map.of());
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        project.wrongRequest().delete(STREAM);
        log.checkFeed(project.id());
    }

    private String url() {
        return "kafka://" + broker.server() + "/" + topic + "?tls=false";
    }

    private Response set(String url, String secret, Map<String, Object> more) {
        return set("kafka", url, secret, more);
    }

    private String group() {
        return "annals-" + get().path("id");
    }

    private void awaitError(String text) throws Exception {
        Await.until(
                "it says: " + text,
                () -> String.valueOf(get().<String>path("last_error")).contains(text));
    }

    private static JsonNode value(ConsumerRecord<String, byte[]> record) {
        try {
            return JSON.readTree(record.value());
        } catch (IOException e) {
            throw new IllegalStateException(new String(record.value(), StandardCharsets.UTF_8), e);
        }
    }

    private static List<Long> ids(List<ConsumerRecord<String, byte[]>> records) {
        return records.stream()
                .map(record -> value(record).path("sequence_id").longValue())
                .toList();
    }

    private static List<Long> ids(long from, long to) {
        return LongStream.rangeClosed(from, to).boxed().toList();
    }

    private static Map<String, String> headers(ConsumerRecord<String, byte[]> record) {
        return StreamSupport.stream(record.headers().spliterator(), false)
                .collect(Collectors.toMap(
                        header -> header.key(), header -> new String(header.value(), StandardCharsets.UTF_8)));
    }

    @Test
    void itHasEveryRecordOnceInOrderAndWithItsCursor() throws Exception {
        append(250);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        append(7);
        awaitLag(0);
        List<ConsumerRecord<String, byte[]>> records = broker.committed(topic);
        assertThat(ids(records)).isEqualTo(ids(1, 257));
        assertThat(records.stream().map(ConsumerRecord::partition).distinct()).hasSize(1);
        assertThat(records)
                .allSatisfy(record ->
                        assertThat(record.key()).isEqualTo(project.id().toString()))
                .allSatisfy(
                        record -> assertThat(headers(record)).isEqualTo(Map.of("content-type", "application/json")));
        assertThat(value(records.get(249)).path("message").asText()).isEqualTo("Record 250");
        assertThat(broker.offset(group(), topic).offset()).isEqualTo(257);
        assertThat(broker.offset(group(), topic).metadata()).isEqualTo("0 " + get().path("cursor"));
    }

    /** As after a crash between the commit there and the note of it here. */
    @Test
    void aCursorBehindTheTopicWritesNothingTwice() throws Exception {
        append(150);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        log.run("update annals.stream_progress set cursor = '0' where stream_id = '" + get().path("id") + "'");
        append(10);
        awaitLag(0);
        assertThat(ids(broker.committed(topic))).isEqualTo(ids(1, 160));
    }

    @Test
    @TakesLong
    void oneThatIsRewoundWritesAgain() throws Exception {
        append(20);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        rewind("15");
        awaitLag(0);
        assertThat(ids(broker.committed(topic)))
                .containsExactlyElementsOf(
                        LongStream.concat(LongStream.rangeClosed(1, 20), LongStream.rangeClosed(16, 20))
                                .boxed()
                                .toList());
        assertThat(broker.offset(group(), topic).metadata()).startsWith("1 20-");
    }

    @Test
    @TakesLong
    void oneThatIsDeletedAndMadeAgainBeginsAnew() throws Exception {
        append(5);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        project.wrongRequest().delete(STREAM).then().statusCode(204);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        assertThat(ids(broker.committed(topic))).containsExactly(1L, 2L, 3L, 4L, 5L, 1L, 2L, 3L, 4L, 5L);
    }

    /** Delivers as an instance that was frozen and believes that it still has the lease. */
    @Test
    void aTakeoverAbortsTheOpenTransactionAndGoesOnAfterTheCommittedRecords() throws Exception {
        set(url(), null, Map.of()).then().statusCode(201);
        post("pause").then().statusCode(200);
        append(30);
        NamedStream stream = streams.find(project.id(), "events").await().indefinitely();
        try (Sink frozen = deliveries().open(stream);
                Sink other = deliveries().open(stream)) {
            Cursor begun = frozen.begin(Cursor.START).await().indefinitely();
            assertThat(deliver(stream, frozen, begun)).isInstanceOf(Sink.Outcome.Delivered.class);
            Cursor taken = other.begin(Cursor.START).await().indefinitely();
            assertThat(taken.sequenceId()).isEqualTo(10);
            assertThat(deliver(stream, frozen, taken)).isInstanceOf(Sink.Outcome.Moved.class);
            assertThat(deliver(stream, other, taken)).isInstanceOf(Sink.Outcome.Delivered.class);
            assertThat(deliver(stream, frozen, taken)).isInstanceOf(Sink.Outcome.Moved.class);
        }
        assertThat(ids(broker.committed(topic))).isEqualTo(ids(1, 20));
    }

    /** An instance whose lease is older than a rewind, and whose turn begins after it. */
    @Test
    void anInstanceThatMissedARewindWritesNothing() throws Exception {
        append(10);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        post("pause").then().statusCode(200);
        NamedStream before = streams.find(project.id(), "events").await().indefinitely();
        rewind("4");
        post("resume").then().statusCode(200);
        awaitLag(0);
        try (Sink old = deliveries().open(before)) {
            Cursor begun = old.begin(before.progress().cursor()).await().indefinitely();
            assertThat(deliver(before, old, Cursor.START)).isInstanceOf(Sink.Outcome.Moved.class);
            assertThat(begun.sequenceId()).isEqualTo(10);
        }
        assertThat(broker.committed(topic)).hasSize(16);
    }

    private Sink.Outcome deliver(NamedStream stream, Sink sink, Cursor at) {
        return deliveries()
                .withPage(
                        stream,
                        (at.equals(Cursor.START)
                                        ? deliveries().query(stream)
                                        : deliveries().query(stream).from(at))
                                .withLimit(10),
                        page -> sink.deliver(new Sink.Batch(stream, page.records(), at, page.pollMore())))
                .await()
                .indefinitely();
    }

    @Test
    void cloudEventsAreInBinaryMode() throws Exception {
        String text = "Zoë \"1\"\n</script> \\ }, \"data\": 🔑";
        ObjectNode record =
                JSON.createObjectNode().put("action", "naïve \"act\"").put("message", text);
        record.putObject("subject").put("id", "volume } ü");
        project.request()
                .contentType("application/json")
                .body(record.toString())
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
        set(url(), null, Map.of("format", "cloudevents")).then().statusCode(201);
        awaitLag(0);
        ConsumerRecord<String, byte[]> event = broker.committed(topic).get(0);
        JsonNode data = value(event);
        assertThat(data.path("message").asText()).isEqualTo(text);
        assertThat(headers(event))
                .containsEntry("ce_specversion", "1.0")
                .containsEntry("ce_id", data.path("id").asText())
                .containsEntry("ce_source", "urn:uuid:" + project.id())
                .containsEntry("ce_type", "dev.annals.record.na%C3%AFve%20%22act%22")
                .containsEntry("ce_time", data.path("timestamp").asText())
                .containsEntry("ce_subject", "volume } ü")
                .containsEntry("ce_sequence", "000000000000000001")
                .containsEntry("content-type", "application/json")
                .doesNotContainKeys("ce_data", "ce_datacontenttype");
    }

    @Test
    void aFilterThatNothingMatchesMovesTheCursorThereToo() throws Exception {
        append(20);
        set(url(), null, Map.of("action", "nothing")).then().statusCode(201);
        awaitLag(0);
        assertThat(broker.committed(topic)).isEmpty();
        assertThat(broker.offset(group(), topic).offset()).isEqualTo(20);
    }

    @Test
    void aRecordThatIsTooLargeIsPassedByIfTheStreamSaysSo() throws Exception {
        topic = broker.newTopic(Map.of("max.message.bytes", "20000"));
        append(4);
        log.run("insert into annals.audit_record (project_id, action, message) values ('" + project.id()
                + "', 'act', repeat('x', 30000))");
        append(4);
        set(url(), null, Map.of("max_refusals", 1)).then().statusCode(201);
        Await.until("it stops", () -> "stopped".equals(get().path("state")));
        get().then().body("stop_reason", containsString("The record 5 was refused"));
        assertThat(ids(broker.committed(topic))).isEqualTo(ids(1, 4));
        set(url(), null, Map.of("max_refusals", 1, "on_refusal", "dead_letter"))
                .then()
                .statusCode(200);
        awaitLag(0);
        assertThat(ids(broker.committed(topic))).containsExactly(1L, 2L, 3L, 4L, 6L, 7L, 8L, 9L);
        get().then().body("dead_letters", equalTo(1));
    }

    @Test
    void aTestLeavesNothingThatWasCommitted() throws Exception {
        append(1);
        set(url(), null, Map.of("action", "later")).then().statusCode(201);
        post("pause").then().statusCode(200);
        set(url(), null, Map.of("cursor", "0")).then().statusCode(200);
        log.run("update annals.stream_progress set cursor = '0' where stream_id = '" + get().path("id") + "'");
        post("test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("delivered"))
                .body("sequence_id", equalTo(1));
        assertThat(broker.committed(topic)).isEmpty();
        assertThat(broker.written(topic)).hasSize(1);
    }

    @Test
    void anOffsetSetFromOutsideBlocksTheStreamUntilItIsDeleted() throws Exception {
        append(5);
        set(url(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        broker.setOffset(group(), topic, 2, "");
        append(1);
        awaitError("The offset of the group " + group());
        assertThat(ids(broker.committed(topic))).isEqualTo(ids(1, 5));
    }

    @Test
    void fourRightsAreEnoughAndOneThatIsMissingIsNamed() throws Exception {
        append(3);
        String secret = KafkaBroker.USER + ":" + KafkaBroker.PASSWORD;
        set("kafka://127.0.0.1:" + broker.loginPort + "/" + topic + "?tls=false&sasl=plain", secret, Map.of())
                .then()
                .statusCode(201)
                .body("sink.url", not(containsString("quoted")));
        awaitError("WRITE on transactional ids");
        broker.allow(ResourceType.TRANSACTIONAL_ID, "annals-", PatternType.PREFIXED, AclOperation.WRITE);
        awaitError("READ on groups");
        broker.allow(ResourceType.GROUP, "annals-", PatternType.PREFIXED, AclOperation.READ);
        awaitError("WRITE and READ on the topic");
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.WRITE);
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.READ);
        awaitLag(0);
        set(
                        "kafka://127.0.0.1:" + broker.loginPort + "/" + topic + "?tls=false&sasl=scram-sha-512",
                        KafkaBroker.USER + ":" + KafkaBroker.SCRAM_PASSWORD,
                        Map.of())
                .then()
                .statusCode(200);
        append(2);
        awaitLag(0);
        assertThat(ids(broker.committed(topic))).isEqualTo(ids(1, 5));
    }

    @Test
    void aWrongLoginAndAnUntrustedCertificateAreReported() throws Exception {
        append(1);
        String login = "kafka://127.0.0.1:" + broker.loginPort + "/" + topic + "?tls=false&sasl=plain";
        set(login, KafkaBroker.USER + ":wrong", Map.of()).then().statusCode(201);
        awaitError("It refuses the login.");
        set("kafka://127.0.0.1:" + broker.tlsPort + "/" + topic, null, Map.of())
                .then()
                .statusCode(200);
        awaitError("TLS fails");
    }

    /** The client would compute for hours, on a thread that nothing can stop. */
    @Test
    void aBrokerThatDemandsEndlessIterationsIsRefusedAndNoThreadIsLeft() throws Exception {
        append(1);
        try (ServerSocket hostile = new ServerSocket(0, 50, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
            Thread broker = new Thread(() -> demandIterations(hostile));
            broker.start();
            set(
                            "kafka://127.0.0.1:" + hostile.getLocalPort() + "/" + topic
                                    + "?tls=false&sasl=scram-sha-512",
                            "a:b",
                            Map.of())
                    .then()
                    .statusCode(201);
            String id = get().path("id");
            awaitError("It refuses the login.");
            post("pause").then().statusCode(200);
            Await.until("all is closed", () -> threads(id) == 0);
        }
    }

    /** A broker of one connection after the other that answers up to SCRAM's first message. */
    private static void demandIterations(ServerSocket server) {
        while (!server.isClosed()) {
            try (Socket caller = server.accept()) {
                DataInputStream in = new DataInputStream(caller.getInputStream());
                DataOutputStream out = new DataOutputStream(caller.getOutputStream());
                while (true) {
                    ByteBuffer request = ByteBuffer.wrap(in.readNBytes(in.readInt()));
                    byte[] answer = answer(request);
                    out.writeInt(4 + answer.length);
                    out.writeInt(request.getInt(4));
                    out.write(answer);
                }
            } catch (IOException e) {
                // It has hung up.
            }
        }
    }

    private static byte[] answer(ByteBuffer request) {
        ByteBuffer answer = ByteBuffer.allocate(1_000);
        switch (request.getShort(0)) {
            case 17 -> {
                byte[] mechanism = "SCRAM-SHA-512".getBytes(StandardCharsets.UTF_8);
                answer.putShort((short) 0)
                        .putInt(1)
                        .putShort((short) mechanism.length)
                        .put(mechanism);
            }
            // It knows no newer versions of requests, and names the first versions of its own.
            case 18 ->
                answer.putShort((short) (request.getShort(2) == 0 ? 0 : 35))
                        .putInt(3)
                        .put(new byte[] {0, 17, 0, 0, 0, 1})
                        .put(new byte[] {0, 18, 0, 0, 0, 0})
                        .put(new byte[] {0, 36, 0, 0, 0, 0});
            default -> {
                String message = new String(request.array(), StandardCharsets.UTF_8);
                String nonce = message.substring(message.lastIndexOf(",r=") + 3);
                byte[] first = ("r=" + nonce + "server,s=c2FsdA==,i=2000000000").getBytes(StandardCharsets.UTF_8);
                answer.putShort((short) 0)
                        .putShort((short) -1)
                        .putInt(first.length)
                        .put(first);
            }
        }
        return Arrays.copyOf(answer.array(), answer.position());
    }

    @Test
    void oneThatNeverAnswersIsGivenUpAndNoThreadIsLeft() throws Exception {
        append(1);
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
            set("kafka://127.0.0.1:" + silent.getLocalPort() + "/" + topic + "?tls=false", null, Map.of())
                    .then()
                    .statusCode(201);
            String id = get().path("id");
            Await.until("it waits", () -> threads(id) >= 2);
            awaitError("It did not answer within");
            post("pause").then().statusCode(200);
            Await.until("all is closed", () -> threads(id) == 0);
        }
    }

    private static long threads(String id) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains(id))
                .count();
    }

    @Test
    void onlyWhatTheUrlMayHaveIsTaken() {
        for (String url : List.of(
                "kafka://127.0.0.1/",
                "kafka://127.0.0.1/a/b",
                "kafka://127.0.0.1/..",
                "kafka://127.0.0.1:0/t",
                "kafka://127.0.0.1:70000/t",
                "kafka://,/t",
                "kafka://u:p@127.0.0.1/t",
                "kafka://127.0.0.1/t?sasl=gssapi",
                "kafka://127.0.0.1/t?tls=false&tls=true",
                "kafka://127.0.0.1/t?sasl.jaas.config=x",
                "kafka://127.0.0.1/t#x",
                "kafka://" + "127.0.0.1,".repeat(16) + "127.0.0.1/t",
                "kafka://127.0.0.1,10.0.0.1/t",
                "kafka://nowhere.invalid,10.0.0.1/t",
                "kafka://127.0.0.1,nowhere.invalid,also-nowhere.invalid,10.0.0.1/t",
                "https://127.0.0.1/t")) {
            Response refused = set(url, null, Map.of());
            assertThat(refused.statusCode()).as(url).isEqualTo(422);
            assertThat(pointers(refused.then().extract())).as(url).containsExactly("/sink/url");
        }
        String login = "kafka://127.0.0.1/t?sasl=plain";
        for (String secret : new String[] {null, "", "user", "user:", ":password", "user:one\nmore"}) {
            Response refused = set(login, secret, Map.of());
            assertThat(refused.statusCode()).as(secret).isEqualTo(422);
            assertThat(pointers(refused.then().extract())).as(secret).containsExactly("/sink/secret");
        }
        assertThat(pointers(set("kafka://127.0.0.1/t", "u:p", Map.of()).then().extract()))
                .containsExactly("/sink/secret");
    }
}
