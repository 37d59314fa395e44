package dev.annals.derived.statistics;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.places.Places;
import dev.annals.core.feed.PageAnswers;
import dev.annals.derived.statistics.StatisticsQuery.Dimension;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.MemoryBudget;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.io.IOException;
import java.util.Set;
import java.util.UUID;

/** Statistics over HTTP: {@code GET /v1/project-logs/statistics}. */
@Path("/v1/project-logs/statistics")
@Produces(MediaType.APPLICATION_JSON)
public class StatisticsResource {

    private static final Sql READ_STATISTICS = Sql.named("derived/statistics/read_statistics");
    private static final Sql READ_DAILY_TOTALS = Sql.named("derived/statistics/read_daily_totals");

    /** Without texts. */
    private static final long RESULT_BYTES = 320;
    /** The memory of a byte of text: two in a result, one in the answer, and one in a copy of the answer. */
    private static final long BYTES_HELD_PER_BYTE = 4;

    /** The default of a day's combinations. They take 3 MiB. */
    private static final int MAX_RESULTS = 10_000;
    /** In memory {@link #BYTES_HELD_PER_BYTE} times. */
    private static final long MAX_TEXT_BYTES = 2_097_152;
    /** The database adds up so many counts in about a second. */
    private static final int MAX_COUNTS = 1_000_000;

    private final Places places;
    private final PageAnswers answers;
    private final long memoryBytes;

    StatisticsResource(Places places, PageAnswers answers, MemoryBudget memory) {
        this.places = places;
        this.answers = answers;
        this.memoryBytes =
                Math.min(memory.holderLimit(), MAX_RESULTS * RESULT_BYTES + MAX_TEXT_BYTES * BYTES_HELD_PER_BYTE);
    }

    @GET
    @Requires(Scope.BROWSE)
    public Uni<Response> countProjectLogs(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        StatisticsQuery query = StatisticsQuery.read(uri.getQueryParameters());
        return answers.within(
                projectId,
                memoryBytes,
                held -> DatabaseFailure.retried(read(projectId, query))
                        .map(rows -> answers.body(http, answer(query, rows), MediaType.APPLICATION_JSON, held)));
    }

    private Uni<RowSet<Row>> read(UUID projectId, StatisticsQuery query) {
        boolean byDayAlone = query.by().equals(Set.of(Dimension.DAY));
        Binds binds = (byDayAlone ? READ_DAILY_TOTALS : READ_STATISTICS)
                .bind("project_id", projectId)
                .bind("start", query.start())
                .bind("end", query.end())
                .bind("limit", MAX_RESULTS);
        if (!byDayAlone) {
            binds.bind("scan_limit", MAX_COUNTS).bind("bytes", MAX_TEXT_BYTES);
            for (Dimension dimension : Dimension.values()) {
                binds.bind("by_" + dimension.text(), query.by().contains(dimension));
            }
        }
        return places.on(projectId, database -> binds.execute(database.reads()));
    }

    private byte[] answer(StatisticsQuery query, RowSet<Row> rows) {
        Row first = rows.iterator().next();
        if (!first.getBoolean("complete")) {
            throw new ProblemException(
                    ProblemType.RESULT_TOO_LARGE,
                    "The answer would have more than " + MAX_RESULTS + " results or " + MAX_TEXT_BYTES
                            + " bytes of text, or be made from more than "
                            + MAX_COUNTS
                            + " counts. Ask for fewer days (start, end), or count fewer things separately (by).");
        }
        return JsonBody.toBytes(128 + rows.size() * 64, json -> write(query, first, rows, json));
    }

    private static void write(StatisticsQuery query, Row first, RowSet<Row> rows, JsonGenerator json)
            throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("by");
        for (Dimension dimension : query.by()) {
            json.writeString(dimension.text());
        }
        json.writeEndArray();
        json.writeNumberField("through", first.getLong("through"));
        if (first.getLong("others") != null) {
            json.writeNumberField("others", first.getLong("others"));
        }
        json.writeArrayFieldStart("results");
        for (Row row : rows) {
            if (row.getLong("record_count") != null) {
                writeResult(query, row, json);
            }
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writeResult(StatisticsQuery query, Row row, JsonGenerator json) throws IOException {
        json.writeStartObject();
        for (Dimension dimension : query.by()) {
            String value =
                    dimension == Dimension.DAY ? row.getLocalDate("day").toString() : row.getString(dimension.text());
            if (value != null) {
                json.writeStringField(dimension.text(), value);
            }
        }
        json.writeNumberField("count", row.getLong("record_count"));
        json.writeEndObject();
    }
}
