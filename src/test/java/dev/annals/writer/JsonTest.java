package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

@BesideTheService
class JsonTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void anyTextArrivesOrIsReplacedWhereJsonHasNoPlaceForIt() throws Exception {
        Random random = new Random(1);
        for (int round = 0; round < 5_000; round++) {
            char[] chars = new char[random.nextInt(12)];
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
