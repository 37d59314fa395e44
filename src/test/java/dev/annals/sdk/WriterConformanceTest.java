package dev.annals.sdk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.BesideTheService;
import dev.annals.Slow;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The cases of clients/conformance.json, which the writing client of each language runs against a server that records its requests. */
@Slow
@BesideTheService
@Timeout(180)
class WriterConformanceTest {

    private static final Path FILE = Path.of("clients", "conformance.json");
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<List<Request>> requests = new ArrayList<>();
    private JsonNode all;
    private HttpServer server;

    private record Request(String method, String path, Headers headers, JsonNode body) {

        JsonNode records() {
            return body.path("records");
        }
    }

    @BeforeEach
    void start() throws IOException {
        all = JSON.readTree(FILE.toFile());
        all.get("cases").forEach(one -> requests.add(Collections.synchronizedList(new ArrayList<>())));
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try (exchange) {
                String first = exchange.getRequestURI().getPath().split("/")[1];
                if (first.equals("away")) {
                    exchange.sendResponseHeaders(503, -1);
                } else {
                    receive(exchange, Integer.parseInt(first));
                }
            }
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    @ParameterizedTest
    @CsvSource({"java, Conformance.java", "python, conformance.py", "typescript, conformance.ts", "go, conformance.go"})
    void eachClientSendsWhatTheCasesSay(String language, String file) throws Exception {
        String source = Files.readString(Path.of("src", "test", "writer", file));
        String name = file.substring(0, file.indexOf('.'));
        SdkProgram program = language.equals("java")
                ? SdkProgram.writerInJava(source, name, SdkProgram.jackson())
                : SdkProgram.writer(language, source, name);
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(program.command());
        command.add(folder.resolve("spools").toString());
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(folder.resolve("errors").toFile())
                .redirectOutput(output.toFile());
        builder.environment()
                .put("ANNALS_URL", "http://127.0.0.1:" + server.getAddress().getPort());
        builder.environment().put("ANNALS_TOKEN", "token");
        builder.environment().put("PYTHONPATH", program.importsFrom().toString());
        Process process = builder.start();
        try {
            assertThat(process.waitFor(150, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("errors")))
                .isZero();

        List<String> closed = Files.readAllLines(output);
        assertThat(closed).hasSize(all.get("cases").size());
        SoftAssertions held = new SoftAssertions();
        for (int number = 0; number < closed.size(); number++) {
            JsonNode one = all.get("cases").get(number);
            String as = one.get("name").textValue();
            boolean isSettled = one.path("closed").asBoolean(true);
            held.assertThat(closed.get(number)).as(as).isEqualToIgnoringCase(Boolean.toString(isSettled));
            requireRequests(held, one, requests.get(number));
            requireRefused(held, one, folder.resolve("spools/" + number));
        }
        held.assertAll();
    }

    private void requireRequests(SoftAssertions held, JsonNode one, List<Request> received) {
        String as = one.get("name").textValue();
        List<List<String>> actions = new ArrayList<>();
        one.get("requests").forEach(request -> actions.add(texts(request)));
        held.assertThat(received.stream()
                        .map(request -> request.records().findValuesAsText("action"))
                        .map(List::size)
                        .toList())
                .as(as)
                .hasSize(actions.size());
        Map<String, JsonNode> first = new HashMap<>();
        for (int i = 0; i < Math.min(actions.size(), received.size()); i++) {
            requireRequest(held, one, received.get(i), actions.get(i), first);
        }
    }

    private void requireRequest(
            SoftAssertions held, JsonNode one, Request request, List<String> actions, Map<String, JsonNode> first) {
        String as = one.get("name").textValue();
        JsonNode expected = all.get("request");
        held.assertThat(request.method()).isEqualTo(expected.get("method").textValue());
        held.assertThat(request.path()).endsWith(expected.get("path").textValue());
        expected.get("headers")
                .properties()
                .forEach(header -> held.assertThat(request.headers().get(header.getKey()))
                        .as("%s: %s", as, header.getKey())
                        .containsExactly(header.getValue().textValue()));
        held.assertThat(request.body().properties()).as(as).hasSize(1);
        held.assertThat(request.records().size()).as("%s: %s", as, actions).isEqualTo(actions.size());
        String before = "";
        for (int i = 0; i < Math.min(actions.size(), request.records().size()); i++) {
            ObjectNode record = (ObjectNode) request.records().get(i).deepCopy();
            ObjectNode sent = sent(one, actions.get(i));
            boolean drawsId = !sent.has("id");
            if (drawsId) {
                String id = record.path("id").asText();
                held.assertThat(UUID.fromString(id).version()).as(as).isEqualTo(7);
                held.assertThat(id).as("%s: ids rise", as).isGreaterThan(before);
                before = id;
                sent.put("id", id);
            }
            if (!sent.has("timestamp")) {
                sent.set("timestamp", record.get("timestamp"));
            }
            OffsetDateTime time = OffsetDateTime.parse(record.get("timestamp").textValue());
            held.assertThat(time)
                    .as(as)
                    .isEqualTo(OffsetDateTime.parse(sent.get("timestamp").textValue()));
            sent.set("timestamp", record.get("timestamp"));
            held.assertThat((JsonNode) record).as(as).isEqualTo(sent);
            // Repeated as it was.
            JsonNode original = first.putIfAbsent(actions.get(i), record);
            held.assertThat(original == null || original.equals(record)).as(as).isTrue();
        }
    }

    /** The record of this action as it is to be sent. */
    private static ObjectNode sent(JsonNode one, String action) {
        if (one.path("sent").has(action)) {
            return (ObjectNode) one.get("sent").get(action).deepCopy();
        }
        for (JsonNode record : one.get("records")) {
            String given = record.get("action").textValue();
            if (action.equals(given) || action.equals("_" + given)) {
                return ((ObjectNode) record.deepCopy()).put("action", action);
            }
        }
        throw new IllegalArgumentException("No record of " + one.get("name") + " has the action " + action);
    }

    private static void requireRefused(SoftAssertions held, JsonNode one, Path spool) throws IOException {
        String as = one.get("name").textValue();
        Path file = spool.resolve("refused.ndjson");
        List<String> lines = Files.exists(file) ? Files.readAllLines(file) : List.of();
        held.assertThat(lines).as(as).hasSize(one.path("refused").size());
        for (String line : lines) {
            JsonNode refusal = JSON.readTree(line);
            String reason = one.path("refused")
                    .path(refusal.at("/record/action").textValue())
                    .asText("none");
            held.assertThat(refusal.get("reason").textValue()).as(as).contains(reason);
        }
        try (Stream<Path> files = Files.list(spool)) {
            held.assertThat(files.anyMatch(left -> left.toString().endsWith(".spool")))
                    .as("%s: records are left in the spool", as)
                    .isEqualTo(!one.path("closed").asBoolean(true));
        }
    }

    private static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(text -> texts.add(text.textValue()));
        return texts;
    }

    private void receive(HttpExchange exchange, int number) throws IOException {
        JsonNode one = all.get("cases").get(number);
        JsonNode body = JSON.readTree(exchange.getRequestBody().readAllBytes());
        String path = exchange.getRequestURI().getPath();
        Request request = new Request(exchange.getRequestMethod(), path, exchange.getRequestHeaders(), body);
        JsonNode answer;
        synchronized (requests) {
            answer = one.path("answers").path(requests.get(number).size());
            requests.get(number).add(request);
        }
        if (answer.path("cut").asText().equals("before")) {
            return;
        }
        String text = answer.has("body") ? answer.get("body").textValue() : text(answer, request.records());
        byte[] bytes = (text + " ".repeat(answer.path("pad").asInt(0))).getBytes(UTF_8);
        boolean isProblem = answer.has("problem");
        exchange.getResponseHeaders()
                .add(
                        "Content-Type",
                        answer.path("type").asText(isProblem ? "application/problem+json" : "application/json"));
        answer.path("headers")
                .properties()
                .forEach(header -> exchange.getResponseHeaders()
                        .add(header.getKey(), header.getValue().textValue()));
        boolean isCut = answer.has("cut");
        exchange.sendResponseHeaders(answer.path("status").asInt(201), bytes.length + (isCut ? 1 : 0));
        exchange.getResponseBody().write(bytes, 0, isCut ? bytes.length / 2 : bytes.length);
    }

    private static String text(JsonNode answer, JsonNode records) {
        ObjectNode text = JSON.createObjectNode();
        if (answer.has("problem")) {
            text.put("type", "urn:annals:problem:" + answer.get("problem").textValue());
            answer.path("pointers")
                    .forEach(pointer -> text.withArray("errors")
                            .addObject()
                            .put("pointer", pointer.textValue())
                            .put("detail", "is wrong"));
        } else if (answer.path("status").asInt(201) < 300) {
            for (int i = 0; i < answer.path("names").asInt(records.size()); i++) {
                text.withArray("results").addObject().set("id", records.get(i).get("id"));
            }
        }
        return text.toString();
    }
}
