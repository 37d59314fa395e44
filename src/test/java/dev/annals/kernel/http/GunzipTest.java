package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GunzipTest {

    private static final byte[] TEXT = "{\"action\": \"a\"}\n".repeat(50).getBytes(StandardCharsets.UTF_8);

    static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(bytes);
        }
        return packed.toByteArray();
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    /** Unpacks what comes in parts of this size, into a buffer that is smaller than the text. */
    private static byte[] unpack(byte[] packed, int partBytes) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        byte[] out = new byte[100];
        try (Gunzip gunzip = new Gunzip(100)) {
            for (int from = 0; from < packed.length; from += partBytes) {
                gunzip.feed(Arrays.copyOfRange(packed, from, Math.min(packed.length, from + partBytes)));
                for (int length = gunzip.next(out); length > 0; length = gunzip.next(out)) {
                    text.write(out, 0, length);
                }
            }
            gunzip.end();
        }
        return text.toByteArray();
    }

    private static void assertRefused(byte[] packed, ProblemType type) {
        assertThatThrownBy(() -> unpack(packed, 4_096))
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        refused -> assertThat(refused.problem().type()).isEqualTo(type));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 10, 11, 1_000})
    void packedTextIsUnpackedHoweverItIsDivided(int partBytes) throws IOException {
        assertThat(unpack(gzip(TEXT), partBytes)).isEqualTo(TEXT);
        assertThat(unpack(gzip(new byte[0]), partBytes)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 1_000})
    void membersInARowAreOneBody(int partBytes) throws IOException {
        assertThat(unpack(joined(gzip(TEXT), gzip(new byte[0]), gzip(TEXT)), partBytes))
                .isEqualTo(joined(TEXT, TEXT));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 1_000})
    void everyOptionalFieldOfTheHeaderIsPassedOver(int partBytes) throws IOException {
        byte[] plain = gzip(TEXT);
        byte[] header = Arrays.copyOf(plain, 10);
        header[3] = 2 | 4 | 8 | 16;
        byte[] fields = joined(
                new byte[] {3, 0, 'e', 'x', 't'},
                "name\0".getBytes(StandardCharsets.US_ASCII),
                "a comment\0".getBytes(StandardCharsets.US_ASCII));
        CRC32 crc = new CRC32();
        crc.update(joined(header, fields));
        byte[] check = {(byte) crc.getValue(), (byte) (crc.getValue() >> 8)};
        byte[] packed = joined(header, fields, check, Arrays.copyOfRange(plain, 10, plain.length));
        assertThat(unpack(packed, partBytes)).isEqualTo(TEXT);
    }

    @Test
    void aBodyThatEndsEarlyIsRefusedWhereverItEnds() throws IOException {
        byte[] packed = gzip(TEXT);
        for (int length = 0; length < packed.length; length++) {
            assertRefused(Arrays.copyOf(packed, length), ProblemType.MALFORMED_ENCODING);
        }
        assertRefused(joined(packed, Arrays.copyOf(packed, 5)), ProblemType.MALFORMED_ENCODING);
    }

    @Test
    void aBodyThatIsNoGzipOrHasMoreBehindItIsRefused() throws IOException {
        byte[] packed = gzip(TEXT);
        assertRefused(TEXT, ProblemType.MALFORMED_ENCODING);
        assertRefused(joined(packed, new byte[] {0}), ProblemType.MALFORMED_ENCODING);
        assertRefused(joined(packed, TEXT), ProblemType.MALFORMED_ENCODING);
        for (int place : new int[] {0, 1, 2, 12, packed.length - 8, packed.length - 1}) {
            byte[] broken = packed.clone();
            broken[place] ^= 0x55;
            assertRefused(broken, ProblemType.MALFORMED_ENCODING);
        }
        byte[] reserved = packed.clone();
        reserved[3] = 0x20;
        assertRefused(reserved, ProblemType.MALFORMED_ENCODING);
    }

    @Test
    void aBodyPackedTooWellIsRefusedBeyondTheFirstMebibyte() throws IOException {
        assertThat(unpack(gzip(new byte[1 << 20]), 4_096)).hasSize(1 << 20);
        assertRefused(gzip(new byte[(1 << 20) + 4_096]), ProblemType.BODY_TOO_LARGE);
        byte[] half = gzip(new byte[600_000]);
        assertRefused(joined(half, half), ProblemType.BODY_TOO_LARGE);
    }
}
