package dev.annals.derived.log;

import dev.annals.access.places.OnePlace;
import dev.annals.access.places.Places;
import dev.annals.derived.projection.Projectors;
import dev.annals.derived.projection.TestProjector;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.proof.Checkpoint;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The logs of one instance, on a database without a service. */
final class TestLogs {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    private static final Vertx VERTX = Vertx.vertx();

    final LogKeys keys;
    final Witnesses witnesses;
    private final WitnessRounds rounds;
    private final Database home;
    final Checkpoints checkpoints;
    final Pool pool;
    final TestProjector projector;

    /**
     * @param key of the service, shared by all instances
     * @param settings that differ from the defaults, with the prefix annals.log
     */
    TestLogs(Pool pool, MasterKey key, Map<String, String> settings) {
        this(pool, key, settings, Witnesses.TIMEOUT);
    }

    /** @param timeout of a call to a witness */
    TestLogs(Pool pool, MasterKey key, Map<String, String> settings, Duration timeout) {
        this(pool, new TestProjector(pool, List.of(new LogTree()), 1000), withKey(settings, key), timeout);
    }

    private TestLogs(Pool pool, TestProjector projector, Map<String, String> settings, Duration timeout) {
        LogConfig config = Settings.of(LogConfig.class, settings);
        Databases databases = OneDatabase.of(pool);
        Places places = OnePlace.of(databases);
        this.pool = pool;
        this.projector = projector;
        this.keys = new LogKeys(config, Settings.of(AnnalsConfig.class, Map.of()));
        TileCache tiles = new TileCache(new SimpleMeterRegistry());
        this.witnesses = new Witnesses(config, timeout, places, VERTX, new SimpleMeterRegistry());
        Projectors projectors =
                new Projectors(places, new PerDatabase<>(databases, one -> projector.projector()), projector.steps());
        CheckpointSigner signer =
                new CheckpointSigner(places, projectors, keys, new SeenNotes(keys), witnesses, config);
        this.checkpoints = new Checkpoints(places, signer, keys, witnesses, config, tiles);
        this.home = databases.home();
        this.rounds = new WitnessRounds(places, databases, VERTX, checkpoints, witnesses, keys, config);
    }

    private static Map<String, String> withKey(Map<String, String> settings, MasterKey key) {
        Map<String, String> all = new HashMap<>(settings);
        all.putIfAbsent("annals.log.interval", "1ms");
        if (!all.containsKey("annals.log.key-file")) {
            all.put("annals.log.key", key.secretText());
        }
        return all;
    }

    /** Offers the logs to the witnesses. */
    Uni<Void> round() {
        return rounds.round(home);
    }

    /** Reads the newest checkpoint. */
    SignedLog newest(UUID projectId) {
        return checkpoints.newest(projectId).await().atMost(LIMIT);
    }

    /** Reads and verifies the newest checkpoint. */
    Checkpoint open(UUID projectId) {
        SignedLog log = newest(projectId);
        return Checkpoint.open(log.note(), checkpoints.verifiers(projectId, log.epoch()));
    }
}
