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
import dev.annals.delivery.KafkaBroker;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** How fast streams deliver, beside appends, against a program that reads the same feed and does nothing with it. */
public final class StreamsPart implements Part {

    private static final int PAGE = 1_000;
    /** In how many requests per second another project gets records meanwhile, and how many in each. */
    private static final int REQUESTS_BESIDE = 20;

    private static final int RECORDS_BESIDE = 100;
    private static final int LIMIT_SECONDS = 300;
    private static final String CONSUMER = "a bare consumer of the feed";
    private static final String WEBHOOK = "a webhook";
    private static final String KAFKA = "Kafka";
    private static final String SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    private static final Map<String, String> STREAMS = Map.of(WEBHOOK, "webhook", KAFKA, "kafka");

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
        try (KafkaBroker broker = new KafkaBroker("-Xmx512m");
                BenchDatabase database = server.createDatabase("annals_bench_streams")) {
            database.migrate();
            try (Target annals = new Targets(database)
                    .startAnnalsWith(Map.of(
                            "ANNALS_STREAMS_KEY",
                            "5".repeat(64),
                            "ANNALS_STREAMS_ALLOWED_HOSTS",
                            "127.0.0.1",
                            "ANNALS_STREAMS_BATCH_RECORDS",
                            "" + PAGE,
                            "ANNALS_STREAMS_BATCH_BYTES",
                            "1048576"))) {
                return measure(annals, database, broker, receiver, settings);
            }
        } finally {
            receiver.stop(0);
            threads.shutdownNow();
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

    private String measure(
            Target annals, BenchDatabase database, KafkaBroker broker, HttpServer receiver, Settings settings)
            throws Exception {
        int records = settings.choose(50_000, 400_000);
        load(annals, database, records);
        set(annals, "webhook", "http://127.0.0.1:" + receiver.getAddress().getPort() + "/", SECRET);
        set(annals, "kafka", "kafka://" + broker.server() + "/" + broker.newTopic(Map.of()) + "?tls=false", null);
        for (String stream : STREAMS.values()) {
            awaitDelivered(annals, stream);
            send(annals, "POST", "/v1/streams/" + stream + "/pause", "", 200);
        }
        List<String> variants = List.of(CONSUMER, WEBHOOK, KAFKA);
        Table table = new Table(
                String.format("%,d records", records), "records/s", "lowest – highest", "to the bare consumer");
        AtomicBoolean ended = new AtomicBoolean();
        Thread beside = new Thread(() -> appendBeside(annals, ended), "appends beside");
        beside.start();
        try {
            Rates rates = Rates.ofRounds(variants, settings.rounds(), variant -> rate(annals, variant, records));
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
                The webhook's receiver reads each request and answers; Kafka is one broker with its files on the same disk. The
                consumer reads page after page, and looks for nothing but the next one.

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
