package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.core.record.AuditRecord.Party;
import java.time.OffsetDateTime;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuditRecordTest {

    private static final UUID ID = UUID.fromString("019a9d5e-7c3a-7f00-8a4e-2b1c0d9e8f7a");
    private static final OffsetDateTime THEN = OffsetDateTime.parse("2025-09-03T11:15:19.391447Z");

    private static AuditRecord sent() {
        return new AuditRecord(
                ID,
                "volume_create",
                new Party("user", "u-1", null),
                new Party(null, null, "cache"),
                "success",
                "10.0.0.1",
                "created",
                THEN,
                false,
                "{\"a\":1,\"b\":[1,2]}");
    }

    @Test
    void aRecordHasTheContentOfItsStoredForm() {
        assertThat(sent().sameContentAs(sent())).isTrue();
    }

    @Test
    void aTimestampTheClientDidNotSendMakesNoDifference() {
        AuditRecord stored = sent();
        assertThat(at(sent(), THEN.plusDays(1), true).sameContentAs(stored)).isTrue();
        assertThat(at(sent(), THEN.plusDays(1), false).sameContentAs(stored)).isFalse();
        OffsetDateTime elsewhere = OffsetDateTime.parse("2025-09-03T13:15:19.391447+02:00");
        assertThat(at(sent(), elsewhere, false).sameContentAs(stored)).isTrue();
    }

    @Test
    void unlessTheServiceDrewTheIdToo() {
        AuditRecord drawn = at(sent(), THEN, true).withId(ID);
        assertThat(drawn.sameContentAs(sent())).isTrue();
        assertThat(drawn.sameContentAs(at(sent(), THEN.plusDays(1), false))).isFalse();
    }

    @Test
    void anyOtherFieldMakesADifference() {
        assertDiffers(r ->
                copy(UUID.randomUUID(), r.action(), r.actor(), r.outcome(), r.ipAddress(), r.message(), r.metadata()));
        assertDiffers(r -> copy(ID, "b", r.actor(), r.outcome(), r.ipAddress(), r.message(), r.metadata()));
        assertDiffers(r -> copy(ID, r.action(), null, r.outcome(), r.ipAddress(), r.message(), r.metadata()));
        assertDiffers(r -> copy(
                ID, r.action(), new Party("user", "u-2", null), r.outcome(), r.ipAddress(), r.message(), r.metadata()));
        assertDiffers(r -> copy(ID, r.action(), r.actor(), null, r.ipAddress(), r.message(), r.metadata()));
        assertDiffers(r -> copy(ID, r.action(), r.actor(), r.outcome(), "10.0.0.2", r.message(), r.metadata()));
        assertDiffers(r -> copy(ID, r.action(), r.actor(), r.outcome(), r.ipAddress(), "", r.metadata()));
        assertDiffers(r -> copy(ID, r.action(), r.actor(), r.outcome(), r.ipAddress(), r.message(), null));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', nullValues = "null", textBlock = """
                {"a":1,"b":2}|{ "b" : 2, "a" : 1 }|true
                {"a":1}|{"a":1.0}|true
                {"a":100}|{"a":1e2}|true
                {"a":0}|{"a":-0.00e5}|true
                {"a":"\\u0041/"}|{"a":"A\\/"}|true
                {"a":{"x":null}}|{"a":{"x":null}}|true
                null|{}|true
                null|null|true
                {"a":1}|{"a":2}|false
                {"a":1}|{"a":"1"}|false
                {"a":1}|{"a":true}|false
                {"a":null}|{}|false
                {"a":null}|{"a":false}|false
                {"a":[1,2]}|{"a":[2,1]}|false
                {"a":{}}|{"a":[]}|false
                {"a":0.1}|{"a":0.10000000000000001}|false
                {"a":1}|null|false
                """)
    void metadataIsComparedByValue(String one, String other, boolean same) {
        assertThat(JsonText.sameObject(one, other)).isEqualTo(same);
        assertThat(JsonText.sameObject(other, one)).isEqualTo(same);
    }

    @Test
    void metadataTooLargeToBeComparedIsLikeNoOther() {
        String deep = "{\"a\":" + "[".repeat(5_000) + "]".repeat(5_000) + "}";
        String longNumber = "{\"a\":" + "9".repeat(5_000) + "}";
        assertThat(JsonText.sameObject(deep, "{\"a\":1}")).isFalse();
        assertThat(JsonText.sameObject("{\"a\":1}", longNumber)).isFalse();
        assertThat(JsonText.sameObject(deep, deep)).isTrue();
    }

    @Test
    void metadataWithAVeryLongNameIsKnownAgain() {
        String name = "k".repeat(60_000);
        assertThat(JsonText.sameObject("{\"" + name + "\":1}", "{\"" + name + "\": 1.0}"))
                .isTrue();
    }

    @Test
    void theSequenceOfTheNumberIsPartOfTheContent() {
        assertThat(numbered("invoice").sameContentAs(numbered("invoice"))).isTrue();
        assertThat(numbered("invoice").sameContentAs(numbered("order"))).isFalse();
        assertDiffers(sent -> numbered("invoice"));
    }

    private static AuditRecord numbered(String sequence) {
        AuditRecord.Draft draft = new AuditRecord.Draft(sent());
        draft.numberSequence = sequence;
        return draft.record();
    }

    private static void assertDiffers(UnaryOperator<AuditRecord> change) {
        assertThat(change.apply(sent()).sameContentAs(sent())).isFalse();
        assertThat(sent().sameContentAs(change.apply(sent()))).isFalse();
    }

    private static AuditRecord copy(
            UUID id, String action, Party actor, String outcome, String ipAddress, String message, String metadata) {
        AuditRecord r = sent();
        return new AuditRecord(
                id, action, actor, r.subject(), outcome, ipAddress, message, r.timestamp(), false, metadata);
    }

    private static AuditRecord at(AuditRecord r, OffsetDateTime timestamp, boolean assigned) {
        AuditRecord.Draft draft = new AuditRecord.Draft(r);
        draft.timestamp = timestamp;
        draft.timestampAssigned = assigned;
        return draft.record();
    }
}
