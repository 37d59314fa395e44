package dev.annals.edges.export;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** Records whose every text tries to break a format. */
final class HostileRecords {

    private static final List<String> TEXTS = List.of(
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            " =1",
            "\u00A0=1",
            "\uFEFF=1",
            "\u200B=1",
            "'=1",
            "''=1",
            "\"=1",
            "' =1",
            "'plain",
            "=HYPERLINK(\"https://example.org/?x=\"&A1,\"click\")",
            "=cmd|' /C calc'!A0",
            "\uFF1D1",
            "\uFF0B1",
            "\uFF0D1",
            "\uFF201",
            "a,b;c\td",
            "a;=1+1",
            "a;b\t=1;+2",
            "a; '=1",
            ";'=1;''=1",
            "a\t\t@SUM(A1)",
            "a\"b\"\"c",
            "\"",
            "\"\"",
            "line\r\nbreak\nand\rmore",
            "\u0085next\u2028line\u2029paragraph",
            "\u001B[31mred\u001B[0m\u0007",
            "\u0001\u001F\u007F\u009F",
            "\uFFFE\uFFFF\uFDD0",
            "\uD83D\uDC69\u200D\uD83D\uDE80 \uD83C\uDDE9\uD83C\uDDEA",
            "\u202Eevil\u202C",
            "{\"json\": true}",
            "</script><!--",
            "%00%0a",
            "null",
            "",
            " ",
            "'",
            "x".repeat(1_000));

    private HostileRecords() {}

    /** Each text in every field that takes it, and records that have little else. */
    static List<String> all() {
        List<String> records = new ArrayList<>();
        for (String text : TEXTS) {
            ObjectNode record = ExportClient.JSON.createObjectNode();
            record.put("action", text.isEmpty() ? "a" : text.substring(0, Math.min(200, text.length())));
            record.putObject("actor")
                    .put("type", shortened(text))
                    .put("id", text)
                    .put("name", text);
            record.putObject("subject")
                    .put("type", shortened(text))
                    .put("id", text)
                    .put("name", text);
            record.put("outcome", text.isEmpty() ? "success" : text.substring(0, Math.min(60, text.length())));
            record.put("message", text);
            record.putObject("metadata").put(text, text);
            records.add(record.toString());
        }
        records.add("{\"action\": \"bare\"}");
        records.add("""
                {"action": "typed", "actor": {"type": "robot"}, "subject": {"type": "door"}}""");
        records.add("""
                {"action": "userDeleted", "outcome": "failed", "ip_address": "2001:db8::7"}""");
        records.add("""
                        {"action": "old", "timestamp": "0001-01-01T00:00:00.000001Z", "ip_address": "10.1.2.3"}""");
        records.add("""
                {"action": "late", "timestamp": "9999-12-31T23:59:59.999999Z"}""");
        records.add("{\"action\": \"long\", \"message\": \"" + "\\u00e4".repeat(10_000) + "\"}");
        records.add("""
                        {"action": "numbers", "metadata": {"n": 12345678901234567890.000000000001, "z": -0.5e-7}}""");
        return records;
    }

    private static String shortened(String text) {
        return text.substring(0, Math.min(250, text.length()));
    }
}
