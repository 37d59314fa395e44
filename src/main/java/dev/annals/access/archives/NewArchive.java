package dev.annals.access.archives;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.RequestFields;
import java.util.Set;

/**
 * {@code {"first_sequence_id": 1, "last_sequence_id": 256, "file_name": "…", "bytes": 4711, "sha256": "…"}}.
 *
 * @param sha256 of the file, in hexadecimal
 */
record NewArchive(long first, long last, String fileName, long bytes, String sha256) {

    private static final int MAX_FILE_NAME = 255;

    static NewArchive read(byte[] body) {
        RequestFields fields = new RequestFields(
                body, Set.of("first_sequence_id", "last_sequence_id", "file_name", "bytes", "sha256"));
        long first = positive(fields, "first_sequence_id");
        long last = positive(fields, "last_sequence_id");
        if (last < first) {
            fields.wrong("last_sequence_id", "It must not be less than first_sequence_id.");
        }
        String fileName = fields.text("file_name", MAX_FILE_NAME, true);
        long bytes = positive(fields, "bytes");
        String sha256 = fields.text("sha256", 64, true);
        if (sha256 != null && !sha256.matches("[0-9a-f]{64}")) {
            fields.wrong("sha256", "It must be 64 digits in hexadecimal, with small letters.");
        }
        fields.requireValid();
        return new NewArchive(first, last, fileName == null ? "" : fileName, bytes, sha256 == null ? "" : sha256);
    }

    private static long positive(RequestFields fields, String name) {
        JsonNode value = fields.get(name);
        if (value == null || !value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 1) {
            fields.wrong(name, "It must be a whole number of 1 or more.");
            return 1;
        }
        return value.longValue();
    }
}
