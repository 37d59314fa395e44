package dev.annals.sdk;

import static dev.annals.Tools.need;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Answers;
import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.Slow;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The writing clients of each language when answers are wrong, late or missing, when the disk is full, and when the spool was
 * changed. They run in their own processes, which the test controls step by step.
 */
@Slow
@BesideTheService
@Timeout(120)
class WriterAnswersTest {

    /** The clients do the same; the others are tried in the long form. */
    private static final List<String> LANGUAGES =
            Load.isLong() ? List.of("java", "python", "typescript", "go") : List.of("java");

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LONG = 50_000;
    private static final int GIVEN = 900;
    private static final int FRAME_HEADER = 12;
    private static final Map<String, SdkProgram> PROGRAMS = new HashMap<>();
    private static final String TRACED = "trace=write,pwrite64,fsync,fdatasync";
    private static final Pattern WRITE = Pattern.compile("p?write(64)?\\(\\d+<[^>]*\\.spool>.*");
    private static final Pattern FORCE = Pattern.compile("f(data)?sync\\(\\d+<[^>]*\\.spool>.*");
    private static final Pattern RESUMED = Pattern.compile("<\\.\\.\\. f(data)?sync resumed>.*");

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Deque<Answering> answers = new ArrayDeque<>();
    private final List<String> requests = Collections.synchronizedList(new ArrayList<>());
    private final List<String> stored = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch released = new CountDownLatch(1);
    private HttpServer server;
    private Process client;
    private OutputStream steps;
    private int started;

    private interface Answering {
        void answer(HttpExchange exchange, JsonNode records) throws IOException;
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try (exchange) {
                String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
                requests.add(body);
                JsonNode records = JSON.readTree(body).get("records");
                if (body.contains("\"action\":\"held\"")) {
                    released.await();
                }
                Answering answering;
                synchronized (answers) {
                    answering = body.contains("\"action\":\"held\"") ? null : answers.poll();
                }
                if (answering == null) {
                    store(exchange, records);
                } else {
                    answering.answer(exchange, records);
                }
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
        server.start();
    }

    @AfterEach
    void stop() throws InterruptedException {
        kill();
        server.stop(0);
        threads.shutdownNow();
    }

    @ParameterizedTest
    @MethodSource("languages")
    void whatTheServiceDoesNotSayToBeStoredIsSentAgainAsItWas(String language) throws Exception {
        start(language, "-", 100, "handler");
        hold();
        String problem = "{\"type\":\"urn:annals:problem:invalid-record\",\"errors\":[{\"pointer\":\"/records/0/x\"}]}";
        List<Answering> wrong = List.of(
                (exchange, records) -> Answers.problem(exchange, 503, "queue-full", ""),
                (exchange, records) -> Answers.send(exchange, 500, "text/plain", "Internal Server Error"),
                (exchange, records) -> Answers.send(exchange, 502, "text/html", "<h1>Bad Gateway</h1>"),
                (exchange, records) -> exchange.close(),
                (exchange, records) -> Answers.send(exchange, 201, "application/json", naming(records, 2)),
                (exchange, records) -> Answers.send(exchange, 200, "text/html", "<h1>Sign in</h1>"),
                (exchange, records) -> {
                    exchange.getResponseHeaders().add("Location", "/elsewhere");
                    Answers.send(exchange, 307, "text/plain", "");
                },
                (exchange, records) -> Answers.send(exchange, 422, "application/json", problem),
                (exchange, records) -> Answers.problem(exchange, 401, "unauthorized", ""),
                (exchange, records) -> Answers.problem(exchange, 409, "project-closed", ""),
                (exchange, records) -> Answers.problem(exchange, 429, "too-many-requests", ""));
        answers.addAll(wrong);
        appended("a", "b", "c");
        released.countDown();
        does("flush " + LONG, "flushed true");

        assertThat(stored).containsExactly("held", "a", "b", "c");
        assertThat(requests).hasSize(1 + wrong.size() + 1);
        assertThat(requests.subList(1, requests.size())).containsOnly(requests.get(1));
        await("acknowledged c");
        assertThat(said()).noneMatch(line -> line.startsWith("refused") || line.startsWith("handed back"));
    }

    static List<String> languages() {
        return LANGUAGES;
    }

    static List<Arguments> refusals() {
        return eachLanguage(List.of(List.of("handler", "-"), List.of("handler", "spool"), List.of("file", "spool")));
    }

    private static List<Arguments> eachLanguage(List<List<String>> ways) {
        List<Arguments> all = new ArrayList<>();
        for (String language : LANGUAGES) {
            for (List<String> way : ways) {
                List<Object> arguments = new ArrayList<>(List.of(language));
                arguments.addAll(way);
                all.add(Arguments.of(arguments.toArray()));
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aRefusedRecordIsHandedBackAndTheOthersGoOnInOrder(String language, String refusals, String spool)
            throws Exception {
        start(language, spool, 100, refusals);
        hold();
        appended("a", "wrong", "c", "mute");
        if (!spool.equals("-")) {
            // Records that are not on disk by then go out with a later batch.
            await("acknowledged mute");
        }
        released.countDown();
        does("flush " + LONG, "flushed true");

        assertThat(stored).containsExactly("held", "a", "c");
        List<String> handedBack = refusals.equals("handler")
                ? said().stream().filter(line -> line.startsWith("handed back")).toList()
                : Files.readAllLines(folder.resolve("spool/refused.ndjson"));
        assertThat(handedBack).hasSize(2);
        assertThat(handedBack.get(0)).contains("\"action\":\"wrong\"");
        assertThat(handedBack.get(1)).contains("\"action\":\"mute\"");
        if (refusals.equals("file")) {
            assertThat(handedBack.get(0)).contains("{\"reason\":\"", "/records/1/ip_address", "\"record\":{\"id\":");
        }
        if (spool.equals("-")) {
            await("refused wrong");
            await("refused mute");
        }
    }

    @ParameterizedTest
    @MethodSource("languages")
    void whatThereIsNoRoomForIsTurnedAwayAndWhatWasTakenArrives(String language) throws Exception {
        start(language, "-", 10, "handler");
        hold();
        for (int number = 1; number <= 15; number++) {
            String action = "a" + number;
            does("append " + action, (number <= 9 ? "taken " : "full ") + action);
        }
        released.countDown();
        does("flush " + LONG, "flushed true");

        assertThat(stored)
                .containsExactlyElementsOf(Stream.concat(
                                Stream.of("held"), IntStream.rangeClosed(1, 9).mapToObj(number -> "a" + number))
                        .toList());
    }

    static List<Arguments> spools() {
        return eachLanguage(List.of(List.of("spool"), List.of("-")));
    }

    @ParameterizedTest
    @MethodSource("spools")
    void flushAndCloseWaitUntilAllIsStored(String language, String spool) throws Exception {
        start(language, spool, 100, "handler");
        hold();
        appended("a");
        does("flush 200", "flushed false");
        assertThat(stored).isEmpty();
        released.countDown();
        does("flush " + LONG, "flushed true");
        assertThat(stored).containsExactly("held", "a");

        List<String> many =
                IntStream.range(0, 50).mapToObj(number -> "m" + number).toList();
        appended(many.toArray(String[]::new));
        does("close " + LONG, "closed true");
        assertThat(stored).hasSize(52).endsWith("m49");
    }

    @ParameterizedTest
    @MethodSource("languages")
    void whatIsNotStoredAtTheEndIsHandedBack(String language) throws Exception {
        start(language, "-", 100, "handler");
        hold();
        appended("a");
        does("close 200", "closed false");
        steps.write("close 200\nend 200\n".getBytes(UTF_8));
        steps.flush();
        assertThat(client.waitFor(60, TimeUnit.SECONDS)).isTrue();
        // A second call does not store the lost records either.
        assertThat(client.exitValue()).isEqualTo(3);
        assertThat(said().stream().filter(line -> line.startsWith("closed")))
                .containsExactly("closed false", "closed false");

        await("refused held");
        await("refused a");
        assertThat(said().stream().filter(line -> line.startsWith("handed back")))
                .satisfiesExactly(
                        line -> assertThat(line).contains("\"action\":\"held\""),
                        line -> assertThat(line).contains("\"action\":\"a\""));
    }

    @ParameterizedTest
    @MethodSource("spools")
    void whatWasGivenIsSafeOnceCloseIsBack(String language, String spool) throws Exception {
        List<String> given = IntStream.range(0, GIVEN)
                .mapToObj(number -> "m" + number + "-" + "x".repeat(200))
                .toList();
        start(language, spool, GIVEN + 1, spool.equals("-") ? "handler" : "file");
        hold();
        String appends = given.stream().map(action -> "append " + action + "\n").collect(Collectors.joining());
        steps.write((appends + "end 0\n").getBytes(UTF_8));
        steps.flush();
        assertThat(client.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(client.exitValue()).isEqualTo(3);
        if (spool.equals("-")) {
            assertThat(said().stream().filter(line -> line.startsWith("handed back")))
                    .hasSize(1 + GIVEN);
            return;
        }

        released.countDown();
        start(language, spool, GIVEN, "file");
        does("flush " + LONG, "flushed true");
        // The first one was held until its client had gone, and may have been stored twice by this server.
        assertThat(stored.stream().filter(action -> !action.equals("held"))).isEqualTo(given);

        stored.clear();
        steps.write((appends + "end " + LONG + "\n").getBytes(UTF_8));
        steps.flush();
        assertThat(client.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(client.exitValue()).isZero();
        assertThat(stored).isEqualTo(given);
        assertThat(folder.resolve(spool)).isDirectoryNotContaining("glob:**.spool");
    }

    /** Nothing interrupts a look-up of a name: its thread is left behind. */
    @Test
    void closeOfThePythonClientReturnsOnceAllIsOnDisk() throws Exception {
        String source = """
                import annals, socket, sys, threading
                asked = threading.Event()
                def no_answer(*_, **__):
                    asked.set()
                    threading.Event().wait()
                socket.getaddrinfo = no_answer
                log = annals.AuditLog("http://audit.invalid", "token", spool=sys.argv[1])
                log.append("first")
                asked.wait()
                log.append("second")
                sys.exit(0 if log.close(0) else 3)
                """;
        SdkProgram program = SdkProgram.writer("python", source, "unanswered");
        List<String> command = new ArrayList<>(program.command());
        command.add(folder.resolve("spool").toString());
        ProcessBuilder process = new ProcessBuilder(command).inheritIO();
        process.environment().put("PYTHONPATH", program.importsFrom().toString());
        client = process.start();

        assertThat(client.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(client.exitValue()).isEqualTo(3);
        assertThat(Files.readString(folder.resolve("spool/00000000000000000001.spool"), ISO_8859_1))
                .contains("\"action\":\"first\"", "\"action\":\"second\"");
    }

    /** Neither an end in the middle of a request nor one in order may take anything from the spool that is not stored. */
    @ParameterizedTest
    @MethodSource("languages")
    void whatIsNotAnsweredStaysInTheSpool(String language) throws Exception {
        start(language, "spool", 100, "file");
        hold();
        appended("a");
        await("acknowledged a");
        kill();
        // Now the client reads a file that is complete.
        start(language, "spool", 100, "file");
        Await.until("both are on their way again", () -> requests.size() == 2);
        kill();
        start(language, "spool", 100, "file");
        Await.until("and again", () -> requests.size() == 3);
        does("close 200", "closed false");
        released.countDown();
        start(language, "spool", 100, "file");
        does("flush " + LONG, "flushed true");

        assertThat(requests.subList(1, 4)).containsOnly(requests.get(1));
        assertThat(requests.get(1)).contains(id("held"), id("a"));
        assertThat(folder.resolve("spool")).isDirectoryNotContaining("glob:**.spool");
        assertThat(folder.resolve("spool/refused.ndjson")).doesNotExist();
    }

    @ParameterizedTest
    @MethodSource("languages")
    void aRecordThatIsCutOffIsLeftOutAndDamageIsKeptAside(String language) throws Exception {
        start(language, "spool", 100, "file");
        hold();
        appended("a", "b", "c");
        await("acknowledged c");
        kill();
        released.countDown();
        Await.until("its request has ended, too", () -> !stored.isEmpty());
        Path spool = folder.resolve("spool");
        Path file = spool.resolve("00000000000000000001.spool");
        byte[] whole = Files.readAllBytes(file);
        int last = whole.length - new String(whole, ISO_8859_1).lastIndexOf("{\"id\":") + FRAME_HEADER;

        for (int cut : new int[] {1, 30, last - FRAME_HEADER, last - 3}) {
            stored.clear();
            Files.write(file, Arrays.copyOf(whole, whole.length - cut));
            start(language, "spool", 100, "file");
            appended("d");
            does("close " + LONG, "closed true");
            assertThat(stored).as("cut by %d bytes", cut).containsExactly("held", "a", "b", "d");
            assertThat(spool).isDirectoryNotContaining("glob:**.spool*");
            Files.delete(spool.resolve("acknowledged"));
        }

        stored.clear();
        byte[] damaged = whole.clone();
        damaged[whole.length - last + FRAME_HEADER + 60] ^= 1;
        Files.write(file, damaged);
        start(language, "spool", 100, "file");
        appended("d");
        does("close " + LONG, "closed true");
        assertThat(stored).containsExactly("held", "a", "b", "d");
        assertThat(Files.readAllBytes(spool.resolve("00000000000000000001.spool.damaged")))
                .isEqualTo(damaged);
    }

    @ParameterizedTest
    @MethodSource("languages")
    void aRecordIsAcknowledgedOnceTheDiskHasIt(String language) throws Exception {
        Path trace = folder.resolve("trace");
        need(isThere("strace"), "strace");
        start(
                List.of("strace", "-f", "-y", "-qq", "-e", "signal=none", "-e", TRACED, "-o", trace.toString()),
                language,
                "spool",
                100,
                "file");
        for (int number = 0; number < 5; number++) {
            appended("a" + number);
            await("acknowledged a" + number);
        }
        does("close " + LONG, "closed true");
        steps.close();
        client.waitFor();

        assertThat(acknowledgedOnDisk(Files.readAllLines(trace))).isEqualTo(5);
    }

    /** Counts acknowledged records. Each must be acknowledged after the spool was forced to the disk. */
    private static int acknowledgedOnDisk(List<String> calls) {
        boolean isForced = true;
        Set<String> forcing = new HashSet<>();
        int acknowledged = 0;
        for (String call : calls) {
            String thread = call.substring(0, call.indexOf(' '));
            String what = call.substring(thread.length()).strip();
            if (WRITE.matcher(what).matches()) {
                isForced = false;
            } else if (FORCE.matcher(what).matches() && what.contains("unfinished")) {
                forcing.add(thread);
            } else if (FORCE.matcher(what).matches() || (RESUMED.matcher(what).matches() && forcing.remove(thread))) {
                assertThat(what).endsWith("= 0");
                isForced = true;
            } else if (what.contains("\"acknowledged ")) {
                assertThat(isForced).as(what).isTrue();
                acknowledged++;
            }
        }
        return acknowledged;
    }

    private void start(String language, String spool, int buffer, String refusals) throws Exception {
        start(List.of(), language, spool, buffer, refusals);
    }

    /** Starts a client by this command; the one before ends. */
    private void start(List<String> tracer, String language, String spool, int buffer, String refusals)
            throws Exception {
        kill();
        Path sources = Path.of("src", "test", "writer");
        String source = Files.readString(sources.resolve(
                switch (language) {
                    case "java" -> "Steps.java";
                    case "python" -> "steps.py";
                    case "go" -> "steps.go";
                    default -> "steps.ts";
                }));
        SdkProgram program = PROGRAMS.get(language);
        if (program == null) {
            program = SdkProgram.writer(language, source, language.equals("java") ? "Steps" : "steps");
            PROGRAMS.put(language, program);
        }
        List<String> command = new ArrayList<>(tracer);
        command.addAll(program.command());
        command.add(spool.equals("-") ? spool : folder.resolve(spool).toString());
        command.addAll(List.of(Integer.toString(buffer), refusals));
        ProcessBuilder process = new ProcessBuilder(command)
                .redirectError(folder.resolve("errors" + ++started).toFile())
                .redirectOutput(output().toFile());
        process.environment()
                .put("ANNALS_URL", "http://127.0.0.1:" + server.getAddress().getPort());
        process.environment().put("ANNALS_TOKEN", "token");
        process.environment().put("PYTHONPATH", program.importsFrom().toString());
        client = process.start();
        steps = client.getOutputStream();
    }

    private void kill() throws InterruptedException {
        if (client != null) {
            // strace has started the client: end the client first.
            client.descendants().forEach(ProcessHandle::destroyForcibly);
            client.destroyForcibly().waitFor();
        }
    }

    /** A first record is on its way and stays there, and what is appended now gathers. */
    private void hold() throws Exception {
        appended("held");
        Await.until("it is on its way", () -> !requests.isEmpty());
    }

    private void appended(String... actions) throws Exception {
        for (String action : actions) {
            does("append " + action, "taken " + action);
        }
    }

    /** Has the client do this, and waits until it has said that. */
    private void does(String step, String outcome) throws Exception {
        steps.write((step + "\n").getBytes(UTF_8));
        steps.flush();
        await(outcome);
    }

    private void await(String outcome) throws Exception {
        Await.until(
                outcome,
                () -> said().stream().anyMatch(line -> line.equals(outcome) || line.startsWith(outcome + " ")));
    }

    private List<String> said() throws IOException {
        String said = Files.readString(output());
        return said.substring(0, said.lastIndexOf('\n') + 1).lines().toList();
    }

    private Path output() {
        return folder.resolve("output" + started);
    }

    private String id(String action) throws IOException {
        for (int number = 1; number <= started; number++) {
            Matcher taken = Pattern.compile("taken " + action + " (\\S+)")
                    .matcher(Files.readString(folder.resolve("output" + number)));
            if (taken.find()) {
                return taken.group(1);
            }
        }
        throw new AssertionError(action + " was not taken");
    }

    /** As the service does: all, or none, if one is wrong, of which it may say which it is. */
    private void store(HttpExchange exchange, JsonNode records) throws IOException {
        List<String> actions = new ArrayList<>();
        records.forEach(record -> actions.add(record.get("action").textValue()));
        int wrong = actions.indexOf("wrong");
        if (wrong >= 0) {
            Answers.problem(exchange, 422, "invalid-record", "/records/" + wrong + "/ip_address");
        } else if (actions.contains("mute")) {
            Answers.problem(exchange, 422, "invalid-record", "");
        } else {
            stored.addAll(actions);
            Answers.send(exchange, 201, "application/json", naming(records, records.size()));
        }
    }

    /** An answer that names that many of the records. */
    private static String naming(JsonNode records, int count) {
        StringBuilder results = new StringBuilder();
        for (int i = 0; i < count; i++) {
            results.append(i == 0 ? "" : ",")
                    .append("{\"id\":")
                    .append(records.get(i).get("id"))
                    .append('}');
        }
        return "{\"results\":[" + results + "]}";
    }

    private static boolean isThere(String command) throws IOException, InterruptedException {
        return new ProcessBuilder("sh", "-c", "command -v " + command).start().waitFor() == 0;
    }
}
