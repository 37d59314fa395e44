package dev.annals.tools.cli;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The filters of the feed as options. */
@RegisterForReflection
final class Filters {

    @Option(names = "--start", paramLabel = "TIME", description = "Only records of this time or later (RFC 3339).")
    @Nullable
    String start;

    @Option(names = "--end", paramLabel = "TIME", description = "Only records before this time.")
    @Nullable
    String end;

    @Option(names = "--action", description = "Only records with this action.")
    @Nullable
    String action;

    @Option(names = "--actor", description = "Only records whose actor has this id or name.")
    @Nullable
    String actor;

    @Option(names = "--subject", description = "Only records whose subject has this id or name.")
    @Nullable
    String subject;

    @Option(names = "--outcome", description = "Only records with this outcome.")
    @Nullable
    String outcome;

    @Option(names = "--ip-address", paramLabel = "ADDRESS", description = "Only records with this IP address.")
    @Nullable
    String ipAddress;

    @Option(
            names = "--q",
            paramLabel = "QUERY",
            description = "Only records that this query matches: see annals search.")
    @Nullable
    String query;

    @Option(
            names = "--recorded-by",
            paramLabel = "WRITER",
            description = "Only records by this writer: token: and the token's id, or role: and the database role.")
    @Nullable
    String recordedBy;

    /** The filters as query parameters, in a map that the caller may extend. */
    Map<String, @Nullable String> parameters() {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("start", start);
        parameters.put("end", end);
        parameters.put("action", action);
        parameters.put("actor", actor);
        parameters.put("subject", subject);
        parameters.put("outcome", outcome);
        parameters.put("ip_address", ipAddress);
        parameters.put("q", query);
        parameters.put("recorded_by", recordedBy);
        return parameters;
    }
}
