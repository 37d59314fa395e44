package dev.annals.hostile;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Rows of annals.audit_record at the limits of what it admits, rows just beyond them, and rows between drawn at random. */
final class StorableRows {

    private static final int RANDOM_ROWS = 60;

    private static final List<String> TEXTS = List.of(
            IntStream.concat(IntStream.rangeClosed(1, 0x1F), IntStream.rangeClosed(0x7F, 0x9F))
                    .mapToObj(Character::toString)
                    .collect(Collectors.joining()),
            "\"\\/'`\"\"\\\\u0000\\n",
            "line\r\nbreak\nand\rmore\u0085\u2028\u2029",
            "\uFEFF\u200B\u200D\u202Egnp.exe\u202C\u2066\u2069\u061C",
            "\uFFFE\uFFFF\uFDD0\uD83D\uDE80\uDBFF\uDFFF\uD800\uDC00",
            "e\u0301\u0327\u0489 \u0130\u0131\u1E9E\uFB01",
            "</script><!--<img src=x onerror=alert(1)>",
            "=cmd|' /C calc'!A0",
            "data: x\n\nid: 99\nevent: end\n\n",
            "null",
            " \t ");

    private static final List<String> NUMBERS = List.of(
            "0",
            "-0",
            "1.50",
            "5e-324",
            "-5e-324",
            "1.7976931348623157e308",
            "-1.7976931348623157e308",
            "12345678901234567890.000000000001",
            "9".repeat(308),
            "-" + "9".repeat(308),
            "9".repeat(308) + "." + "9".repeat(91),
            "0." + "0".repeat(397) + "1",
            "1." + "0".repeat(398),
            "1e308",
            "1e-398");

    private static final Map<String, List<String>> ADMITTED = admitted();

    private StorableRows() {}

    private static Map<String, List<String>> admitted() {
        Map<String, List<String>> columns = new LinkedHashMap<>();
        columns.put(
                "timestamp",
                List.of(
                        "0001-01-01 00:00:00+00",
                        "0001-01-01 00:00:00.000001+00",
                        "1582-10-10 12:00:00+00",
                        "1900-02-28 23:59:59.999999+00",
                        "1969-12-31 23:59:59.999999+00",
                        "2016-12-31 23:59:60+00",
                        "9999-12-31 23:59:59.999999+00"));
        columns.put("recorded_at", columns.get("timestamp"));
        columns.put("action", texts(255, false));
        columns.put("actor_type", texts(255, true));
        columns.put("actor_id", texts(1024, true));
        columns.put("actor_name", texts(1024, true));
        columns.put("subject_type", texts(255, true));
        columns.put("subject_id", texts(1024, true));
        columns.put("subject_name", texts(1024, true));
        columns.put("outcome", texts(64, false));
        columns.put(
                "ip_address",
                List.of(
                        "0.0.0.0",
                        "0.0.0.0/0",
                        "10.1.2.3/8",
                        "255.255.255.255",
                        "::",
                        "::/0",
                        "2001:db8::7/64",
                        "::ffff:1.2.3.4",
                        "fe80::1",
                        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127"));
        columns.put("message", messages());
        columns.put("metadata", metadata());
        return columns;
    }

    private static List<String> texts(int length, boolean orEmpty) {
        List<String> texts = new ArrayList<>();
        for (String text : TEXTS) {
            texts.add(text.substring(
                    0, text.offsetByCodePoints(0, Math.min(length, text.codePointCount(0, text.length())))));
        }
        texts.add("x".repeat(length));
        texts.add("\uD83D\uDE80".repeat(length));
        texts.add("\u0001".repeat(length));
        if (orEmpty) {
            texts.add("");
        }
        return texts;
    }

    private static List<String> messages() {
        List<String> messages = new ArrayList<>(TEXTS);
        messages.add("");
        messages.add("x".repeat(65_535));
        messages.add("\u0001".repeat(65_535));
        messages.add("\"".repeat(65_535));
        messages.add("\uD83D\uDE80".repeat(16_383) + "\u20AC");
        return messages;
    }

    private static List<String> metadata() {
        List<String> metadata = new ArrayList<>();
        metadata.add("{}");
        metadata.add("""
                        {"__proto__": {"a": 1}, "constructor": null, "": "", "toString": [], "a": {"": [{}]}}""");
        for (String text : TEXTS) {
            String quoted = quoted(text);
            metadata.add("{" + quoted + ": " + quoted + "}");
        }
        for (String number : NUMBERS) {
            metadata.add("{\"n\": " + number + ", \"of\": [" + number + "]}");
        }
        metadata.add("{\"deep\": " + "[".repeat(31) + "]".repeat(31) + "}");
        metadata.add("{\"a\":".repeat(32) + "true" + "}".repeat(32));
        // As PostgreSQL writes them, they have 131,072 bytes, or hardly fewer.
        metadata.add("{\"a\": \"" + "x".repeat(131_072 - 9) + "\"}");
        metadata.add("{\"a\": \"xx" + "\\u0001".repeat((131_072 - 11) / 6) + "x".repeat((131_072 - 11) % 6) + "\"}");
        metadata.add("{\"a\": [" + String.join(", ", Collections.nCopies(43_685, "1")) + "], \"b\": 1}");
        metadata.add("{\"n\": [" + String.join(", ", Collections.nCopies(400, "1e300")) + "]}");
        return metadata;
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.chars().forEach(c -> quoted.append(String.format("\\u%04x", c)));
        return quoted.append('"').toString();
    }

    /** A row for each value of each column, its other columns as bare as can be; one of the longest; and random ones. */
    static List<Map<String, String>> admitted(Random random) {
        List<Map<String, String>> rows = new ArrayList<>();
        ADMITTED.forEach((column, values) -> values.forEach(value -> rows.add(row(column, value))));
        rows.add(row("id", "00000000-0000-0000-0000-000000000000"));
        rows.add(row("id", "ffffffff-ffff-ffff-ffff-ffffffffffff"));
        // what shared_append_id() makes
        rows.add(row("id", "00000000-0000-8000-8000-000000000000"));
        Map<String, String> longest = row("message", "\u0001".repeat(65_535));
        ADMITTED.forEach((column, values) -> values.stream()
                .max(Comparator.comparingInt(String::length))
                .ifPresent(value -> longest.put(column, value)));
        rows.add(longest);
        for (int i = 0; i < RANDOM_ROWS; i++) {
            Map<String, String> row = row("action", "random " + i);
            ADMITTED.forEach((column, values) -> {
                if (random.nextInt(3) > 0) {
                    row.put(column, values.get(random.nextInt(values.size())));
                }
            });
            rows.add(row);
        }
        return rows;
    }

    /** Rows that are beyond a limit by as little as can be. */
    static List<Map<String, String>> refused() {
        List<Map<String, String>> rows = new ArrayList<>();
        for (String column : List.of("timestamp", "recorded_at")) {
            for (String value :
                    List.of("infinity", "-infinity", "0001-12-31 23:59:59.999999+00 BC", "10000-01-01 00:00:00+00")) {
                rows.add(row(column, value));
            }
        }
        for (String column : List.of("action", "outcome")) {
            rows.add(row(column, ""));
        }
        Map.of("action", 255, "actor_type", 255, "actor_id", 1024, "actor_name", 1024, "subject_type", 255)
                .forEach((column, length) -> rows.add(row(column, "x".repeat(length + 1))));
        Map.of("subject_id", 1024, "subject_name", 1024, "outcome", 64, "message", 65_535)
                .forEach((column, length) -> rows.add(row(column, "x".repeat(length + 1))));
        rows.add(row("message", "\u20AC".repeat(21_846)));
        for (String metadata : List.of(
                "[]",
                "null",
                "1",
                "\"text\"",
                "{\"deep\": " + "[".repeat(32) + "]".repeat(32) + "}",
                "{\"a\":".repeat(33) + "true" + "}".repeat(33),
                "{\"a\": \"" + "x".repeat(131_072 - 8) + "\"}",
                "{\"a\": [" + String.join(", ", Collections.nCopies(43_690, "1")) + "]}",
                "{\"n\": [" + String.join(", ", Collections.nCopies(500, "1e300")) + "]}",
                "{\"n\": 1" + "0".repeat(309) + "}",
                "{\"n\": -" + "9".repeat(309) + "}",
                "{\"n\": 1.7976931348623158e308}",
                "{\"n\": 1e-400}",
                "{\"n\": 1." + "0".repeat(399) + "}",
                "{\"n\": 1e131071}",
                "{\"n\": 1e-16383}",
                "{\"n\": [[{\"m\": 1e131071}]]}")) {
            rows.add(row("metadata", metadata));
        }
        return rows;
    }

    private static Map<String, String> row(String column, String value) {
        Map<String, String> row = new LinkedHashMap<>();
        row.put("action", "a");
        row.put(column, value);
        return row;
    }
}
