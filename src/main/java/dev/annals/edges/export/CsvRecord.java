package dev.annals.edges.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A record as a row of RFC 4180: UTF-8 without a byte order mark, CRLF after every row. Columns keep their order; later versions add
 * columns at the end. Text is quoted, and an absent value is an empty cell without quotes.
 *
 * <p>Spreadsheets run a cell that begins with one of {@code = + - @}, a tab or a line break as a formula, even in quotes (CWE-1236; the
 * list is OWASP's). A cell gets an apostrophe in front if the first character that is neither a quote, an apostrophe nor other white space
 * is such a character or its full-width form. A leading apostrophe does not change this, so a reader can remove it by the same rule.
 *
 * <p>Some spreadsheets split cells at semicolons and tabs, even in quotes. The text after one is checked like a cell.
 */
final class CsvRecord {

    private static final String SEPARATORS = ";\t";

    static final String HEADER = String.join(
                    ",",
                    List.of(
                            "sequence_id",
                            "id",
                            "timestamp",
                            "recorded_at",
                            "action",
                            "actor_type",
                            "actor_id",
                            "actor_name",
                            "subject_type",
                            "subject_id",
                            "subject_name",
                            "outcome",
                            "ip_address",
                            "message",
                            "metadata",
                            "number_sequence",
                            "number_value",
                            "recorded_by",
                            "redacted"))
            + "\r\n";

    private static final Party NOBODY = new Party(null, null, null);

    private CsvRecord() {}

    static void write(StoredRecord stored, JsonGenerator out) throws IOException {
        StringBuilder text = new StringBuilder(256);
        line(stored, text);
        out.writeRaw(text.toString());
    }

    private static void line(StoredRecord stored, StringBuilder out) {
        AuditRecord record = stored.record();
        out.append(stored.sequenceId());
        cell(record.id().toString(), out);
        cell(Timestamps.format(record.timestamp()), out);
        cell(Timestamps.format(stored.recordedAt()), out);
        cell(record.action(), out);
        party(record.actor(), out);
        party(record.subject(), out);
        cell(record.outcome(), out);
        cell(record.ipAddress(), out);
        cell(record.message(), out);
        cell(record.metadata() == null ? "{}" : record.metadata(), out);
        cell(record.numberSequence(), out);
        out.append(',');
        if (stored.numberValue() != null) {
            out.append(stored.numberValue());
        }
        cell(stored.recordedBy(), out);
        cell(stored.redaction() == null ? null : stored.redaction().digestsAsJson(), out);
        out.append("\r\n");
    }

    private static void party(@Nullable Party party, StringBuilder out) {
        Party there = party == null ? NOBODY : party;
        cell(there.type(), out);
        cell(there.id(), out);
        cell(there.name(), out);
    }

    private static void cell(@Nullable String text, StringBuilder out) {
        out.append(',');
        if (text == null) {
            return;
        }
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            if (isFormula(text, i)) {
                out.append('\'');
            }
            char c = text.charAt(i);
            out.append(c).append(c == '"' ? "\"" : "");
        }
        out.append('"');
    }

    /** Whether a spreadsheet might run the text from this index on as a formula. */
    static boolean isFormula(String text, int start) {
        if (start > 0 && SEPARATORS.indexOf(text.charAt(start - 1)) < 0) {
            return false;
        }
        for (int i = start; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '=', '+', '-', '@', '\t', '\r', '\n', '\uFF1D', '\uFF0B', '\uFF0D', '\uFF20' -> {
                    return true;
                }
                default -> {
                    if (!mayStandBefore(c)) {
                        return false;
                    }
                }
            }
        }
        return false;
    }

    // Programs drop these characters from the front of a cell, or treat them as a quote.
    private static boolean mayStandBefore(char c) {
        return c == '\''
                || c == '"'
                || c == '`'
                || c < ' '
                || Character.isWhitespace(c)
                || Character.isSpaceChar(c)
                || Character.getType(c) == Character.FORMAT;
    }
}
