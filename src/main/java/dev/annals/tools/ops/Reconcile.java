package dev.annals.tools.ops;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import dev.annals.tools.command.Progress;
import dev.annals.tools.ops.Placements.Project;
import dev.annals.tools.ops.Reconciliation.Change;
import dev.annals.tools.ops.Reconciliation.Plan;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code reconcile}: after a restore, decides about projects whose databases contradict each other. Can be repeated. */
@Command(
        name = "reconcile",
        mixinStandardHelpOptions = true,
        description =
                "After a restore of one of several databases, prints what they say about each project on which they do"
                        + " not agree, decides which has it, and writes home's map anew. Needs the owner of all databases, and"
                        + " all of them. An instance need not be stopped.",
        exitCodeOnExecutionException = Reconcile.UNCHECKED,
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {"0:all agree", "1:a project needs a decision; each is printed", "2:nothing was compared"})
@RegisterForReflection
public final class Reconcile implements Callable<Integer> {

    static final int UNCHECKED = 2;

    private static final int OPEN = 1;
    private static final Sql LOOK_AT_DATABASE = Sql.named("access/places/look_at_database");
    private static final Sql ADMIT = Sql.named("access/places/admit");
    private static final Sql NOTE_END = Sql.named("access/places/note_end");
    /** A change may show what has to be changed next. */
    private static final int ROUNDS = 4;

    @Option(names = "--dry-run", description = "Prints the changes, and makes none.")
    boolean dryRun;

    @Override
    public Integer call() throws SQLException, InterruptedException {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        Progress progress = Progress.onTerminal();
        return OperatedDatabase.runAll(databases -> run(databases, out, progress));
    }

    /**
     * Reconciles.
     *
     * @param databases home first
     * @return the exit code
     */
    int run(Map<String, DatabaseUrl> databases, PrintWriter out, Progress progress) throws SQLException {
        try (Placements placements = Placements.open(databases)) {
            placements.requireNames();
            Outcome outcome = round(placements, out, progress, true);
            for (int round = 1; round < ROUNDS && outcome.changes > 0 && !dryRun; round++) {
                outcome = round(placements, out, progress, false);
            }
            if (!dryRun) {
                admit(placements);
            }
            out.println(conclusion(outcome));
            out.flush();
            return outcome.open == 0 ? 0 : OPEN;
        }
    }

    /** @param open projects that need a decision, or with a change that was not made */
    private record Outcome(long projects, long changes, long open) {}

    private String conclusion(Outcome outcome) {
        return outcome.open == 0
                ? outcome.projects + " projects: all databases agree."
                : outcome.open + " of " + outcome.projects + " projects " + (dryRun ? "would be changed, or " : "")
                        + "need a decision.";
    }

    private Outcome round(Placements placements, PrintWriter out, Progress progress, boolean first)
            throws SQLException {
        long changes = 0;
        long open = 0;
        List<Project> projects = placements.read();
        for (Project project : projects) {
            progress.show(project.toString());
            Plan plan = Reconciliation.plan(placements, project);
            if (plan.isEmpty()) {
                continue;
            }
            if (first || !plan.changes().isEmpty()) {
                progress.end();
                out.println(project);
                Reconciliation.describe(project).forEach(out::println);
                plan.notes().forEach(note -> out.println("  ! " + note));
                plan.changes().forEach(change -> out.println("  → " + change.database() + ": " + change.sentence()));
            }
            boolean made = !dryRun && make(placements, plan.changes(), out);
            changes += plan.changes().size();
            open += made && plan.notes().isEmpty() ? 0 : 1;
        }
        progress.end();
        return new Outcome(projects.size(), changes, open);
    }

    /** Returns whether all were made. */
    private static boolean make(Placements placements, List<Change> changes, PrintWriter out) {
        for (Change change : changes) {
            try {
                Connection connection = placements.of(change.database());
                connection.setAutoCommit(true);
                while (number(change.statement(), connection) > 0 && change.repeated()) {
                    // until nothing is left
                }
            } catch (SQLException e) {
                out.println("  ! " + change.database() + ": " + e.getMessage());
                return false;
            }
        }
        return true;
    }

    /** The first column, or 0 if it is none. */
    private static long number(Binds statement, Connection connection) throws SQLException {
        try (PreparedStatement prepared = statement.prepare(connection);
                ResultSet row = prepared.executeQuery()) {
            row.next();
            return row.getObject(1) instanceof Number number ? number.longValue() : 0;
        }
    }

    /** Admits all databases, and lets home and its members note how far they have come. */
    private static void admit(Placements placements) throws SQLException {
        for (String name : placements.names()) {
            number(
                    ADMIT.bind("own", name)
                            .bind("claims", "[]")
                            .bind("marks", "[]")
                            .bind("set_back", false),
                    placements.of(name));
        }
        Connection home = placements.of(placements.home());
        for (Map.Entry<String, UUID> member : placements.members().entrySet()) {
            note(placements.of(member.getKey()), member.getValue(), home);
            note(home, null, placements.of(member.getKey()));
        }
    }

    /** @param id as home knows it, for the member may say another one; null for home */
    private static void note(Connection noted, @Nullable UUID id, Connection in) throws SQLException {
        try (PreparedStatement look = LOOK_AT_DATABASE
                        .bind("heads", new Long[0])
                        .bind("marks", new Integer[0])
                        .prepare(noted);
                ResultSet row = look.executeQuery()) {
            row.next();
            number(
                    NOTE_END.bind("id", id == null ? row.getObject("id") : id)
                            .bind("incarnation", row.getString("incarnation"))
                            .bind("head", row.getLong("head"))
                            .bind("mark", row.getInt("mark"))
                            .bind("log_size", row.getLong("log_size"))
                            .bind("log_root", row.getString("log_root")),
                    in);
        }
    }
}
