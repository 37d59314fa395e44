package dev.annals.bench;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.EmbeddedDatabase;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * The PostgreSQL that the benchmarks run on: an embedded one with its durable settings, below {@code target}, or the
 * one that {@code ANNALS_BENCH_DATABASE_URL} names, whose user must be a superuser.
 */
public final class BenchServer implements AutoCloseable {

    private static final Path DIRECTORY = Path.of("target", "bench-database");

    private final DatabaseUrl url;
    private final @Nullable EmbeddedDatabase embedded;

    private BenchServer(DatabaseUrl url, @Nullable EmbeddedDatabase embedded) {
        this.url = url;
        this.embedded = embedded;
    }

    static BenchServer start() {
        String given = System.getenv("ANNALS_BENCH_DATABASE_URL");
        if (given != null && !given.isBlank()) {
            return new BenchServer(DatabaseUrl.parse(given.strip()), null);
        }
        EmbeddedDatabase embedded = EmbeddedDatabase.start(DIRECTORY);
        // Also where the benchmarks are ended from outside.
        Runtime.getRuntime().addShutdownHook(new Thread(embedded::close));
        return new BenchServer(embedded.url(), embedded);
    }

    /** Makes an empty database, in place of one of the same name. */
    public BenchDatabase createDatabase(String name) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("drop database if exists " + name + " with (force)");
            statement.execute("create database " + name);
        }
        return new BenchDatabase(this, url.withDatabase(name));
    }

    /** The database of this name as it was left, or a new one. */
    public BenchDatabase keptDatabase(String name) throws SQLException {
        try (Connection connection = url.connect();
                PreparedStatement select = connection.prepareStatement("select from pg_database where datname = ?")) {
            select.setString(1, name);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? new BenchDatabase(this, url.withDatabase(name)) : createDatabase(name);
            }
        }
    }

    /** Lets checkpoints wait, for a part that loads a lot: otherwise most of what it writes is whole pages in the WAL. */
    public void writeMuch() throws SQLException {
        configure("set max_wal_size = '8GB'", "set checkpoint_timeout = '15min'");
    }

    /** As {@link #writeMuch}, without autovacuum: the part measures vacuuming itself. */
    public void writeMuchWithoutVacuum() throws SQLException {
        writeMuch();
        configure("set autovacuum = off");
    }

    /** Ends what {@link #writeMuch} or {@link #writeMuchWithoutVacuum} began. */
    public void writeAsUsual() throws SQLException {
        configure("reset max_wal_size", "reset checkpoint_timeout", "reset autovacuum");
    }

    private void configure(String... changes) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            for (String change : changes) {
                statement.execute("alter system " + change);
            }
            statement.execute("select pg_reload_conf()");
        }
    }

    void dropDatabase(String name) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("drop database if exists " + name + " with (force)");
        }
    }

    /** Whether it is one of this machine. */
    public boolean isEmbedded() {
        return embedded != null;
    }

    String setting(String name) throws SQLException {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("show " + name)) {
            row.next();
            return row.getString(1);
        }
    }

    @Override
    public void close() {
        if (embedded != null) {
            embedded.close();
        }
    }
}
