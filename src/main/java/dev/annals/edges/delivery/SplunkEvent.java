package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.UUID;

/** A record as an event of Splunk's HTTP Event Collector: the JSON of the feed, its time, and the sequence id as an indexed field. */
final class SplunkEvent {

    private static final int MICROS = 6;
    private static final int SHOWN = 200;
    private static final int NO_DATA = 5;
    private static final int TOO_LARGE = 413;
    /** Invalid data format, event field is required, or blank, error in handling indexed fields. */
    private static final Set<Integer> OF_DATA = Set.of(6, 12, 13, 15);

    /** Events outside of these are set aside and removed with old data ({@code quarantinePastSecs} and {@code quarantineFutureSecs}). */
    private static final AcceptedTime TIME = new AcceptedTime(Duration.ofDays(900), Duration.ofDays(30));

    private SplunkEvent() {}

    static void write(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        json.writeStartObject();
        Instant time = TIME.of(stored).toInstant();
        json.writeFieldName("time");
        json.writeNumber(BigDecimal.valueOf(time.getEpochSecond() * 1_000_000 + time.getNano() / 1_000, MICROS));
        json.writeStringField("source", "annals");
        json.writeStringField("sourcetype", "annals");
        json.writeFieldName("event");
        RecordEncoder.write(stored, json);
        json.writeObjectFieldStart("fields");
        json.writeStringField("project_id", projectId.toString());
        json.writeStringField("sequence_id", Long.toString(stored.sequenceId()));
        json.writeEndObject();
        json.writeEndObject();
        json.writeRaw('\n');
    }

    /** Only a code about the data refuses the batch. A wrong token or a full queue is no fault of the records. */
    static Sink.Outcome outcome(Sink.Batch batch, HttpExchange.Answer answer) {
        JsonNode said = answer.json();
        int code = said.path("code").isInt() ? said.path("code").intValue() : -1;
        String why = answer.text()
                + (code < 0
                        ? " That is no answer of Splunk's HTTP Event Collector."
                        : " It says " + code + ": "
                                + HttpExchange.Answer.shown(said.path("text").asText(""), SHOWN) + ".");
        if (answer.status() == 200 && code == 0) {
            return new Sink.Outcome.Delivered(why);
        } else if (code == NO_DATA && batch.records().isEmpty()) {
            return new Sink.Outcome.Delivered(why + " It takes the token.");
        } else if (OF_DATA.contains(code) || answer.status() == TOO_LARGE) {
            return new Sink.Outcome.Refused(why, false);
        }
        return new Sink.Outcome.Failed(why, answer.failed().after());
    }
}
