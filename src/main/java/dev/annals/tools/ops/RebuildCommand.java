package dev.annals.tools.ops;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rebuild}: derives state from its events. */
@Command(
        name = "rebuild",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = RebuildCommand.Administration.class,
        description = "Derives state from a feed anew, and compares it with the stored state.")
@RegisterForReflection
public final class RebuildCommand {

    private static final Sql CHECK_ADMINISTRATION = Sql.named("tools/ops/check_administration");

    /** {@code rebuild administration}: projects, tokens, grants and holds. */
    @Command(
            name = "administration",
            mixinStandardHelpOptions = true,
            description =
                    "Derives projects, tokens, grants and holds from the feed of the project annals, and prints each"
                            + " difference to their tables. Needs the database's owner. Exit code 0: no differences; 1:"
                            + " some.")
    @RegisterForReflection
    static final class Administration implements Callable<Integer> {

        @Option(names = "--check", required = true, description = "Compares, and changes nothing.")
        boolean check;

        @Override
        public Integer call() throws SQLException {
            return OperatedDatabase.runAll(databases -> {
                int differ = 0;
                for (Map.Entry<String, DatabaseUrl> database : databases.entrySet()) {
                    differ |= compare(databases.size() == 1 ? "" : database.getKey() + ": ", database.getValue());
                }
                return differ;
            });
        }

        @SuppressWarnings("SystemOut") // a command line tool
        private static int compare(String prefix, DatabaseUrl database) throws SQLException {
            long differences = 0;
            try (Connection connection = database.connect();
                    PreparedStatement select = connection.prepareStatement(CHECK_ADMINISTRATION.text());
                    ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    differences++;
                    System.out.println(prefix + row.getString("finding"));
                }
            }
            System.out.println(prefix
                    + (differences == 0
                            ? "Projects, tokens, grants and holds are as their events say."
                            : "Projects, tokens, grants and holds differ from what their events say: " + differences
                                    + (differences == 1 ? " time." : " times.")));
            return differences == 0 ? 0 : 1;
        }
    }
}
