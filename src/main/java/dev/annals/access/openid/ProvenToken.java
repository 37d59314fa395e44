package dev.annals.access.openid;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The claims of a token, whose signature and claims were checked.
 *
 * @param issuer the provider
 * @param subject the person or program that the provider vouches for
 * @param expiresAt its end, with the allowance for other clocks
 */
public record ProvenToken(String issuer, String subject, Instant expiresAt, JsonNode claims) {

    private static final int MOST_CLAIMS = 1_000;
    private static final int MAX_NAME = 255;
    private static final int MAX_VALUE = 1_024;
    private static final int MAX_DEPTH = 3;

    /** One of the values of a claim. */
    public record Claim(String name, String value) {}

    /**
     * The claims that a grant can be for: texts, whole numbers, and arrays of these; of objects, those within them, with the names
     * joined by dots. A dot or a backslash in a name itself follows a backslash, so different claims have different names. An address
     * of mail is one if the provider says that it was verified.
     */
    public List<Claim> texts() {
        List<Claim> texts = new ArrayList<>();
        add("", claims, 0, texts);
        if (!claims.path("email_verified").asBoolean(false)) {
            texts.removeIf(claim -> claim.name().equals("email"));
        }
        return texts;
    }

    private static void add(String name, JsonNode value, int depth, List<Claim> texts) {
        if (value.isObject() && depth < MAX_DEPTH) {
            for (Map.Entry<String, JsonNode> field : value.properties()) {
                String own = field.getKey().replace("\\", "\\\\").replace(".", "\\.");
                add(depth == 0 ? own : name + "." + own, field.getValue(), depth + 1, texts);
            }
        } else if (value.isArray()) {
            for (JsonNode item : value) {
                if (!item.isContainerNode()) {
                    add(name, item, depth, texts);
                }
            }
        } else if ((value.isTextual() || value.isIntegralNumber())
                && texts.size() < MOST_CLAIMS
                && isText(name, MAX_NAME)
                && isText(value.asText(), MAX_VALUE)) {
            texts.add(new Claim(name, value.asText()));
        }
    }

    /** Whether it is not empty, and the database accepts it as a text. */
    static boolean isText(String text, int maxLength) {
        return !text.isEmpty()
                && text.codePointCount(0, text.length()) <= maxLength
                && text.codePoints().noneMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF));
    }
}
