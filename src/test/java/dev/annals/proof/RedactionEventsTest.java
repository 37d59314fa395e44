package dev.annals.proof;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** A value may be missing only if the log names exactly its record and field. */
@BesideTheService
class RedactionEventsTest {

    private static final UUID ID = new UUID(7, 1);

    private final RedactionEvents events = new RedactionEvents();

    @Test
    void aRedactionNamesTheRecordWithItsIdAndItsSequenceId() {
        events.add(List.of(event(9, 4, "success")));

        assertThat(events.unnamed(redacted(4))).containsExactly("outcome");
    }

    @Test
    void aRedactionDoesNotNameAnotherRecordWithTheSameId() {
        events.add(List.of(event(9, 4, "success")));

        assertThat(events.unnamed(redacted(5))).isEqualTo(Set.of("message", "outcome"));
    }

    @Test
    void aRecordThatNoRedactionWritesIsRefused() {
        assertThatThrownBy(() -> events.add(List.of(event(9, 4, "failure"))))
                .hasMessageContaining("is not as a redaction writes it");
    }

    /** It lacks its message and its outcome. */
    private static ProvedRecord redacted(long sequenceId) {
        String salt = Base64Url.of(new byte[Seed.SALT_BYTES]);
        String digest = Base64Url.of(new byte[Hash.BYTES]);
        return ProvedRecord.parse(
                record(ID, sequenceId, "\"a\"") + ",\"salts\":{\"action\":\"" + salt + "\",\"timestamp\":\"" + salt
                        + "\"},\"redacted\":{\"message\":\"" + digest + "\",\"outcome\":\"" + digest + "\"}}");
    }

    /** It names a message. */
    private static ProvedRecord event(long sequenceId, long about, String outcome) {
        return ProvedRecord.parse(
                record(new UUID(7, 2), sequenceId, "\"annals.redact\"") + ",\"recorded_by\":\"w\",\"outcome\":\""
                        + outcome + "\",\"subject\":{\"type\":\"record\",\"id\":\"" + ID
                        + "\"},\"metadata\":{\"sequence_id\":" + about
                        + ",\"fields\":[\"message\"]},\"seed\":\"" + Seed.of(new byte[Seed.BYTES]) + "\"}");
    }

    private static String record(UUID id, long sequenceId, String action) {
        return "{\"id\":\"" + id + "\",\"sequence_id\":" + sequenceId + ",\"action\":" + action
                + ",\"timestamp\":\"2026-01-01T00:00:00Z\",\"recorded_at\":\"2026-01-01T00:00:01Z\"";
    }
}
