package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.access.openid.OpenIdProvider;
import dev.annals.access.openid.WithOpenId;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each operation answers tokens of an OpenID provider as it does those of the service, and faulty ones like unknown tokens. */
@Slow
@QuarkusTest
@TestProfile(WithOpenId.class)
class IdentityAccessTest extends CallsOfTheContract {

    private OpenIdProvider provider;

    @BeforeEach
    void needTheProvider() throws Exception {
        provider = OpenIdProvider.needed();
    }

    @Test
    void aGoodTokenIsAnsweredAsATokenWithTheScopesOfItsGrants() throws Exception {
        List<List<String>> rows = rows();
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        for (String scope : List.of("read", "write", "sequence", "redact", "stream", "audit", "admin")) {
            String subject = "with " + scope + " " + UUID.randomUUID();
            boolean administers = scope.equals("audit") || scope.equals("admin");
            grant(administers ? "annals" : victim.id().toString(), subject, scope);
            String token = provider.tokenOf(Map.of("sub", subject));
            int column = rows.get(0).indexOf("`" + scope + "`");
            for (List<String> row : rows.subList(2, rows.size())) {
                Call call = call(row.get(0).replace("`", ""), victim, record);
                assertThat(shown(send(call, token)))
                        .as("%s for an identity with a grant of %s", row.get(0), scope)
                        .isEqualTo(row.get(column));
            }
        }
        log.checkFeed(victim.id());
    }

    @Test
    void aFaultyTokenIsAnsweredLikeAnUnknownOne() throws Exception {
        List<List<String>> rows = rows();
        int unknown = rows.get(0).indexOf("unknown token");
        Project victim = log.newProject(SCOPES);
        String record = append(victim);
        String subject = "with everything " + UUID.randomUUID();
        grant(victim.id().toString(), subject, "read", "write", "sequence", "redact", "stream");
        grant("annals", subject, "audit", "admin");
        Map<String, String> faulty = faultyTokens(subject);
        for (String sound : List.of("RS256", "PS256", "ES256", "EdDSA", "Ed25519")) {
            String token = provider.mint(Map.of("claims", Map.of("sub", subject), "algorithm", sound));
            assertThat(send(new Call("GET", "/v1/projects", "", ""), token).statusCode())
                    .as("without a fault, by %s, it opens everything", sound)
                    .isEqualTo(200);
        }
        for (List<String> row : rows.subList(2, rows.size())) {
            Call call = call(row.get(0).replace("`", ""), victim, record);
            Map<String, String> answers = new TreeMap<>();
            Map<String, String> expected = new TreeMap<>();
            faulty.forEach((fault, token) -> {
                answers.put(fault, shown(send(call, token)));
                expected.put(fault, row.get(unknown));
            });
            assertThat(answers).as(row.get(0)).isEqualTo(expected);
        }
        log.checkFeed(victim.id());
    }

    /** With a provider, people can sign in. */
    private static List<List<String>> rows() throws Exception {
        return SecurityTableTest.table("operation").stream()
                .filter(row -> !row.get(0).contains("/v1/session"))
                .toList();
    }

    private Map<String, String> faultyTokens(String subject) throws Exception {
        Map<String, String> faulty = new LinkedHashMap<>();
        faulty.put("expired", mint(subject, Map.of("iat", 1_700_000_000L), Map.of("seconds", -1)));
        faulty.put("without an end", mint(subject, nothing("exp"), Map.of()));
        for (String time : List.of("1e400", "-1e400", "1e19", "99999999999999999999", "18446744078000000000", "[]")) {
            faulty.put("whose end is " + time, mint(subject, Map.of("exp", "raw:" + time), Map.of()));
            faulty.put("that is valid from " + time, mint(subject, Map.of("nbf", "raw:" + time), Map.of()));
            faulty.put("of the time " + time, mint(subject, Map.of("iat", "raw:" + time), Map.of()));
        }
        faulty.put("not valid yet", mint(subject, Map.of("nbf", 4_000_000_000L), Map.of()));
        faulty.put("for another audience", mint(subject, Map.of("aud", "urn:another"), Map.of()));
        faulty.put("for no audience", mint(subject, nothing("aud"), Map.of()));
        faulty.put("for the viewer", mint(subject, Map.of("aud", "annals-viewer"), Map.of()));
        faulty.put("of another issuer", mint(subject, Map.of("iss", provider.issuer() + "/"), Map.of()));
        faulty.put("of no issuer", mint(subject, nothing("iss"), Map.of()));
        faulty.put("of nobody", mint(subject, nothing("sub"), Map.of()));
        faulty.put("of a number", mint(subject, Map.of("sub", 7), Map.of()));
        faulty.put("of a NUL character", mint(subject, Map.of("sub", subject + "\0"), Map.of()));
        faulty.put("without a signature", mint(subject, Map.of(), Map.of("algorithm", "none")));
        for (String algorithm : List.of("HS256", "HS384", "HS512")) {
            faulty.put(
                    "with the public key as a secret, " + algorithm,
                    mint(
                            subject,
                            Map.of(),
                            Map.of(
                                    "algorithm",
                                    algorithm,
                                    "header",
                                    Map.of("kid", keyId(mint(subject, Map.of(), Map.of()))))));
        }
        faulty.put("by another provider's key", mint(subject, Map.of(), Map.of("key", "forged")));
        faulty.put("by a key that it brings", mint(subject, Map.of(), Map.of("key", "embedded")));
        faulty.put("by an unknown key", mint(subject, Map.of(), Map.of("header", Map.of("kid", "unknown"))));
        for (String name : List.of("jku", "x5u")) {
            faulty.put(
                    "with the address of keys, " + name,
                    mint(subject, Map.of(), Map.of("header", Map.of(name, provider.issuer() + "/jwks"))));
        }
        faulty.put("of another kind", mint(subject, Map.of(), Map.of("header", Map.of("typ", "logout+jwt"))));
        faulty.put(
                "by the key for another method",
                mint(
                        subject,
                        Map.of(),
                        Map.of(
                                "algorithm",
                                "PS256",
                                "header",
                                Map.of("kid", keyId(mint(subject, Map.of(), Map.of()))))));
        String good = mint(subject, Map.of(), Map.of());
        String[] parts = good.split("\\.", -1);
        faulty.put(
                "with other claims",
                parts[0] + "." + mint("somebody else", Map.of(), Map.of()).split("\\.", -1)[1] + "." + parts[2]);
        faulty.put("cut off", good.substring(0, good.length() - 4));
        faulty.put("without its signature", parts[0] + "." + parts[1] + ".");
        faulty.put("twice", good + "." + parts[2]);
        faulty.put("too long", mint(subject, Map.of("more", "x".repeat(19_000)), Map.of()));
        faulty.put("no token at all", "eyJ.e30.");
        for (String header : List.of(
                "{\"alg\": 5}",
                "{\"alg\": \"RS256\", \"kid\": 5}",
                "{\"alg\": \"RS256\", \"typ\": {}}",
                "{\"alg\": \"RS256\", \"kid\": [" + "[".repeat(3_000),
                "{\"alg\": \"RS256\", \"crit\": \"exp\"}",
                "{\"alg\": \"RSA-OAEP\", \"enc\": \"A256GCM\"}")) {
            String encoded =
                    Base64.getUrlEncoder().withoutPadding().encodeToString(header.getBytes(StandardCharsets.UTF_8));
            faulty.put(
                    "with the header " + header.substring(0, Math.min(40, header.length())),
                    encoded + "." + parts[1] + "." + parts[2]);
        }
        return faulty;
    }

    private static Map<String, Object> nothing(String claim) {
        Map<String, Object> claims = new LinkedHashMap<>();
        claims.put(claim, null);
        return claims;
    }

    private static String keyId(String token) {
        String header = new String(
                Base64.getUrlDecoder().decode(token.substring(0, token.indexOf('.'))), StandardCharsets.UTF_8);
        return text(header, "kid");
    }

    private String mint(String subject, Map<String, ?> claims, Map<String, ?> wishes) throws Exception {
        Map<String, Object> all = new LinkedHashMap<>(Map.of("sub", subject));
        all.putAll(claims);
        Map<String, Object> wished = new LinkedHashMap<>(wishes);
        wished.put("claims", all);
        return provider.mint(wished);
    }

    private void grant(String project, String subject, String... scopes) {
        String body = "{\"claim\": \"sub\", \"value\": \"" + subject + "\", \"scopes\": [\""
                + String.join("\", \"", scopes) + "\"]}";
        assertThat(send(new Call("POST", "/v1/projects/" + project + "/grants", body, ""), AuditLogFixture.ADMIN_TOKEN)
                        .statusCode())
                .isEqualTo(201);
    }
}
