package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Map;

/**
 * Records as blocks of a message to an incoming webhook of Slack. All text of records is {@code plain_text}, in which Slack reads neither
 * mentions nor links, and has no character that begins one.
 */
final class SlackMessage {

    /** Two blocks of each record, and the header. */
    static final int MAX_RECORDS = 20;
    /** Slack refuses messages whose blocks are too long together, and names no limit. */
    static final int MAX_BYTES = 12_000;

    static final String TAIL = "]}";

    private static final int MAX_SECTION = 3_000;
    private static final int TAKEN = 200;
    private static final int SHOWN = 64;

    private SlackMessage() {}

    /** The beginning of a message, with the block that precedes those of records. */
    static String head(String stream) {
        return "{\"text\":\"Annals: " + stream
                + "\",\"blocks\":[{\"type\":\"header\",\"text\":{\"type\":\"plain_text\",\"text\":\"Annals: " + stream
                + "\"}}";
    }

    static void write(Notice notice, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("type", "section");
        text("plain_text", section(notice), json);
        json.writeEndObject();
        if (notice.link() != null) {
            json.writeRaw(',');
            json.writeStartObject();
            json.writeStringField("type", "context");
            json.writeArrayFieldStart("elements");
            json.writeStartObject();
            json.writeStringField("type", "mrkdwn");
            json.writeStringField("text", "<" + escaped(notice.link(), MAX_SECTION) + "|Open in Annals>");
            json.writeEndObject();
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private static void text(String type, String text, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("text");
        json.writeStringField("type", type);
        json.writeStringField("text", text);
        json.writeBooleanField("emoji", false);
        json.writeEndObject();
    }

    private static String section(Notice notice) {
        StringBuilder text = new StringBuilder(notice.title());
        for (Map.Entry<String, String> fact : notice.facts().entrySet()) {
            text.append('\n').append(fact.getKey()).append(": ").append(fact.getValue());
        }
        return escaped(text.toString(), MAX_SECTION);
    }

    /** Slack counts characters after the escape. */
    private static String escaped(String text, int most) {
        StringBuilder out = new StringBuilder(text.length() + 16);
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            int c = text.codePointAt(i);
            String next = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : Character.toString(c);
            if (out.length() + next.length() > most) {
                break;
            }
            out.append(next);
        }
        return out.toString();
    }

    /** A word such as {@code invalid_payload} says why. Anything else may repeat the secret URL. */
    static Sink.Outcome outcome(HttpExchange.Answer answer) {
        String said = answer.body().toString();
        boolean isWord = said.length() <= SHOWN && said.matches("[a-z_]+");
        return WebhookSink.outcome(
                answer,
                answer.status() == TAKEN && said.equals("ok"),
                answer.text() + (isWord ? " It says " + said + "." : ""));
    }
}
