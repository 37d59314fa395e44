package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.projection.TestProjector;
import dev.annals.derived.proof.Tile;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The tree of a log matches the records of its feed, with several instances and failures. */
@BesideTheService
class LogTreeTest {

    private static final int INSTANCES = 3;
    private static final int ROUNDS = Load.times(10, 30);

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final PoolFixture connections = new PoolFixture(log.database(), Map.of());
    private final Random random = new Random(20260201);
    private final List<Pool> pools = new ArrayList<>();
    private UUID project;

    @BeforeEach
    void makeProject() throws SQLException {
        project = log.insertProject();
    }

    @AfterEach
    void close() {
        pools.forEach(pool -> pool.close().await().indefinitely());
    }

    @Test
    void theTreeIsThatOfAllRecordsAndItsTilesAreFull() throws Exception {
        TestProjector projector = projector();
        for (int records : new int[] {1, 254, 1, 1, 255, 0, 700, 3}) {
            append(records);
            projector.catchUp();
            assertIsTree();
        }
        assertThat(log.number("select count(*) from annals.merkle_tile where project_id = '" + project + "'"))
                .isEqualTo(1215 / 256);
    }

    @Test
    void killedInstancesGrowOneTreeAndARebuildGivesTheSame() throws Exception {
        List<TestProjector> instances = new ArrayList<>();
        for (int i = 0; i < INSTANCES; i++) {
            instances.add(projector());
        }
        AtomicInteger killed = new AtomicInteger();
        TestProjector.projectDuring(instances, () -> {
            for (int i = 0; i < ROUNDS || killed.get() < 3; i++) {
                append(random.nextInt(1, 700));
                killed.addAndGet(killGrowing());
            }
        });
        instances.get(0).catchUp();
        assertIsTree();
        String root = root().toString();
        List<String> stored = stored();

        rebuild();
        TestProjector.projectDuring(instances, () -> {
            for (int i = 0; i < 20; i++) {
                killGrowing();
            }
        });
        instances.get(0).catchUp();
        assertThat(root()).hasToString(root);
        assertThat(stored()).isEqualTo(stored);
        assertIsTree();
    }

    @Test
    @TakesLong
    void aTileOfTilesIsStoredOnceItIsFull() throws Exception {
        // Their content does not matter here.
        log.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'n ' || n from generate_series(1, 256 * 256 + 300) as n");
        projector().catchUp();
        assertIsTree();
        assertThat(log.texts("select level || '/' || tile from annals.merkle_tile where level > 0"))
                .containsExactly("1/0");
        assertThat(log.number("select count(*) from annals.merkle_tile where level = 0"))
                .isEqualTo(257);
    }

    /** Tiles never change, so a tile that follows from a damaged one would stay wrong. */
    @Test
    @TakesLong
    void noTileIsMadeOfOneWhoseRootWasChanged() throws Exception {
        log.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'n ' || n from generate_series(1, 255 * 256 + 1) as n");
        projector().catchUp();
        withoutTriggers(
                "update annals.merkle_tile set root = set_byte(root, 31, get_byte(root, 31) # 1) where tile = 200");
        append(300);
        projector().catchUp();
        assertThat(halted()).contains("the tiles 192 to 223 of level 0 are damaged");
        assertThat(log.texts("select level || '/' || tile from annals.merkle_tile where level > 0"))
                .isEmpty();
    }

    @Test
    void aRecordThatIsChangedBeforeItsTileIsFullHaltsTheLog() throws Exception {
        append(100);
        TestProjector projector = projector();
        projector.catchUp();
        withoutTriggers("update annals.audit_record set action = 'another' where id = " + recordAt(50));
        append(200);
        projector.catchUp();
        assertThat(halted()).contains("the records with the sequence ids 1 to 100 are not those");
        assertThat(size()).isEqualTo(100);
    }

    /** Some fill a tile in a shared step. */
    @Test
    void logsThatShareAStepGrowAsTheyDoAlone() throws Exception {
        List<UUID> projects = new ArrayList<>(List.of(project));
        for (int i = 0; i < 5; i++) {
            projects.add(log.insertProject());
        }
        TestProjector projector = projector();
        for (int round = 0; round < 4; round++) {
            for (UUID each : projects) {
                project = each;
                append(random.nextInt(1, 150));
            }
            projector.catchUp();
        }
        for (UUID each : projects) {
            project = each;
            assertIsTree();
        }
        assertThat(projector.failing("log")).isZero();
    }

    @Test
    void aHaltedLogDoesNotBlockLogsThatShareItsStep() throws Exception {
        UUID damaged = project;
        UUID sound = log.insertProject();
        TestProjector projector = projector();
        for (UUID each : List.of(damaged, sound)) {
            project = each;
            append(100);
        }
        project = damaged;
        withoutTriggers("delete from annals.audit_record where id = " + recordAt(50));
        projector.catchUp();
        assertThat(halted()).contains("with the sequence id 50 is gone");
        assertThat(size()).isZero();

        project = sound;
        assertIsTree();
        append(100);
        projector.catchUp();
        assertIsTree();
    }

    @Test
    void aMissingRecordHaltsTheLog() throws Exception {
        append(100);
        TestProjector projector = projector();
        projector.catchUp();
        append(10);
        withoutTriggers("delete from annals.audit_record where id = " + recordAt(105));
        projector.catchUp();
        assertThat(halted()).contains("with the sequence id 105 is gone");
    }

    @Test
    void aRecordOfAFullTileThatIsChangedIsFoundByARebuild() throws Exception {
        append(600);
        TestProjector projector = projector();
        projector.catchUp();
        withoutTriggers("update annals.audit_record set message = 'another' where id = " + recordAt(300));
        projector.catchUp();
        assertThat(halted()).isNull();
        rebuild();
        projector.catchUp();
        assertThat(halted()).isEqualTo("tile 1 of level 0 is not the one that follows from the records");
    }

    /** The service can neither change nor delete tiles and seeds. */
    @Test
    void theServiceHasNoRightToChangeATileOrASeed() throws Exception {
        append(300);
        projector().catchUp();
        for (String change : List.of(
                "update annals.merkle_tile set root = root",
                "delete from annals.merkle_tile",
                "update annals.merkle_seed set seed = seed",
                "delete from annals.merkle_seed",
                "delete from annals.merkle_log",
                "update annals.merkle_log set epoch = 2")) {
            try (Connection connection = log.connect()) {
                SqlFixture.execute(connection, "set role annals_service");
                assertThatThrownBy(() -> SqlFixture.execute(connection, change))
                        .hasMessageContaining("permission denied");
            }
        }
    }

    private TestProjector projector() {
        Pool pool = connections.open(2);
        pools.add(pool);
        return new TestProjector(pool, List.of(new LogTree()), 1000);
    }

    private void append(int count) throws SQLException {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        }
    }

    private void withoutTriggers(String change) throws SQLException {
        log.run("set local session_replication_role = replica", change);
    }

    private String recordAt(int sequenceId) {
        return "(select id from annals.feed where project_id = '" + project + "' and sequence_id = " + sequenceId + ")";
    }

    private void rebuild() {
        Pool pool = connections.open(1);
        pools.add(pool);
        Sql.named("derived/projection/rebuild_projection")
                .bind("name", "log")
                .execute(pool)
                .await()
                .indefinitely();
    }

    private int killGrowing() throws SQLException {
        return (int) log.number("""
                select count(*) filter (where pg_terminate_backend(pid)) from (
                  select pid from pg_stat_activity
                  where datname = current_database() and application_name = 'annals' and xact_start is not null
                    and (query like '%merkle%' or query like '%projection_checkpoint%')
                  order by random() limit 1) as growing
                """);
    }

    private String ofLog(String column) throws SQLException {
        return log.text("select " + column + " from annals.merkle_log where project_id = '" + project + "'");
    }

    private String halted() throws SQLException {
        return ofLog("halted");
    }

    private long size() throws SQLException {
        return Long.parseLong(ofLog("size"));
    }

    private Hash root() throws SQLException {
        byte[] frontier = HexFormat.of().parseHex(ofLog("encode(frontier, 'hex')"));
        return CompactRange.of(0, size(), frontier).root();
    }

    private List<String> stored() throws SQLException {
        return log.texts("select level || ' ' || tile || ' ' || encode(hashes, 'hex') from annals.merkle_tile"
                + " where project_id = '" + project + "' order by level, tile");
    }

    /** Hashes all records again, and compares them with the entries in tiles. */
    private void assertIsTree() throws SQLException {
        assertThat(halted()).isNull();
        long records = log.checkFeed(project);
        assertThat(size()).isEqualTo(records);
        Pool pool = connections.open(1);
        CompactRange tree = CompactRange.at(0);
        List<String> seeds = log.texts("select encode(seed, 'hex') from annals.merkle_seed where project_id = '"
                + project + "' order by tile");
        for (long start = 0; start < records; start += Tile.WIDTH) {
            String seed = seeds.get((int) (start / Tile.WIDTH));
            Leaves leaves = Leaves.read(
                            pool,
                            project,
                            start,
                            start + Tile.WIDTH,
                            TileSeed.of(HexFormat.of().parseHex(seed)))
                    .await()
                    .indefinitely();
            tree.append(leaves.range());
        }
        pool.close().await().indefinitely();
        assertThat(tree.root()).isEqualTo(root());
    }
}
