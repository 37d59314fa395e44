package dev.annals.bench.ordering;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** pgbench's transaction with one audit record in it, beside the transaction without a record and other ways to order. */
public final class TransactionPart implements Part {

    /** At least as many branches as clients, whose transactions each update one. */
    private static final int SCALE = 10;

    private static final int PROJECTS = 20;

    /** A load: clients without pause, and projects among which each transaction chooses one at random. */
    private record Load(int clients, int projects) {}

    private static final List<Load> LOADS = List.of(new Load(1, 1), new Load(1, 20), new Load(8, 1), new Load(8, 20));

    private static final String NO_RECORD = "no record";

    private static final List<Object> RIVALS =
            List.of(NO_RECORD, Variant.UNORDERED, Variant.PUBLISHED, Variant.POSITION_ROW, Variant.ANNALS_PLAIN_SQL);

    @Override
    public String name() {
        return "transaction";
    }

    @Override
    public String title() {
        return "Transaction: what an audit record costs a business transaction";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Optional<Path> program = Pgbench.find();
        if (program.isEmpty()) {
            return "Not measured: `pgbench` is neither on the PATH nor in /usr/lib/postgresql/*/bin.\n";
        }
        StringBuilder text = new StringBuilder();
        Path script = Files.createTempFile("tpcb", ".sql");
        try (BenchDatabase database = server.createDatabase("annals_bench_transaction")) {
            Pgbench pgbench = new Pgbench(program.get(), database);
            create(database);
            pgbench.run("-c search_path=public", List.of("-i", "-q", "-s", "" + SCALE));
            database.execute("grant select, insert, update on all tables in schema public to annals_writer");
            text.append("TPC-B, as pgbench has it, at scale ")
                    .append(SCALE)
                    .append(
                            ", with one record of about 400 bytes inserted last in the same transaction; prepared statements; ")
                    .append(pgbench.run("", List.of("--version")).strip())
                    .append(".\n");
            for (Load load : LOADS) {
                Progress.say(load.toString());
                text.append('\n').append(measure(load, pgbench, script, database, settings));
            }
        } finally {
            Files.delete(script);
        }
        return text.toString();
    }

    /** Makes the schemas, and projects whose ids are their numbers: a script of pgbench has no other values. */
    private static void create(BenchDatabase database) throws Exception {
        database.migrate();
        database.execute("""
                select annals.create_project(id => lpad(number::text, 32, '0')::uuid, name => 'project ' || number)
                from generate_series(1, %d) as number""".formatted(PROJECTS));
        // The usual writer's own login has the grant.
        database.execute(
                "select annals.grant_writer(session_user, id) from annals.project where name like 'project %'");
        for (Object rival : RIVALS) {
            if (rival instanceof Variant variant) {
                variant.create(database);
            }
        }
    }

    private static String measure(Load load, Pgbench pgbench, Path script, BenchDatabase database, Settings settings)
            throws Exception {
        for (Object rival : RIVALS) {
            if (rival instanceof Variant variant) {
                variant.empty(database);
            }
        }
        Rates rates = Rates.ofRounds(RIVALS, settings.rounds(), rival -> {
            database.execute("truncate public.pgbench_history");
            for (String table : List.of("pgbench_branches", "pgbench_tellers")) {
                database.execute("vacuum public." + table);
            }
            // Dirty pages of the last variant must not be written at the next one's expense.
            database.execute("checkpoint");
            String record = rival instanceof Variant ? NumberedStatement.resource("tpcb_record.sql") : "";
            Files.writeString(script, NumberedStatement.resource("tpcb.sql").replace("-- record\n", record));
            String options = rival instanceof Variant variant ? variant.sessionOptions() : "";
            return Pgbench.rate(pgbench.run(
                    options,
                    List.of(
                            "-n",
                            "-M",
                            "prepared",
                            "-f",
                            script.toString(),
                            "-D",
                            "scale=" + SCALE,
                            "-D",
                            "projects=" + load.projects(),
                            "-c",
                            "" + load.clients(),
                            "-j",
                            "" + Math.min(2, load.clients()),
                            "-T",
                            "" + Math.max(1, settings.measurement().toSeconds()))));
        });
        Table table = new Table(
                Scenario.plural(load.clients(), "client") + ", " + Scenario.plural(load.projects(), "project"),
                "transactions/s",
                "lowest – highest",
                "to no record",
                "to the identity column");
        for (Object rival : RIVALS) {
            table.row(
                    rival.toString(),
                    String.format("%,.0f", rates.median(rival)),
                    rates.range(rival),
                    String.format("%.2f", rates.ratio(rival, NO_RECORD)),
                    String.format("%.2f", rates.ratio(rival, Variant.UNORDERED)));
        }
        return table.toString();
    }
}
