package dev.annals.bench.service;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The end of a feed, which nearly all readers read: from memory, and from the database. */
public final class TailPart implements Part {

    private static final int BATCH = 1_000;
    private static final int BATCHES = 5;
    private static final int PAGE = 50;
    private static final String KEPT = "ANNALS_FEED_KEPT_BYTES";

    @Override
    public String name() {
        return "tail";
    }

    @Override
    public String title() {
        return "The end of a feed: from memory, and from the database";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        try (BenchDatabase one = server.createDatabase("annals_bench_tail_memory");
                BenchDatabase other = server.createDatabase("annals_bench_tail_database")) {
            one.migrate();
            other.migrate();
            try (Target memory = new Targets(one).startAnnalsWith(KEPT, "16777216");
                    Target database = new Targets(other).startAnnalsWith(KEPT, "0")) {
                return measure(Map.of("from memory", memory, "from the database", database), settings);
            }
        }
    }

    private static String measure(Map<String, Target> targets, Settings settings) throws Exception {
        Map<String, Supplier<HttpCall>> pages = new LinkedHashMap<>();
        Map<String, Supplier<HttpCall>> polls = new LinkedHashMap<>();
        for (Map.Entry<String, Target> target : targets.entrySet()) {
            Supplier<HttpCall> batches = Calls.batches(target.getValue(), BATCH);
            long head = 0;
            for (int i = 0; i < BATCHES; i++) {
                head = LoadClient.lastSequenceId(target.getValue(), batches.get());
            }
            pages.put(target.getKey(), call(target.getValue(), head - PAGE));
            polls.put(target.getKey(), call(target.getValue(), head));
        }
        StringBuilder tables = new StringBuilder();
        for (int connections : List.of(4, 64)) {
            Table table = new Table(connections + " connections", "requests/s", "lowest – highest", "to the database");
            addRows(table, "pages of " + PAGE + ", ", targets, pages, connections, settings);
            addRows(table, "polls that find nothing, ", targets, polls, connections, settings);
            tables.append(table).append('\n');
        }
        return """
                Two services side by side, each with its own database: one keeps the records that it has just read (the default,
                16 MiB), the other nothing. The load asks for the last %d records of a project, or for what is behind them.

                %s""".formatted(PAGE, tables.toString().stripTrailing());
    }

    private static void addRows(
            Table table,
            String kind,
            Map<String, Target> targets,
            Map<String, Supplier<HttpCall>> calls,
            int connections,
            Settings settings)
            throws Exception {
        List<String> names = List.of("from the database", "from memory");
        for (String name : names) {
            LoadClient.closedLoop(targets.get(name), connections, calls.get(name), settings.warmUp());
        }
        Progress.say(kind + connections + " connections");
        Rates rates = Rates.ofRounds(
                names,
                settings.rounds(),
                name -> LoadClient.closedLoop(targets.get(name), connections, calls.get(name), settings.measurement()));
        for (String name : names) {
            table.row(
                    kind + name,
                    String.format("%,.0f", rates.median(name)),
                    rates.range(name),
                    String.format("%.2f", rates.median(name) / rates.median(names.get(0))));
        }
    }

    /** Reads behind a record, with the cursor that the service gives for it, which has a check value. */
    private static Supplier<HttpCall> call(Target target, long sequenceId) throws IOException, InterruptedException {
        String token = target.tokens().get(0);
        HttpRequest request = HttpRequest.newBuilder(URI.create(
                        "http://127.0.0.1:" + target.port() + "/v1/project-logs?limit=1&cursor=" + (sequenceId - 1)))
                .header("Authorization", "Bearer " + token)
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        JsonNode page = new ObjectMapper().readTree(answer.body());
        String query = URI.create(page.get("poll_more").asText()).getRawQuery().replace("limit=1", "limit=" + PAGE);
        return () -> HttpCall.page(token, query);
    }
}
