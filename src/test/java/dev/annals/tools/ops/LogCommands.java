package dev.annals.tools.ops;

import dev.annals.kernel.database.DatabaseUrl;
import java.sql.SQLException;
import java.util.UUID;

/** An operator's commands, on a database that a test names. Each gives its exit code. */
public final class LogCommands {

    private LogCommands() {}

    public static int resume(DatabaseUrl database, UUID project) throws SQLException {
        return LogCommand.resume(database, project.toString());
    }

    public static int nextEpoch(DatabaseUrl database, UUID project, boolean anew) throws SQLException {
        return LogCommand.nextEpoch(database, project.toString(), anew, "a test");
    }
}
