package dev.annals.record;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.OffsetDateTime;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The size that a page is cut by is never less than what is written. */
class RecordSizeTest {

    private static final String[] PIECES = {
        "a", "\u0000", "\u0001", "\n", "\"", "\\", "é", "€", "😀", "\u2028", "\u007f"
    };

    @Test
    void aRecordIsNeverWrittenWithMoreBytesThanItIsSaidToHave() {
        Random random = new Random(7);
        for (int i = 0; i < 500; i++) {
            AuditRecord record = new AuditRecord(
                    UUID.randomUUID(),
                    text(random),
                    new Party(text(random), text(random), text(random)),
                    random.nextBoolean() ? null : new Party(text(random), null, null),
                    text(random),
                    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                    text(random),
                    OffsetDateTime.parse("2025-09-03T11:15:19.391400Z"),
                    false,
                    "{\"a\": \"" + "é😀".repeat(random.nextInt(50)) + "\"}");
            StoredRecord stored = new StoredRecord(record, Long.MAX_VALUE, record.timestamp(), "role:" + text(random));
            int written = RecordWriter.toBytes(stored).length;
            assertThat(RecordSize.json(stored)).isBetween((long) written, written + 600L);
            assertThat(RecordSize.jsonAtMost(1, RecordSize.characters(stored)))
                    .isGreaterThanOrEqualTo(RecordSize.json(stored));
        }
    }

    private static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(60); i > 0; i--) {
            text.append(PIECES[random.nextInt(PIECES.length)]);
        }
        return text.toString();
    }
}
