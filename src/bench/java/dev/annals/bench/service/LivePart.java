package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.SampleRecords;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.core.buffer.Buffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** The time from a writer's commit until waiting readers have the record. */
public final class LivePart implements Part {

    private static final int MAX_PAUSE_MILLIS = 40;

    private final SampleRecords samples = new SampleRecords(1, new SequentialGuid());
    private final SplittableRandom random = new SplittableRandom(1);

    @Override
    public String name() {
        return "live";
    }

    @Override
    public String title() {
        return "Live: from a commit to those who wait";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        Table table = new Table(
                "one record at a time, one project", "deliveries", "median, ms", "90 %", "99 %", "longest", "missing");
        try (BenchDatabase database = server.createDatabase("annals_bench_live")) {
            database.migrate();
            Targets targets = new Targets(database);
            try (Target annals = targets.startAnnals();
                    Connection sql = database.connect()) {
                append(annals);
                UUID project = onlyProject(sql);
                int records = settings.choose(20, 100);
                measure(annals, new Listeners(annals, Listeners.Kind.STREAM, 10), () -> append(annals), records);
                for (Listeners.Kind kind : Listeners.Kind.values()) {
                    for (int listeners : List.of(1, 100, 1000)) {
                        row(table, annals, kind, listeners, "append of the same node", () -> append(annals), records);
                        row(table, annals, kind, listeners, "plain SQL", () -> insert(sql, project), records);
                    }
                }
            }
        }
        return """
                The packaged service with its default settings (it looks at heads every 25 ms). One thread of the benchmark runs
                all clients, of one project. A latency counts from when the writer knows of its commit to when a client has the
                record; a client that has it earlier counts as 0. The next record is written when all clients have it, after a
                random pause.

                """ + table;
    }

    /** Writes a record; done when its commit has returned. */
    private interface Writer {
        void write() throws Exception;
    }

    private void row(
            Table table, Target annals, Listeners.Kind kind, int listeners, String how, Writer writer, int records)
            throws Exception {
        String title = kind + ", " + listeners + (listeners == 1 ? " listener, " : " listeners, ") + how;
        Progress.say(title);
        Latencies latencies = measure(annals, new Listeners(annals, kind, listeners), writer, records);
        table.row(
                title,
                String.format("%,d", listeners * records),
                String.format("%,.1f", latencies.percentile(0.5)),
                String.format("%,.1f", latencies.percentile(0.9)),
                String.format("%,.1f", latencies.percentile(0.99)),
                String.format("%,.1f", latencies.percentile(1)),
                Integer.toString(latencies.unanswered()));
    }

    private Latencies measure(Target annals, Listeners listeners, Writer writer, int records) throws Exception {
        List<long[]> all = new ArrayList<>();
        try (listeners) {
            long head = append(annals);
            listeners.listen(head);
            for (int i = 1; i <= records; i++) {
                TimeUnit.MILLISECONDS.sleep(random.nextInt(MAX_PAUSE_MILLIS));
                writer.write();
                all.add(listeners.latencies(head + i, System.nanoTime()));
            }
        }
        return new Latencies(all.stream().flatMapToLong(Arrays::stream).toArray());
    }

    private long append(Target annals) {
        return LoadClient.lastSequenceId(
                annals, HttpCall.post(annals.tokens().get(0), Buffer.buffer(SampleRecords.toJson(samples.next()))));
    }

    private static UUID onlyProject(Connection sql) throws SQLException {
        try (ResultSet row =
                sql.createStatement().executeQuery("select distinct project_id from annals.feed_segment")) {
            row.next();
            return row.getObject(1, UUID.class);
        }
    }

    private static void insert(Connection sql, UUID project) throws SQLException {
        try (PreparedStatement insert = sql.prepareStatement(
                "insert into annals.audit_record (project_id, action, message) values (?, 'door_open', 'By plain SQL')")) {
            insert.setObject(1, project);
            insert.executeUpdate();
        }
    }
}
