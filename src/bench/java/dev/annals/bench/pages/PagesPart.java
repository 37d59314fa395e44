package dev.annals.bench.pages;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.bench.ordering.Scenario;
import dev.annals.bench.ordering.Variant;
import dev.annals.bench.ordering.Writers;
import dev.annals.kernel.database.Sql;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/** Pages of 200 from random places of a feed, beside the same pages from one table. */
public final class PagesPart implements Part {

    private static final int PAGE = 200;
    private static final int PROJECTS = 4;
    private static final List<Integer> SEGMENT_SIZES = List.of(1, 20, 200);

    @Override
    public String name() {
        return "pages";
    }

    @Override
    public String title() {
        return "Pages: what reading costs";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        int records = settings.choose(10_000, 50_000);
        StringBuilder text = new StringBuilder(String.format("""
                A page of %d records behind a random sequence id, read by JDBC with a prepared statement: `read_feed.sql` as the
                service runs it, and the same columns from one table with a unique index (project, sequence id). %d projects
                of %,d records for each case, written in turns; everything in memory.
                """, PAGE, PROJECTS, records));
        try (BenchDatabase database = server.createDatabase("annals_bench_pages")) {
            database.migrate();
            database.execute(
                    NumberedStatement.resource("one_table.sql") + NumberedStatement.resource("record_table.sql"));
            NumberedStatement readFeed =
                    new NumberedStatement(Sql.named("core/feed/read_feed").text());
            List<PageCase> cases = new ArrayList<>();
            for (int size : SEGMENT_SIZES) {
                List<UUID> projects = load(database, size, records);
                cases.add(new PageCase("Annals, segments of " + size, readFeed, projects));
            }
            List<UUID> copied = cases.get(cases.size() - 1).projects();
            // Or the copy walks all records for each place.
            database.execute("analyze");
            copyToOneTable(database, copied);
            NumberedStatement readTable = new NumberedStatement(NumberedStatement.resource("one_table_page.sql"));
            PageCase oneTable = new PageCase("one table with an index", readTable, copied);
            cases.add(0, oneTable);
            database.execute("vacuum analyze");
            for (int readers : List.of(1, 4)) {
                text.append('\n').append(measure(cases, oneTable, readers, records, database, settings));
            }
        }
        return text.toString();
    }

    private static List<UUID> load(BenchDatabase database, int segmentSize, int records) throws Exception {
        List<UUID> projects = database.addProjects(PROJECTS);
        new Writers(Variant.ANNALS, Scenario.of(segmentSize, PROJECTS, 1), database, projects)
                .write((long) records * PROJECTS);
        return projects;
    }

    private static void copyToOneTable(BenchDatabase database, List<UUID> projects) throws SQLException {
        String ids = projects.stream().map(id -> "'" + id + "'").collect(Collectors.joining(", "));
        database.execute(NumberedStatement.resource("one_table_copy.sql").replace(":projects", ids));
    }

    private static String measure(
            List<PageCase> cases,
            PageCase oneTable,
            int readers,
            int records,
            BenchDatabase database,
            Settings settings)
            throws Exception {
        String load = readers + (readers == 1 ? " reader" : " readers");
        Progress.say(load);
        Rates rates = Rates.ofRounds(
                cases,
                settings.rounds(),
                page -> new PageReaders(page, readers, PAGE, records, database).rate(settings.measurement()));
        Table table = new Table(load, "pages/s", "lowest – highest", "to one table");
        for (PageCase page : cases) {
            table.row(
                    page.toString(),
                    String.format("%,.0f", rates.median(page)),
                    rates.range(page),
                    String.format("%.2f", rates.ratio(page, oneTable)));
        }
        return table.toString();
    }
}
