package dev.annals.tools.ops;

import dev.annals.tools.ops.Placements.Copy;
import dev.annals.tools.ops.Placements.Move;
import dev.annals.tools.ops.Placements.NotedEnd;
import dev.annals.tools.ops.Placements.Project;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Compares what databases say about the places of projects: each is here in exactly one, home knows in which, and it has there what it
 * had when it was moved.
 */
final class PlacementCheck {

    private final Placements placements;

    PlacementCheck(Placements placements) {
        this.placements = placements;
    }

    /** A line for each database that was set back, and for each project whose databases contradict each other. */
    List<String> findings() throws SQLException {
        List<String> findings = read();
        if (!findings.isEmpty()) {
            // A project may have moved between two databases that were read.
            findings.retainAll(read());
        }
        return findings;
    }

    private List<String> read() throws SQLException {
        List<String> findings = new ArrayList<>();
        for (NotedEnd end : placements.notedEnds()) {
            if (!placements.hasPlace(end.database(), end.id(), end.head(), end.mark())) {
                findings.add(end.database() + ": the database was set back: " + end.notedBy() + " has noted record "
                        + end.head() + " of its project annals, which it lacks");
            }
        }
        for (Project project : placements.read()) {
            String finding = finding(project);
            if (finding != null) {
                findings.add(project + ": " + finding);
            }
        }
        return findings;
    }

    private @Nullable String finding(Project project) throws SQLException {
        List<Copy> here = project.active();
        Copy atHome = project.copies().get(placements.home());
        String byHome = atHome == null ? null : atHome.active() ? placements.home() : atHome.movedTo();
        if (here.size() > 1) {
            return "the project is in several databases: "
                    + here.stream().map(PlacementCheck::named).collect(Collectors.joining(", "));
        }
        if (here.isEmpty()) {
            return "the project is in no database" + (byHome == null ? "" : "; home says that it is in " + byHome);
        }
        Copy copy = here.get(0);
        if (byHome == null) {
            return "the project is in " + copy.database() + ", and home does not know it; create it there by its name";
        }
        if (!byHome.equals(copy.database())) {
            return "the project is in " + copy.database() + ", and home says that it is in " + byHome;
        }
        return copy.suspended()
                ? "the project is suspended in " + copy.database() + ": run annals reconcile"
                : lost(project, copy);
    }

    private static String named(Copy copy) {
        return copy.database() + (copy.suspended() ? " (suspended)" : "");
    }

    /** Names a loss: records that the copy had when it was moved, or that another database has kept. */
    private @Nullable String lost(Project project, Copy copy) throws SQLException {
        Move move = project.decided();
        if (move != null && move.target().equals(copy.database()) && move.epoch() <= copy.epoch()) {
            if (copy.head() < move.head()) {
                return "the feed ends at " + copy.head() + " in " + copy.database() + ", and had " + move.head()
                        + " records when it was moved there";
            }
            if (copy.logSize() == move.logSize() && !copy.logRoot().equals(move.logRoot())) {
                return "the log in " + copy.database() + " has another root for " + copy.logSize()
                        + " records than when it was moved there";
            }
        }
        for (Copy kept : project.copies().values()) {
            if (kept.is("gone") && !placements.contains(copy, project.id(), kept)) {
                return kept.head() > copy.head()
                        ? "the feed ends at " + copy.head() + " in " + copy.database() + ", and " + kept.database()
                                + " keeps " + kept.head() + " records"
                        : "record " + kept.head() + " has another mark in " + copy.database() + " than in "
                                + kept.database() + ", which keeps a copy";
            }
        }
        return null;
    }
}
