package dev.annals.tools.ops;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.annals.derived.proof.Tile;
import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseCheck;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.DatabaseUrlConfigSource;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.Seed;
import dev.annals.proof.VerifierKey;
import dev.annals.tools.bucket.Bucket;
import dev.annals.tools.bucket.BucketAccess;
import dev.annals.tools.command.InQuarkus;
import dev.annals.tools.command.Progress;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.eclipse.microprofile.config.Config;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code archive restore}: brings the records of archives back, to be read in a database of their own. */
@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description =
                "Brings the records of files or objects of annals archive back, into a database of their own: the one that"
                        + " ANNALS_DATABASE_URL names, or one in ANNALS_DATA_DIR, in which there must be nothing else. The files are"
                        + " checked first. Records keep their sequence ids, ids, times and writers. The project takes no more records,"
                        + " and signs nothing. Exit code 0: all of it is restored; otherwise nothing is.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class RestoreArchive implements Callable<Integer> {

    private static final Sql BEGIN_RESTORED_ARCHIVE = Sql.named("tools/ops/begin_restored_archive");
    private static final Sql RESTORE_RECORDS = Sql.named("tools/ops/restore_records");
    private static final Sql RESTORE_SEEDS = Sql.named("tools/ops/restore_seeds");
    private static final Sql FINISH_RESTORED_ARCHIVE = Sql.named("tools/ops/finish_restored_archive");
    private static final int BATCH = 256;
    private static final int MAX_NAME = 255;
    private static final int MOST_FINDINGS = 10;
    private static final int MOST_OBJECTS = 10_000;
    private static final String SUFFIX = ".ndjson.gz";

    @Parameters(
            arity = "0..*",
            paramLabel = "FILE",
            description = "The files, in any order, without a gap between them.")
    List<Path> paths = new ArrayList<>();

    @Option(
            names = "--vkey",
            paramLabel = "VKEY",
            required = true,
            description = "The key of the log that has signed them; repeat it if there are several.")
    List<String> vkeys = new ArrayList<>();

    @Option(
            names = "--from",
            paramLabel = "URL",
            description =
                    "An object, or all objects of a prefix: s3+https://host/bucket/prefix; repeat it for several.")
    List<String> urls = new ArrayList<>();

    @Mixin
    BucketAccess access = new BucketAccess();

    @Option(
            names = "--check-only",
            description = "Only check that the files are whole, consecutive, and as they were signed.")
    boolean checkOnly;

    private Progress progress = Progress.none();

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<VerifierKey> keys = vkeys.stream().map(VerifierKey::parse).toList();
        OperatedDatabase.logOnlyErrors();
        progress = Progress.onTerminal();
        List<ArchiveFiles.Source> sources = sources();
        ArchiveFiles files = ArchiveFiles.check(sources, keys, progress);
        if (checkOnly) {
            progress.end();
            System.out.println("The records " + files.oldest().first() + " to "
                    + files.newest().last() + " of project "
                    + files.oldest().project() + " are in " + sources.size()
                    + (sources.size() == 1 ? " file" : " files") + ", as the log has signed them.");
            return 0;
        }
        Config config = StartSettings.read();
        Optional<DatabaseUrl> url = DatabaseUrl.configured(config);
        DatabaseUrl database;
        if (url.isPresent()) {
            database = url.get();
            DatabaseCheck.requireServer(database);
        } else {
            EmbeddedDatabase own = EmbeddedDatabase.start(EmbeddedDatabase.configuredDirectory(config));
            // The hook runs after Quarkus has ended.
            Runtime.getRuntime().addShutdownHook(new Thread(own::close, "annals-embedded-database"));
            database = own.url();
            System.setProperty(DatabaseUrlConfigSource.DATABASE_URL, database.withPassword());
            StartSettings.useOwnDatabase();
        }
        System.setProperty("annals.database.migrate-at-start", "true");
        InQuarkus.run(() -> restore(database, files, keys));
        return 0;
    }

    private List<ArchiveFiles.Source> sources() throws IOException {
        List<ArchiveFiles.Source> sources =
                new ArrayList<>(paths.stream().map(ArchiveFiles.Source::of).toList());
        for (String url : urls) {
            // Its threads end with the process.
            Bucket bucket = access.open(url);
            String place = bucket.prefix();
            boolean isObject = place.endsWith(SUFFIX + "/");
            List<String> keys = bucket.list(isObject ? place.substring(0, place.length() - 1) : place, MOST_OBJECTS);
            for (String key : keys) {
                if (key.endsWith(SUFFIX)) {
                    sources.add(new ArchiveFiles.Source(bucket.shown(key), () -> bucket.read(key)));
                }
            }
        }
        if (sources.isEmpty()) {
            throw new IllegalArgumentException(
                    "There is nothing to read: name files of annals archive, or --from=URL.");
        }
        return sources;
    }

    /** Runs after Quarkus has migrated, and returns the exit code. */
    private int restore(DatabaseUrl database, ArchiveFiles files, List<VerifierKey> keys) throws IOException {
        try (Connection connection = database.connect()) {
            restore(connection, files, keys);
        } catch (SQLException | IllegalArgumentException e) {
            progress.end();
            System.err.println("Nothing was restored: " + e.getMessage());
            return 1;
        }
        progress.end();
        System.out.println(
                "The records " + files.oldest().first() + " to "
                        + files.newest().last() + " of project "
                        + files.oldest().project()
                        + " are restored, as the log has signed them. This is a copy: it accepts no records, and signs nothing.");
        return 0;
    }

    /** Restores all files, or nothing. */
    static void restore(Connection connection, ArchiveFiles files, List<VerifierKey> keys)
            throws SQLException, IOException {
        connection.setAutoCommit(false);
        UUID project = files.oldest().project();
        Loading loading = new Loading(
                connection, project, name(files.oldest()), files.oldest().first());
        for (ArchiveFiles.Checked file : files.files()) {
            // The file may have changed since it was checked.
            if (!ArchiveFiles.read(file.source(), keys, loading::take).sha256().equals(file.sha256())) {
                throw new IllegalArgumentException(file.source() + " was changed meanwhile.");
            }
        }
        loading.flush();
        loading.storeSeeds();
        run(FINISH_RESTORED_ARCHIVE
                .bind("project_id", project)
                .bind("first_sequence_id", files.oldest().first())
                .bind("last_sequence_id", files.newest().last())
                .bind("checkpoint", files.newest().note())
                .bind("left_hashes", files.oldest().before().bytes())
                .bind("right_hashes", files.newest().behind().bytes())
                .bind("frontier", files.newest().through().bytes())
                .bind("files", json(files))
                .prepare(connection));
        requireTheSame(connection, files);
        connection.commit();
    }

    private static String name(ArchiveFiles.Checked file) {
        String name = file.name();
        return name.isBlank() || name.length() > MAX_NAME || name.strip().equalsIgnoreCase("annals")
                ? "restored " + file.project()
                : name;
    }

    private static String json(ArchiveFiles files) {
        ArrayNode array = new ObjectMapper().createArrayNode();
        for (ArchiveFiles.Checked file : files.files()) {
            array.addObject()
                    .put("file_name", file.source().fileName())
                    .put("first_sequence_id", file.first())
                    .put("last_sequence_id", file.last())
                    .put("sha256", file.sha256());
        }
        return array.toString();
    }

    /** Verifies that the tables lead to the root that the log has signed. */
    private static void requireTheSame(Connection connection, ArchiveFiles files) throws SQLException {
        ArchiveFiles.Checked newest = files.newest();
        List<String> findings = new ArrayList<>();
        int found = new SignedRecords(
                        connection, newest.project(), Checkpoint.of(Note.parse(newest.note())), Progress.none())
                .compareArchive(files.oldest().before(), newest.behind(), MOST_FINDINGS, findings::add);
        if (found > 0) {
            throw new IllegalArgumentException(
                    "the restored records would not be what the log has signed: " + String.join("; ", findings));
        }
    }

    private static void run(PreparedStatement statement) throws SQLException {
        try (statement) {
            statement.execute();
        }
    }

    /** Loads records in their order. */
    private static final class Loading {

        private final Connection connection;
        private final UUID project;
        private final String name;
        private final long first;
        private final List<String> batch = new ArrayList<>();
        private boolean begun;
        private long tile = -1;
        private byte[] seeds = new byte[0];

        Loading(Connection connection, UUID project, String name, long first) {
            this.connection = connection;
            this.project = project;
            this.name = name;
            this.first = first;
        }

        void take(String text, ProvedRecord proved) {
            try {
                if (!begun) {
                    begun = true;
                    run(BEGIN_RESTORED_ARCHIVE
                            .bind("project_id", project)
                            .bind("name", name)
                            .bind("first_sequence_id", first)
                            .bind("recorded_at", proved.record().recordedAt())
                            .prepare(connection));
                }
                keepSeed(
                        proved.record().sequenceId(),
                        CanonicalJson.members(text).get("seed"));
                batch.add(text);
                if (batch.size() == BATCH) {
                    flush();
                }
            } catch (SQLException e) {
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }

        private void keepSeed(long sequenceId, @Nullable String seed) throws SQLException {
            long place = sequenceId - 1;
            if (place / Tile.WIDTH != tile) {
                storeSeeds();
                tile = place / Tile.WIDTH;
                seeds = new byte[Tile.WIDTH * Seed.BYTES];
            }
            if (seed != null) {
                byte[] bytes = Seed.parse(CanonicalJson.string(seed)).bytes();
                System.arraycopy(bytes, 0, seeds, (int) (place % Tile.WIDTH) * Seed.BYTES, Seed.BYTES);
            }
        }

        void storeSeeds() throws SQLException {
            if (tile >= 0) {
                run(RESTORE_SEEDS
                        .bind("project_id", project)
                        .bind("tile", tile)
                        .bind("seeds", seeds)
                        .prepare(connection));
            }
        }

        void flush() throws SQLException {
            if (!batch.isEmpty()) {
                run(RESTORE_RECORDS
                        .bind("project_id", project)
                        .bind("records", batch.toArray(String[]::new))
                        .prepare(connection));
                batch.clear();
            }
        }
    }
}
