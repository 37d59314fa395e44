package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.derived.proof.Hash;
import dev.annals.derived.proof.PageProof;
import dev.annals.follower.Page;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of a feed with its proof, as it came: nothing of it is verified.
 *
 * @param page each record in the bytes that the service sent
 */
record ProvedPage(Page<byte[]> page, PageProof proof) {

    static ProvedPage parse(byte[] body) {
        Page<byte[]> page = PageReader.parse(body);
        try {
            JsonNode proof = member(body);
            if (proof != null) {
                return new ProvedPage(page, proof(proof));
            }
        } catch (IOException | IllegalArgumentException e) {
            // as without any
        }
        throw new ClientFailure(
                ClientFailure.FAILED, "What answers at this URL sends a page without a proof. Check ANNALS_URL.");
    }

    // Read as a tree, the page's other members would lose digits of numbers, and could have too many.
    private static @Nullable JsonNode member(byte[] body) throws IOException {
        try (JsonParser json = Json.mapper().createParser(body)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean found = json.currentName().equals("proof");
                json.nextToken();
                if (found) {
                    return json.readValueAsTree();
                }
                json.skipChildren();
            }
            return null;
        }
    }

    /** Reads the places and the hashes of a proof. */
    static PageProof proof(JsonNode proof) {
        return new PageProof(
                index(proof.path("start")),
                index(proof.path("end")),
                hashes(proof.path("left")),
                hashes(proof.path("right")));
    }

    private static long index(JsonNode number) {
        if (!number.canConvertToLong() || !number.isIntegralNumber()) {
            throw new IllegalArgumentException("start or end is no index of a leaf");
        }
        return number.longValue();
    }

    /** Reads an array of hashes. */
    static List<Hash> hashes(JsonNode array) {
        if (!array.isArray()) {
            throw new IllegalArgumentException("there are no hashes");
        }
        List<Hash> hashes = new ArrayList<>();
        for (JsonNode hash : array) {
            hashes.add(Hash.parse(hash.asText()));
        }
        return hashes;
    }
}
