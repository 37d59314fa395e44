package dev.annals.derived.facets;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.places.Places;
import dev.annals.core.feed.PageAnswers;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestParameters;
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
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Completes what a reader types, from the project's dictionary: {@code GET /v1/project-logs/suggestions}. The dictionary is of the whole
 * project, so links to some of its records are refused.
 */
@Path("/v1/project-logs/suggestions")
@Produces(MediaType.APPLICATION_JSON)
public class SuggestionsResource {

    private static final Sql SUGGEST_TERMS = Sql.named("derived/facets/suggest_terms");
    private static final List<String> KNOWN = List.of("field", "prefix", "limit");
    private static final int MAX_PREFIX = 256;
    private static final int DEFAULT_LIMIT = 10;
    private static final int MAX_LIMIT = 50;
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,3}");

    /** A term as read and as JSON. */
    private static final long TERM_BYTES = 8_192;

    /** The dictionary's numbers of fields. */
    private static final Map<String, Integer> FIELDS = new LinkedHashMap<>();

    static {
        FIELDS.put("action", 1);
        FIELDS.put("actor.type", 12);
        FIELDS.put("subject.type", 13);
        FIELDS.put("outcome", 4);
        FIELDS.put("metadata", 14);
        FIELDS.put("word", 6);
    }

    private final Places places;
    private final PageAnswers answers;

    SuggestionsResource(Places places, PageAnswers answers) {
        this.places = places;
        this.answers = answers;
    }

    @GET
    @Requires(Scope.BROWSE)
    public Uni<Response> suggestProjectLogTerms(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, KNOWN);
        UUID projectId = Caller.of(request).projectId();
        String field = field(parameters.getFirst("field"));
        String prefix = prefix(parameters.getFirst("prefix"));
        int limit = limit(parameters.getFirst("limit"));
        return answers.within(
                projectId,
                limit * TERM_BYTES,
                held -> places.on(
                                projectId,
                                database -> DatabaseFailure.retried(SUGGEST_TERMS
                                        .bind("project_id", projectId)
                                        .bind("field", FIELDS.get(field))
                                        .bind("prefix", prefix)
                                        .bind("limit", limit)
                                        .execute(database.reads())))
                        .map(rows -> answers.body(http, answer(field, rows), MediaType.APPLICATION_JSON, held)));
    }

    private static String field(@Nullable String name) {
        if (name == null || !FIELDS.containsKey(name)) {
            throw RequestParameters.invalid("field", "It is one of " + String.join(", ", FIELDS.keySet()) + ".");
        }
        return name;
    }

    private static String prefix(@Nullable String text) {
        if (text == null) {
            return "";
        }
        // PostgreSQL cannot store a NUL or half of a surrogate pair.
        if (text.length() > MAX_PREFIX || text.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            throw RequestParameters.invalid("prefix", "It has at most " + MAX_PREFIX + " characters, and no NUL.");
        }
        return text;
    }

    private static int limit(@Nullable String number) {
        if (number == null) {
            return DEFAULT_LIMIT;
        }
        int limit = NUMBER.matcher(number).matches() ? Integer.parseInt(number) : 0;
        if (limit < 1 || limit > MAX_LIMIT) {
            throw RequestParameters.invalid("limit", "It is a number from 1 to " + MAX_LIMIT + ".");
        }
        return limit;
    }

    private static byte[] answer(String field, RowSet<Row> rows) {
        return JsonBody.toBytes(1_024, json -> {
            json.writeStartObject();
            json.writeStringField("field", field);
            json.writeArrayFieldStart("values");
            for (Row row : rows) {
                json.writeString(row.getString("term"));
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
