package dev.annals.derived.projection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.SqlFixture;
import dev.annals.derived.log.TreeFixture;
import dev.annals.derived.search.SearchConfig;
import dev.annals.derived.search.SearchIndex;
import dev.annals.derived.statistics.CountsFixture;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/** A project in a database of its own, whose derived data is compared with a rebuild. */
public final class DerivedFixture implements AutoCloseable {

    private static final int COMBINATIONS = 10_000;

    public final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    public final Pool pool = new PoolFixture(log.database(), Map.of()).open(8);
    public final UUID project;
    private final Random random;

    /**
     * Creates the project.
     *
     * @param seed of the records
     */
    public DerivedFixture(long seed) {
        random = new Random(seed);
        try {
            project = log.insertProject();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An instance whose days have room for all combinations. */
    public TestProjector projector() {
        return projector(COMBINATIONS);
    }

    /**
     * A new instance.
     *
     * @param combinations the most of a day
     */
    public TestProjector projector(int combinations) {
        return new TestProjector(
                pool,
                List.of(
                        new SearchIndex(pool, Settings.of(SearchConfig.class, Map.of())),
                        CountsFixture.dailyCounts(
                                Map.of("annals.statistics.combinations", Integer.toString(combinations))),
                        TreeFixture.logTree()),
                1000);
    }

    /** Appends similar records in one transaction. */
    public void append(int count) throws SQLException {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        }
    }

    /** Appends records that were recorded {@code daysAgo}. */
    public void append(int count, int daysAgo) throws SQLException {
        append(count);
        log.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set recorded_at = recorded_at - interval '" + daysAgo + " days'"
                        + " where project_id = '" + project + "' and recorded_at > now() - interval '1 hour'");
    }

    /** All derived data of the project. */
    public List<String> derived() throws SQLException {
        List<String> all = new ArrayList<>();
        for (String table :
                List.of("search_block", "term", "daily_count", "daily_total", "merkle_tile", "merkle_seed")) {
            all.addAll(log.texts("select '" + table + " ' || t::text from annals." + table + " t where project_id = '"
                    + project + "' order by t"));
        }
        all.addAll(log.texts(
                "select size || ' ' || frontier || ' ' || coalesce(halted, '') from annals.merkle_log where project_id = '"
                        + project + "'"));
        return all;
    }

    /** Starts a rebuild of all projections. */
    public void rebuild() throws SQLException {
        log.run("update annals.projection set generation = generation + 1");
    }

    /** Compares the derived data with a rebuild. */
    public void assertARebuildDerivesTheSame(TestProjector projector) throws SQLException {
        projector.catchUp();
        List<String> live = derived();
        rebuild();
        projector.catchUp();
        assertThat(derived()).isEqualTo(live);
        assertThat(log.texts("select halted from annals.merkle_log")).containsOnlyNulls();
    }

    @Override
    public void close() {
        pool.close().await().indefinitely();
    }
}
