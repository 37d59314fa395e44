package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.response.Response;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
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
            allowPrefixes(broker);
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

    /** The client certificate is the service's own, so its operator names the topics. */
    @Test
    void itShowsItsCertificateWhereThatIsAllowed() throws Exception {
        try (KafkaBroker broker = new KafkaBroker()) {
            allowPrefixes(broker);
            String topic = newTopic(broker);
            String other = newTopic(broker);
            try (ServiceProcess service = start(
                    broker,
                    "ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS",
                    "kafka://127.0.0.1:" + broker.mutualPort + "/" + topic,
                    "ANNALS_STREAMS_CLIENT_CERTIFICATE_FILE",
                    broker.client.pem().toString(),
                    "ANNALS_STREAMS_CLIENT_KEY_FILE",
                    broker.client.key().toString())) {
                Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
                put(service, project, broker.mutualPort, other + "?tls=mutual", "")
                        .then()
                        .statusCode(422)
                        .body("errors[0].pointer", equalTo("/sink/url"))
                        .body("errors[0].detail", containsString("ANNALS_STREAMS_OWN_IDENTITY_OF_PROJECTS"));
                awaitError(service, broker.mutualPort, "", "", "TLS fails");
                deliver(service, broker, topic, broker.mutualPort, "?tls=mutual", "");
            }
        }
    }

    /** The endpoint of tokens is a host as those of sinks are. */
    @Test
    void itDeliversWithATokenOfTheClientCredentialsGrant() throws Exception {
        try (KafkaBroker broker = new KafkaBroker();
                Tokens tokens = new Tokens();
                ServiceProcess service = start(broker)) {
            allowPrefixes(broker);
            String sasl = "?sasl=oauthbearer&scope=audit%20kafka&token_url=";
            Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
            put(service, project, broker.tlsPort, "topic" + sasl + "http://127.0.0.3/token", "a:b")
                    .then()
                    .statusCode(422)
                    .body("errors[0].detail", containsString("No sink may be at 127.0.0.3"));
            awaitError(service, broker.tlsPort, sasl + tokens.url(), "a:b", "HTTP status 401, invalid_client");
            deliver(service, broker, newTopic(broker), broker.tlsPort, sasl + tokens.url(), Tokens.LOGIN);
            tokens.subject = "stranger";
            awaitError(service, broker.tlsPort, sasl + tokens.url(), Tokens.LOGIN, "right WRITE");
            assertThat(service.output).noneMatch(line -> line.contains(Tokens.SECRET) || line.contains("eyJ"));
        }
    }

    /** An OAuth server whose tokens have no signature. */
    private static final class Tokens implements AutoCloseable {

        static final String SECRET = "s+cret: &=ü";
        static final String LOGIN = KafkaBroker.USER + ":" + SECRET;

        volatile String subject = KafkaBroker.USER;
        private final HttpServer server;

        Tokens() throws IOException {
            server =
                    HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
            server.createContext("/token", this::answer);
            server.start();
        }

        String url() {
            return "http://127.0.0.1:" + server.getAddress().getPort() + "/token";
        }

        private void answer(HttpExchange exchange) throws IOException {
            try (exchange) {
                String form = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
                String login = "Basic "
                        + Base64.getEncoder()
                                .encodeToString(
                                        (KafkaBroker.USER + ":" + URLEncoder.encode(SECRET, StandardCharsets.UTF_8))
                                                .getBytes(StandardCharsets.UTF_8));
                boolean isRight = exchange.getRequestMethod().equals("POST")
                        && form.equals("grant_type=client_credentials&scope=audit+kafka")
                        && login.equals(exchange.getRequestHeaders().getFirst("Authorization"));
                byte[] answer = (isRight
                                ? "{\"access_token\": \"" + token()
                                        + "\", \"token_type\": \"Bearer\", \"expires_in\": 3600}"
                                : "{\"error\": \"invalid_client\"}")
                        .getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(isRight ? 200 : 401, answer.length);
                exchange.getResponseBody().write(answer);
            }
        }

        private String token() {
            long now = System.currentTimeMillis() / 1_000;
            return part("{\"alg\": \"none\"}") + "."
                    + part("{\"sub\": \"" + subject + "\", \"iat\": " + now + ", \"exp\": " + (now + 3_600) + "}")
                    + ".";
        }

        private static String part(String json) {
            return Base64.getUrlEncoder().withoutPadding().encodeToString(json.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    private static void allowPrefixes(KafkaBroker broker) throws Exception {
        broker.allow(ResourceType.TRANSACTIONAL_ID, "annals-", PatternType.PREFIXED, AclOperation.WRITE);
        broker.allow(ResourceType.GROUP, "annals-", PatternType.PREFIXED, AclOperation.READ);
    }

    private static String newTopic(KafkaBroker broker) throws Exception {
        String topic = broker.newTopic(Map.of());
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.WRITE);
        broker.allow(ResourceType.TOPIC, topic, PatternType.LITERAL, AclOperation.READ);
        return topic;
    }

    private static void deliver(ServiceProcess service, KafkaBroker broker, int port, String parameters, String secret)
            throws Exception {
        deliver(service, broker, newTopic(broker), port, parameters, secret);
    }

    private static void deliver(
            ServiceProcess service, KafkaBroker broker, String topic, int port, String parameters, String secret)
            throws Exception {
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
        put(service, project, port, topic, secret).then().statusCode(201);
    }

    private static Response put(ServiceProcess service, Project project, int port, String topic, String secret) {
        Map<String, Object> sink =
                new TreeMap<>(Map.of("type", "kafka", "url", "kafka://127.0.0.1:" + port + "/" + topic));
        if (!secret.isEmpty()) {
            sink.put("secret", secret);
        }
        return given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body(Map.of("sink", sink))
                .put(service.uri("/v1/streams/events"));
    }

    private static ServiceProcess start(KafkaBroker broker, String... more) throws Exception {
        String options = "-XX:+ExitOnOutOfMemoryError -Djavax.net.ssl.trustStore=" + broker.trustStore()
                + " '-Djavax.net.ssl.trustStorePassword=" + KafkaBroker.trustStorePassword() + "'";
        List<String> settings = new ArrayList<>(List.of(more));
        settings.addAll(List.of("JAVA_TOOL_OPTIONS", options));
        return StreamingService.start(TestDatabase.createDatabase(), settings.toArray(String[]::new));
    }
}
