package dev.annals.access.places;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.HashSet;
import java.util.Set;

/**
 * What databases say about where projects are, for {@code annals.admit()}. Home is believed. A member is believed about itself alone, and
 * of that only what home has begun as a move: its owner may write any row. What it answers may be anything.
 */
public final class Claims {

    private static final ObjectMapper JSON = new ObjectMapper();

    private record Move(String project, String target, long epoch) {}

    private final ArrayNode claims = JSON.createArrayNode();
    private final Set<Move> moves = new HashSet<>();
    private final Set<String> members = new HashSet<>();

    /**
     * Begins with what home says.
     *
     * @param moves of home, as {@code read_claims.sql} returns them like the claims
     */
    public Claims(String ofHome, String moves) {
        for (JsonNode claim : read(ofHome)) {
            add(claim, claim.path("database").asText(), true);
        }
        for (JsonNode move : read(moves)) {
            this.moves.add(new Move(
                    move.path("project_id").asText(),
                    move.path("target").asText(),
                    move.path("epoch").asLong()));
        }
    }

    /**
     * Adds what a member says.
     *
     * @param claims as {@code read_claims.sql} returns them
     */
    public void add(String member, String claims) {
        members.add(member);
        for (JsonNode claim : read(claims)) {
            add(
                    claim,
                    member,
                    moves.contains(new Move(
                            claim.path("project_id").asText(),
                            member,
                            claim.path("epoch").asLong())));
        }
    }

    private void add(JsonNode claim, String database, boolean proven) {
        if (!isUuid(claim.path("project_id").asText()) || !claim.path("epoch").canConvertToLong()) {
            return;
        }
        claims.addObject()
                .put("project_id", claim.path("project_id").asText())
                .put("database", database)
                .put("epoch", claim.path("epoch").asLong())
                .put("decided", claim.path("decided").asBoolean())
                .put("proven", proven);
    }

    private static boolean isUuid(String text) {
        return text.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    }

    private static JsonNode read(String text) {
        try {
            JsonNode array = JSON.readTree(text);
            return array.isArray() ? array : MissingNode.getInstance();
        } catch (JsonProcessingException e) {
            return MissingNode.getInstance();
        }
    }

    /** Whether the member has said anything. */
    boolean has(String member) {
        return members.contains(member);
    }

    /** As JSON. */
    @Override
    public String toString() {
        return claims.toString();
    }
}
