import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.POJONode;
import dev.annals.writer.AuditLog;
import dev.annals.writer.AuditRecord;
import dev.annals.writer.SpoolOptions;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Appends a record for each case of values.json to the spool that is its first argument: the fields that it gives, or a value. */
public class Values {
    private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

    public static void main(String[] arguments) throws Exception {
        JsonNode cases = JSON.readTree(new File("src/test/writer/values.json"));
        Map<String, Object> values = values();
        try (AuditLog log = AuditLog.to(URI.create(System.getenv("ANNALS_URL")), System.getenv("ANNALS_TOKEN"))
                .spool(SpoolOptions.in(Path.of(arguments[0])))
                .open()) {
            for (JsonNode one : cases.get("fields")) {
                log.append(record(one.get("given"), one.path("repeat").asInt(1)));
            }
            for (JsonNode one : cases.get("java")) {
                String name = one.get("value").textValue();
                if (!values.containsKey(name)) {
                    throw new IllegalStateException("There is no value " + name);
                }
                log.append(AuditRecord.of("value").metadata(Collections.singletonMap("value", values.remove(name))).build());
            }
            if (!log.close(Duration.ofSeconds(60))) {
                throw new IllegalStateException(log.metrics().toString());
            }
        }
        if (!values.isEmpty()) {
            throw new IllegalStateException("values.json has no case of " + values.keySet());
        }
    }

    private static AuditRecord record(JsonNode given, int repeat) {
        AuditRecord.Builder record = AuditRecord.of(given.path("action").asText("fields"))
                .outcome(text(given, "outcome"))
                .ipAddress(text(given, "ip_address"))
                .number(text(given.path("number"), "sequence"));
        for (String party : List.of("actor", "subject")) {
            JsonNode is = given.path(party);
            if (party.equals("actor")) {
                record.actor(text(is, "type"), text(is, "id"), text(is, "name"));
            } else {
                record.subject(text(is, "type"), text(is, "id"), text(is, "name"));
            }
        }
        if (given.has("message")) {
            record.message(text(given, "message").repeat(repeat));
        }
        if (given.has("metadata")) {
            Map<String, JsonNode> metadata = new LinkedHashMap<>();
            given.get("metadata").properties().forEach(field -> metadata.put(field.getKey(), field.getValue()));
            record.metadata(metadata);
        }
        return record.build();
    }

    private static String text(JsonNode given, String name) {
        return given.path(name).textValue();
    }

    private enum Color {
        RED {
            @Override
            public String toString() {
                return "a colour";
            }
        }
    }

    private static final class Cursor implements Iterable<Integer>, Closeable {
        @Override
        public Iterator<Integer> iterator() {
            return List.of(1).iterator();
        }

        @Override
        public void close() {}
    }

    private static Object said(String text) {
        return new Object() {
            @Override
            public String toString() {
                if (text == null) {
                    throw new IllegalStateException("no text");
                }
                return text;
            }
        };
    }

    private static Map<String, Object> values() throws Exception {
        Map<String, Object> values = new HashMap<>();
        values.put("path", Path.of("/a/b"));
        values.put("file", new File("/a/b"));
        values.put("uri", URI.create("https://a.example/x"));
        values.put("uuid", new UUID(0, 1));
        values.put("jackson", JSON.readTree("{\"a\":[1,null,\"x\",true,1.50,{\"b\":{}}]}"));
        values.put("jackson text", JSON.readTree("\"x\""));
        values.put("jackson binary", BinaryNode.valueOf(new byte[] {'a', 'b'}));
        values.put("jackson missing", MissingNode.getInstance());
        values.put("jackson object", new POJONode(said("x")));
        values.put("optional", Optional.of(Optional.of(7)));
        values.put("empty optional", Optional.of(Optional.empty()));
        values.put("optional int", OptionalInt.of(7));
        values.put("optional long", OptionalLong.empty());
        values.put("optional double", OptionalDouble.of(1.5));
        values.put("instant", Instant.parse("2025-01-01T00:00:00.000000120Z"));
        values.put("far instant", Instant.MAX);
        values.put("offset", OffsetDateTime.parse("2025-01-01T01:00:00+01:00"));
        values.put("zoned", ZonedDateTime.parse("2025-01-01T01:00:00+01:00[Europe/Berlin]"));
        values.put("date", new Date(0));
        values.put("sql date", java.sql.Date.valueOf("2025-01-01"));
        values.put("calendar", new GregorianCalendar());
        ((GregorianCalendar) values.get("calendar")).setTimeInMillis(0);
        values.put("local date", LocalDate.of(900, 1, 1));
        values.put("duration", Duration.ofSeconds(1));
        values.put("enum", TimeUnit.DAYS);
        values.put("enum with a text", Color.RED);
        values.put("decimal", new BigDecimal("1.10"));
        values.put("decimal beyond", new BigDecimal("1e400"));
        values.put("401 digits", BigInteger.TEN.pow(400));
        values.put("6000 digits", BigInteger.TEN.pow(6_000).negate());
        values.put("scale", new BigDecimal("1e-2000000000"));
        values.put("big", BigInteger.TEN.pow(30));
        values.put("atomic", new AtomicInteger(5));
        values.put("NaN", Double.NaN);
        values.put("infinity", Float.NEGATIVE_INFINITY);
        values.put("negative zero", -0.0);
        values.put("least", Double.MIN_VALUE);
        values.put("own number", new OwnNumber());
        values.put("ints", new int[] {1, 2});
        values.put("objects", new Object[] {1, null, new long[] {2}});
        values.put("chars", new char[] {'a', 'b'});
        values.put("bytes", new byte[] {'a', 'b'});
        values.put("part of a buffer", ByteBuffer.wrap(new byte[] {'x', 'a', 'b', 'x'}, 1, 2));
        values.put("character", 'a');
        values.put("builder", new StringBuilder("ab"));
        values.put("surrogate", "\ud800x");
        Map<Object, Object> keys = new LinkedHashMap<>();
        keys.put(1, 1);
        keys.put("1", 2);
        keys.put(null, 3);
        keys.put(List.of(1, 2), 4);
        keys.put(Color.RED, 5);
        keys.put("a\0", 6);
        keys.put("a\ufffd", 7);
        keys.put(said(null), 8);
        values.put("keys", keys);
        Map<String, Object> cycle = new HashMap<>();
        cycle.put("a", cycle);
        values.put("cyclic", cycle);
        List<Object> ring = new ArrayList<>();
        ring.add(Map.of("ring", ring));
        values.put("ring", ring);
        values.put("shared", Arrays.asList(keys.keySet().toArray()[3], keys.keySet().toArray()[3]));
        values.put("set", Set.of(1));
        values.put("entry", new AbstractMap.SimpleEntry<>("a", 1));
        values.put("iterator", List.of(1).iterator());
        values.put("stream", Stream.of(1));
        values.put("cursor", new Cursor());
        values.put("endless", (Iterable<Object>) () -> Stream.generate(() -> (Object) "e").iterator());
        values.put("iterable raises", (Iterable<Object>) () -> {
            throw new IllegalStateException("no");
        });
        values.put("function", (Runnable) () -> {});
        values.put("exception", new IOException("no"));
        values.put("exception without text", new IllegalStateException());
        values.put("chained", new IllegalStateException("outer", new IOException("inner")));
        values.put("own text", said("x"));
        values.put("raises", said(null));
        Map<String, Integer> many = new LinkedHashMap<>();
        for (int i = 0; i < 5_000; i++) {
            many.put("k" + i, i);
        }
        values.put("5000 fields", many);
        values.put("null", null);
        return values;
    }

    @SuppressWarnings("serial")
    private static final class OwnNumber extends Number {
        @Override
        public int intValue() {
            return 1;
        }

        @Override
        public long longValue() {
            return 1;
        }

        @Override
        public float floatValue() {
            return 1;
        }

        @Override
        public double doubleValue() {
            return 1;
        }

        @Override
        public String toString() {
            return "one";
        }
    }
}
