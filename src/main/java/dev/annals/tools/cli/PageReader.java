package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.follower.Page;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/** Reads pages of a feed, and keeps the bytes of each record, which is one line of JSON. */
final class PageReader {

    private static final Pattern CURSOR_TEXT = Pattern.compile("[0-9]{1,18}(-[0-9a-f]{8})?");

    private PageReader() {}

    /** @throws ClientFailure if the text is not a cursor; {@code where} names its origin */
    static String requireCursor(String text, String where) {
        if (!CURSOR_TEXT.matcher(text).matches()) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    where + " does not contain a cursor: a cursor is a sequence id, or looks like 10225-9f3a61c2.");
        }
        return text;
    }

    static Page<byte[]> parse(byte[] body) {
        List<byte[]> records = new ArrayList<>();
        String next = null;
        String pollMore = null;
        try (JsonParser json = Json.FACTORY.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw noPage();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                if (name.equals("results") && value == JsonToken.START_ARRAY) {
                    readRecords(json, body, records);
                } else if (name.equals("next") && value == JsonToken.VALUE_STRING) {
                    next = json.getText();
                } else if (name.equals("poll_more") && value == JsonToken.VALUE_STRING) {
                    pollMore = json.getText();
                } else {
                    json.skipChildren();
                }
            }
            if (pollMore != null) {
                return new Page<>(records, next, pollMore);
            }
        } catch (IOException | IllegalArgumentException e) {
            // an answer of another service
        }
        throw noPage();
    }

    private static void readRecords(JsonParser json, byte[] body, List<byte[]> records) throws IOException {
        while (json.nextToken() == JsonToken.START_OBJECT) {
            int start = (int) json.currentTokenLocation().getByteOffset();
            json.skipChildren();
            records.add(
                    Arrays.copyOfRange(body, start, (int) json.currentLocation().getByteOffset()));
        }
    }

    private static ClientFailure noPage() {
        return new ClientFailure(
                ClientFailure.FAILED, "The server at this URL is not an Annals service. Check ANNALS_URL.");
    }
}
