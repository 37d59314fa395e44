import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.SpoolOptions;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** Appends as many records of hostile values as its second argument says, to the spool that is its first. */
public class Hostile {
    private static final String[] TEXTS = {
        "", "\0", "\ud800x", "x".repeat(100_000), "\1".repeat(70_000), "\u00e9".repeat(40_000), "fe80::1%eth0",
        "203.0.113.9:52341", "[2001:db8::1]:443", "unknown", "1:2:3:4:5:6:7::8", "00001::", "::01.2.3.4", "annals.x", null
    };
    private static final Random DRAW = new Random(1);

    public static void main(String[] arguments) {
        List<Object> values = values();
        try (AuditLog log = AuditLog.to(URI.create(System.getenv("ANNALS_URL")), System.getenv("ANNALS_TOKEN"))
                .spool(SpoolOptions.in(Path.of(arguments[0])))
                .open()) {
            for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
                Map<String, Object> metadata = new HashMap<>();
                metadata.put("a", values.get(DRAW.nextInt(values.size())));
                metadata.put("b", values.get(DRAW.nextInt(values.size())));
                String action = text();
                log.append(AuditRecord.of(action == null ? "" : action)
                        .actor(text(), text(), text())
                        .subject(text(), text(), text())
                        .outcome(text())
                        .ipAddress(text())
                        .message(text())
                        .timestamp(DRAW.nextBoolean() ? Instant.MAX : Instant.MIN)
                        .number(DRAW.nextBoolean() ? "a b" : null)
                        .metadata(metadata)
                        .build());
            }
            log.close(Duration.ofSeconds(120));
        }
    }

    private static String text() {
        return TEXTS[DRAW.nextInt(TEXTS.length)];
    }

    private static List<Object> values() {
        Map<Object, Object> cycle = new HashMap<>();
        cycle.put("a", cycle);
        cycle.put("b", List.of(cycle));
        List<Object> shared = List.of();
        List<Object> deep = List.of();
        for (int i = 0; i < 10_000; i++) {
            shared = i < 30 ? List.of(shared, shared) : shared;
            deep = List.of(deep);
        }
        Map<Object, Object> many = new LinkedHashMap<>();
        for (int i = 0; i < 5_000; i++) {
            many.put("k" + i, i);
        }
        Map<Object, Object> keys = new HashMap<>();
        keys.put(1, 1);
        keys.put("1", 2);
        keys.put("a\0", 3);
        keys.put("a\ufffd", 4);
        keys.put(null, 5);
        keys.put("k".repeat(99_999), 6);
        keys.put(List.of(1, cycle.keySet()), 7);
        Iterable<Object> endless = () -> java.util.stream.Stream.generate(() -> (Object) "e").iterator();
        Object raising = new Object() {
            @Override
            public String toString() {
                return toString() + 1;
            }
        };
        Object[] numbers = new Object[4_000];
        Arrays.fill(numbers, 1e300);
        List<Object> values = new ArrayList<>(Arrays.asList(
                cycle, shared, deep, many, keys, endless, raising, numbers, Path.of("/a/b"), Optional.of(Optional.empty()), 5e-324,
                Double.MAX_VALUE, Double.NaN, BigInteger.TEN.pow(401), BigInteger.TEN.pow(6_000), new BigDecimal("1e400"),
                new BigDecimal("1.7976931348623158e308"), new BigDecimal("1e-2000000000"), new byte[100_000], new long[9_000],
                new IllegalStateException("\0")));
        values.addAll(Arrays.asList(TEXTS));
        return values;
    }
}
