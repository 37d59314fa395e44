package dev.annals.bench.storage;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.bench.ordering.Scenario;
import dev.annals.bench.ordering.Variant;
import dev.annals.bench.ordering.Writers;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** Bytes on disk and dead rows after many appends. */
public final class StoragePart implements Part {

    private static final int ROWS = 100;
    private static final int PROJECTS = 10;
    private static final int FIRST_RECORDS = 10_000;
    private static final long STATISTICS_LIMIT_SECONDS = 30;
    private static final List<Variant> VARIANTS =
            List.of(Variant.UNORDERED, Variant.PUBLISHED, Variant.ANNALS, Variant.ANNALS_PLAIN_SQL);

    @Override
    public String name() {
        return "storage";
    }

    @Override
    public String title() {
        return "Storage: bytes and dead rows";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        int records = settings.choose(50_000, 1_000_000);
        Table table = new Table(
                "per record", "bytes", "in tables", "in indexes", "dead rows", "dead rows of audit_record", "WAL");
        try (BenchDatabase database = server.createDatabase("annals_bench_storage")) {
            database.migrate();
            List<UUID> projects = database.addProjects(PROJECTS);
            for (Variant variant : VARIANTS) {
                Progress.say(variant.toString());
                variant.create(database);
                if (variant.isAnnals()) {
                    variant.empty(database);
                }
                withoutVacuum(database, variant);
                database.execute("select pg_stat_reset()");
                long walBefore = walBytes(database);
                Writers writers = new Writers(variant, Scenario.of(ROWS, PROJECTS, 1), database, projects);
                writers.write(FIRST_RECORDS);
                // Without autovacuum, only this gives the planner the statistics by which an UPDATE chooses its index.
                database.execute("analyze");
                writers.write(records - FIRST_RECORDS);
                awaitStatistics(database, variant, records);
                addRow(table, database, variant, records, walBytes(database) - walBefore);
            }
        }
        return String.format("""
                After %,d records of about 450 bytes in %d projects, %d per transaction, one writer; autovacuum off for these
                tables. Dead rows are what a vacuum would have to remove, counted right after the load.

                %s""", records, PROJECTS, ROWS, table);
    }

    private static void withoutVacuum(BenchDatabase database, Variant variant) throws SQLException {
        database.execute("do $$ declare t regclass; begin for t in " + tables(variant, "oid")
                + " loop execute format('alter table %s set (autovacuum_enabled = off)', t); end loop; end $$");
    }

    private static void addRow(Table table, BenchDatabase database, Variant variant, int records, long wal)
            throws SQLException {
        long tables = database.queryLong(tables(variant, "sum(pg_table_size(oid))"));
        long indexes = database.queryLong(tables(variant, "sum(pg_indexes_size(oid))"));
        table.row(
                variant.toString(),
                perRecord(tables + indexes, records),
                perRecord(tables, records),
                perRecord(indexes, records),
                String.format("%,d", deadRows(database, variant, "true")),
                String.format("%,d", deadRows(database, variant, "relname = 'audit_record'")),
                perRecord(wal, records));
    }

    /** A query of the tables that the variant writes. */
    private static String tables(Variant variant, String select) {
        return "select " + select + " from pg_class where relkind = 'r' and relnamespace = '" + variant.schema()
                + "'::regnamespace";
    }

    private static long deadRows(BenchDatabase database, Variant variant, String condition) throws SQLException {
        return database.queryLong("select sum(n_dead_tup) from pg_stat_user_tables where schemaname = '"
                + variant.schema() + "' and " + condition);
    }

    // A session hands its statistics over when it ends, which the client does not wait for.
    private static void awaitStatistics(BenchDatabase database, Variant variant, int records)
            throws SQLException, InterruptedException {
        String inserted = "select n_tup_ins from pg_stat_user_tables where relname = 'audit_record' and schemaname = '"
                + variant.schema() + "'";
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(STATISTICS_LIMIT_SECONDS);
        while (database.queryLong(inserted) < records) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("The statistics of " + variant + " do not arrive");
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }

    private static long walBytes(BenchDatabase database) throws SQLException {
        return database.queryLong("select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint");
    }

    private static String perRecord(long bytes, int records) {
        return String.format("%,.0f", (double) bytes / records);
    }
}
