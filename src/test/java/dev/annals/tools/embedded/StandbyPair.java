package dev.annals.tools.embedded;

import dev.annals.Await;
import dev.annals.SqlFixture;
import java.nio.file.Path;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A server, and a hot standby that follows it. */
public final class StandbyPair implements AutoCloseable {

    private final Path directory;
    private @Nullable InstalledPostgres primary;
    private @Nullable InstalledPostgres standby;

    private StandbyPair(Path directory, InstalledPostgres primary) {
        this.directory = directory;
        this.primary = primary;
    }

    /** Makes a cluster in {@code directory} and starts it; its standby has to be started. */
    public static StandbyPair start(Path directory) throws Exception {
        return new StandbyPair(directory, InstalledPostgres.start(directory));
    }

    /** Starts both, with the schema and a project. */
    public static StandbyPair start(Path directory, UUID project) throws Exception {
        StandbyPair servers = start(directory);
        TestDatabase.migrate(servers.primary().url("postgres"));
        SqlFixture.on(servers.primary().url("postgres"))
                .run("select annals.create_project('copied', '" + project + "')");
        servers.startStandby();
        return servers;
    }

    /** Copies the primary, with what is in it by now. */
    public void startStandby() throws Exception {
        standby = primary().startStandby(directory);
    }

    public InstalledPostgres primary() {
        return Objects.requireNonNull(primary, "the primary was stopped");
    }

    public InstalledPostgres standby() {
        return Objects.requireNonNull(standby, "the standby was not started");
    }

    /** Waits until the standby shows all that the primary has committed. */
    public void awaitReplay() throws Exception {
        String written = SqlFixture.on(primary().url("postgres")).text("select pg_current_wal_lsn()::text");
        SqlFixture copy = SqlFixture.on(standby().url("postgres"));
        Await.until(
                "the standby has what was written",
                () -> copy.text("select pg_last_wal_replay_lsn() >= '" + written + "'::pg_lsn")
                        .equals("t"));
    }

    /** From now on the primary answers a commit only once its standby has it. */
    public void commitOnBoth() throws Exception {
        SqlFixture.on(primary().url("postgres"))
                .runEach("alter system set synchronous_standby_names = '*'", "select pg_reload_conf()");
    }

    /** Ends the primary as kill -9 does. It is not started again. */
    public void killPrimary() throws Exception {
        primary().kill();
    }

    /** Whatever the primary does. */
    public void promoteStandby() throws Exception {
        // Commits would wait for a synchronous standby for ever.
        SqlFixture.on(standby().url("postgres")).runEach("select pg_promote()");
        SqlFixture.on(standby().url("postgres"))
                .runEach("alter system set synchronous_standby_names = ''", "select pg_reload_conf()");
    }

    /** Stops the primary; the standby is the primary from then on. */
    public void stopPrimaryAndPromote() throws Exception {
        primary().close();
        primary = null;
        SqlFixture.on(standby().url("postgres")).runEach("select pg_promote()");
    }

    @Override
    public void close() {
        if (standby != null) {
            standby.close();
        }
        if (primary != null) {
            primary.close();
        }
    }
}
