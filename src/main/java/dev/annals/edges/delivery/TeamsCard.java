package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Records as containers of one Adaptive Card, for a workflow of Teams that starts with a webhook. All text is in {@code TextRun}s, the
 * element in which Adaptive Cards read no Markdown.
 */
final class TeamsCard {

    static final int MAX_RECORDS = 20;
    /** Teams takes messages of about 28 KB; users report failures above 21 KB. */
    static final int MAX_BYTES = 20_000;

    static final String TAIL = "]}}]}";

    private TeamsCard() {}

    /** The beginning of a card, with the element that precedes those of records. */
    static String head(String stream) {
        return "{\"type\":\"message\",\"attachments\":[{\"contentType\":\"application/vnd.microsoft.card.adaptive\",\"contentUrl\":null,"
                + "\"content\":{\"$schema\":\"http://adaptivecards.io/schemas/adaptive-card.json\",\"type\":\"AdaptiveCard\","
                + "\"version\":\"1.4\",\"body\":[{\"type\":\"RichTextBlock\",\"inlines\":[{\"type\":\"TextRun\",\"text\":\"Annals: "
                + stream + "\",\"isSubtle\":true}]}";
    }

    static void write(Notice notice, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("type", "Container");
        json.writeBooleanField("separator", true);
        json.writeArrayFieldStart("items");
        line(notice.title(), null, json);
        for (Map.Entry<String, String> fact : notice.facts().entrySet()) {
            line(fact.getKey() + ": ", fact.getValue(), json);
        }
        if (notice.link() != null) {
            json.writeStartObject();
            json.writeStringField("type", "ActionSet");
            json.writeArrayFieldStart("actions");
            json.writeStartObject();
            json.writeStringField("type", "Action.OpenUrl");
            json.writeStringField("title", "Open in Annals");
            json.writeStringField("url", notice.link());
            json.writeEndObject();
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void line(String bold, @Nullable String text, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("type", "RichTextBlock");
        json.writeStringField("spacing", "None");
        json.writeArrayFieldStart("inlines");
        json.writeStartObject();
        json.writeStringField("type", "TextRun");
        json.writeStringField("text", literal(bold));
        json.writeStringField("weight", "Bolder");
        json.writeEndObject();
        if (text != null) {
            json.writeStartObject();
            json.writeStringField("type", "TextRun");
            json.writeStringField("text", literal(text));
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Clients replace functions such as {@code {{DATE(…)}}} even there. */
    private static String literal(String text) {
        return text.replaceAll("\\{(?=\\{)", "{ ");
    }

    /** 202 means that the workflow has begun. No answer tells whether it posts the card. */
    static Sink.Outcome outcome(HttpExchange.Answer answer) {
        return WebhookSink.outcome(answer, answer.status() == 202 || answer.status() == 200, answer.text());
    }
}
