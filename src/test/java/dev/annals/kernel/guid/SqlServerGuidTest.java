package dev.annals.kernel.guid;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class SqlServerGuidTest {

    /**
     * GUIDs with one byte set, from the least to the most significant, as SQL Server's documentation of comparing GUID
     * values, and SqlGuid's order of bytes (10-15, 8-9, 6-7, 4-5, 0-3 in memory, where the first three groups of the text
     * are little-endian), have them.
     */
    private static final List<String> ASCENDING = List.of(
            "01000000-0000-0000-0000-000000000000",
            "00010000-0000-0000-0000-000000000000",
            "00000100-0000-0000-0000-000000000000",
            "00000001-0000-0000-0000-000000000000",
            "00000000-0100-0000-0000-000000000000",
            "00000000-0001-0000-0000-000000000000",
            "00000000-0000-0100-0000-000000000000",
            "00000000-0000-0001-0000-000000000000",
            "00000000-0000-0000-0001-000000000000",
            "00000000-0000-0000-0100-000000000000",
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-000000000100",
            "00000000-0000-0000-0000-000000010000",
            "00000000-0000-0000-0000-000001000000",
            "00000000-0000-0000-0000-000100000000",
            "00000000-0000-0000-0000-010000000000");

    @Test
    void guidsAreOrderedByTheDocumentedSignificanceOfTheirBytes() {
        List<UUID> expected = ASCENDING.stream().map(UUID::fromString).toList();
        List<UUID> sorted = new ArrayList<>(expected);
        Collections.shuffle(sorted, new Random(1));
        sorted.sort(SqlServerGuid::compare);
        assertThat(sorted).isEqualTo(expected);
        for (int i = 1; i < expected.size(); i++) {
            // Any value of a less significant byte stays below the smallest of a more significant one.
            UUID all = UUID.fromString(ASCENDING.get(i - 1).replace("01", "ff"));
            assertThat(SqlServerGuid.compare(all, expected.get(i))).isNegative();
        }
    }

    @Test
    void theFirstGroupIsComparedFromItsLastByteAndTheLastGroupFromItsFirst() {
        assertThat(SqlServerGuid.compare(
                        UUID.fromString("ff000000-0000-0000-0000-000000000000"),
                        UUID.fromString("00000001-0000-0000-0000-000000000000")))
                .isNegative();
        assertThat(SqlServerGuid.compare(
                        UUID.fromString("00000000-0000-0000-0000-0000000000ff"),
                        UUID.fromString("00000000-0000-0000-0000-010000000000")))
                .isNegative();
        assertThat(SqlServerGuid.compare(
                        UUID.fromString("00000000-0000-0000-0000-000000000080"),
                        UUID.fromString("00000000-0000-0000-0000-00000000007f")))
                .as("bytes are unsigned")
                .isPositive();
    }

    @Test
    void theWayThereAndBackLosesNothing() {
        Random random = new Random(2);
        for (int i = 0; i < 10_000; i++) {
            UUID guid = new UUID(random.nextLong(), random.nextLong());
            assertThat(SqlServerGuid.toSequential(SqlServerGuid.of(guid))).isEqualTo(guid);
            assertThat(SqlServerGuid.of(SqlServerGuid.toSequential(guid))).isEqualTo(guid);
        }
        assertThat(SqlServerGuid.of(UUID.fromString("00112233-4455-6677-8899-aabbccddeeff")))
                .hasToString("ffeeddcc-bbaa-9988-6677-001122334455");
    }

    @Test
    void keysThatWereDrawnLaterSortLater() {
        SequentialGuid guids = new SequentialGuid();
        UUID last = SqlServerGuid.of(guids.next());
        for (int i = 0; i < 100_000; i++) {
            UUID next = SqlServerGuid.of(guids.next());
            assertThat(SqlServerGuid.compare(last, next)).isNegative();
            last = next;
        }
    }

    @Test
    void theOrderOfAnyTwoKeysIsKept() {
        Random random = new Random(3);
        for (int i = 0; i < 10_000; i++) {
            UUID left = new UUID(random.nextLong(), random.nextLong());
            UUID right = new UUID(random.nextLong(), random.nextLong());
            assertThat(Integer.signum(SqlServerGuid.compare(SqlServerGuid.of(left), SqlServerGuid.of(right))))
                    .isEqualTo(Integer.signum(SequentialGuid.compare(left, right)));
        }
    }
}
