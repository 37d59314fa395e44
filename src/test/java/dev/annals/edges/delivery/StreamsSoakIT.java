package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.path.json.JsonPath;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * All sinks at once, for as many minutes as {@code -Dstreams.minutes} says: beside appends, two instances and all receivers are
 * killed and frozen in turn. Each receiver has in the end what its sink promises. The measurements are in {@code
 * target/streams-soak.md}.
 */
@Slow
@EnabledIfSystemProperty(named = "streams.minutes", matches = "[0-9]+", disabledReason = "takes minutes")
class StreamsSoakIT {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern SYSLOG =
            Pattern.compile("^(\\S+) <1\\d\\d>1 .* sequence_id=\"(\\d+)\"[^\\]]*] \\{.*}$");
    private static final int BATCH = 100;
    private static final long BATCH_MILLIS = 100;
    private static final long FAULT_MILLIS = 5_000;
    private static final long AWAY_MILLIS = 1_000;
    /** Longer than the lease. */
    private static final long FROZEN_MILLIS = 4_000;

    private static final long CATCH_UP_SECONDS = 300;

    @TempDir
    Path directory;

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private final ServiceProcess[] instances = new ServiceProcess[2];
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Map<String, Sink> sinks = new LinkedHashMap<>();
    private final List<Received> logged = Collections.synchronizedList(new ArrayList<>());
    private WebhookProcess webhook;
    private InstalledPostgres warehouse;
    private KafkaBroker kafka;
    private String topic;
    private HttpServer backend;
    private Collector collector;
    private Rsyslog rsyslog;
    private ObjectStore store;
    private Project project;
    private volatile boolean ended;

    /** A record that came, and when. */
    private record Received(long sequenceId, long millis) {}

    private interface Action {
        void run() throws Exception;
    }

    private interface Look {
        List<Received> take() throws Exception;
    }

    /** @param once whether each record comes exactly once */
    private record Sink(boolean once, Action kill, Action start, Look received) {}

    @BeforeEach
    void startAll() throws Exception {
        startReceivers();
        for (int i = 0; i < instances.length; i++) {
            instances[i] = startInstance();
        }
        project = instances[0].newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        set("webhook", webhook.url(), Receiver.SECRET);
        DatabaseUrl there = warehouse.url("warehouse");
        set(
                "postgresql",
                "postgresql://" + there.user() + "@127.0.0.1:" + there.port() + "/warehouse?sslmode=disable",
                there.password());
        set("kafka", "kafka://127.0.0.1:" + kafka.port + "/" + topic + "?tls=false", null);
        set("otlp", collector.url(), null);
        set("syslog", "syslog://127.0.0.1:" + rsyslog.tcp, null);
        set("s3", store.url("bucket/audit"), ObjectStore.KEYS);
    }

    private void startReceivers() throws Exception {
        webhook = new WebhookProcess(directory.resolve("webhook"));
        sinks.put("webhook", new Sink(false, webhook::kill, webhook::start, this::ofWebhook));
        warehouse = InstalledPostgres.start(Files.createDirectory(directory.resolve("warehouse")));
        SqlFixture.on(warehouse.url("postgres")).runEach("create database warehouse");
        SqlFixture.on(warehouse.url("warehouse"))
                .runEach(
                        "create table annals_record (project_id uuid not null, sequence_id bigint not null, record jsonb not"
                                + " null, delivered_at timestamptz not null default now(), primary key (project_id, sequence_id))",
                        "create table written (number bigserial, sequence_id bigint, at timestamptz default clock_timestamp())",
                        "create function note() returns trigger language plpgsql as $$ begin insert into written (sequence_id)"
                                + " values (new.sequence_id); return new; end $$",
                        "create trigger note after insert or update on annals_record for each row execute function note()");
        sinks.put("postgresql", new Sink(true, () -> {}, warehouse::crash, this::ofWarehouse));
        kafka = new KafkaBroker();
        topic = kafka.newTopic(Map.of("message.timestamp.type", "LogAppendTime"));
        sinks.put("kafka", new Sink(true, kafka::kill, kafka::start, this::ofKafka));
        backend = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        backend.createContext("/v1/logs", exchange -> {
            try (exchange) {
                JsonNode request = JSON.readTree(exchange.getRequestBody().readAllBytes());
                long now = System.currentTimeMillis();
                request.findValues("logRecords")
                        .forEach(each ->
                                each.forEach(record -> logged.add(new Received(OtlpSinkTest.sequenceId(record), now))));
                exchange.getResponseHeaders().add("Content-Type", "application/json");
                exchange.sendResponseHeaders(200, 2);
                exchange.getResponseBody().write("{}".getBytes(StandardCharsets.US_ASCII));
            }
        });
        backend.start();
        collector = new Collector(directory, backend.getAddress().getPort());
        sinks.put("otlp", new Sink(false, collector::kill, collector::start, () -> List.copyOf(logged)));
        rsyslog = new Rsyslog(Files.createDirectory(directory.resolve("rsyslog")), "ossl");
        sinks.put("syslog", new Sink(false, rsyslog::kill, rsyslog::start, this::ofSyslog));
        store = new ObjectStore(Files.createDirectory(directory.resolve("store")));
        sinks.put("s3", new Sink(true, store::kill, store::start, this::ofStore));
    }

    @AfterEach
    void stopAll() throws Exception {
        ended = true;
        threads.shutdown();
        for (AutoCloseable each :
                new AutoCloseable[] {instances[0], instances[1], webhook, warehouse, kafka, collector, rsyslog, store
                }) {
            if (each != null) {
                each.close();
            }
        }
        if (backend != null) {
            backend.stop(0);
        }
    }

    private ServiceProcess startInstance() throws IOException {
        return ServiceProcess.start(Map.ofEntries(
                        Map.entry("ANNALS_DATABASE_URL", database.withPassword()),
                        Map.entry("ANNALS_ADMIN_TOKEN", AuditLogFixture.ADMIN_TOKEN),
                        Map.entry("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY),
                        Map.entry("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1"),
                        Map.entry("ANNALS_STREAMS_LEASE", "2s"),
                        Map.entry("ANNALS_STREAMS_CONCURRENT", "16"),
                        Map.entry("ANNALS_STREAMS_MAX_RETRY_DELAY", "1s"),
                        Map.entry("ANNALS_STREAMS_TIMEOUT", "5s"),
                        Map.entry("ANNALS_STREAMS_OBJECT_AGE", "1s")))
                .awaitListening();
    }

    private void set(String type, String url, String secret) {
        String with = secret == null ? "" : ", \"secret\": \"" + secret + "\"";
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"" + type + "\", \"url\": \"" + url + "\"" + with + "}}")
                .put(instances[0].uri("/v1/streams/" + type))
                .then()
                .statusCode(201);
    }

    /** Until the end is set. Gives how many records there are. */
    private long append() throws Exception {
        long appended = 0;
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            while (!ended) {
                long next = System.currentTimeMillis() + BATCH_MILLIS;
                statement.execute("insert into annals.audit_record (project_id, action, message) select '"
                        + project.id() + "', 'act', 'Record ' || n from generate_series(1, " + BATCH + ") as n");
                appended += BATCH;
                Thread.sleep(Math.max(0, next - System.currentTimeMillis()));
            }
        }
        return appended;
    }

    private List<Action> faults() {
        List<Action> faults = new ArrayList<>();
        int instance = 0;
        for (Sink sink : sinks.values()) {
            int which = instance++ % 2;
            int other = 1 - which;
            faults.add(() -> {
                instances[which].close();
                instances[which] = startInstance();
            });
            faults.add(() -> {
                sink.kill().run();
                Thread.sleep(AWAY_MILLIS);
                sink.start().run();
            });
            faults.add(() -> {
                instances[other].signal("STOP");
                Thread.sleep(FROZEN_MILLIS);
                instances[other].signal("CONT");
            });
        }
        return faults;
    }

    @Test
    void everySinkHasWhatIsPromised() throws Exception {
        Future<Long> appending = threads.submit(this::append);
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(Long.getLong("streams.minutes"));
        List<Action> faults = faults();
        int happened = 0;
        while (System.nanoTime() < end) {
            long next = System.currentTimeMillis() + FAULT_MILLIS;
            faults.get(happened % faults.size()).run();
            happened++;
            Thread.sleep(Math.max(0, next - System.currentTimeMillis()));
        }
        ended = true;
        long count = appending.get();
        awaitDelivered();

        Map<Long, Long> appended = appended();
        assertThat(appended).hasSize((int) count);
        StringBuilder table = new StringBuilder("%,d records, %d faults%n%n".formatted(count, happened));
        table.append(
                "| sink | came | of these again | lag, median | 99th percentile | longest |\n|---|---|---|---|---|---|\n");
        for (Map.Entry<String, Sink> each : sinks.entrySet()) {
            List<Received> received = each.getValue().received().take();
            List<Long> lags = new ArrayList<>();
            long last = 0;
            for (Received one : received) {
                assertThat(one.sequenceId())
                        .as("%s behind %d", each.getKey(), last)
                        .isLessThanOrEqualTo(last + 1);
                if (one.sequenceId() > last) {
                    last = one.sequenceId();
                    lags.add(one.millis() - appended.get(last));
                }
            }
            assertThat(last).as(each.getKey()).isEqualTo(count);
            if (each.getValue().once()) {
                assertThat(received.stream().map(Received::sequenceId).toList())
                        .as(each.getKey())
                        .isEqualTo(LongStream.rangeClosed(1, count).boxed().toList());
            }
            Collections.sort(lags);
            table.append("| %s | %,d | %,d | %,d ms | %,d ms | %,d ms |%n"
                    .formatted(
                            each.getKey(),
                            received.size(),
                            received.size() - count,
                            lags.get(lags.size() / 2),
                            lags.get(lags.size() * 99 / 100),
                            lags.get(lags.size() - 1)));
        }
        Files.writeString(Path.of("target", "streams-soak.md"), table);
    }

    private void awaitDelivered() throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(CATCH_UP_SECONDS);
        while (true) {
            JsonPath streams = new JsonPath(given().header("Authorization", "Bearer " + project.token())
                    .get(instances[0].uri("/v1/streams"))
                    .asString());
            if (streams.<Integer>getList("streams.lag").equals(Collections.nCopies(sinks.size(), 0))) {
                return;
            }
            assertThat(streams.<String>getList("streams.state")).doesNotContain("stopped");
            assertThat(System.nanoTime()).as(streams.prettify()).isLessThan(end);
            Thread.sleep(100);
        }
    }

    /** When each record was appended, by its sequence id. */
    private Map<Long, Long> appended() throws Exception {
        Map<Long, Long> appended = new LinkedHashMap<>();
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery("select sequence_id, recorded_at from annals.feed where project_id = '"
                                + project.id() + "' order by sequence_id")) {
            while (rows.next()) {
                appended.put(
                        rows.getLong("sequence_id"),
                        rows.getTimestamp("recorded_at").toInstant().toEpochMilli());
            }
        }
        return appended;
    }

    private List<Received> ofWebhook() throws IOException {
        List<Received> received = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(directory.resolve("webhook"))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int space = line.indexOf(' ');
                long millis = Long.parseLong(line.substring(0, space));
                JSON.readTree(line.substring(space))
                        .path("records")
                        .forEach(record -> received.add(
                                new Received(record.path("sequence_id").asLong(), millis)));
            }
        }
        return received;
    }

    private List<Received> ofWarehouse() throws Exception {
        List<Received> received = new ArrayList<>();
        try (Connection connection = warehouse.url("warehouse").connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select sequence_id, at from written order by number")) {
            while (rows.next()) {
                received.add(new Received(
                        rows.getLong("sequence_id"),
                        rows.getTimestamp("at").toInstant().toEpochMilli()));
            }
        }
        return received;
    }

    private List<Received> ofKafka() throws Exception {
        List<Received> received = new ArrayList<>();
        for (var record : kafka.committed(topic)) {
            received.add(new Received(
                    JSON.readTree(record.value()).path("sequence_id").asLong(), record.timestamp()));
        }
        return received;
    }

    private List<Received> ofSyslog() throws IOException {
        List<Received> received = new ArrayList<>();
        for (String line : rsyslog.lines("tcp.timed")) {
            Matcher whole = SYSLOG.matcher(line);
            if (whole.find()) {
                received.add(new Received(
                        Long.parseLong(whole.group(2)),
                        OffsetDateTime.parse(whole.group(1)).toInstant().toEpochMilli()));
            }
        }
        return received;
    }

    private List<Received> ofStore() throws IOException {
        List<Path> objects;
        try (Stream<Path> files = Files.walk(store.bucket)) {
            objects = files.filter(file -> file.toString().endsWith(".ndjson.gz"))
                    .sorted()
                    .toList();
        }
        List<Received> received = new ArrayList<>();
        for (Path object : objects) {
            long millis = Files.getLastModifiedTime(object).toMillis();
            try (BufferedReader lines = new BufferedReader(
                    new InputStreamReader(new GZIPInputStream(Files.newInputStream(object)), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    received.add(
                            new Received(JSON.readTree(line).path("sequence_id").asLong(), millis));
                }
            }
        }
        return received;
    }
}
