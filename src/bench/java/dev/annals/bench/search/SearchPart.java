package dev.annals.bench.search;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.search.Filter;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Searches of a large feed, by the service's index, without it and by an index on a column; and what indexes cost appends. */
public final class SearchPart implements Part {

    private static final int BATCH = 1_000;
    private static final int WANTED = 200;
    private static final OffsetDateTime FIRST = OffsetDateTime.parse("2026-01-01T00:00:00Z");
    private static final String ONE_COLUMN = "create index on annals.audit_record (project_id, action)";
    private static final NumberedStatement INSERT =
            new NumberedStatement(withoutComments(NumberedStatement.resource("search_records.sql")));
    private static final NumberedStatement BY_COLUMN =
            new NumberedStatement(withoutComments(NumberedStatement.resource("search_by_column.sql")));

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

    /** How a search is answered. */
    private enum Way {
        INDEX,
        SCAN,
        COLUMN
    }

    /** @param byAction whether the search is for an action alone, so that an index on the column can answer it, too */
    private record Search(String title, boolean ascending, Filter filter, boolean byAction) {}

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
        return appends(server, settings) + "\n" + searches(server, settings, records);
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
                    What indexes on the records cost those who append: one writer, %,d records per transaction by plain SQL, into a
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
        try (Connection connection = database.connect();
                PreparedStatement insert = INSERT.prepare(connection)) {
            for (int from = first; from <= last; from += BATCH) {
                INSERT.bind(insert, List.of(project, from, Math.min(last, from + BATCH - 1)));
                insert.executeUpdate();
            }
        }
    }

    private static String searches(BenchServer server, Settings settings, int records) throws Exception {
        try (BenchDatabase database = server.createDatabase("annals_bench_search");
                SearchPages pages = new SearchPages(database.url())) {
            database.migrate();
            UUID project = database.addProjects(1).get(0);
            Progress.say("  " + records + " records");
            insert(database, project, 1, records);
            long begin = System.nanoTime();
            long through = 0;
            for (long next = pages.index(project, 0); next > through; next = pages.index(project, through)) {
                through = next;
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            database.execute(
                    "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation)"
                            + " values ('" + project + "', 'search', " + through + ", 1)");
            database.execute(ONE_COLUMN);
            database.execute("vacuum analyze");
            long bytes = database.queryLong("select pg_total_relation_size('annals.search_block')") / records;
            Table table = new Table("searches/s", "index", "scan", "column", "index to scan");
            for (Search search : searchesOf(records)) {
                addRow(table, database, pages, project, through, search, settings);
            }
            return String.format("""
                    A project of %,d records. A search reads on until it has %d records or the end of the feed, over HTTP's
                    pages but without HTTP; one client. *index*: as the service does it; *scan*: the same without its index,
                    looking at every record; *column*: by a b-tree on (project, action), the places looked up record by
                    record, and sorted. The index was written at %,.0f records per second in the background and takes %,d bytes
                    per record.

                    %s""", records, WANTED, through / seconds, bytes, table);
        }
    }

    private static List<Search> searchesOf(int records) {
        OffsetDateTime middle = FIRST.plusSeconds(records / 2);
        List<Search> searches = new ArrayList<>();
        for (boolean ascending : List.of(true, false)) {
            String order = ascending ? ", oldest first" : ", newest first";
            searches.add(new Search("a rare action" + order, ascending, action("key_rotate"), ascending));
            searches.add(new Search("a common action" + order, ascending, action("login"), ascending));
            searches.add(new Search("an action that is not there" + order, ascending, action("none"), ascending));
            searches.add(new Search("a rare word" + order, ascending, words("protest"), false));
            searches.add(new Search("common words" + order, ascending, words("cache 7 login"), false));
            searches.add(new Search(
                    "an hour in the middle" + order,
                    ascending,
                    new Filter(middle, middle.plusHours(1), null, null, null, null, null, null, null),
                    false));
            searches.add(new Search(
                    "one of 100,000 actors that failed" + order,
                    ascending,
                    new Filter(null, null, null, "u-7000", null, "failure", null, null, null),
                    false));
        }
        return searches;
    }

    private static Filter action(String action) {
        return new Filter(null, null, action, null, null, null, null, null, null);
    }

    private static Filter words(String words) {
        return new Filter(null, null, null, null, null, null, null, words, null);
    }

    private static void addRow(
            Table table,
            BenchDatabase database,
            SearchPages pages,
            UUID project,
            long through,
            Search search,
            Settings settings)
            throws Exception {
        Progress.say(search.title());
        List<Way> ways = search.byAction() ? List.of(Way.values()) : List.of(Way.INDEX, Way.SCAN);
        Rates rates = Rates.ofRounds(ways, settings.rounds(), way -> {
            database.execute("update annals.projection_checkpoint set sequence_id = " + (way == Way.SCAN ? 0 : through)
                    + " where projection = 'search'");
            return rate(database, pages, project, way, search, settings.measurement());
        });
        table.row(
                search.title(),
                String.format("%,.1f", rates.median(Way.INDEX)),
                String.format("%,.1f", rates.median(Way.SCAN)),
                search.byAction() ? String.format("%,.1f", rates.median(Way.COLUMN)) : "",
                String.format("%,.1f", rates.ratio(Way.INDEX, Way.SCAN)));
    }

    private static double rate(
            BenchDatabase database, SearchPages pages, UUID project, Way way, Search search, Duration duration)
            throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement select = BY_COLUMN.prepare(connection)) {
            long begin = System.nanoTime();
            int searches = 0;
            do {
                if (way == Way.COLUMN) {
                    readByColumn(select, project, search.filter().action());
                } else {
                    pages.find(project, search.ascending(), null, WANTED, search.filter());
                }
                searches++;
            } while (System.nanoTime() - begin < duration.toNanos());
            return searches * 1e9 / (System.nanoTime() - begin);
        }
    }

    private static void readByColumn(PreparedStatement select, UUID project, @Nullable String action)
            throws SQLException {
        BY_COLUMN.bind(select, List.of(project, String.valueOf(action), WANTED));
        try (ResultSet row = select.executeQuery()) {
            while (row.next()) {
                row.getLong(1);
            }
        }
    }

    private static String withoutComments(String sql) {
        return sql.lines().filter(line -> !line.startsWith("--")).collect(Collectors.joining("\n"));
    }
}
