package dev.annals.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A page of a feed.
 *
 * @param records the JSON of each, byte for byte as the service wrote it, on one line
 * @param next the cursor of the next page; null on the last
 * @param pollMore the cursor of what is recorded later
 */
record Page(List<byte[]> records, @Nullable String next, String pollMore) {

    private static final Pattern CURSOR_TEXT = Pattern.compile("[0-9]{1,18}(-[0-9a-f]{8})?");
    /** The URLs of a page begin as the service knows itself, which need not be how it is reached from here. */
    private static final Pattern CURSOR = Pattern.compile("[?&]cursor=([0-9a-f.-]+)(?:&.*)?$");

    /** @throws ClientFailure where a text is no cursor, naming {@code where} it stands */
    static String requireCursor(String text, String where) {
        if (!CURSOR_TEXT.matcher(text).matches()) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    where + " holds no cursor: that is a sequence id, or looks like 10225-9f3a61c2.");
        }
        return text;
    }

    static Page parse(byte[] body) {
        List<byte[]> records = new ArrayList<>();
        String next = null;
        String pollMore = null;
        try (JsonParser json = Connection.JSON.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw noPage();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                if (name.equals("results") && value == JsonToken.START_ARRAY) {
                    readRecords(json, body, records);
                } else if (name.equals("next") && value == JsonToken.VALUE_STRING) {
                    next = cursor(json.getText());
                } else if (name.equals("poll_more") && value == JsonToken.VALUE_STRING) {
                    pollMore = cursor(json.getText());
                } else {
                    json.skipChildren();
                }
            }
        } catch (IOException e) {
            throw noPage();
        }
        if (pollMore == null) {
            throw noPage();
        }
        return new Page(records, next, pollMore);
    }

    private static void readRecords(JsonParser json, byte[] body, List<byte[]> records) throws IOException {
        while (json.nextToken() == JsonToken.START_OBJECT) {
            int start = (int) json.currentTokenLocation().getByteOffset();
            json.skipChildren();
            records.add(
                    Arrays.copyOfRange(body, start, (int) json.currentLocation().getByteOffset()));
        }
    }

    private static String cursor(String url) {
        Matcher matcher = CURSOR.matcher(url);
        if (!matcher.find()) {
            throw noPage();
        }
        return matcher.group(1);
    }

    private static ClientFailure noPage() {
        return new ClientFailure(
                ClientFailure.FAILED, "What answers at this URL is no Annals service. Check ANNALS_URL.");
    }
}
