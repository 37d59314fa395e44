package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.edges.export.Verdict;
import dev.annals.kernel.http.Timestamps;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A record as a short notice for people: what chats and pagers show.
 *
 * <p>Each text is one line without control characters and without characters that reorder other text, and is cut. A receiver still has
 * to escape its own markup.
 *
 * @param title at most {@value #MAX_SHORT} code points
 * @param severity as PagerDuty has it: error for an alert, warning for a failure, otherwise info
 * @param facts values by their names, in order; at most {@value #MAX_LONG} code points each
 * @param link to the viewer, at most {@value #MAX_LINK} characters of a URL; null without {@code ANNALS_PUBLIC_URL}
 */
record Notice(
        String title,
        String severity,
        Map<String, String> facts,
        @Nullable String link) {

    static final int MAX_SHORT = 300;
    static final int MAX_LONG = 600;
    static final int MAX_LINK = 2_000;
    static final String ALERT = AuditRecord.RESERVED + "alert.raise";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String MESSAGE = "Message";
    private static final int MAX_SUMMARY = 512;
    private static final int MINUTE = 60;
    private static final int HOUR = 3_600;

    /** Title and message, at most 1,024 characters of UTF-16. */
    String summary() {
        String message = facts.get(MESSAGE);
        return cut(message == null ? title : title + ": " + message, MAX_SUMMARY);
    }

    /** @param viewer its URL, with the slash at the end */
    static Notice of(UUID projectId, StoredRecord stored, @Nullable String viewer) {
        AuditRecord record = stored.record();
        JsonNode alert = record.action().equals(ALERT) ? object(record.metadata()) : MissingNode.getInstance();
        return alert.isObject() ? ofAlert(record, alert, viewer) : ofRecord(projectId, record, viewer);
    }

    private static Notice ofAlert(AuditRecord record, JsonNode alert, @Nullable String viewer) {
        String name = record.subject() == null
                ? ""
                : Objects.requireNonNullElse(record.subject().name(), "");
        int seconds = alert.path("interval_seconds").asInt();
        String q = alert.path("q").asText();
        Map<String, String> facts = new LinkedHashMap<>();
        add("Project", alert.path("project").asText(), MAX_SHORT, facts);
        add("Query", q, MAX_LONG, facts);
        add("Count", alert.path("count").asText(), MAX_SHORT, facts);
        add(
                "Window",
                alert.path("window_start").asText() + " to "
                        + alert.path("window_end").asText(),
                MAX_SHORT,
                facts);
        String last = alert.path("last_sequence_id").asText();
        add("Records", alert.path("first_sequence_id").asText() + " to " + last, MAX_SHORT, facts);
        String title =
                "Alert " + name + ": more than " + alert.path("threshold").asText() + " in " + interval(seconds);
        return new Notice(
                cut(title, MAX_SHORT),
                "error",
                facts,
                link(
                        viewer,
                        "q",
                        q,
                        "at",
                        last,
                        "project",
                        alert.path("project_id").asText()));
    }

    private static Notice ofRecord(UUID projectId, AuditRecord record, @Nullable String viewer) {
        Map<String, String> facts = new LinkedHashMap<>();
        add(MESSAGE, record.message(), MAX_LONG, facts);
        add("Actor", text(record.actor()), MAX_SHORT, facts);
        add("Subject", text(record.subject()), MAX_SHORT, facts);
        add("Outcome", record.outcome(), MAX_SHORT, facts);
        add("Address", record.ipAddress(), MAX_SHORT, facts);
        add("Time", Timestamps.format(record.timestamp()), MAX_SHORT, facts);
        add("Metadata", record.metadata(), MAX_LONG, facts);
        return new Notice(
                cut(record.action(), MAX_SHORT),
                Verdict.of(record.outcome()) == Verdict.FAILURE ? "warning" : "info",
                facts,
                link(viewer, "record", record.id().toString(), "project", projectId.toString()));
    }

    private static String interval(int seconds) {
        return seconds % HOUR == 0
                ? seconds / HOUR + " h"
                : seconds % MINUTE == 0 ? seconds / MINUTE + " min" : seconds + " s";
    }

    private static @Nullable String text(@Nullable Party party) {
        return party == null
                ? null
                : Stream.of(party.type(), party.id(), party.name())
                        .filter(Objects::nonNull)
                        .collect(Collectors.joining(" "));
    }

    private static void add(String name, @Nullable String value, int most, Map<String, String> facts) {
        if (value != null && !value.isBlank()) {
            facts.put(name, cut(value, most));
        }
    }

    /** A link that would be too long lacks its first parameter, the query. */
    private static @Nullable String link(@Nullable String viewer, String... parameters) {
        if (viewer == null) {
            return null;
        }
        for (int from = 0; from < parameters.length; from += 2) {
            StringBuilder link = new StringBuilder(viewer);
            for (int i = from; i < parameters.length; i += 2) {
                link.append(i == from ? '#' : '&')
                        .append(parameters[i])
                        .append('=')
                        .append(URLEncoder.encode(parameters[i + 1], StandardCharsets.UTF_8));
            }
            if (link.length() <= MAX_LINK) {
                return link.toString();
            }
        }
        return null;
    }

    private static JsonNode object(@Nullable String metadata) {
        try {
            return metadata == null ? MissingNode.getInstance() : JSON.readTree(metadata);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the database stores JSON", e);
        }
    }

    private static String cut(String text, int most) {
        StringBuilder out = new StringBuilder(Math.min(text.length(), 2 * most));
        text.codePoints().limit(most).map(Notice::harmless).forEach(out::appendCodePoint);
        if (text.codePointCount(0, text.length()) > most) {
            out.setLength(out.offsetByCodePoints(out.length(), -1));
            out.append('…');
        }
        return out.toString();
    }

    /** Embeddings, overrides and isolates of directions become U+FFFD: they could reorder the text of others. */
    private static int harmless(int c) {
        boolean turns = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
        return turns ? '\uFFFD' : SyslogMessage.harmless(c);
    }
}
