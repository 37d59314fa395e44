package dev.annals.tools.ops;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.Note;
import dev.annals.proof.RedactedValues;
import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import dev.annals.tools.command.Progress;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code verify}: reads a whole database as of one moment, while the service runs, and reports what breaks a feed. It reads one project
 * after the other and streams findings, so its memory is bounded. PostgreSQL uses the disk for joins beyond {@code work_mem}.
 */
@Command(
        name = "verify",
        mixinStandardHelpOptions = true,
        description = "Checks every project of a database: sequence ids run from 1 without a gap, each belongs to a"
                + " record, each record has one, records are as their log has stored them, and the"
                + " schema is the one of this version. The database is the one in ANNALS_DATABASE_URL, which may be a hot"
                + " standby, or the embedded one in ANNALS_DATA_DIR, whether it runs or not. With"
                + " several in ANNALS_DATABASES, also checks that each project is in one of them. With --against,"
                + " checks the project of a checkpoint, and that its records are those that the log has signed.",
        exitCodeOnExecutionException = Verify.UNCHECKED,
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {"0:sound", "1:something is wrong; each finding is a line", "2:nothing was checked"})
@RegisterForReflection
public final class Verify implements Callable<Integer> {

    /** Findings: exit code 1. */
    static final int UNSOUND = 1;

    /** A wrong command line, or a database that cannot be read: exit code 2. */
    static final int UNCHECKED = 2;

    private static final Sql NEXT_PROJECT = Sql.named("tools/ops/next_project");
    private static final Sql FIND_PROJECT = Sql.named("access/projects/find_project");
    private static final Sql COUNT_PROJECT = Sql.named("tools/ops/count_project");
    private static final UUID BEFORE_ALL = new UUID(0, 0);
    private static final int MAX_FINDINGS = 1_000_000;
    /** The end of the name of a project's log. */
    static final Pattern ORIGIN =
            Pattern.compile("/v1/projects/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/log/[0-9]+$");

    @Spec
    @Nullable
    CommandSpec command;

    @Option(names = "--project", paramLabel = "<project>", description = "Only this project, by its name or id.")
    @Nullable
    String project;

    @Option(
            names = "--against",
            paramLabel = "<file>",
            description = "A file with an earlier answer of GET /v1/project-logs/log/1/checkpoint. Needs --vkey.")
    @Nullable
    Path against;

    @Option(
            names = "--vkey",
            paramLabel = "<vkey>",
            description = "The key of that log; repeat it if there are several.")
    List<String> vkeys = new ArrayList<>();

    @Option(
            names = "--witness",
            paramLabel = "<vkey>",
            description = "The key of a witness that has to cosign the checkpoint; repeat it for several.")
    List<String> witnesses = new ArrayList<>();

    @Option(
            names = "--witnesses-needed",
            paramLabel = "<n>",
            description = "The number of these witnesses that suffices. Default: all.")
    @Nullable
    Integer witnessesNeeded;

    private @Nullable Checkpoint signed;
    private String cosigned = "";

    @Option(
            names = "--findings",
            paramLabel = "<n>",
            description = "The number of findings to print for each project. Default: ${DEFAULT-VALUE}.")
    int findings = 100;

    @Option(
            names = "--since",
            paramLabel = "<id>",
            description =
                    "Only the records after this sequence id, and tables derived from them. Needs --project. Only a check of"
                            + " all records finds a record without a place.")
    @Nullable
    Long since;

    @Option(
            names = "--quick",
            description = "Skips comparing the records with their log, which takes most of the time.")
    boolean quick;

    /** The only project to read; null for all. */
    private @Nullable UUID only;

    /** The name of the database, before each finding, if there are several. */
    private String prefix = "";

    private Progress progress = Progress.none();
    private int schemaDifferences;
    private long projects;
    private long unsoundProjects;
    private long records;
    private long redacted;

    @Override
    public Integer call() throws SQLException, InterruptedException {
        if (command != null && (findings < 1 || findings > MAX_FINDINGS)) {
            throw new ParameterException(
                    command.commandLine(),
                    "--findings is " + findings + ", but has to be from 1 to " + MAX_FINDINGS + ".");
        }
        if (command != null && since != null && (project == null || since < 0 || against != null)) {
            throw new ParameterException(
                    command.commandLine(),
                    "--since is a sequence id of one feed: it needs --project, and does not go with --against.");
        }
        readCheckpoint();
        if (command != null) {
            progress = Progress.onTerminal();
        }
        PrintWriter out = new PrintWriter(System.out, false, StandardCharsets.UTF_8);
        return OperatedDatabase.runAll(databases -> run(databases, out));
    }

    /** Reads the checkpoint of {@code --against}. */
    void readCheckpoint() {
        if (against != null) {
            signed = open(against);
        } else if (!vkeys.isEmpty() || !witnesses.isEmpty() || witnessesNeeded != null) {
            throw new IllegalArgumentException(
                    "--vkey and --witness need --against: the checkpoint that these keys have signed.");
        }
    }

    private Checkpoint open(Path file) {
        try {
            if (Files.size(file) > Note.MAX_CHARACTERS) {
                throw new IllegalArgumentException("it is too long");
            }
            String note = Files.readString(file);
            Checkpoint checkpoint =
                    Checkpoint.open(note, vkeys.stream().map(VerifierKey::parse).toList());
            cosigned = WitnessPolicy.of(witnesses, witnessesNeeded).require(note);
            Matcher origin = ORIGIN.matcher(checkpoint.origin());
            if (!origin.find()) {
                throw new IllegalArgumentException("its log " + checkpoint.origin() + " is not that of a project");
            }
            UUID named = UUID.fromString(origin.group(1));
            only = named;
            return checkpoint;
        } catch (IOException | IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "The checkpoint " + file + " cannot be used: " + e.getMessage() + ". --vkey names its key.", e);
        }
    }

    /**
     * Checks a database. Called once.
     *
     * @return the exit code
     */
    public int run(DatabaseUrl database, PrintWriter out) {
        return run(Map.of(Databases.HOME, database), out);
    }

    /**
     * Checks databases, and that each project is in one of them. Called once.
     *
     * @param databases home first
     * @return the exit code
     */
    int run(Map<String, DatabaseUrl> databases, PrintWriter out) {
        DatabaseUrl current = databases.values().iterator().next();
        boolean several = databases.size() > 1;
        try {
            only = only(current);
            for (Map.Entry<String, DatabaseUrl> database : databases.entrySet()) {
                current = database.getValue();
                prefix = several ? database.getKey() + ": " : "";
                run(current, several, out);
            }
            if (several && only == null) {
                comparePlacements(databases, out);
            }
        } catch (SQLException e) {
            out.println("The database " + current + " cannot be verified: " + e.getMessage());
            out.flush();
            return UNCHECKED;
        }
        boolean sound = unsoundProjects == 0 && schemaDifferences == 0;
        out.println(
                sound
                        ? "Sound: " + count(records, "record") + " in " + count(projects, "project")
                                + (signed == null
                                        ? "."
                                        : ", the first " + signed.size() + " as the log has signed them" + cosigned
                                                + ".")
                                + " " + RedactedValues.count(redacted)
                        : "Not sound: " + (schemaDifferences == 0 ? "" : "the schema, and ") + unsoundProjects + " of "
                                + count(projects, "project") + ", with " + count(records, "record") + " in all. "
                                + RedactedValues.count(redacted));
        out.flush();
        return sound ? 0 : UNSOUND;
    }

    /** Compares the databases with each other, and the administration's logs with what others have noted of them. */
    private void comparePlacements(Map<String, DatabaseUrl> databases, PrintWriter out) throws SQLException {
        try (Placements placements = Placements.open(databases)) {
            for (String finding : new PlacementCheck(placements).findings()) {
                out.println(finding);
                unsoundProjects++;
            }
            for (Placements.NotedEnd end : placements.notedEnds()) {
                Connection connection = placements.of(end.database());
                FeedCheck.begin(connection);
                FeedCheck check = new FeedCheck(
                        connection,
                        end.id(),
                        findings,
                        finding -> out.println(
                                end.database() + ": annals, as " + end.notedBy() + " has noted it: " + finding),
                        progress);
                Hash root = Hash.at(HexFormat.of().parseHex(end.logRoot()), 0);
                if (check.records(new Checkpoint("noted", end.logSize(), root)) > 0) {
                    unsoundProjects++;
                }
                connection.rollback();
            }
            progress.end();
        }
    }

    /** The only project to read, which home knows by its name; null for all. */
    private @Nullable UUID only(DatabaseUrl home) throws SQLException {
        if (project == null) {
            return only;
        }
        try (Connection connection = home.connect()) {
            UUID asked = find(connection, project);
            if (only != null && !only.equals(asked)) {
                throw new IllegalArgumentException("The checkpoint is of the log of project " + only + ".");
            }
            return asked;
        }
    }

    private void run(DatabaseUrl database, boolean several, PrintWriter out) throws SQLException {
        try (Connection connection = database.connect()) {
            FeedCheck.begin(connection);
            if (only == null) {
                UUID next = nextProject(connection, BEFORE_ALL);
                while (next != null) {
                    verify(connection, next, out);
                    next = nextProject(connection, next);
                }
            } else if (!several || Placements.isHere(connection, only)) {
                verify(connection, only, out);
            }
            verifySchema(connection, out);
            progress.end();
        }
    }

    private static String count(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    private void verifySchema(Connection connection, PrintWriter out) throws SQLException {
        for (StaleCollation stale : StaleCollation.find(connection)) {
            if (stale.index() == null) {
                out.println(prefix + "note: " + stale + ". The indexes of Annals do not depend on it.");
            }
        }
        for (String difference : ShippedSchema.differences(connection)) {
            if (schemaDifferences == findings) {
                out.println(prefix + "schema: and more; see --findings");
                return;
            }
            out.println(prefix + "schema: " + difference);
            schemaDifferences++;
        }
    }

    /** The id of a project, by its id or its name. */
    static UUID find(Connection connection, String project) throws SQLException {
        UUID id = CanonicalGuid.parse(project);
        if (id != null) {
            return id; // records may exist without their project
        }
        try (PreparedStatement select =
                        FIND_PROJECT.bind("id", null).bind("name", project).prepare(connection);
                ResultSet row = select.executeQuery()) {
            if (!row.next()) {
                throw new IllegalArgumentException("There is no project " + project + ": see annals project list.");
            }
            return row.getObject("id", UUID.class);
        }
    }

    private void verify(Connection connection, UUID id, PrintWriter out) throws SQLException {
        FeedCheck check =
                new FeedCheck(connection, id, findings, finding -> out.println(prefix + id + ": " + finding), progress);
        FeedCheck.Range range = since == null ? FeedCheck.Range.WHOLE : new FeedCheck.Range(since, null);
        int found = check.places(range);
        if (signed != null) {
            found += check.records(signed);
        } else if (!quick) {
            found += check.records(range);
        }
        try (PreparedStatement select = COUNT_PROJECT.bind("project_id", id).prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            long stored = row.getLong("records");
            long places = row.getLong("places");
            records += stored;
            projects += row.getBoolean("elsewhere") ? 0 : 1;
            redacted += row.getLong("redacted");
            if (row.getString("name") == null) {
                out.println(prefix + id + ": the project itself is missing");
                found++;
            }
            // Each record has a place and each place has a record, so some records have several places.
            if (found == 0 && stored != places && range.whole()) {
                out.println(prefix + id + ": " + stored + " records take " + places + " places: some are read twice");
                found++;
            }
        }
        if (found > 0) {
            unsoundProjects++;
        }
    }

    private static @Nullable UUID nextProject(Connection connection, UUID after) throws SQLException {
        try (PreparedStatement select = NEXT_PROJECT.bind("after", after).prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getObject("id", UUID.class);
        }
    }
}
