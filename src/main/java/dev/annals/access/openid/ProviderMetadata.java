package dev.annals.access.openid;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * OpenID Connect Discovery 1.0.
 *
 * @param authorizationEndpoint the sign-in page; null if it has none
 * @param tokenEndpoint redeems codes; null if it has none
 */
record ProviderMetadata(
        String jwksUri,
        @Nullable String authorizationEndpoint,
        @Nullable String tokenEndpoint) {

    private static final Pattern URL = Pattern.compile(OpenIdConfig.URL);
    private static final ObjectReader JSON = JsonMapper.builder().build().reader();

    /** @throws IllegalArgumentException if it belongs to another issuer, or names an address that is neither https nor local */
    static ProviderMetadata read(String json, String issuer) {
        JsonNode said;
        try {
            said = JSON.readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("its description is not JSON", e);
        }
        if (!issuer.equals(said.path("issuer").asText())) {
            throw new IllegalArgumentException("its description is that of another issuer");
        }
        String jwksUri = url(said, "jwks_uri");
        if (jwksUri == null) {
            throw new IllegalArgumentException("its description names no jwks_uri");
        }
        return new ProviderMetadata(jwksUri, url(said, "authorization_endpoint"), url(said, "token_endpoint"));
    }

    private static @Nullable String url(JsonNode said, String name) {
        String url = said.path(name).asText();
        if (url.isEmpty()) {
            return null;
        }
        // Endpoints may have a query, and nothing else.
        if (!URL.matcher(url.replaceFirst("\\?[^\\s#]*$", "")).matches()) {
            throw new IllegalArgumentException("its " + name + " is neither https nor on this machine");
        }
        return url;
    }
}
