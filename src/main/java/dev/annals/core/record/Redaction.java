package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.kernel.http.JsonBody;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What is left to prove a record of which something was redacted. Names of fields are those of docs/leaf-format.md, such as
 * {@code actor.name}.
 *
 * @param salts of the fields that are left
 * @param digests of the fields that are gone
 */
public record Redaction(SortedMap<String, String> salts, SortedMap<String, String> digests) {

    /**
     * Reads what is stored: an object with the members {@code salts} and {@code redacted}, each an object of strings.
     *
     * @throws IllegalArgumentException if it is anything else
     */
    public static Redaction parse(String stored) {
        SortedMap<String, String> salts = new TreeMap<>();
        SortedMap<String, String> digests = new TreeMap<>();
        try (JsonParser json = JsonValues.JSON.createParser(stored)) {
            require(json.nextToken() == JsonToken.START_OBJECT);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                require(name.equals("salts") || name.equals("redacted"));
                members(json, name.equals("salts") ? salts : digests);
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("this is no redaction", e);
        }
        return new Redaction(salts, digests);
    }

    private static void members(JsonParser json, SortedMap<String, String> into) throws IOException {
        require(json.nextToken() == JsonToken.START_OBJECT);
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            require(json.nextToken() == JsonToken.VALUE_STRING);
            into.put(name, json.getText());
        }
    }

    private static void require(boolean expected) {
        if (!expected) {
            throw new IllegalArgumentException("this is no redaction");
        }
    }

    /**
     * Writes the member {@code redacted} into an open object.
     *
     * @throws IOException what {@code json} throws
     */
    public void write(JsonGenerator json) throws IOException {
        write("redacted", digests, json);
    }

    /** The digests as a JSON object. */
    public String digestsAsJson() {
        byte[] json = JsonBody.toBytes(128, out -> {
            out.writeStartObject();
            for (Map.Entry<String, String> digest : digests.entrySet()) {
                out.writeStringField(digest.getKey(), digest.getValue());
            }
            out.writeEndObject();
        });
        return new String(json, StandardCharsets.UTF_8);
    }

    /**
     * Writes the member {@code salts} into an open object.
     *
     * @throws IOException what {@code json} throws
     */
    public void writeSalts(JsonGenerator json) throws IOException {
        write("salts", salts, json);
    }

    private static void write(String name, SortedMap<String, String> members, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart(name);
        for (Map.Entry<String, String> member : members.entrySet()) {
            json.writeStringField(member.getKey(), member.getValue());
        }
        json.writeEndObject();
    }
}
