package dev.annals.tools.ops;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import dev.annals.tools.ops.Placements.Copy;
import dev.annals.tools.ops.Placements.Move;
import dev.annals.tools.ops.Placements.Project;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides in which database a project is, if its databases contradict each other. The copy of the highest epoch has it; of one epoch,
 * the one that is open, then the one that was sealed, then one that has arrived entirely, then the one that was left. Home notes each
 * move's epoch, so that of a copy that it left earlier is unknown: it is the last choice. A copy that is opened again has a greater epoch
 * than all that are known, so that no mover and no map of before can change it.
 *
 * <p>A member's owner may write any row. Its copy counts only if home names it, has begun that move, or does not know the project; if the
 * copy that home names was left for it; or if it has the last place of that copy.
 */
final class Reconciliation {

    private static final Sql PLACE_PROJECT = Sql.named("tools/ops/place_project");
    private static final Sql YIELD_PROJECT = Sql.named("tools/ops/yield_project");
    private static final Sql ADOPT_PROJECT = Sql.named("tools/ops/adopt_project");
    private static final Sql ABANDON_MOVE = Sql.named("tools/ops/abandon_move");
    private static final Sql DISCARD_ARRIVAL = Sql.named("derived/move/discard_arrival");
    private static final int REMOVED_PLACES = 5_000;

    /**
     * A change in one database.
     *
     * @param repeated runs until it returns 0
     */
    record Change(String database, String sentence, Binds statement, boolean repeated) {}

    /** @param notes what an operator has to decide or know */
    record Plan(List<Change> changes, List<String> notes) {

        boolean isEmpty() {
            return changes.isEmpty() && notes.isEmpty();
        }
    }

    private final Placements placements;
    /** With the copies that count. */
    private final Project project;
    /** With all copies. */
    private final Project all;

    private final List<Change> changes = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    private Reconciliation(Placements placements, Project all) throws SQLException {
        this.placements = placements;
        this.all = all;
        this.project = believed();
    }

    /** Changes nothing. Changes of the plan fail if the project has changed since it was read. */
    static Plan plan(Placements placements, Project project) throws SQLException {
        Reconciliation reconciliation = new Reconciliation(placements, project);
        reconciliation.decide();
        return new Plan(reconciliation.changes, reconciliation.notes);
    }

    private void decide() throws SQLException {
        Move open = project.open();
        if (open != null && goesOn(open)) {
            return;
        }
        Optional<Copy> found = best();
        if (found.isEmpty()) {
            notes.add("no database has a copy: restore one of them from another backup");
            return;
        }
        Copy winner = found.get();
        if (open != null
                && !(open.decided() && winner.database().equals(open.target()) && winner.epoch() == open.epoch())) {
            change(placements.home(), "end its move to " + open.target(), ABANDON_MOVE.bind("id", open.id()));
        }
        long epoch = place(winner);
        for (Copy other : all.copies().values()) {
            if (!other.equals(winner)) {
                release(other, winner, epoch);
            }
        }
        if (!all.copies().containsKey(placements.home())) {
            change(
                    placements.home(),
                    "add it, in " + winner.database(),
                    ADOPT_PROJECT.bind("project", winner.row()).bind("database", winner.database()));
        }
    }

    private Project believed() throws SQLException {
        Copy home = all.copies().get(placements.home());
        if (home == null) {
            return all;
        }
        Copy named = home.active() ? home : all.copies().get(String.valueOf(home.movedTo()));
        Map<String, Copy> believed = new LinkedHashMap<>();
        for (Copy copy : all.copies().values()) {
            if (copy.equals(home)
                    || copy.equals(named)
                    || isOfMove(copy)
                    || isLeftTo(named, copy)
                    || continues(named, copy)) {
                believed.put(copy.database(), copy);
            }
        }
        return new Project(all.id(), all.name(), believed, all.moves());
    }

    private boolean isOfMove(Copy copy) {
        return all.moves().stream()
                .anyMatch(move -> move.source().equals(copy.database())
                        ? copy.epoch() <= move.epoch()
                        : move.target().equals(copy.database()) && copy.epoch() == move.epoch() && !move.cancelled());
    }

    /** By a move that home has lost. */
    private static boolean isLeftTo(@Nullable Copy named, Copy copy) {
        return named != null
                && named.is("gone")
                && copy.database().equals(named.movedTo())
                && copy.epoch() == named.epoch();
    }

    private boolean continues(@Nullable Copy named, Copy copy) throws SQLException {
        return named != null
                && named.active()
                && named.head() > 0
                && Objects.equals(placements.mark(copy, all.id(), named.head()), named.mark());
    }

    private void change(String database, String sentence, Binds statement) {
        changes.add(new Change(database, sentence, statement, false));
    }

    private @Nullable Copy in(String database) {
        return project.copies().get(database);
    }

    /** Whether the mover can carry the move to its end. */
    private boolean goesOn(Move move) {
        Copy source = in(move.source());
        Copy target = in(move.target());
        if (project.active().stream().anyMatch(copy -> !copy.equals(source) && !copy.equals(target))) {
            return false;
        }
        if (!move.decided()) {
            return source != null
                    && source.active()
                    && !source.suspended()
                    && source.epoch() <= move.epoch()
                    && (target == null || (!target.active() && target.epoch() <= move.epoch()));
        }
        boolean arrives = target != null
                && target.epoch() == move.epoch()
                && (target.is("here") || (target.is("arriving") && target.head() >= move.head()));
        // The mover copies once more what the target has lost, as long as the source keeps it.
        return source != null
                && source.epoch() == move.epoch()
                && (source.is("gone") || (source.is("sealed") && source.moving()))
                && (arrives || (source.head() >= move.head() && (target == null || !target.active())));
    }

    private Optional<Copy> best() {
        return project.copies().values().stream()
                .filter(copy -> rank(copy) > 0)
                .max(Comparator.comparing(this::hasKnownEpoch)
                        .thenComparingLong(Copy::epoch)
                        .thenComparingInt(this::rank)
                        .thenComparing(this::isTarget)
                        .thenComparing(copy -> !copy.moving())
                        .thenComparingLong(Copy::head));
    }

    private boolean hasKnownEpoch(Copy copy) {
        return !isHome(copy) || !copy.is("gone") || isSource(copy);
    }

    /** Among the copies of one epoch; 0 for a copy that cannot have the project. */
    private int rank(Copy copy) {
        return switch (copy.placement()) {
            case "here" -> 5;
            case "sealed" -> 4;
            case "arriving" -> hasArrived(copy) ? 3 : 0;
            default -> !isKept(copy) ? 0 : isSource(copy) ? 2 : 1;
        };
    }

    private boolean isSource(Copy left) {
        Move move = project.decided();
        return move != null && move.source().equals(left.database()) && move.epoch() == left.epoch();
    }

    private boolean isTarget(Copy copy) {
        Move move = project.decided();
        return move != null && move.target().equals(copy.database()) && move.epoch() == copy.epoch();
    }

    private boolean hasArrived(Copy copy) {
        Move move = project.decided();
        if (move != null && move.epoch() == copy.epoch()) {
            return move.target().equals(copy.database()) && copy.head() >= move.head();
        }
        return project.copies().values().stream()
                .anyMatch(left -> left.is("gone")
                        && left.epoch() == copy.epoch()
                        && copy.database().equals(left.movedTo())
                        && left.head() > 0
                        && left.head() == copy.head()
                        && left.mark() == copy.mark());
    }

    /** Whether a copy that was left has its records. A project without any may have been moved. */
    private boolean isKept(Copy left) {
        return left.head() > 0
                || (isSource(left) && Objects.requireNonNull(project.decided()).head() == 0);
    }

    /** Returns the epoch of the winner then. */
    private long place(Copy winner) {
        long highest = LongStream.concat(
                        project.copies().values().stream().mapToLong(Copy::epoch),
                        project.moves().stream().mapToLong(Move::epoch))
                .max()
                .orElse(winner.epoch());
        boolean here = winner.is("here");
        Move open = project.open();
        boolean isDecided = highest == winner.epoch() || (open != null && highest == open.epoch() && !open.decided());
        if (here && isDecided) {
            return winner.epoch();
        }
        Move decided = project.decided();
        boolean lacksNotes = !winner.active()
                || (decided != null && decided.epoch() > winner.epoch())
                || project.copies().values().stream().anyMatch(copy -> copy.epoch() > winner.epoch());
        change(
                winner.database(),
                "open it, with " + winner.head() + " records" + (lacksNotes ? "; its log halts" : ""),
                PLACE_PROJECT
                        .bind("project_id", project.id())
                        .bind("placement", winner.placement())
                        .bind("epoch", winner.epoch())
                        .bind("new_epoch", highest + 1)
                        .bind("halts", lacksNotes));
        return highest + 1;
    }

    private void release(Copy copy, Copy winner, long epoch) throws SQLException {
        boolean contained = placements.contains(winner, project.id(), copy);
        if (!contained && !copy.is("gone")) {
            notes.add(copy.database() + " has records that " + winner.database() + " lacks: it ends at " + copy.head()
                    + ". Read them there by SQL; then, there: " + dropping(copy, winner, epoch));
        }
        if (copy.is("arriving")) {
            if (contained) {
                changes.add(new Change(
                        copy.database(),
                        "discard what has arrived",
                        DISCARD_ARRIVAL
                                .bind("project_id", project.id())
                                .bind("epoch", copy.epoch())
                                .bind("most", REMOVED_PLACES),
                        true));
            }
            return;
        }
        boolean suspends = copy.active() && !contained;
        boolean told = Objects.equals(copy.movedTo(), winner.database());
        if (told
                && ((copy.is("gone") && isKnown(copy, epoch))
                        || (suspends && copy.suspended() && copy.epoch() == epoch))) {
            return;
        }
        change(
                copy.database(),
                (suspends ? "suspend it" : copy.is("gone") ? "note that it is in " : "leave it to ")
                        + (suspends ? "" : winner.database()),
                YIELD_PROJECT
                        .bind("project_id", project.id())
                        .bind("placement", copy.placement())
                        .bind("epoch", copy.epoch())
                        .bind("new_epoch", copy.is("gone") && !isHome(copy) ? copy.epoch() : epoch)
                        .bind("database", winner.database())
                        .bind("suspends", suspends));
    }

    /** Whether home's next move has a greater epoch. */
    private boolean isKnown(Copy copy, long epoch) {
        return !isHome(copy)
                || copy.epoch() >= epoch
                || project.moves().stream().anyMatch(move -> move.epoch() >= epoch);
    }

    /** Its row is the map. */
    private boolean isHome(Copy copy) {
        return copy.database().equals(placements.home());
    }

    private String dropping(Copy copy, Copy winner, long epoch) {
        return copy.is("arriving")
                ? "select annals.discard_arrival('%s', %d, %d)".formatted(project.id(), copy.epoch(), REMOVED_PLACES)
                : "select annals.yield_project('%s', 'sealed', %d, %d, '%s', false)"
                        .formatted(project.id(), epoch, epoch, winner.database());
    }

    /** A line for each database with what it says. */
    static Stream<String> describe(Project project) {
        return project.copies().values().stream()
                .map(copy -> "  " + copy.database() + ": " + copy.placement()
                        + (copy.suspended() ? " (suspended)" : "")
                        + (copy.movedTo() == null ? "" : ", and names " + copy.movedTo()) + ", epoch " + copy.epoch()
                        + ", " + copy.head() + " records, log " + copy.logSize() + " " + copy.logRoot());
    }
}
