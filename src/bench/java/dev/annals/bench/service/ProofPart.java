package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.SampleRecords;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.core.record.AuditRecord;
import dev.annals.derived.log.LeafHashing;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Seed;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The cost of verifiable feeds: for writers, for readers, and in bytes. */
public final class ProofPart implements Part {

    private static final int BATCH = 1_000;
    private static final int PAGE = 200;
    /** Rates of appends differ by a third from one measurement to the next. */
    private static final int TIMES_THE_ROUNDS = 2;
    /** And to see two percent, far more of them; then each is shorter. */
    private static final int COMMITS_TIMES_THE_ROUNDS = 30;
    /** Records per second of another project, while the time to a record's proof is measured. */
    private static final int BESIDE = 300;

    private static final long CATCH_UP_SECONDS = 600;
    private static final Pattern ID = Pattern.compile("\\{\"id\":\"([0-9a-f-]{36})\"");
    private static final String WITH = "with";
    private static final String WITHOUT = "without";

    private final HttpClient client = HttpClient.newHttpClient();

    @Override
    public String name() {
        return "proof";
    }

    @Override
    public String title() {
        return "Proof: what a verifiable feed costs";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        StringBuilder text = new StringBuilder(onOneCore(settings)).append(commits(server, settings));
        try (BenchDatabase database = server.createDatabase("annals_bench_proof");
                BenchDatabase plain = server.createDatabase("annals_bench_proof_without")) {
            database.migrate();
            plain.migrate();
            plain.execute("delete from annals.projection where name = 'log'");
            try (Target annals = new Targets(database).startAnnals();
                    Target other = new Targets(plain).startAnnals()) {
                text.append(appends(annals, database, other, plain, settings));
                text.append(processor(server, annals, database, other, plain, settings));
                text.append(reads(annals, database, settings));
                text.append(provable(annals, settings));
                text.append(rebuild(database));
            }
        }
        return text.toString();
    }

    private static String onOneCore(Settings settings) throws Exception {
        SampleRecords samples = new SampleRecords(1, new SequentialGuid());
        List<AuditRecord> records = samples.next(BATCH);
        Seed seed = Seed.of(new byte[Seed.BYTES]);
        SigningKey key = MasterKey.draw().of("audit.example.org/v1/projects/a/log/1");
        CompactRange tree = CompactRange.at(0);
        Map<String, LongConsumer> work = new LinkedHashMap<>();
        work.put(
                "records hashed into a tree",
                n -> tree.append(LeafHashing.leaf(records.get((int) (n % BATCH)), n + 1, seed)));
        work.put(
                "notes signed, and their signatures checked",
                n -> key.sign("audit.example.org/v1/projects/a/log/1\n" + n + "\nroot\n"));
        for (LongConsumer each : work.values()) {
            rate(each, settings.warmUp());
        }
        Rates rates = Rates.ofRounds(
                List.copyOf(work.keySet()),
                settings.rounds(),
                variant -> rate(work.get(variant), settings.measurement()));
        Table table = new Table("in memory, one core", "per second", "lowest – highest");
        for (String variant : work.keySet()) {
            table.row(variant, String.format("%,.0f", rates.median(variant)), rates.range(variant));
        }
        return table.toString();
    }

    private static double rate(LongConsumer work, Duration duration) {
        long begin = System.nanoTime();
        long done = 0;
        for (; System.nanoTime() - begin < duration.toNanos(); done++) {
            work.accept(done);
        }
        return done * 1e9 / (System.nanoTime() - begin);
    }

    /** The cost without any other projection, on two databases that get the same records. */
    private static String commits(BenchServer server, Settings settings) throws Exception {
        try (BenchDatabase database = server.createDatabase("annals_bench_commits");
                BenchDatabase plain = server.createDatabase("annals_bench_commits_without")) {
            for (BenchDatabase each : List.of(database, plain)) {
                each.migrate();
                each.execute("update annals.projection set step = " + Integer.MAX_VALUE);
            }
            plain.execute("delete from annals.projection where name = 'log'");
            try (Target annals = new Targets(database).startAnnals();
                    Target other = new Targets(plain).startAnnals()) {
                Table table = new Table(
                        "appends, 1 project",
                        "without the log, requests/s",
                        "with it",
                        "ratio, median",
                        "95 % interval of it");
                Duration duration = settings.measurement().dividedBy(2);
                int rounds = settings.rounds() * COMMITS_TIMES_THE_ROUNDS;
                for (int records : List.of(1, BATCH)) {
                    Rates rates = rates(records, rounds, duration, settings, annals, other);
                    table.row(
                            load(records),
                            String.format("%,.0f", rates.median(WITHOUT)),
                            String.format("%,.0f", rates.median(WITH)),
                            String.format("%.3f", rates.ratio(WITH, WITHOUT)),
                            rates.ratioInterval(WITH, WITHOUT));
                }
                return "\nAppending touches nothing of the log. This is what the commits themselves cost: all projections are put off in"
                        + " both databases while appends are measured (" + rounds
                        + " pairs of measurements, half as long as the"
                        + " others).\n\n" + table;
            }
        }
    }

    private static int connections(int records) {
        return records == 1 ? 64 : 4;
    }

    private static String load(int records) {
        return connections(records) + " connections, " + records + (records == 1 ? " record" : " records")
                + " per request";
    }

    private static Supplier<HttpCall> calls(Target target, int records) {
        return records == 1 ? Calls.single(target, 1) : Calls.batches(target, BATCH);
    }

    private static Rates rates(
            int records, int rounds, Duration duration, Settings settings, Target annals, Target other)
            throws Exception {
        Progress.say(load(records));
        for (Target target : List.of(annals, other)) {
            LoadClient.closedLoop(
                    target,
                    connections(records),
                    calls(target, records),
                    settings.warmUp().dividedBy(2));
        }
        return Rates.ofRounds(List.of(WITHOUT, WITH), rounds, variant -> {
            Target target = variant.equals(WITH) ? annals : other;
            return LoadClient.closedLoop(target, connections(records), calls(target, records), duration);
        });
    }

    /** Both services run; the one that is not measured has nothing to do. */
    private static String appends(
            Target annals, BenchDatabase database, Target other, BenchDatabase plain, Settings settings)
            throws Exception {
        Table table =
                new Table("appends, 1 project", "without the log, requests/s", "with it, its work beside", "ratio");
        for (int records : List.of(1, BATCH)) {
            Progress.say(load(records));
            for (Target target : List.of(annals, other)) {
                LoadClient.closedLoop(
                        target,
                        connections(records),
                        calls(target, records),
                        settings.warmUp().dividedBy(2));
            }
            Rates rates = Rates.ofRounds(List.of(WITHOUT, WITH), settings.rounds() * TIMES_THE_ROUNDS, variant -> {
                awaitProjections(database);
                awaitProjections(plain);
                Target target = variant.equals(WITH) ? annals : other;
                return LoadClient.closedLoop(
                        target, connections(records), calls(target, records), settings.measurement());
            });
            table.row(
                    load(records),
                    String.format("%,.0f", rates.median(WITHOUT)),
                    String.format("%,.0f", rates.median(WITH)),
                    String.format("%.2f", rates.ratio(WITH, WITHOUT)));
        }
        return "\nHere clients, services and database share the cores with the projections.\n\n" + table;
    }

    /** The processor time of the same appends, at a rate below the machine's limit. */
    private String processor(
            BenchServer server,
            Target annals,
            BenchDatabase database,
            Target other,
            BenchDatabase plain,
            Settings settings)
            throws Exception {
        if (!server.isEmbedded()) {
            return "";
        }
        Table table = new Table(
                "appends at a fixed rate, 1 project",
                "median, without the log",
                "with it",
                "ratio",
                "processor time per 1,000 records, without",
                "with it",
                "the log's part");
        ProcessHandle postgres = postmaster(database);
        for (int records : List.of(1, BATCH)) {
            int perSecond = records == 1 ? 300 : 4;
            String title = perSecond + " requests/s, " + records + (records == 1 ? " record" : " records") + " each";
            Progress.say(title);
            Map<String, List<double[]>> measured = new LinkedHashMap<>();
            for (int round = 0; round < settings.rounds(); round++) {
                for (String variant : round % 2 == 0 ? List.of(WITH, WITHOUT) : List.of(WITHOUT, WITH)) {
                    Target target = variant.equals(WITH) ? annals : other;
                    awaitProjections(database);
                    awaitProjections(plain);
                    Duration duration = settings.measurement().multipliedBy(2);
                    double before = target.process().processorSeconds() + processorSeconds(postgres);
                    Latencies latencies = LoadClient.openLoop(target, 16, perSecond, calls(target, records), duration);
                    awaitProjections(variant.equals(WITH) ? database : plain);
                    double after = target.process().processorSeconds() + processorSeconds(postgres);
                    double taken = perSecond * duration.toMillis() / 1000.0 * records;
                    measured.computeIfAbsent(variant, any -> new ArrayList<>())
                            .add(new double[] {latencies.percentile(0.5), (after - before) * 1e6 / taken});
                }
            }
            table.row(
                    title,
                    String.format("%.2f ms", median(measured, WITHOUT, 0)),
                    String.format("%.2f ms", median(measured, WITH, 0)),
                    String.format("%.2f", median(measured, WITH, 0) / median(measured, WITHOUT, 0)),
                    String.format("%,.0f ms", median(measured, WITHOUT, 1)),
                    String.format("%,.0f ms", median(measured, WITH, 1)),
                    String.format("%.0f %%", 100 * (1 - median(measured, WITHOUT, 1) / median(measured, WITH, 1))));
        }
        return "\nThe time of the service and of all processes of PostgreSQL, until the projections have caught up.\n\n"
                + table;
    }

    private static double median(Map<String, List<double[]>> measured, String variant, int which) {
        double[] sorted = measured.getOrDefault(variant, List.of()).stream()
                .mapToDouble(one -> one[which])
                .sorted()
                .toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    private static ProcessHandle postmaster(BenchDatabase database) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select pg_backend_pid()")) {
            row.next();
            return ProcessHandle.of(row.getLong(1))
                    .flatMap(ProcessHandle::parent)
                    .orElseThrow();
        }
    }

    /** The time of all its children, including ended ones: Linux adds those to their parent's. */
    private static double processorSeconds(ProcessHandle postgres) throws IOException {
        double running = postgres.children()
                        .mapToDouble(child -> child.info()
                                .totalCpuDuration()
                                .orElse(Duration.ZERO)
                                .toNanos())
                        .sum()
                / 1e9;
        Path status = Path.of("/proc", Long.toString(postgres.pid()), "stat");
        if (!Files.exists(status)) {
            return running;
        }
        // Behind the name, which ends with the last parenthesis: cutime and cstime of proc(5), in hundredths of a
        // second.
        String text = Files.readString(status);
        String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ", -1);
        return running + (Long.parseLong(fields[13]) + Long.parseLong(fields[14])) / 100.0;
    }

    private String reads(Target annals, BenchDatabase database, Settings settings) throws Exception {
        String token = annals.tokens().get(1);
        int records = settings.choose(20_000, 100_000);
        new NdjsonUpload(annals, token).rate(records);
        awaitLog(database);
        Target reader = new Target(annals.name(), annals.process(), List.of(token));
        List<String> ids = ids(reader, records);
        SplittableRandom random = new SplittableRandom(1);
        Supplier<HttpCall> plain = () -> page(token, random.nextLong(1, records - PAGE), "");
        Supplier<HttpCall> proved = () -> page(token, random.nextLong(1, records - PAGE), "&proof=" + records);
        Supplier<HttpCall> proofs = () -> HttpCall.get(token, "/" + ids.get(random.nextInt(ids.size())) + "/proof");
        List<String> variants = List.of("pages of " + PAGE, "pages of " + PAGE + " with proof", "proofs of one record");
        List<Supplier<HttpCall>> calls = List.of(plain, proved, proofs);
        for (Supplier<HttpCall> call : calls) {
            LoadClient.closedLoop(reader, 16, call, settings.warmUp());
        }
        Rates rates = Rates.ofRounds(
                variants,
                settings.rounds(),
                variant -> LoadClient.closedLoop(
                        reader, 16, calls.get(variants.indexOf(variant)), settings.measurement()));
        Table table = new Table("reads, 16 connections", "requests/s", "lowest – highest", "to pages without");
        for (String variant : variants) {
            table.row(
                    variant,
                    String.format("%,.0f", rates.median(variant)),
                    rates.range(variant),
                    String.format("%.2f", rates.ratio(variant, variants.get(0))));
        }
        return "\n" + table;
    }

    /** From the answer to an append, which comes with its commit, until its proof is there. */
    private String provable(Target annals, Settings settings) throws Exception {
        int records = settings.choose(100, 400);
        Table table = new Table("from an append's answer to its proof", "median", "99 %", "longest");
        addRow(table, String.format("%,d records, one after the other", records), provable(annals, records));
        AtomicBoolean ended = new AtomicBoolean();
        Thread load = new Thread(() -> appendBeside(annals, ended), "appends beside");
        load.start();
        try {
            addRow(table, "the same, while another project gets " + BESIDE + " per second", provable(annals, records));
        } finally {
            ended.set(true);
            load.join();
        }
        return "\n" + table;
    }

    private static void addRow(Table table, String title, Latencies latencies) {
        table.row(
                title,
                String.format("%,.0f ms", latencies.percentile(0.5)),
                String.format("%,.0f ms", latencies.percentile(0.99)),
                String.format("%,.0f ms", latencies.percentile(1)));
    }

    private static void appendBeside(Target annals, AtomicBoolean ended) {
        try {
            while (!ended.get()) {
                LoadClient.openLoop(annals, 16, BESIDE, Calls.single(annals, 1), Duration.ofSeconds(1));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Latencies provable(Target annals, int records) throws IOException, InterruptedException {
        String token = annals.tokens().get(2);
        long[] nanos = new long[records];
        for (int i = 0; i < records; i++) {
            HttpResponse<String> stored = send(annals, token, "", "{\"action\": \"a\"}");
            String id = first(stored.body());
            long begin = System.nanoTime();
            while (send(annals, token, "/" + id + "/proof", "").statusCode() != 200) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            nanos[i] = System.nanoTime() - begin;
        }
        return new Latencies(nanos);
    }

    /** The speed at which the tree grows when nothing else waits, and its cost. */
    private static String rebuild(BenchDatabase database) throws Exception {
        awaitLog(database);
        long records = database.queryLong("select sum(size) from annals.merkle_log");
        long bytes = database.queryLong(
                "select sum(pg_total_relation_size(relation)) from unnest(array['annals.merkle_tile', 'annals.merkle_seed',"
                        + " 'annals.merkle_log']::regclass[]) as relation");
        long feed = database.queryLong(
                "select sum(pg_total_relation_size(relation)) from unnest(array['annals.audit_record', 'annals.append',"
                        + " 'annals.feed_segment']::regclass[]) as relation");
        long begin = System.nanoTime();
        database.execute("update annals.projection set generation = generation + 1 where name = 'log'");
        awaitLog(database);
        double seconds = (System.nanoTime() - begin) / 1e9;
        return "\n"
                + new Table("the log", "records/s taken in again", "bytes per record", "of the feed's own bytes")
                        .row(
                                String.format("%,d records", records),
                                String.format("%,.0f", records / seconds),
                                String.format("%.1f", (double) bytes / records),
                                String.format("%.1f %%", 100.0 * bytes / feed));
    }

    private static void awaitLog(BenchDatabase database) throws SQLException, InterruptedException {
        await(database, "and projection.name = 'log'");
    }

    /** Else the work that one measurement leaves behind would slow the next one. */
    private static void awaitProjections(BenchDatabase database) throws SQLException, InterruptedException {
        await(database, "");
    }

    private static void await(BenchDatabase database, String condition) throws SQLException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(CATCH_UP_SECONDS);
        while (database.queryLong("""
                select count(*) from annals.project as p
                cross join annals.projection
                left join annals.projection_checkpoint as c on c.project_id = p.id and c.projection = projection.name
                where coalesce((select max(last_sequence_id) from annals.feed_segment where project_id = p.id), 0)
                  - case when c.generation = projection.generation then c.sequence_id else 0 end >= projection.step
                """ + condition) > 0) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the projections do not catch up with their feeds");
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    private static HttpCall page(String token, long cursor, String more) {
        return HttpCall.get(token, "?cursor=" + cursor + "&limit=" + PAGE + more);
    }

    private List<String> ids(Target target, int records) throws IOException, InterruptedException {
        List<String> ids = new ArrayList<>();
        for (int cursor = 0; cursor < records; cursor += records / 20) {
            String page = send(target, target.tokens().get(0), "?limit=100&cursor=" + cursor, "")
                    .body();
            ID.matcher(page)
                    .results()
                    .map(MatchResult::group)
                    .map(ProofPart::first)
                    .forEach(ids::add);
        }
        return ids;
    }

    private static String first(String json) {
        return ID.matcher(json).results().findFirst().orElseThrow().group(1);
    }

    private HttpResponse<String> send(Target target, String token, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + target.port() + "/v1/project-logs" + path))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json");
        return client.send(
                body.isEmpty()
                        ? request.GET().build()
                        : request.POST(HttpRequest.BodyPublishers.ofString(body))
                                .build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
