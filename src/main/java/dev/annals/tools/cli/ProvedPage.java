package dev.annals.tools.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.follower.Page;
import dev.annals.proof.PageProof;
import java.io.IOException;
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
                return new ProvedPage(page, PageProof.parse(proof.toString()));
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
}
