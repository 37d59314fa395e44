package dev.annals.bench.ordering;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/** Inserts under several loads, beside the limit and other ways to order. */
public final class OrderingPart implements Part {

    private static final Duration HELD = Duration.ofMillis(100);

    private static final List<Scenario> QUICK = List.of(
            Scenario.of(100, 10, 4),
            Scenario.of(1, 100, 16),
            Scenario.of(1, 1, 16).withSlowCommit(),
            Scenario.of(1, 10, 16).withHeld(HELD));

    private static final List<Scenario> FULL = List.of(
            Scenario.of(100, 10, 4),
            Scenario.of(1, 100, 16),
            Scenario.of(1, 1, 1),
            Scenario.of(1, 1, 16),
            Scenario.of(1, 10, 64),
            Scenario.of(10, 10, 4),
            Scenario.of(100, 1, 4),
            Scenario.of(500, 10, 4),
            Scenario.of(1, 100, 64).withSlowCommit(),
            Scenario.of(1, 1, 64).withSlowCommit(),
            Scenario.of(1, 10, 64).withHeld(HELD));

    @Override
    public String name() {
        return "ordering";
    }

    @Override
    public String title() {
        return "Ordering: what numbers in commit order cost an insert";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        StringBuilder text = new StringBuilder("""
                JDBC with prepared statements, which insert a single row by its values and several rows by arrays of columns; records of
                about 450 bytes, with keys from the client. All tables have the same columns and checks, a primary key (project, id), and a
                unique index (project, sequence id), which Annals and the position rows have on another table. Every load starts with empty
                tables.
                """);
        try (BenchDatabase database = server.createDatabase("annals_bench_ordering")) {
            database.migrate();
            List<UUID> projects = database.addProjects(100);
            for (Variant variant : Variant.values()) {
                variant.create(database);
            }
            for (Scenario scenario : settings.choose(QUICK, FULL)) {
                Progress.say(scenario.toString());
                text.append('\n').append(measure(scenario, database, projects, settings));
            }
        }
        return text.toString();
    }

    private static String measure(Scenario scenario, BenchDatabase database, List<UUID> projects, Settings settings)
            throws Exception {
        for (Variant variant : Variant.values()) {
            variant.empty(database);
        }
        Rates rates = Rates.ofRounds(List.of(Variant.values()), settings.rounds(), variant -> {
            // Dirty pages of the last variant must not be written at the next one's expense.
            database.execute("checkpoint");
            return new Writers(variant, scenario, database, projects).rate(settings.measurement());
        });
        Table table = new Table(scenario.toString(), "records/s", "lowest – highest", "to the limit", "to published");
        for (Variant variant : Variant.values()) {
            table.row(
                    variant.toString(),
                    String.format("%,.0f", rates.median(variant)),
                    rates.range(variant),
                    String.format("%.2f", rates.ratio(variant, Variant.UNORDERED)),
                    String.format("%.2f", rates.ratio(variant, Variant.PUBLISHED)));
        }
        return table.toString();
    }
}
