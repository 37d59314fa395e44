package dev.annals.edges.viewer;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.feed.FeedQuery;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestFields;
import dev.annals.kernel.http.RequestParameters;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A view that the readers of a project share.
 *
 * @param content the filter and the columns are JSON from the database
 */
record SavedView(UUID id, String name, Content content, OffsetDateTime changedAt) {

    /**
     * The content of a view.
     *
     * @param filter a JSON object: filters by their names
     * @param last a range that moves with the clock, such as {@code 24h}; null without one
     * @param columns a JSON array of the viewer's columns; null for the usual ones
     */
    record Content(
            String filter, @Nullable String last, @Nullable String columns) {}

    private static final String FILTER = "filter";
    private static final String LAST = "last";
    private static final String COLUMNS = "columns";
    private static final int MAX_FILTER = 1_024;
    /** The schema accepts twice as many, because it writes JSON with spaces. */
    private static final int MAX_BYTES = 8_192;

    private static final int MAX_COLUMNS = 24;
    private static final int MAX_COLUMN = 200;
    private static final Pattern LAST_TEXT = Pattern.compile("[1-9][0-9]{0,4}[smhdw]");
    /** The schema accepts the same. A name is one segment of a path. */
    private static final Pattern NAME =
            Pattern.compile("[^\\p{Cntrl}/.][^\\p{Cntrl}/]{0,79}", Pattern.UNICODE_CHARACTER_CLASS);

    static SavedView of(Row row) {
        return new SavedView(
                row.getUUID("id"),
                row.getString("name"),
                new Content(row.getString("filter"), row.getString("last"), row.getString("columns")),
                row.getOffsetDateTime("changed_at"));
    }

    /** @throws ProblemException {@code invalid-parameter} */
    static void requireName(String name) {
        if (!NAME.matcher(name).matches() || isBlank(name) || hasSurrogate(name)) {
            throw RequestParameters.invalid(
                    "name",
                    "It has 1 to 80 characters, none of them a control character or a slash, and does not begin with a dot.");
        }
    }

    private static boolean isBlank(String name) {
        return name.codePoints().allMatch(c -> Character.isWhitespace(c) || Character.isSpaceChar(c));
    }

    private static boolean hasSurrogate(String text) {
        return text.codePoints().anyMatch(c -> c >= 0xD800 && c <= 0xDFFF);
    }

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static Content read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of(FILTER, LAST, COLUMNS));
        Map<String, String> filter = filter(fields.object(FILTER, Set.copyOf(FeedQuery.FILTERS)));
        String last = fields.text(LAST, 6, false);
        if (last != null && !LAST_TEXT.matcher(last).matches()) {
            fields.wrong(LAST, "It is a number and s, m, h, d or w, such as 24h.");
        } else if (last != null && (filter.containsKey("start") || filter.containsKey("end"))) {
            fields.wrong(LAST, "A view has this range, or a start and an end.");
        }
        JsonNode columns = fields.get(COLUMNS);
        checkColumns(fields, columns);
        String filterText = text(json -> {
            json.writeStartObject();
            for (Map.Entry<String, String> entry : filter.entrySet()) {
                json.writeStringField(entry.getKey(), entry.getValue());
            }
            json.writeEndObject();
        });
        String columnsText = columns == null ? null : columns.toString();
        checkSize(fields, FILTER, filterText);
        checkSize(fields, COLUMNS, columnsText);
        fields.requireValid();
        return new Content(filterText, last, columnsText);
    }

    private static Map<String, String> filter(RequestFields fields) {
        Map<String, String> filter = new LinkedHashMap<>();
        for (String name : FeedQuery.FILTERS) {
            String text = fields.text(name, MAX_FILTER, false);
            if (text != null) {
                filter.put(name, text);
                MultivaluedMap<String, String> parameters = new MultivaluedHashMap<>();
                parameters.add(name, text);
                try {
                    FeedQuery.readFilter(parameters);
                } catch (ProblemException e) {
                    fields.wrong(name, e.problem().detail());
                }
            }
        }
        return filter;
    }

    private static void checkColumns(RequestFields fields, @Nullable JsonNode columns) {
        if (columns == null) {
            return;
        }
        Set<String> names = new HashSet<>();
        boolean valid = columns.isArray() && !columns.isEmpty() && columns.size() <= MAX_COLUMNS;
        for (int i = 0; valid && i < columns.size(); i++) {
            String name = columns.get(i).isTextual() ? columns.get(i).textValue() : "";
            valid = !name.isBlank()
                    && name.codePointCount(0, name.length()) <= MAX_COLUMN
                    && name.indexOf('\0') < 0
                    && !hasSurrogate(name)
                    && names.add(name);
        }
        if (!valid) {
            fields.wrong(
                    COLUMNS,
                    "It must be an array of 1 to " + MAX_COLUMNS + " different names of at most " + MAX_COLUMN
                            + " characters.");
        }
    }

    private static void checkSize(RequestFields fields, String name, @Nullable String json) {
        if (json != null && json.getBytes(StandardCharsets.UTF_8).length > MAX_BYTES) {
            fields.wrong(name, "It has at most " + MAX_BYTES + " bytes as JSON.");
        }
    }

    private static String text(JsonBody.Content writer) {
        return new String(JsonBody.toBytes(256, writer), StandardCharsets.UTF_8);
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeFieldName(FILTER);
        json.writeRawValue(content.filter());
        json.writeStringField(LAST, content.last());
        json.writeFieldName(COLUMNS);
        json.writeRawValue(content.columns() == null ? "null" : content.columns());
        json.writeStringField("changed_at", changedAt.toInstant().toString());
        json.writeEndObject();
    }
}
