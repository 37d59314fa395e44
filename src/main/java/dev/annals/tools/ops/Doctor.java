package dev.annals.tools.ops;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code doctor}: names what a running deployment lacks of the guarantees, and the setting or file that mends it. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description =
                "Examines a running deployment, and names what it lacks of the guarantees, with the setting or file that mends"
                        + " it. Reads the database in ANNALS_DATABASE_URL, as the schema's owner, or the embedded one in ANNALS_DATA_DIR, and"
                        + " asks the service in ANNALS_URL. Changes nothing.",
        exitCodeOnExecutionException = Verify.UNCHECKED,
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {"0:nothing is missing", "1:something is missing", "2:the database cannot be read"})
@RegisterForReflection
public final class Doctor implements Callable<Integer> {

    @Spec
    @Nullable
    CommandSpec command;

    @Option(
            names = "--service",
            paramLabel = "<url>",
            defaultValue = "${env:ANNALS_URL:-http://localhost:8080}",
            description = "The URL of the service. Default: ${DEFAULT-VALUE}.")
    URI service = URI.create("http://localhost:8080");

    @Option(
            names = "--log-key",
            paramLabel = "<file>",
            description = "Your copy of the key of the logs, to be compared with what is signed.")
    @Nullable
    Path logKey;

    @Option(
            names = "--streams-key",
            paramLabel = "<file>",
            description = "Your copy of the key of the streams, to be tried on their secrets.")
    @Nullable
    Path streamsKey;

    @Option(names = "--json", description = "Print an array of objects: check, state, found, mend.")
    boolean json;

    /** This machine's. */
    Clock clock = Clock.systemUTC();

    @Override
    public Integer call() throws IOException, InterruptedException {
        boolean own = DatabaseUrl.configured(StartSettings.read()).isEmpty();
        ServiceAnswer answer = ServiceAnswer.of(service, clock);
        try {
            return OperatedDatabase.runAll(databases -> {
                List<Finding> findings = new ArrayList<>();
                for (Map.Entry<String, DatabaseUrl> database : databases.entrySet()) {
                    findings.addAll(
                            findings.isEmpty()
                                    ? examine(database.getValue(), own, answer)
                                    : examineMember(database.getKey(), database.getValue(), own, answer));
                }
                return print(findings);
            });
        } catch (SQLException e) {
            throw new IllegalArgumentException(
                    "The deployment cannot be examined: " + e.getMessage()
                            + ". Connect as the owner of the schema, after annals migrate.",
                    e);
        }
    }

    /** @param own whether the service runs the database itself */
    List<Finding> examine(DatabaseUrl database, boolean own, ServiceAnswer answer) throws SQLException {
        try (Connection connection = database.connect();
                Connection other = database.connect()) {
            return new Examination(connection, other, own, answer, clock).findings(logKey, streamsKey);
        }
    }

    private List<Finding> examineMember(String name, DatabaseUrl database, boolean own, ServiceAnswer answer) {
        try (Connection connection = database.connect();
                Connection other = database.connect()) {
            return new Examination(connection, other, own, answer, clock).ofMember(name);
        } catch (SQLException e) {
            return List.of(Finding.missing(
                    name + ": database",
                    "It cannot be examined: " + e.getMessage(),
                    "Connect as the owner of the schema, after annals migrate."));
        }
    }

    private int print(List<Finding> findings) {
        PrintWriter out = Objects.requireNonNull(command).commandLine().getOut();
        out.print(json ? objects(findings) : table(findings));
        out.flush();
        return findings.stream().anyMatch(finding -> finding.state() == Finding.State.MISSING) ? 1 : 0;
    }

    private static String objects(List<Finding> findings) {
        ArrayNode array = JsonNodeFactory.instance.arrayNode();
        findings.forEach(finding -> array.addObject()
                .put("check", finding.check())
                .put("state", name(finding))
                .put("found", finding.found())
                .put("mend", finding.mend()));
        try {
            return new ObjectMapper().writeValueAsString(array) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String table(List<Finding> findings) {
        int widest = findings.stream()
                .mapToInt(finding -> finding.check().length())
                .max()
                .orElse(0);
        StringBuilder text = new StringBuilder();
        String next = "\n" + " ".repeat(widest + 11);
        for (Finding finding : findings) {
            text.append(finding.check())
                    .append(" ".repeat(widest - finding.check().length() + 2))
                    .append(String.format(Locale.ROOT, "%-9s", name(finding)))
                    .append(finding.found())
                    .append(finding.mend().isEmpty() ? "" : next + finding.mend())
                    .append('\n');
        }
        return text.toString();
    }

    private static String name(Finding finding) {
        return finding.state().name().toLowerCase(Locale.ROOT);
    }
}
