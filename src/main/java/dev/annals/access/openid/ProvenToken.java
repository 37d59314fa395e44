package dev.annals.access.openid;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A token of the provider with a checked signature and checked claims.
 *
 * @param subject the person or program
 * @param expiresAt includes the clock skew
 */
public record ProvenToken(String issuer, String subject, Instant expiresAt, JsonNode claims) {

    private static final int MOST_CLAIMS = 1_000;
    private static final int MAX_NAME = 255;
    private static final int MAX_VALUE = 1_024;
    private static final int MAX_DEPTH = 3;

    public record Claim(String name, String value) {}

    /**
     * The claims that a grant can name: texts, whole numbers, and arrays of them. Dots join the names within objects. A
     * backslash escapes a dot or a backslash, so different claims have different names. A mail address counts only if the
     * provider has verified it, which it can say of one alone.
     */
    public List<Claim> texts() {
        List<Claim> texts = new ArrayList<>();
        add("", claims, 0, texts);
        // No asBoolean(): it takes other values than true, such as 1.
        if (!claims.path("email_verified").booleanValue()
                || !claims.path("email").isTextual()) {
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

    /** PostgreSQL can store it, and it is not empty. */
    static boolean isText(String text, int maxLength) {
        return !text.isEmpty()
                && text.codePointCount(0, text.length()) <= maxLength
                && text.codePoints().noneMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF));
    }
}
