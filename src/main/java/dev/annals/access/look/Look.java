package dev.annals.access.look;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.RequestFields;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A project's look. Anything but the embedders may be null.
 *
 * @param colour as {@code #rrggbb}
 * @param logo an image that {@link Logo#problem} accepts
 * @param embedders origins of pages that may show the project's links in a frame
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Look(@Nullable String name, @Nullable String colour, byte @Nullable [] logo, List<String> embedders) {

    static final Look NONE = new Look(null, null, null, List.of());

    private static final int MAX_NAME = 80;
    private static final int MAX_EMBEDDERS = 16;
    private static final Pattern COLOUR = Pattern.compile("#[0-9a-f]{6}");
    /** No wildcard, and nothing that could end the directive of the Content-Security-Policy. */
    private static final Pattern ORIGIN =
            Pattern.compile("https://[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?");

    static Look of(Row row) {
        return new Look(
                row.getString("name"),
                row.getString("colour"),
                row.getBuffer("logo") == null ? null : row.getBuffer("logo").getBytes(),
                List.of(row.getArrayOfStrings("embedders")));
    }

    /**
     * Reads {@code {"name": "…", "colour": "#1b57c4", "logo": "…", "embedders": ["https://…"]}}. Each may be left out.
     *
     * @throws dev.annals.kernel.http.ProblemException {@code malformed-json} or {@code invalid-body}
     */
    static Look read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("name", "colour", "logo", "embedders"));
        String name = fields.text("name", MAX_NAME, fields.get("name") != null);
        String colour = fields.text("colour", 7, false);
        if (colour != null && !COLOUR.matcher(colour).matches()) {
            fields.wrong("colour", "It must be a colour such as \"#1b57c4\", in lower case.");
        }
        byte[] logo = logo(fields);
        List<String> embedders = embedders(fields);
        fields.requireValid();
        return new Look(name, colour, logo, embedders);
    }

    private static byte @Nullable [] logo(RequestFields fields) {
        String text = fields.text("logo", Logo.MAX_BYTES * 4 / 3 + 4, false);
        if (text == null) {
            return null;
        }
        try {
            byte[] logo = Base64.getDecoder().decode(text);
            String problem = Logo.problem(logo);
            if (problem != null) {
                fields.wrong("logo", problem);
            }
            return logo;
        } catch (IllegalArgumentException e) {
            fields.wrong("logo", "It must be an image in base64.");
            return null;
        }
    }

    private static List<String> embedders(RequestFields fields) {
        List<String> embedders = new ArrayList<>();
        JsonNode value = fields.get("embedders");
        if (value == null) {
            return embedders;
        }
        if (!value.isArray() || value.size() > MAX_EMBEDDERS) {
            fields.wrong("embedders", "It must be an array of at most " + MAX_EMBEDDERS + " origins.");
            return embedders;
        }
        for (int i = 0; i < value.size(); i++) {
            String origin = value.get(i).isTextual() ? value.get(i).textValue() : "";
            if (ORIGIN.matcher(origin).matches()) {
                embedders.add(origin);
            } else {
                fields.wrong(
                        "embedders/" + i, "It must be an origin such as \"https://app.example.org\", in lower case.");
            }
        }
        return embedders;
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        writeShown(json);
        json.writeArrayFieldStart("embedders");
        for (String origin : embedders) {
            json.writeString(origin);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** What the page shows. */
    void writeShown(JsonGenerator json) throws IOException {
        json.writeStringField("name", name);
        json.writeStringField("colour", colour);
        json.writeStringField("logo", logo == null ? null : Base64.getEncoder().encodeToString(logo));
    }

    /** In JSON, about. */
    int size() {
        return 1_024 + (logo == null ? 0 : logo.length * 4 / 3);
    }
}
