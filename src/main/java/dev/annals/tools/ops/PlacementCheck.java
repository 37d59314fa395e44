package dev.annals.tools.ops;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Compares what databases say about the places of projects: each is here in exactly one, and home knows in which. */
final class PlacementCheck {

    private static final Sql READ_PLACEMENTS = Sql.named("tools/ops/read_placements");

    /** The databases that have a project, and the one that home names; null if home does not know it. */
    private static final class Known {
        private String name = "";
        private final List<String> here = new ArrayList<>();
        private @Nullable String byHome;
    }

    private PlacementCheck() {}

    /**
     * A line for each project that is in no database or in several, or in another one than home says.
     *
     * @param databases home first
     */
    static List<String> findings(Map<String, DatabaseUrl> databases) throws SQLException {
        List<String> findings = read(databases);
        if (!findings.isEmpty()) {
            // A project may have moved between two databases that were read.
            findings.retainAll(read(databases));
        }
        return findings;
    }

    private static List<String> read(Map<String, DatabaseUrl> databases) throws SQLException {
        String home = databases.keySet().iterator().next();
        Map<UUID, Known> projects = new TreeMap<>();
        for (Map.Entry<String, DatabaseUrl> database : databases.entrySet()) {
            try (Connection connection = database.getValue().connect();
                    PreparedStatement select = READ_PLACEMENTS.bind("id", null).prepare(connection);
                    ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    Known known = projects.computeIfAbsent(row.getObject("id", UUID.class), id -> new Known());
                    known.name = row.getString("name");
                    if (row.getBoolean("here")) {
                        known.here.add(database.getKey());
                    }
                    if (database.getKey().equals(home)) {
                        String other = row.getString("moved_to");
                        known.byHome = other == null ? home : other;
                    }
                }
            }
        }
        List<String> findings = new ArrayList<>();
        projects.forEach((id, known) -> {
            String finding = finding(known);
            if (finding != null) {
                findings.add(id + " (" + known.name + "): " + finding);
            }
        });
        return findings;
    }

    private static @Nullable String finding(Known known) {
        if (known.here.size() > 1) {
            return "the project is in several databases: " + String.join(", ", known.here);
        }
        if (known.here.isEmpty()) {
            return "the project is in no database"
                    + (known.byHome == null ? "" : "; home says that it is in " + known.byHome);
        }
        String database = known.here.get(0);
        if (known.byHome == null) {
            return "the project is in " + database + ", and home does not know it; create it there by its name";
        }
        return known.byHome.equals(database)
                ? null
                : "the project is in " + database + ", and home says that it is in " + known.byHome;
    }

    static boolean isHere(Connection connection, UUID project) throws SQLException {
        try (PreparedStatement select = READ_PLACEMENTS.bind("id", project).prepare(connection);
                ResultSet row = select.executeQuery()) {
            return row.next() && row.getBoolean("here");
        }
    }
}
