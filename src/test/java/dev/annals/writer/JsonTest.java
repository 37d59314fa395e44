package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

@BesideTheService
class JsonTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void anyTextArrivesOrIsReplacedWhereJsonHasNoPlaceForIt() throws Exception {
        Random random = new Random(1);
        for (int round = 0; round < 5_000; round++) {
            char[] chars = new char[1 + random.nextInt(12)];
            for (int i = 0; i < chars.length; i++) {
                int kind = random.nextInt(4);
                chars[i] = (char)
                        (kind == 0
                                ? random.nextInt(128)
                                : kind == 1 ? 0xD800 + random.nextInt(0x800) : random.nextInt(0x10000));
            }
            String text = new String(chars);
            String expected = new String(text.replace("?", "q").getBytes(UTF_8), UTF_8)
                    .replace('?', '\uFFFD')
                    .replace('\0', '\uFFFD');

            JsonNode record = JSON.readTree(AuditRecord.of(text)
                    .metadata(Map.of(text, text))
                    .build()
                    .json(UUID.randomUUID(), Instant.EPOCH)
                    .getBytes(UTF_8));

            assertThat(record.get("action").textValue().replace("?", "q")).isEqualTo(expected);
            assertThat(record.get("metadata")
                            .properties()
                            .iterator()
                            .next()
                            .getValue()
                            .textValue()
                            .replace("?", "q"))
                    .isEqualTo(expected);
        }
    }

    @Test
    void anyValueIsWritten() throws Exception {
        Map<String, Object> values = new HashMap<>();
        values.put("nan", Double.NaN);
        values.put("infinite", Float.NEGATIVE_INFINITY);
        values.put("exact", new BigDecimal("1E+400"));
        values.put("null", null);
        values.put("array", new int[] {1, 2});
        values.put("list", Arrays.asList("a", null, true, 1.5));
        values.put("other", Thread.State.NEW);
        values.put("itself", values);

        JsonNode metadata = JSON.readTree(
                        AuditRecord.of("a").metadata(values).build().json(UUID.randomUUID(), Instant.EPOCH))
                .get("metadata");

        assertThat(metadata.get("nan").textValue()).isEqualTo("NaN");
        assertThat(metadata.get("infinite").textValue()).isEqualTo("-Infinity");
        assertThat(metadata.get("array").toString()).isEqualTo("[1,2]");
        assertThat(metadata.get("list").toString()).isEqualTo("[\"a\",null,true,1.5]");
        assertThat(metadata.get("other").textValue()).isEqualTo("NEW");
        assertThat(metadata.get("exact").textValue()).isEqualTo("1E+400");
        assertThat(metadata.get("itself").textValue()).isEqualTo("(cyclic)");
    }

    private record Point(int x, Object y) {}

    private enum Color {
        RED {
            @Override
            public String toString() {
                return "a colour";
            }
        }
    }

    @Test
    void eachKindOfValueBecomesWhatIsDocumented() throws Exception {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("\"/a/b\"", Path.of("/a/b"));
        values.put("\"RED\"", Color.RED);
        values.put("{\"x\":1,\"y\":null}", new Point(1, Optional.empty()));
        values.put("{\"a\":[1,null,\"x\",true]}", JSON.readTree("{\"a\":[1,null,\"x\",true]}"));
        values.put("\"2025-01-01T00:00:00Z\"", OffsetDateTime.parse("2025-01-01T01:00:00+01:00"));
        values.put("\"2025-01-01\"", LocalDate.of(2025, 1, 1));
        values.put("\"YWI=\"", new byte[] {'a', 'b'});
        values.put("\"java.io.IOException: no disk\"", new IOException("no disk"));
        values.put("7", Optional.of(Optional.of(7)));
        values.put("5", new AtomicInteger(5));
        values.put("{\"1\":1,\"[1,2]\":2}", sorted(1, 1, List.of(1, 2), 2));
        values.put("{\"1\":1,\"1 (2)\":2}", sorted(1, 1, "1", 2));
        values.put("\"(iterator)\"", List.of(1).iterator());

        JsonNode metadata = metadata(values);

        for (String json : values.keySet()) {
            assertThat(metadata.get(json).toString()).isEqualTo(json);
        }
    }

    private static Map<Object, Object> sorted(Object first, int one, Object second, int two) {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put(first, one);
        map.put(second, two);
        return map;
    }

    @Test
    void aFullRecordIsNotCutAndAFullerOneHasAMark() throws Exception {
        Map<String, Object> full = new LinkedHashMap<>();
        for (int i = 0; i < Json.MAX_VALUES / 2; i++) {
            full.put("k" + i, i);
        }
        assertThat((Iterable<JsonNode>) metadata(full)).hasSize(Json.MAX_VALUES / 2);
        full.put("more", 1);
        JsonNode cut = metadata(full);
        assertThat(cut.get("k0").intValue()).isZero();
        assertThat(cut.get("…").textValue()).isEqualTo("(cut)");
        assertThat(metadata(Map.of("text", "x".repeat(65_000))).get("text").textValue())
                .hasSize(65_000);
        assertThat(metadata(Map.of("text", "x".repeat(100_000))).get("text").textValue())
                .hasSizeBetween(65_000, 65_535)
                .endsWith("…");
    }

    @Test
    void anAddressWithPortOrZoneIsTheAddressAndOthersAreMetadata() throws Exception {
        Map<String, String> addresses = Map.of(
                "fe80::1%eth0", "fe80::1",
                "203.0.113.9:52341", "203.0.113.9",
                "[2001:db8::1]:443", "2001:db8::1",
                "::ffff:192.0.2.1", "::ffff:192.0.2.1");
        for (Map.Entry<String, String> address : addresses.entrySet()) {
            assertThat(record(AuditRecord.of("a").ipAddress(address.getKey()))
                            .get("ip_address")
                            .textValue())
                    .isEqualTo(address.getValue());
        }
        for (String none : List.of("unknown", "00001::", "::01.2.3.4", "1:2:3:4::5:6:7:8", "1.2.3.04")) {
            JsonNode record = record(AuditRecord.of("a").ipAddress(none));
            assertThat(record.has("ip_address")).as(none).isFalse();
            assertThat(record.get("metadata").get("ip_address").textValue()).isEqualTo(none);
        }
        assertThat(record(AuditRecord.of("a").ipAddress("")).has("metadata")).isFalse();
    }

    private static JsonNode metadata(Map<String, ?> metadata) throws Exception {
        return record(AuditRecord.of("a").metadata(metadata)).get("metadata");
    }

    private static JsonNode record(AuditRecord.Builder record) throws Exception {
        return JSON.readTree(record.build().json(UUID.randomUUID(), Instant.EPOCH));
    }

    @Test
    void idsAreVersion7AndRise() {
        Ids ids = new Ids();
        Set<UUID> drawn = new HashSet<>();
        String last = "";
        for (int i = 0; i < 10_000; i++) {
            // The clock stands still, and jumps back.
            UUID id = ids.next(Instant.ofEpochMilli(1_700_000_000_000L - i % 7));
            assertThat(List.of(id.version(), id.variant())).containsExactly(7, 2);
            assertThat(id.toString()).isGreaterThan(last);
            last = id.toString();
            drawn.add(id);
        }
        assertThat(drawn).hasSize(10_000);
    }
}
