package dev.annals.bench.service;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.edges.delivery.Collector;
import dev.annals.edges.delivery.KafkaBroker;
import dev.annals.edges.delivery.ObjectStore;
import dev.annals.edges.delivery.Rsyslog;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** The rate of streams beside appends, compared with a program that reads the same feed and drops it. */
public final class StreamsPart implements Part {

    private static final int PAGE = 1_000;
    /** In how many requests per second another project gets records meanwhile, and how many in each. */
    private static final int REQUESTS_BESIDE = 20;

    private static final int RECORDS_BESIDE = 100;
    private static final int LIMIT_SECONDS = 300;
    private static final String CONSUMER = "a bare consumer of the feed";
    private static final String WEBHOOK = "a webhook";
    private static final String POSTGRESQL = "a table in PostgreSQL";
    private static final String SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    /** The types of the sinks, which are the names of their streams too. */
    private static final Map<String, String> STREAMS = Map.of(
            WEBHOOK,
            "webhook",
            "Kafka",
            "kafka",
            "syslog over TCP, to rsyslog",
            "syslog",
            "OpenTelemetry, to a Collector",
            "otlp",
            "objects in an S3-compatible store",
            "s3",
            POSTGRESQL,
            "postgresql");

    private final ObjectMapper json = new ObjectMapper();
    private final HttpClient client = HttpClient.newHttpClient();

    @Override
    public String name() {
        return "streams";
    }

    @Override
    public String title() {
        return "Streams: delivering a feed elsewhere";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        HttpServer receiver = receiver(threads);
        int port = receiver.getAddress().getPort();
        Path directory = Files.createTempDirectory("annals-bench-streams");
        try (KafkaBroker broker = new KafkaBroker("-Xmx512m");
                Rsyslog rsyslog = new Rsyslog(Files.createDirectory(directory.resolve("rsyslog")), "ossl");
                Collector collector = new Collector(directory, port);
                ObjectStore store = new ObjectStore(Files.createDirectory(directory.resolve("store")));
                BenchDatabase warehouse = server.createDatabase("annals_bench_warehouse");
                BenchDatabase database = server.createDatabase("annals_bench_streams")) {
            database.migrate();
            DatabaseUrl table = warehouse.url();
            try (Target annals = new Targets(database)
                    .startAnnalsWith(Map.of(
                            "ANNALS_STREAMS_KEY",
                            "5".repeat(64),
                            "ANNALS_STREAMS_ALLOWED_HOSTS",
                            "127.0.0.1",
                            "ANNALS_STREAMS_BATCH_RECORDS",
                            "" + PAGE,
                            "ANNALS_STREAMS_OBJECT_AGE",
                            "1s",
                            "ANNALS_STREAMS_CONCURRENT",
                            "16"))) {
                int records = settings.choose(50_000, 200_000);
                load(annals, database, records);
                set(annals, "webhook", "http://127.0.0.1:" + port + "/", SECRET);
                set(
                        annals,
                        "kafka",
                        "kafka://" + broker.server() + "/" + broker.newTopic(Map.of()) + "?tls=false",
                        null);
                set(annals, "syslog", "syslog://127.0.0.1:" + rsyslog.tcp, null);
                set(annals, "otlp", collector.url(), null);
                set(annals, "s3", store.url("bucket/audit"), ObjectStore.KEYS);
                set(
                        annals,
                        "postgresql",
                        "postgresql://" + table.user() + "@127.0.0.1:" + table.port() + "/" + table.database()
                                + "?sslmode=disable",
                        table.password());
                for (String stream : STREAMS.values()) {
                    awaitDelivered(annals, stream);
                    send(annals, "POST", "/v1/streams/" + stream + "/pause", "", 200);
                }
                return measure(annals, warehouse, records, settings.rounds());
            }
        } finally {
            receiver.stop(0);
            threads.shutdownNow();
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    private static HttpServer receiver(ExecutorService threads) throws IOException {
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.setExecutor(threads);
        receiver.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().transferTo(OutputStream.nullOutputStream());
                exchange.sendResponseHeaders(204, -1);
            }
        });
        receiver.start();
        return receiver;
    }

    private String measure(Target annals, BenchDatabase warehouse, int records, int rounds) throws Exception {
        List<String> variants = Stream.concat(
                        Stream.of(CONSUMER), STREAMS.keySet().stream().sorted())
                .toList();
        Table table = new Table(
                String.format("%,d records", records), "records/s", "lowest – highest", "to the bare consumer");
        AtomicBoolean ended = new AtomicBoolean();
        Thread beside = new Thread(() -> appendBeside(annals, ended), "appends beside");
        beside.start();
        try {
            Rates rates = Rates.ofRounds(variants, rounds, variant -> {
                if (variant.equals(POSTGRESQL)) {
                    // Replacing rows takes longer than inserting new ones.
                    warehouse.execute("truncate annals_record");
                }
                return rate(annals, variant, records);
            });
            for (String variant : variants) {
                table.row(
                        variant,
                        String.format("%,.0f", rates.median(variant)),
                        rates.range(variant),
                        String.format("%.2f", rates.ratio(variant, CONSUMER)));
            }
        } finally {
            ended.set(true);
            beside.join();
        }
        return """
                From the beginning of a feed to its end, batches of %,d, while another project gets %,d records per second in %d requests.
                Everything is on this machine: the webhook's receiver reads each request and answers, Kafka is one broker, the Collector
                exports to that receiver, rsyslog writes each message three times, the table is in the same PostgreSQL as the feed, and
                the store's last object of a round waits for up to a second for more. The consumer reads page after page, and looks for
                nothing but the next one.

                %s""".formatted(PAGE, REQUESTS_BESIDE * RECORDS_BESIDE, REQUESTS_BESIDE, table);
    }

    /** As a program with a connection of its own does it, in statements of a thousand. */
    private void load(Target annals, BenchDatabase database, int records) throws Exception {
        String project =
                send(annals, "GET", "/v1/whoami", "", 200).at("/project/id").asText();
        for (int done = 0; done < records; done += PAGE) {
            database.execute(
                    "insert into annals.audit_record (project_id, action, actor_type, actor_id, outcome, message, metadata)"
                            + " select '" + project
                            + "', 'volume_create', 'user', 'u-' || n % 1000, 'success', 'Volume ' || n"
                            + " || ' has been created', jsonb_build_object('zone', 'eu-' || n % 7, 'size', n)"
                            + " from generate_series(1, " + PAGE + ") as n");
        }
        Progress.say(String.format("%,d records are there", records));
    }

    private double rate(Target annals, String variant, int records) throws Exception {
        long begin = System.nanoTime();
        String stream = STREAMS.get(variant);
        if (stream == null) {
            consume(annals);
        } else {
            send(annals, "POST", "/v1/streams/" + stream + "/rewind", "{\"cursor\": \"0\"}", 200);
            send(annals, "POST", "/v1/streams/" + stream + "/resume", "", 200);
            awaitDelivered(annals, stream);
        }
        double rate = records * 1e9 / (System.nanoTime() - begin);
        if (stream != null) {
            send(annals, "POST", "/v1/streams/" + stream + "/pause", "", 200);
        }
        Progress.say(String.format("%s: %,.0f records/s", variant, rate));
        return rate;
    }

    private void consume(Target annals) throws Exception {
        String path = "/v1/project-logs?limit=" + PAGE;
        while (!path.isEmpty()) {
            JsonNode next = send(annals, "GET", path, "", 200).path("next");
            URI uri = URI.create(next.asText(""));
            path = next.isTextual() ? uri.getRawPath() + "?" + uri.getRawQuery() : "";
        }
    }

    private void awaitDelivered(Target annals, String stream) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (true) {
            JsonNode state = send(annals, "GET", "/v1/streams/" + stream, "", 200);
            if (state.path("lag").asLong() == 0) {
                return;
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the stream does not come to its end: " + state);
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private void set(Target annals, String type, String url, String secret) throws Exception {
        String with = secret == null ? "" : ", \"secret\": \"" + secret + "\"";
        send(
                annals,
                "PUT",
                "/v1/streams/" + type,
                "{\"sink\": {\"type\": \"" + type + "\", \"url\": \"" + url + "\"" + with + "}}",
                201);
    }

    private static void appendBeside(Target annals, AtomicBoolean ended) {
        try {
            while (!ended.get()) {
                LoadClient.openLoop(
                        annals,
                        4,
                        REQUESTS_BESIDE,
                        Calls.batches(
                                new Target(
                                        annals.name(),
                                        annals.process(),
                                        annals.tokens().subList(1, 2)),
                                RECORDS_BESIDE),
                        Duration.ofSeconds(1));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private JsonNode send(Target annals, String method, String path, String body, int expected)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + annals.port() + path))
                .header("Authorization", "Bearer " + annals.tokens().get(0))
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(30))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
        if (answer.statusCode() != expected) {
            throw new IOException(path + " answers " + answer.statusCode() + ": "
                    + new String(answer.body(), StandardCharsets.UTF_8));
        }
        return json.readTree(answer.body());
    }
}
