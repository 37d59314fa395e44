package dev.annals.sdk;

import static dev.annals.Tools.need;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.Slow;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
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
import org.junit.jupiter.params.provider.ValueSource;

/** The spools of the writing clients in each language: damage, owners, full disks and removed files. */
@Slow
@BesideTheService
@Timeout(240)
class WriterSpoolTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FIRST = "00000000000000000001.spool";
    private static final Path SOURCES = Path.of("src", "test", "writer");
    private static final Map<String, String> LANGUAGES = new LinkedHashMap<>(
            Map.of("java", "Steps.java", "python", "steps.py", "typescript", "steps.ts", "go", "steps.go"));
    /** A process of its own process namespace, as in a container of its own. */
    private static final List<String> CONTAINER =
            List.of("unshare", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc");

    private static final int STARTS = Load.times(3, 40);

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    /** The actions that arrived, by the first part of the path. */
    private final Map<String, List<String>> stored = new ConcurrentHashMap<>();

    private final List<Client> clients = new ArrayList<>();
    private volatile boolean isAway;
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try (exchange) {
                store(exchange);
            }
        });
        server.start();
    }

    @AfterEach
    void stop() throws Exception {
        for (Client client : clients) {
            client.kill();
        }
        server.stop(0);
        threads.shutdownNow();
    }

    private void store(HttpExchange exchange) throws IOException {
        JsonNode records = JSON.readTree(exchange.getRequestBody()).get("records");
        if (isAway) {
            exchange.sendResponseHeaders(503, -1);
            return;
        }
        StringBuilder results = new StringBuilder();
        String first = exchange.getRequestURI().getPath().split("/")[1];
        for (JsonNode record : records) {
            stored.computeIfAbsent(first, path -> new CopyOnWriteArrayList<>())
                    .add(record.get("action").textValue());
            results.append(results.isEmpty() ? "" : ",")
                    .append("{\"id\":")
                    .append(record.get("id"))
                    .append('}');
        }
        byte[] answer = ("{\"results\":[" + results + "]}").getBytes(UTF_8);
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(201, answer.length);
        exchange.getResponseBody().write(answer);
    }

    /** One file of the cases of clients/spool.json. */
    private record Damaged(JsonNode one, String as, byte[] first) {}

    @ParameterizedTest
    @CsvSource({"java, Spools.java", "python, spools.py", "typescript, spools.ts", "go, spools.go"})
    void eachClientReadsSpoolsAsTheCasesSay(String language, String file) throws Exception {
        JsonNode all = JSON.readTree(Path.of("clients", "spool.json").toFile());
        byte[] first = HexFormat.of().parseHex(all.at("/files/0").textValue());
        byte[] second = HexFormat.of().parseHex(all.at("/files/1").textValue());
        List<Damaged> spools = new ArrayList<>();
        all.get("cases").forEach(one -> spools.addAll(damaged(one, first)));
        Path parent = folder.resolve("spools");
        for (int number = 0; number < spools.size(); number++) {
            Path spool = Files.createDirectories(parent.resolve(Integer.toString(number)));
            Files.write(spool.resolve(FIRST), spools.get(number).first());
            Files.write(spool.resolve(FIRST.replace('1', '2')), second);
            JsonNode place = spools.get(number).one().path("acknowledged");
            if (!place.isMissingNode()) {
                Files.writeString(spool.resolve("acknowledged"), place.textValue());
            }
        }

        SdkProgram program = SdkProgram.writer(
                language, Files.readString(SOURCES.resolve(file)), file.substring(0, file.indexOf('.')));
        Client client = new Client(program, List.of(), List.of(parent.toString()));
        assertThat(client.process.waitFor(200, TimeUnit.SECONDS)).isTrue();

        assertThat(client.said()).hasSize(spools.size()).allMatch("true"::equalsIgnoreCase);
        SoftAssertions held = new SoftAssertions();
        for (int number = 0; number < spools.size(); number++) {
            Damaged spool = spools.get(number);
            boolean isKept = spool.one().path("kept").booleanValue();
            held.assertThat(stored.getOrDefault(Integer.toString(number), List.of()))
                    .as(spool.as())
                    .isEqualTo(texts(spool.one().get("sent")));
            held.assertThat(files(parent.resolve(Integer.toString(number)), "*.spool*"))
                    .as(spool.as())
                    .isEqualTo(isKept ? List.of(FIRST + ".damaged") : List.of());
            if (isKept) {
                held.assertThat(Files.readAllBytes(parent.resolve(number + "/" + FIRST + ".damaged")))
                        .as(spool.as())
                        .isEqualTo(spool.first());
            }
        }
        held.assertThat(client.errors()
                        .lines()
                        .filter(line -> line.contains("damaged at byte") || line.contains("is damaged:")))
                .hasSize((int) spools.stream()
                        .filter(spool -> spool.one().path("kept").booleanValue())
                        .count());
        held.assertAll();
    }

    private static List<Damaged> damaged(JsonNode one, byte[] first) {
        byte[] cut = Arrays.copyOf(first, first.length - one.path("cut").asInt(0));
        List<Integer> bits = new ArrayList<>();
        one.path("flip").forEach(bit -> bits.add(bit.intValue()));
        if (one.path("each").booleanValue()) {
            for (int bit = bits.get(0) + 1; bit < bits.get(1); bit++) {
                bits.add(bit);
            }
        }
        String name = one.get("name").textValue();
        if (bits.isEmpty()) {
            return List.of(new Damaged(one, name, cut));
        }
        return bits.stream()
                .map(bit -> {
                    byte[] flipped = cut.clone();
                    flipped[bit / 8] ^= (byte) (0x80 >> bit % 8);
                    return new Damaged(one, name + ": " + bit, flipped);
                })
                .toList();
    }

    /** Of those that start together, also in containers of their own, one has the spool. The others say that it is in use. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void ofThoseThatStartTogetherOneHasTheSpool(boolean inContainers) throws Exception {
        needContainers(inContainers);
        isAway = true;
        List<String> languages = List.of("typescript", "typescript", "java", "python", "go");
        for (int round = 0; round < STARTS; round++) {
            Path spool = folder.resolve("spool" + round);
            List<Client> started = new ArrayList<>();
            for (String language : languages) {
                started.add(steps(inContainers ? CONTAINER : List.of(), language, spool));
            }
            for (Client client : started) {
                client.does("append a" + round);
            }
            for (Client client : started) {
                Await.until(
                        "it has the spool or not",
                        () -> client.said().contains("acknowledged a" + client.round(spool))
                                || !client.process.isAlive());
            }
            List<Client> owners =
                    started.stream().filter(client -> client.process.isAlive()).toList();
            assertThat(owners).as("round %s", round).hasSize(1);
            for (Client client : started) {
                if (!owners.contains(client)) {
                    assertThat(client.errors()).contains("is in use");
                }
                client.kill();
            }
        }
    }

    /** One that stood still while another took the spool acknowledges nothing: nobody would send it. */
    @ParameterizedTest
    @CsvSource({"java, typescript", "python, typescript", "typescript, go", "go, typescript"})
    void oneThatStoodStillDoesNotAcknowledgeWhatNobodySends(String language, String next) throws Exception {
        needContainers(true);
        Path spool = folder.resolve("spool");
        isAway = true;
        Client first = steps(CONTAINER, language, spool);
        first.does("append before");
        first.await("acknowledged before");
        first.signal("STOP");
        Client second = steps(CONTAINER, next, spool);
        second.does("append other");
        second.await("acknowledged other");
        first.signal("CONT");
        first.does("append late");
        Await.until("it says so", () -> first.errors().contains("was taken by another process"));
        assertThat(first.said()).noneMatch(line -> line.startsWith("acknowledged late"));
        isAway = false;
        second.does("close 60000");
        second.await("closed true");

        assertThat(stored.get("v1")).contains("before", "other");
        first.does("close 0");
        first.await("closed false");
        assertThat(Files.readString(spool.resolve("refused.ndjson"))).contains("\"action\":\"late\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python", "typescript", "go"})
    void aFolderOfAnotherUserIsRefused(String language) throws Exception {
        assumeTrue(Files.getOwner(folder).getName().equals("root"), "only root can give folders away");
        Path spool = Files.createDirectory(folder.resolve("spool"));
        Files.setAttribute(spool, "unix:uid", 65_534);
        Client client = steps(List.of(), language, spool);
        assertThat(client.process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(client.errors()).contains("belongs to the user ");
        assertThat(files(spool, "*")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python", "typescript", "go"})
    void aFullDiskDoesNotFillWithEmptyFiles(String language) throws Exception {
        isAway = true;
        Path spool = Files.createDirectory(folder.resolve("spool"));
        // No file of the client can be longer than 300 bytes: a record does not fit. What it says passes through cat.
        String limited = "trap '' XFSZ; exec prlimit --fsize=300 \"$@\" > >(cat) 2> >(cat >&2)";
        Client client = steps(List.of("bash", "-c", limited, "limited"), language, spool);
        try (WatchService watch = spool.getFileSystem().newWatchService()) {
            spool.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            client.does("append " + "a".repeat(250));
            int begun = 0;
            while (begun < 3) {
                WatchKey key = watch.poll(60, TimeUnit.SECONDS);
                assertThat(key).as("it tries again").isNotNull();
                begun += (int) key.pollEvents().stream()
                        .filter(event -> event.context().toString().endsWith(".spool"))
                        .count();
                key.reset();
            }
        }
        assertThat(files(spool, "*.spool")).hasSizeLessThan(2);
        assertThat(client.said()).noneMatch(line -> line.startsWith("acknowledged"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python", "typescript", "go"})
    void aRemovedFileHidesNoOtherAndWhatWaitedGoesAgain(String language) throws Exception {
        Path spool = folder.resolve("spool");
        isAway = true;
        for (String action : List.of("a", "b", "c")) {
            Client one = steps(List.of(), language, spool);
            one.does("append " + action);
            one.await("acknowledged " + action);
            one.kill();
        }
        Client client = steps(List.of(), language, spool);
        Await.until("it waits", () -> client.errors().contains("ecords wait"));
        Files.delete(spool.resolve(FIRST.replace('1', '2')));
        isAway = false;
        client.does("flush 60000");
        client.await("flushed true");

        assertThat(stored.get("v1")).containsExactly("a", "c");
        assertThat(client.errors())
                .contains("was removed before all its records were stored", "ecords are delivered again");
    }

    private static void needContainers(boolean inContainers) throws Exception {
        List<String> command = new ArrayList<>(CONTAINER);
        command.add("true");
        need(
                !inContainers
                        || new ProcessBuilder(command)
                                        .redirectErrorStream(true)
                                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                                        .start()
                                        .waitFor()
                                == 0,
                "unshare, with the right to make process namespaces");
    }

    private static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(text -> texts.add(text.textValue()));
        return texts;
    }

    private static List<String> files(Path spool, String glob) throws IOException {
        try (Stream<Path> files = Files.list(spool)) {
            return files.filter(file ->
                            file.getFileSystem().getPathMatcher("glob:" + glob).matches(file.getFileName()))
                    .map(file -> file.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    private Client steps(List<String> before, String language, Path spool) throws Exception {
        String file = LANGUAGES.get(language);
        SdkProgram program = SdkProgram.writer(
                language, Files.readString(SOURCES.resolve(file)), file.substring(0, file.indexOf('.')));
        return new Client(program, before, List.of(spool.toString(), "100", "file"));
    }

    /** A process, and what it says. */
    private final class Client {
        private final Process process;
        private final Path output;
        private final Path errors;

        Client(SdkProgram program, List<String> before, List<String> arguments) throws IOException {
            output = folder.resolve("output" + clients.size());
            errors = folder.resolve("errors" + clients.size());
            List<String> command = new ArrayList<>(before);
            command.addAll(program.command());
            command.addAll(arguments);
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectError(errors.toFile()).redirectOutput(output.toFile());
            builder.environment()
                    .put("ANNALS_URL", "http://127.0.0.1:" + server.getAddress().getPort());
            builder.environment().put("ANNALS_TOKEN", "token");
            builder.environment().put("PYTHONPATH", program.importsFrom().toString());
            process = builder.start();
            clients.add(this);
        }

        void does(String step) {
            try {
                process.getOutputStream().write((step + "\n").getBytes(UTF_8));
                process.getOutputStream().flush();
            } catch (IOException e) {
                // It has ended: it does not have the spool.
            }
        }

        void await(String outcome) throws Exception {
            Await.until(outcome, () -> said().contains(outcome));
        }

        List<String> said() throws IOException {
            String said = Files.readString(output);
            return said.substring(0, said.lastIndexOf('\n') + 1).lines().toList();
        }

        String errors() throws IOException {
            return Files.readString(errors);
        }

        String round(Path spool) {
            return spool.getFileName().toString().substring("spool".length());
        }

        void signal(String name) throws Exception {
            for (ProcessHandle one : process.descendants().toList()) {
                new ProcessBuilder("kill", "-" + name, Long.toString(one.pid()))
                        .start()
                        .waitFor();
            }
        }

        void kill() throws InterruptedException {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
    }
}
