package dev.annals.bench.search;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/**
 * First pages and facets of a large feed, by the service's index, by PostgreSQL's indexes on the records' columns, and by a search
 * engine; and what indexes cost appends. With {@code -Dbench.keep=true} the large feed and its indexes stay, and the next run goes
 * on where this one was ended.
 */
public final class SearchPart implements Part {

    private static final int BATCH = 1_000;
    private static final int WANTED = 100;
    private static final int SAMPLES = 1_000;
    /** The most and fewest searches of a kind that are measured. */
    private static final int MOST = 200;

    private static final int WARM_UP = 10;
    private static final int FEWEST = 5;
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final String DATABASE = "annals_bench_search";
    private static final Path ENGINE = Path.of("target", "bench-engine");
    private static final String ONE_COLUMN = "create index on annals.audit_record (project_id, action)";

    /** Indexes on audit_record itself. */
    private enum Indexes {
        NONE("none: the service's, written behind the commit", ""),
        ONE("b-tree (project, action)", ONE_COLUMN),
        COLUMNS("b-trees on action, actor, subject, outcome, address and timestamp", """
                create index on annals.audit_record (project_id, action);
                create index on annals.audit_record (project_id, actor_id);
                create index on annals.audit_record (project_id, actor_name);
                create index on annals.audit_record (project_id, subject_id);
                create index on annals.audit_record (project_id, subject_name);
                create index on annals.audit_record (project_id, outcome);
                create index on annals.audit_record (project_id, ip_address);
                create index on annals.audit_record (project_id, "timestamp");
                """),
        WORDS(
                "GIN on the message's words",
                "create index on annals.audit_record using gin (to_tsvector('simple', coalesce(message, '')))");

        private final String title;
        private final String statements;

        Indexes(String title, String statements) {
            this.title = title;
            this.statements = statements;
        }

        @Override
        public String toString() {
            return title;
        }
    }

    @Override
    public String name() {
        return "search";
    }

    @Override
    public String title() {
        return "Search: what finding costs";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        int records = records(settings);
        String searches = searches(server, settings, records);
        return appends(server, settings) + "\n" + searches;
    }

    private static int records(Settings settings) {
        String given = System.getProperty("bench.records", "");
        return given.isEmpty() ? settings.choose(100_000, 1_000_000) : Integer.parseInt(given);
    }

    private static String appends(BenchServer server, Settings settings) throws Exception {
        Map<Indexes, BenchDatabase> databases = new EnumMap<>(Indexes.class);
        Map<Indexes, UUID> projects = new EnumMap<>(Indexes.class);
        try {
            for (Indexes indexes : Indexes.values()) {
                BenchDatabase database = server.createDatabase(
                        "annals_bench_search_" + indexes.name().toLowerCase(Locale.ROOT));
                databases.put(indexes, database);
                database.migrate();
                UUID project = database.addProjects(1).get(0);
                projects.put(indexes, project);
                if (!indexes.statements.isEmpty()) {
                    database.execute(indexes.statements);
                }
                insert(database, project, 1, settings.choose(20_000, 200_000));
            }
            Rates rates = Rates.ofRounds(
                    List.of(Indexes.values()),
                    settings.rounds(),
                    indexes -> insertRate(databases.get(indexes), projects.get(indexes), settings.measurement()));
            Table table =
                    new Table("index on audit_record", "records/s", "lowest – highest", "to none", "bytes per record");
            for (Indexes indexes : Indexes.values()) {
                table.row(
                        indexes.toString(),
                        String.format("%,.0f", rates.median(indexes)),
                        rates.range(indexes),
                        String.format("%.2f", rates.ratio(indexes, Indexes.NONE)),
                        String.format("%,d", indexBytes(databases.get(indexes))));
            }
            return String.format("""
                    The cost of indexes on the records for appends: one writer, %,d records per transaction by plain SQL, into a
                    table that already has some. Bytes are those of all indexes of the table, including its primary key.

                    %s""", BATCH, table);
        } finally {
            for (BenchDatabase database : databases.values()) {
                database.close();
            }
        }
    }

    private static long indexBytes(BenchDatabase database) throws SQLException {
        return database.queryLong(
                "select pg_indexes_size('annals.audit_record') / (select count(*) from annals.audit_record)");
    }

    private static double insertRate(BenchDatabase database, UUID project, Duration duration) throws SQLException {
        long begin = System.nanoTime();
        long inserted = 0;
        while (System.nanoTime() - begin < duration.toNanos()) {
            insert(database, project, 1, 10 * BATCH);
            inserted += 10 * BATCH;
        }
        return inserted * 1e9 / (System.nanoTime() - begin);
    }

    private static void insert(BenchDatabase database, UUID project, int first, int last) throws SQLException {
        try (Connection connection = database.connect()) {
            SearchFeed.insert(connection, project, first, last, BATCH);
        }
    }

    private static String searches(BenchServer server, Settings settings, int records) throws Exception {
        boolean keep = Boolean.getBoolean("bench.keep");
        BenchDatabase database = keep ? server.keptDatabase(DATABASE) : server.createDatabase(DATABASE);
        try (SearchPages pages = new SearchPages(database.url())) {
            SearchFeed feed = new SearchFeed(database);
            Progress.say(String.format("  %,d records", records));
            server.writeMuch();
            feed.load(records);
            feed.index(pages);
            ColumnSearch.makeIndexes(feed, records);
            EngineSearch.make(ENGINE, database, feed, records);
            try (ColumnSearch columns = new ColumnSearch(database, feed.project(), LIMIT);
                    EngineSearch engine = new EngineSearch(ENGINE)) {
                Runner runner = new Runner(feed.project(), pages, columns, engine, settings);
                String latencies = latencies(runner, feed.draw(records, SAMPLES));
                return costs(database, feed, columns, records) + "\n" + latencies;
            }
        } finally {
            server.writeAsUsual();
            if (!keep) {
                database.close();
                EngineSearch.delete(ENGINE);
            }
        }
    }

    private static String costs(BenchDatabase database, SearchFeed feed, ColumnSearch columns, int records)
            throws Exception {
        SearchFeed.Step index = feed.step("index");
        SearchFeed.Step engine = feed.step("engine");
        long own = database.queryLong("select pg_total_relation_size('annals.search_block')");
        Table table = new Table("index of all records", "bytes per record", "written, records/s");
        table.row("**Annals**: ids and names, outcome, words, recorder", perRecord(own, records), rate(index.rate()));
        table.row(
                "PostgreSQL alone, b-trees: action, actor, subject, address, timestamp",
                perRecord(columns.bytes("b-tree"), records),
                rate(records / ColumnSearch.seconds(feed, "b-tree")));
        table.row(
                "PostgreSQL alone, GIN: words",
                perRecord(columns.bytes("GIN words"), records),
                rate(records / ColumnSearch.seconds(feed, "GIN words")));
        table.row(
                "PostgreSQL alone, GIN: metadata",
                perRecord(columns.bytes("GIN metadata"), records),
                rate(records / ColumnSearch.seconds(feed, "GIN metadata")));
        table.row("Lucene: all of it, no names", perRecord(EngineSearch.bytes(ENGINE), records), rate(engine.rate()));
        return String.format("""
                A project of %,d records, one per second, in a feed of its own; %,d bytes per record without these indexes. What
                varies is skewed: 100,000 actors, of which the busiest wrote 6 %% and the quietest 1 in 400,000, with up to four
                addresses each; %,d subjects. Annals' index was written by the service's projection, block after block, as it is
                behind appends. The b-trees and GIN indexes were made in one go when all records were there, and Lucene's index by one
                thread that reads the records from PostgreSQL: behind single appends both are slower than here.

                %s""", records, recordBytes(database) / records, records / 8, table);
    }

    private static long recordBytes(BenchDatabase database) throws SQLException {
        return database.queryLong("select pg_table_size('annals.audit_record')"
                + " + pg_relation_size('annals.audit_record_pkey') + pg_total_relation_size('annals.append')"
                + " + pg_total_relation_size('annals.feed_segment')");
    }

    private static String perRecord(long bytes, int records) {
        return String.format("%.0f", (double) bytes / records);
    }

    private static String rate(double perSecond) {
        return String.format("%,.0f", perSecond);
    }

    private static String latencies(Runner runner, Question.Draw draw) throws Exception {
        Table pages = new Table(
                "first page, ms",
                "records",
                "requests",
                "Annals: median",
                "95 %",
                "PostgreSQL: median",
                "95 %",
                "Lucene: median",
                "95 %");
        Table facets = new Table("facets, ms", "records", "Annals: median", "95 %", "PostgreSQL: median", "95 %");
        for (Question.Kind kind : Question.KINDS) {
            if (kind.facets()) {
                runner.facets(kind, draw, facets);
            } else {
                runner.pages(kind, true, draw, pages);
                runner.pages(kind, false, draw, pages);
            }
        }
        return String.format("""
                The time until the first page is there: %d records, or all that there are, with `next` followed as often as it takes
                (*requests*). One client, over HTTP's pages but without HTTP. Values are drawn anew for each search. A search is given
                up after %d s; where that happened, there is a >. *PostgreSQL*: the records by the indexes above, in the order of
                their timestamps. *Lucene*: in the order of the feed; it gives places, and no records.

                %s
                Facets count by six fields and by time: of at most 200,000 records, or it says so (*at least*); PostgreSQL alone
                counts all.

                %s""", WANTED, LIMIT.toSeconds(), pages, facets);
    }

    /** Asks questions of one kind in all ways. */
    private record Runner(
            UUID project, SearchPages pages, ColumnSearch columns, EngineSearch engine, Settings settings) {

        @FunctionalInterface
        private interface Way {
            SearchPages.Found ask(Question question) throws Exception;
        }

        void pages(Question.Kind kind, boolean ascending, Question.Draw draw, Table table) throws Exception {
            String title = kind.title() + (ascending ? ", oldest first" : ", newest first");
            Times annals = times(
                    kind,
                    draw,
                    question -> pages.find(project, ascending, WANTED, SearchPages.filter(question.query()), LIMIT));
            Times alone = times(kind, draw, question -> columns.find(ascending, WANTED, question));
            Times lucene = times(kind, draw, question -> engine.find(ascending, WANTED, question));
            String[] cells = {
                title,
                records(annals),
                String.format("%.1f", annals.requests()),
                annals.percentile(0.5),
                annals.percentile(0.95),
                alone.percentile(0.5),
                alone.percentile(0.95),
                lucene.percentile(0.5),
                lucene.percentile(0.95)
            };
            Progress.say(String.join(" | ", cells));
            Progress.say("  they found " + records(annals) + ", " + records(alone) + ", " + records(lucene));
            table.row(cells);
        }

        void facets(Question.Kind kind, Question.Draw draw, Table table) throws Exception {
            Times annals = times(kind, draw, question -> pages.facets(project, SearchPages.filter(question.query())));
            Times alone = times(kind, draw, columns::facets);
            String[] cells = {
                kind.title(),
                (annals.someLate() ? "at least " : "") + records(annals),
                annals.percentile(0.5),
                annals.percentile(0.95),
                alone.percentile(0.5),
                alone.percentile(0.95)
            };
            Progress.say(String.join(" | ", cells));
            table.row(cells);
        }

        private static String records(Times times) {
            return String.format("%,d", times.records());
        }

        /** The same questions in each way; some others before them, so that its code is compiled. */
        private Times times(Question.Kind kind, Question.Draw given, Way way) throws Exception {
            Question.Draw other = new Question.Draw(new Random(2), given.records(), given.samples());
            long begin = System.nanoTime();
            long limit = settings.measurement().toNanos() * settings.rounds();
            for (int i = 0; i < WARM_UP && System.nanoTime() - begin < limit; i++) {
                way.ask(kind.draw().apply(other));
            }
            begin = System.nanoTime();
            Question.Draw draw = new Question.Draw(new Random(1), given.records(), given.samples());
            Times times = new Times();
            while (times.count() < MOST && (times.count() < FEWEST || System.nanoTime() - begin < limit)) {
                Question question = kind.draw().apply(draw);
                long asked = System.nanoTime();
                SearchPages.Found found = way.ask(question);
                times.add(System.nanoTime() - asked, found.records(), found.requests(), found.inTime());
            }
            return times;
        }
    }
}
