package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedQuery;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestFields;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.MultivaluedMap;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The definition of a stream in a request.
 *
 * @param url without a secret
 * @param secret null to keep the stored secret
 * @param filter a JSON object: filters by their names
 * @param cursor the first cursor of a new stream
 */
record StreamRequest(
        SinkType sinkType,
        String url,
        @Nullable String secret,
        StreamFormat format,
        String filter,
        String onRefusal,
        int maxRefusals,
        boolean allProjects,
        boolean archive,
        Cursor cursor) {

    private static final String SINK = "sink";
    private static final String FORMAT = "format";
    private static final String ON_REFUSAL = "on_refusal";
    private static final String MAX_REFUSALS = "max_refusals";
    private static final String ALL_PROJECTS = "all_projects";
    private static final String ARCHIVE = "archive";
    private static final String CURSOR = "cursor";
    private static final String PROJECT_ID = "project_id";
    private static final int MAX_URL = 2_048;
    private static final int MAX_SECRET = 512;
    private static final int MAX_FILTER = 1_024;
    private static final int DEFAULT_MAX_REFUSALS = 5;
    private static final int MOST_REFUSALS = 100;
    private static final Set<String> KNOWN = known();

    private static Set<String> known() {
        Set<String> known = new HashSet<>(FeedQuery.FILTERS);
        known.addAll(List.of(SINK, FORMAT, ON_REFUSAL, MAX_REFUSALS, ALL_PROJECTS, ARCHIVE, CURSOR));
        return known;
    }

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static StreamRequest read(byte[] body) {
        RequestFields fields = new RequestFields(body, KNOWN);
        RequestFields sink = fields.object(SINK, Set.of("type", "url", "secret"));
        SinkType type = SinkType.of(orEmpty(sink.text("type", 32, false))).orElse(null);
        if (type == null) {
            fields.wrong(SINK + "/type", "It must be " + SinkType.names() + ".");
        }
        String url = orEmpty(sink.text("url", MAX_URL, true));
        String secret = sink.text("secret", MAX_SECRET, false);
        StreamFormat format = StreamFormat.of(
                        orElse(fields.text(FORMAT, 32, fields.has(FORMAT)), StreamFormat.JSON.text()))
                .orElse(null);
        if (format == null) {
            fields.wrong(FORMAT, "It must be one of " + StreamFormat.names() + ".");
        } else if (type != null && !format.suits(type)) {
            fields.wrong(FORMAT, "A sink of the type " + type.text() + " cannot have this format.");
        }
        if (type != null && format != null && !url.isEmpty()) {
            type.check(format, url, secret, (field, detail) -> fields.wrong(SINK + "/" + field, detail));
        }
        String onRefusal = orElse(fields.text(ON_REFUSAL, 32, fields.has(ON_REFUSAL)), NamedStream.STOP);
        if (!onRefusal.equals(NamedStream.STOP) && !onRefusal.equals(NamedStream.DEAD_LETTER)) {
            fields.wrong(ON_REFUSAL, "It must be stop or dead_letter.");
        }
        int maxRefusals = maxRefusals(fields);
        String filter = filter(fields);
        boolean allProjects = isTrue(fields, ALL_PROJECTS);
        boolean archive = isTrue(fields, ARCHIVE);
        Cursor cursor = cursor(fields, false);
        if (allProjects && !cursor.equals(Cursor.START)) {
            fields.wrong(CURSOR, "A stream of all projects begins with the oldest records: leave it out.");
        }
        if (allProjects && format != null && !format.pause().isZero()) {
            fields.wrong(
                    ALL_PROJECTS,
                    "Slack, Teams and PagerDuty limit the rate of messages: deliver one feed, such as the administration's.");
        }
        boolean isWhole = allProjects && filter.equals("{}") && onRefusal.equals(NamedStream.STOP);
        if (archive && !(isWhole && type == SinkType.S3 && format == StreamFormat.JSON)) {
            fields.wrong(
                    ARCHIVE,
                    "Only a stream of all projects to S3 can be an archive, in the format json, without a filter, and with on_refusal"
                            + " stop.");
        }
        fields.requireValid();
        if (type == null || format == null) {
            throw new IllegalStateException("a missing field is a wrong field");
        }
        return new StreamRequest(
                type, url, secret, format, filter, onRefusal, maxRefusals, allProjects, archive, cursor);
    }

    /**
     * The new cursor of a stream.
     *
     * @param feed the project of the feed; null for all feeds that the stream follows
     */
    record Rewind(Cursor cursor, @Nullable UUID feed) {}

    /**
     * Reads {@code {"cursor": "…", "project_id": "…"}}; the project is optional.
     *
     * @throws ProblemException {@code malformed-json} or {@code invalid-body}
     */
    static Rewind readRewind(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of(CURSOR, PROJECT_ID));
        Cursor cursor = cursor(fields, true);
        String project = fields.text(PROJECT_ID, 36, false);
        UUID feed = project == null ? null : CanonicalGuid.parse(project);
        if (project != null && feed == null) {
            fields.wrong(PROJECT_ID, "It must be the id of a project.");
        }
        fields.requireValid();
        return new Rewind(cursor, feed);
    }

    private static boolean isTrue(RequestFields fields, String name) {
        JsonNode value = fields.get(name);
        if (fields.has(name) && (value == null || !value.isBoolean())) {
            fields.wrong(name, "It must be true or false.");
        }
        return value != null && value.booleanValue();
    }

    private static Cursor cursor(RequestFields fields, boolean required) {
        String text = fields.text(CURSOR, 64, required);
        if (text == null) {
            return Cursor.START;
        }
        return Cursor.parse(text).orElseGet(() -> {
            fields.wrong(CURSOR, "It is the cursor of a page, a sequence id, or 0 for the beginning.");
            return Cursor.START;
        });
    }

    private static int maxRefusals(RequestFields fields) {
        JsonNode value = fields.get(MAX_REFUSALS);
        int refusals = !fields.has(MAX_REFUSALS)
                ? DEFAULT_MAX_REFUSALS
                : value != null && value.isInt() ? value.intValue() : 0;
        if (refusals < 1 || refusals > MOST_REFUSALS) {
            fields.wrong(MAX_REFUSALS, "It must be a whole number from 1 to " + MOST_REFUSALS + ".");
        }
        return refusals;
    }

    private static String filter(RequestFields fields) {
        Map<String, String> filter = new LinkedHashMap<>();
        for (String name : FeedQuery.FILTERS) {
            String text = fields.text(name, MAX_FILTER, false);
            if (text != null) {
                filter.put(name, text);
                check(fields, name, Map.of(name, text));
            }
        }
        if (filter.containsKey("start") && filter.containsKey("end")) {
            check(fields, "end", Map.of("start", filter.get("start"), "end", filter.get("end")));
        }
        return new String(
                JsonBody.toBytes(256, json -> {
                    json.writeStartObject();
                    for (Map.Entry<String, String> entry : filter.entrySet()) {
                        json.writeStringField(entry.getKey(), entry.getValue());
                    }
                    json.writeEndObject();
                }),
                StandardCharsets.UTF_8);
    }

    private static void check(RequestFields fields, String name, Map<String, String> filter) {
        MultivaluedMap<String, String> parameters = new MultivaluedHashMap<>();
        filter.forEach(parameters::add);
        try {
            FeedQuery.readFilter(parameters);
        } catch (ProblemException e) {
            fields.wrong(name, e.problem().detail());
        }
    }

    private static String orEmpty(@Nullable String text) {
        return orElse(text, "");
    }

    private static String orElse(@Nullable String text, String otherwise) {
        return text == null ? otherwise : text;
    }
}
