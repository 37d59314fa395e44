package dev.annals.core.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Records that are encoded one after the other are the same as each alone: nothing before, between or behind. */
class RecordEncoderTest {

    private static final String[] PIECES = {
        "a", "\u0000", "\u0001", "\n", "\"", "\\", "é", "€", "😀", "\u2028", "\u007f"
    };

    @Test
    void recordsOfAllSizesAreEncodedAsEachIsAlone() {
        Random random = new Random(7);
        List<EncodedRecord> encoded = new ArrayList<>();
        List<StoredRecord> records = new ArrayList<>();
        try (RecordEncoder encoder = new RecordEncoder(RecordEncoder.Format.JSON)) {
            for (int i = 0; i < 300; i++) {
                // Some are longer than the buffers on the way.
                StoredRecord record = record(random, i % 50 == 0 ? 30_000 : 60, i);
                records.add(record);
                encoded.add(encoder.encode(record, i));
            }
        }
        for (int i = 0; i < records.size(); i++) {
            assertThat(text(encoded.get(i)))
                    .isEqualTo(new String(RecordEncoder.toBytes(records.get(i)), StandardCharsets.UTF_8));
            assertThat(encoded.get(i).sequenceId()).isEqualTo(i);
            assertThat(encoded.get(i).mark()).isEqualTo(i);
            assertThat(encoded.get(i).id()).isEqualTo(records.get(i).record().id());
        }
    }

    private static String text(EncodedRecord record) {
        ByteBuffer bytes = ByteBuffer.allocate(record.length());
        record.appendTo(bytes);
        return new String(bytes.array(), StandardCharsets.UTF_8);
    }

    private static StoredRecord record(Random random, int length, long sequenceId) {
        AuditRecord record = new AuditRecord(
                UUID.randomUUID(),
                text(random, 60),
                new Party(text(random, 60), text(random, 60), text(random, 60)),
                random.nextBoolean() ? null : new Party(text(random, 60), null, null),
                text(random, 60),
                "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                text(random, length),
                OffsetDateTime.parse("2025-09-03T11:15:19.391400Z"),
                false,
                "{\"a\": \"" + "é😀".repeat(random.nextInt(length)) + "\"}");
        return new StoredRecord(record, sequenceId, record.timestamp(), "role:" + text(random, 60));
    }

    private static String text(Random random, int length) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(length); i > 0; i--) {
            text.append(PIECES[random.nextInt(PIECES.length)]);
        }
        return text.toString();
    }
}
