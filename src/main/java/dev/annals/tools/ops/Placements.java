package dev.annals.tools.ops;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Connections to all databases of a service, and what these say about the places of projects. */
final class Placements implements AutoCloseable {

    private static final Sql READ_PLACEMENTS = Sql.named("tools/ops/read_placements");
    private static final Sql READ_MOVES = Sql.named("tools/ops/read_moves");
    private static final Sql HAS_PLACE = Sql.named("derived/move/has_place");
    private static final Sql READ_MARKS = Sql.named("access/places/read_marks");
    private static final Sql READ_ENDS = Sql.named("access/places/read_ends");
    private static final Sql READ_NOTED_ENDS = Sql.named("tools/ops/read_noted_ends");
    private static final Sql IDENTIFY_DATABASE = Sql.named("kernel/database/identify_database");

    private final Map<String, Connection> connections = new LinkedHashMap<>();

    /**
     * A project's row in one database, and the end of its feed and log there.
     *
     * @param placement as in {@code annals.project}, like the next three
     * @param row as JSON
     */
    record Copy(
            String database,
            String placement,
            long epoch,
            boolean moving,
            @Nullable String movedTo,
            long head,
            int mark,
            long logSize,
            String logRoot,
            String row) {

        boolean is(String asked) {
            return placement.equals(asked);
        }

        /** Whether it is read here. */
        boolean active() {
            return is("here") || is("sealed");
        }

        /** Whether it waits for {@code annals reconcile}, or keeps records that the project's database lacks. */
        boolean suspended() {
            return is("sealed") && !moving;
        }
    }

    /**
     * A row of {@code annals.move}.
     *
     * @param head 0 unless the move was decided, like {@code logSize}
     */
    record Move(
            UUID id,
            String source,
            String target,
            long epoch,
            String state,
            long head,
            long logSize,
            @Nullable String logRoot) {

        boolean decided() {
            return state.equals("switched") || state.equals("done");
        }

        boolean open() {
            return !state.equals("done") && !state.equals("cancelled");
        }

        boolean cancelled() {
            return state.startsWith("cancel");
        }
    }

    /** @param copies by their databases, home first */
    record Project(UUID id, String name, Map<String, Copy> copies, List<Move> moves) {

        /** The last move that was decided. */
        @Nullable
        Move decided() {
            return moves.stream().filter(Move::decided).findFirst().orElse(null);
        }

        @Nullable
        Move open() {
            return moves.stream().filter(Move::open).findFirst().orElse(null);
        }

        List<Copy> active() {
            return copies.values().stream().filter(Copy::active).toList();
        }

        @Override
        public String toString() {
            return id + " (" + name + ")";
        }
    }

    /**
     * The end of an administration's feed and log, as another database has noted it.
     *
     * @param database the one that was noted
     */
    record NotedEnd(String database, String notedBy, UUID id, long head, int mark, long logSize, String logRoot) {}

    private Placements() {}

    /** @param databases home first */
    static Placements open(Map<String, DatabaseUrl> databases) throws SQLException {
        Placements opened = new Placements();
        try {
            for (Map.Entry<String, DatabaseUrl> database : databases.entrySet()) {
                opened.connections.put(database.getKey(), database.getValue().connect());
            }
            return opened;
        } catch (SQLException e) {
            opened.close();
            throw e;
        }
    }

    @Override
    public void close() throws SQLException {
        for (Connection connection : connections.values()) {
            connection.close();
        }
    }

    /**
     * Requires that each URL leads to the database of its name.
     *
     * @throws IllegalArgumentException if one does not, so that a project would be counted twice, or in a wrong database
     */
    void requireNames() throws SQLException {
        for (String name : names()) {
            each(IDENTIFY_DATABASE.binds(), of(name), row -> {
                String found = row.getString("name");
                if (!Objects.equals(found, name.equals(home()) ? null : name)) {
                    throw new IllegalArgumentException("The URL of " + name + " leads to "
                            + (found == null ? "a database that is no member" : "the database " + found)
                            + ". Correct it; if the database is new, run annals migrate.");
                }
            });
        }
    }

    Connection of(String database) {
        Connection known = connections.get(database);
        if (known == null) {
            throw new IllegalArgumentException("ANNALS_DATABASES does not name the database " + database + ".");
        }
        return known;
    }

    /** Home first. */
    Collection<String> names() {
        return connections.keySet();
    }

    String home() {
        return connections.keySet().iterator().next();
    }

    /** Reads all projects, in the order of their ids. */
    List<Project> read() throws SQLException {
        Map<UUID, Project> projects = new TreeMap<>();
        for (Map.Entry<String, Connection> database : connections.entrySet()) {
            each(READ_PLACEMENTS.bind("id", null), database.getValue(), row -> {
                UUID id = row.getObject("id", UUID.class);
                String name = row.getString("name");
                projects.computeIfAbsent(id, unseen -> new Project(id, name, new LinkedHashMap<>(), new ArrayList<>()))
                        .copies
                        .put(database.getKey(), copy(database.getKey(), row));
            });
        }
        each(READ_MOVES.binds(), of(home()), row -> {
            Project moved = projects.get(row.getObject("project_id", UUID.class));
            if (moved != null) {
                moved.moves.add(move(row));
            }
        });
        return List.copyOf(projects.values());
    }

    private static Copy copy(String database, ResultSet row) throws SQLException {
        return new Copy(
                database,
                row.getString("placement"),
                row.getLong("epoch"),
                row.getBoolean("moving"),
                row.getString("moved_to"),
                row.getLong("head"),
                row.getInt("mark"),
                row.getLong("log_size"),
                row.getString("log_root"),
                row.getString("project"));
    }

    private static Move move(ResultSet row) throws SQLException {
        return new Move(
                row.getObject("id", UUID.class),
                row.getString("source"),
                row.getString("target"),
                row.getLong("epoch"),
                row.getString("state"),
                row.getLong("head"),
                row.getLong("log_size"),
                row.getString("log_root"));
    }

    /** Whether {@code other} has the last record of a copy at the same place. */
    boolean contains(Copy other, UUID project, Copy copy) throws SQLException {
        return copy.head == 0 || (copy.head <= other.head && hasPlace(other.database, project, copy.head, copy.mark));
    }

    boolean hasPlace(String database, UUID project, long sequenceId, int mark) throws SQLException {
        List<Boolean> known = new ArrayList<>();
        each(
                HAS_PLACE
                        .bind("project_id", project)
                        .bind("sequence_id", sequenceId)
                        .bind("mark", mark),
                of(database),
                row -> known.add(row.getBoolean("known")));
        return known.get(0);
    }

    /** The mark of a place in a copy, which a member that never had the project cannot know; null if it has none there. */
    @Nullable
    Integer mark(Copy copy, UUID project, long sequenceId) throws SQLException {
        List<Integer> found = new ArrayList<>();
        each(
                READ_MARKS.bind("projects", new UUID[] {project}).bind("heads", new Long[] {sequenceId}),
                of(copy.database),
                row -> {
                    Integer[] marks = (Integer[]) row.getArray("marks").getArray();
                    found.add(marks[0]);
                });
        return found.get(0);
    }

    /** The members that home knows, by name, with their ids. */
    Map<String, UUID> members() throws SQLException {
        Map<String, UUID> members = new LinkedHashMap<>();
        each(READ_ENDS.binds(), of(home()), row -> {
            if (connections.containsKey(row.getString("name"))) {
                members.put(row.getString("name"), row.getObject("id", UUID.class));
            }
        });
        return members;
    }

    /** The ends that each database has noted of the others. */
    List<NotedEnd> notedEnds() throws SQLException {
        Map<UUID, String> names = new LinkedHashMap<>();
        for (String name : names()) {
            each(IDENTIFY_DATABASE.binds(), of(name), row -> names.put(row.getObject("id", UUID.class), name));
        }
        List<NotedEnd> noted = new ArrayList<>();
        for (String by : names()) {
            each(READ_NOTED_ENDS.binds(), of(by), row -> {
                UUID id = row.getObject("id", UUID.class);
                String name = names.get(id);
                if (name != null) {
                    noted.add(new NotedEnd(
                            name,
                            by,
                            id,
                            row.getLong("head"),
                            row.getInt("mark"),
                            row.getLong("log_size"),
                            row.getString("log_root")));
                }
            });
        }
        return noted;
    }

    private interface RowReader {
        void read(ResultSet row) throws SQLException;
    }

    private static void each(Binds statement, Connection connection, RowReader reader) throws SQLException {
        try (PreparedStatement select = statement.prepare(connection);
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                reader.read(row);
            }
        }
    }

    static boolean isHere(Connection connection, UUID project) throws SQLException {
        List<Copy> found = new ArrayList<>();
        each(READ_PLACEMENTS.bind("id", project), connection, row -> found.add(copy("", row)));
        return found.stream().anyMatch(Copy::active);
    }
}
