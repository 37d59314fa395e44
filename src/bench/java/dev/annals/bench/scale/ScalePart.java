package dev.annals.bench.scale;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.SampleRecords;
import dev.annals.bench.Settings;
import dev.annals.bench.service.Calls;
import dev.annals.bench.service.HttpCall;
import dev.annals.bench.service.Latencies;
import dev.annals.bench.service.LoadClient;
import dev.annals.bench.service.Target;
import dev.annals.bench.service.Targets;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The cost of the service as its database grows, in records ({@code -Dscale.records}) and in projects ({@code -Dscale.projects}). A
 * database grows from size to size, each four times the last, and each size gets the same measurements.
 */
public final class ScalePart implements Part {

    private static final Path PLOT = Path.of("target", "scale.svg");

    private static final String APPENDS = "appends per second";
    private static final String PAGES = "pages per second";
    private static final String POLL = "from an append to a poll, ms";
    private static final String DERIVED = "until derived, s";
    private static final String TABLES = "table bytes per record";
    private static final String INDEXES = "index bytes per record";
    private static final String TAKEN_IN = "projections, s per million records";
    private static final String VACUUM = "VACUUM, s per million records";
    private static final String VERIFY = "verify, s per million records";
    private static final String START = "start to the first answer, s";
    private static final String MEMORY = "memory, MB";
    private static final String HEAP = "heap per project, bytes";
    private static final List<String> CHARTS =
            List.of(APPENDS, PAGES, POLL, DERIVED, TABLES, INDEXES, TAKEN_IN, VACUUM, VERIFY, START, MEMORY, HEAP);

    private static final int RECORDS = 2_000_000;
    private static final int PROJECTS = 10_000;
    private static final int GROWTH = 4;
    private static final int MOST_SIZES = 4;
    private static final int SMALLEST = 50_000;
    /** The small projects' share of all records. */
    private static final double SMALL_PART = 0.2;

    private static final int CONNECTIONS = 64;
    private static final int READERS = 16;
    private static final int PAGE = 200;
    /** The number of projects that all projections have to follow. */
    private static final int FOLLOWED = 100;

    private static final long LOOK_MILLIS = 200;

    private final SplittableRandom random = new SplittableRandom(1);
    private final Buffer body = Buffer.buffer(SampleRecords.toJson(new SampleRecords(1, new SequentialGuid()).next()));

    @Override
    public String name() {
        return "scale";
    }

    @Override
    public String title() {
        return "Scale: what grows with the database";
    }

    private record Size(long records, int projects) {}

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Size largest =
                new Size(Integer.getInteger("scale.records", RECORDS), Integer.getInteger("scale.projects", PROJECTS));
        int recordsOfSmall = Math.toIntExact(Math.max(1, Math.round(SMALL_PART * largest.records / largest.projects)));
        Measures measures = new Measures(CHARTS);
        List<Double> sizes = new ArrayList<>();
        String section = "";
        try (BenchDatabase database = server.createDatabase("annals_bench_scale")) {
            database.migrate();
            ScaleFeeds feeds = new ScaleFeeds(database, recordsOfSmall);
            for (Size size : sizes(largest)) {
                server.writeMuchWithoutVacuum();
                feeds.growTo(size.projects, size.records);
                long records = feeds.records();
                sizes.add((double) records);
                measures.begin(
                        String.format("%s records, %,d projects", Charts.number((double) records), size.projects));
                new Step(database, feeds, records, measures, settings).measureAll(server);
                section = describe(measures, sizes, recordsOfSmall, settings);
                // Whatever ends a long run, this much of it is known.
                Progress.say(section);
            }
        } finally {
            server.writeAsUsual();
        }
        return section;
    }

    private static List<Size> sizes(Size largest) {
        List<Size> sizes = new ArrayList<>();
        long records = largest.records;
        double projects = largest.projects;
        while (sizes.size() < MOST_SIZES && (records >= SMALLEST || sizes.isEmpty())) {
            sizes.add(new Size(records, (int) Math.max(2 * ScaleFeeds.BUSY, projects)));
            records /= GROWTH;
            projects /= GROWTH;
        }
        Collections.reverse(sizes);
        return sizes;
    }

    private static String describe(Measures measures, List<Double> sizes, int recordsOfSmall, Settings settings)
            throws IOException {
        List<String> names = sizes.stream().map(Charts::number).toList();
        Files.writeString(PLOT, new Charts("Annals by the number of records", sizes, names).svg(measures.charts()));
        return """
                A database that grows. Half of the records are a large project's, three tenths those of a hundred busy ones, both in
                appends of up to 256; the rest are single appends, %d in each of the small projects, which are all others. They are
                written by plain SQL; then the packaged service takes them into its projections, and `VACUUM` runs, twice. What is
                appended while something is measured belongs to the next size. 64 connections append single records, 16 read: pages
                of 200 at any place of the large project, and first pages of any small project. A poll counts from when a record is
                sent to when the poll that waits for it has returned, one after the other in the busy projects. *Until derived* is
                how long it takes after an append to %d of the small projects until search, statistics and log have taken all of
                them in. The heap is what is left in it after a garbage collection, when each project has got a record and was read;
                *per project*, by how much it grew since a tenth of them had, with what caches of fixed size hold. Medians of %d
                rounds.

                ![Charts of the rows of the table by the number of records](scale.svg)

                %s""".formatted(recordsOfSmall, FOLLOWED, settings.rounds(), measures.table("per size"));
    }

    /** The measurements at one size. */
    private final class Step {

        private final BenchDatabase database;
        private final ScaleFeeds feeds;
        private final long records;
        private final Measures measures;
        private final Settings settings;
        private final Targets targets;

        Step(BenchDatabase database, ScaleFeeds feeds, long records, Measures measures, Settings settings) {
            this.database = database;
            this.feeds = feeds;
            this.records = records;
            this.measures = measures;
            this.settings = settings;
            this.targets = new Targets(database);
        }

        void measureAll(BenchServer server) throws Exception {
            derive();
            vacuum();
            measureBytes();
            server.writeAsUsual();
            database.execute("checkpoint");
            measures.add(VERIFY, "", "%,.1f", perMillion(targets.secondsOf("verify")));
            start();
            try (Target annals = targets.startAnnalsOf(feeds.tokens())) {
                load(annals);
            }
            try (Target annals = targets.startAnnalsOf(feeds.tokens())) {
                measureMemory(annals);
            }
        }

        private double perMillion(double seconds) {
            return seconds * 1e6 / records;
        }

        private void derive() throws Exception {
            long begin = System.nanoTime();
            try (Target annals = targets.startAnnalsOf(feeds.tokens())) {
                for (long asked = begin; feeds.isBehind(); asked = System.nanoTime()) {
                    annals.process().requireAlive();
                    // Asking is work, too: at most a tenth of the time.
                    TimeUnit.NANOSECONDS.sleep(
                            Math.max(TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS), 10 * (System.nanoTime() - asked)));
                }
            }
            measures.add(TAKEN_IN, "", "%,.1f", perMillion((System.nanoTime() - begin) / 1e9));
        }

        private void vacuum() throws SQLException {
            for (String which : List.of("after the load", "again")) {
                long begin = System.nanoTime();
                try (Connection connection = database.connect()) {
                    BenchDatabase.execute(connection, "set statement_timeout = 0");
                    BenchDatabase.execute(connection, "vacuum");
                }
                measures.add(VACUUM, which, "%,.2f", perMillion((System.nanoTime() - begin) / 1e9));
            }
        }

        private void measureBytes() throws SQLException {
            try (Connection connection = database.connect();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(NumberedStatement.resource("scale_bytes.sql"))) {
                while (row.next()) {
                    for (String kind : List.of("table", "index")) {
                        measures.add(
                                kind.equals("table") ? TABLES : INDEXES,
                                row.getString("part"),
                                "%,.1f",
                                (double) row.getLong(kind + "_bytes") / records);
                    }
                }
            }
        }

        private void start() throws Exception {
            List<Double> seconds = new ArrayList<>();
            for (int i = 0; i < settings.rounds(); i++) {
                try (Target annals = targets.startAnnalsOf(feeds.tokens())) {
                    seconds.add(annals.process().secondsToFirstAnswer());
                }
            }
            Collections.sort(seconds);
            measures.add(START, "", "%,.2f", seconds.get(seconds.size() / 2));
        }

        private void load(Target annals) throws Exception {
            Supplier<HttpCall> appends = Calls.single(annals, ScaleFeeds.BUSY);
            // Not as long as elsewhere: what it appends must remain a small part of the database.
            LoadClient.closedLoop(
                    annals, CONNECTIONS, appends, settings.warmUp().dividedBy(2));
            rate(annals, APPENDS, "100 projects", CONNECTIONS, appends);
            List<String> small = feeds.tokensOfSmall();
            Supplier<HttpCall> pages = Calls.pages(feeds.tokenOfLarge(), feeds.recordsOfLarge(), PAGE);
            LoadClient.closedLoop(annals, READERS, pages, settings.warmUp().dividedBy(2));
            rate(annals, PAGES, "large project", READERS, pages);
            rate(annals, PAGES, "any small project", READERS, () -> HttpCall.page(any(small), "limit=" + PAGE));
            Latencies polls = new PollLatency(annals, ScaleFeeds.BUSY).measure(settings.choose(50, 300));
            measures.add(POLL, "median", "%,.1f", polls.percentile(0.5));
            measures.add(POLL, "99 %", "%,.1f", polls.percentile(0.99));
            follow(annals);
            rate(
                    annals,
                    APPENDS,
                    "any project",
                    CONNECTIONS,
                    Calls.single(annals, annals.tokens().size()));
        }

        private void rate(Target annals, String chart, String line, int connections, Supplier<HttpCall> calls)
                throws Exception {
            Rates rates = Rates.ofRounds(
                    List.of(line),
                    settings.rounds(),
                    load -> LoadClient.closedLoop(annals, connections, calls, settings.measurement()));
            measures.add(chart, line, "%,.0f", rates.median(line));
        }

        private void follow(Target annals) throws Exception {
            List<Integer> followed = Stream.generate(
                            () -> random.nextInt(feeds.small().size()))
                    .limit(FOLLOWED)
                    .toList();
            LoadClient.sendAll(
                    annals,
                    CONNECTIONS,
                    followed.stream()
                            .map(small -> HttpCall.post(feeds.tokensOfSmall().get(small), body))
                            .iterator());
            long begin = System.nanoTime();
            while (feeds.isBehind(followed.stream().map(feeds.small()::get).toList())) {
                annals.process().requireAlive();
                TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
            }
            measures.add(DERIVED, "", "%,.1f", (System.nanoTime() - begin) / 1e9);
        }

        private void measureMemory(Target annals) throws Exception {
            int all = annals.tokens().size();
            touch(annals, annals.tokens().subList(0, all / 10));
            long before = annals.process().liveHeapBytes();
            touch(annals, annals.tokens());
            long heap = annals.process().liveHeapBytes();
            measures.add(MEMORY, "live heap", "%,.1f", heap / 1e6);
            measures.add(MEMORY, "resident", "%,.0f", annals.process().residentBytes() / 1e6);
            measures.add(HEAP, "", "%,.0f", (double) (heap - before) / (all - all / 10));
        }

        private void touch(Target annals, List<String> tokens) throws InterruptedException {
            LoadClient.sendAll(
                    annals,
                    CONNECTIONS,
                    tokens.stream()
                            .flatMap(token ->
                                    Stream.of(HttpCall.post(token, body), HttpCall.page(token, "limit=" + PAGE)))
                            .iterator());
        }

        private String any(List<String> tokens) {
            return tokens.get(random.nextInt(tokens.size()));
        }
    }
}
