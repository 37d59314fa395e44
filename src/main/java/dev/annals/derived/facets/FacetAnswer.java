package dev.annals.derived.facets;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The counts of one request, and its answer. Used by one thread at a time. */
final class FacetAnswer {

    /** Columns of {@code count_facets.sql}, in the order of answers. */
    static final List<String> FIELDS = List.of("action", "actor", "subject", "outcome", "ip_address", "recorded_by");

    static final int OUTCOME = FIELDS.indexOf("outcome");
    static final int TOP_OUTCOMES = 10;

    private final List<String> names;
    private final ValueCounts[] counts;
    private final int[] missing;
    private final Timeline timeline;
    private int total;

    FacetAnswer(Timeline timeline, FacetsRequest request) {
        this.timeline = timeline;
        this.names = Stream.concat(FIELDS.stream(), request.paths().stream().map(FacetsRequest.MetadataPath::text))
                .toList();
        this.counts = names.stream().map(name -> new ValueCounts()).toArray(ValueCounts[]::new);
        this.missing = new int[names.size()];
    }

    /** The number of a request's fields, and of paths in the metadata. */
    static int fields(FacetsRequest request) {
        return FIELDS.size() + request.paths().size();
    }

    /** A record needs this memory until it is counted: numbers for its place, fields and time, as sent and as read. */
    static int bytesPerRecord(FacetsRequest request) {
        return (2 + fields(request)) * 36;
    }

    private static String column(int field) {
        return field < FIELDS.size() ? FIELDS.get(field) : "metadata_" + (field - FIELDS.size());
    }

    Timeline timeline() {
        return timeline;
    }

    /** Roughly. */
    long bytes() {
        long bytes = (long) Timeline.BYTES_PER_COUNT * timeline.size();
        for (ValueCounts field : counts) {
            bytes += (long) ValueCounts.BYTES_PER_KEY * field.size();
        }
        return bytes;
    }

    /**
     * Counts the records of a piece of the feed.
     *
     * @param row of {@code count_facets.sql}
     */
    void add(Row row) {
        Long[] places = row.getArrayOfLongs("sequence_id");
        if (places == null) {
            return;
        }
        total += places.length;
        for (int field = 0; field < counts.length; field++) {
            Long[] values = row.getArrayOfLongs(column(field));
            for (int i = 0; i < places.length; i++) {
                if (values[i] == null) {
                    missing[field]++;
                } else {
                    counts[field].add(values[i], places[i]);
                }
            }
        }
        Long[] outcomes = row.getArrayOfLongs(FIELDS.get(OUTCOME));
        Long[] starts = row.getArrayOfLongs("start");
        for (int i = 0; i < starts.length; i++) {
            timeline.add(starts[i], outcomes[i]);
        }
        timeline.coarsen();
    }

    /** The most frequent values of a field, with a record that has each. */
    List<ValueCounts.Group> top(int field, int most) {
        return counts[field].top(field == OUTCOME ? Math.max(most, TOP_OUTCOMES) : most);
    }

    /**
     * A value of a field, as the answer shows it.
     *
     * @param name of a party with an id
     */
    record Value(
            int field,
            long key,
            int count,
            String value,
            @Nullable String name) {}

    /** The counted part of the feed: the records after {@code from}, up to {@code through}. */
    record Extent(long through, long from, boolean complete) {}

    /**
     * Writes the answer.
     *
     * @param values by field, the most frequent first; those of {@link #top} that still exist
     */
    void write(Extent extent, int most, List<Value> values, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("through", extent.through());
        json.writeBooleanField("complete", extent.complete());
        json.writeNumberField("from", extent.from());
        json.writeNumberField("total", total);
        json.writeStringField("interval", timeline.interval().text());
        writeIntervals(of(OUTCOME, values), json);
        json.writeArrayFieldStart("facets");
        for (int field = 0; field < counts.length; field++) {
            writeFacet(field, most, of(field, values), json);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static List<Value> of(int field, List<Value> values) {
        return values.stream().filter(value -> value.field() == field).toList();
    }

    private void writeIntervals(List<Value> outcomes, JsonGenerator json) throws IOException {
        List<Value> shown = outcomes.subList(0, Math.min(TOP_OUTCOMES, outcomes.size()));
        json.writeArrayFieldStart("intervals");
        for (Map.Entry<Long, Map<@Nullable Long, Integer>> interval :
                timeline.counts().entrySet()) {
            Map<@Nullable Long, Integer> byOutcome = new HashMap<>(interval.getValue());
            json.writeStartObject();
            json.writeStringField(
                    "start", Instant.ofEpochSecond(interval.getKey()).toString());
            json.writeNumberField(
                    "count",
                    byOutcome.values().stream().mapToInt(count -> count).sum());
            json.writeArrayFieldStart("outcomes");
            for (Value outcome : shown) {
                Integer count = byOutcome.get(outcome.key());
                if (count != null) {
                    json.writeStartObject();
                    json.writeStringField("value", outcome.value());
                    json.writeNumberField("count", count);
                    json.writeEndObject();
                }
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void writeFacet(int field, int most, List<Value> values, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("field", names.get(field));
        json.writeArrayFieldStart("values");
        for (Value value : values.subList(0, Math.min(most, values.size()))) {
            json.writeStartObject();
            json.writeStringField("value", value.value());
            if (value.name() != null) {
                json.writeStringField("name", value.name());
            }
            json.writeNumberField("count", value.count());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeNumberField("distinct", counts[field].size());
        json.writeNumberField("missing", missing[field]);
        json.writeEndObject();
    }
}
