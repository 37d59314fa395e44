package dev.annals.access.openid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.startsWith;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Slow;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** An identity with a token of the provider has the scopes of its grants and a stable name, while token and grants are valid. */
@Slow
@QuarkusTest
@TestProfile(WithOpenId.class)
class IdentityTest extends OpenIdTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String RECORD = "{\"action\": \"a\"}";

    private final AtomicInteger number = new AtomicInteger();

    @TestHTTPResource("/v1/project-logs")
    URI logs;

    @Test
    void aProgramAppendsAndReadsByTheTokenThatItGotForItsSecret() throws Exception {
        Project project = log.newProject();
        String token = provider.programToken();
        with(token).get(AuditLogFixture.LOGS).then().statusCode(403).body("detail", containsString("no grant"));

        grant(project.id().toString(), "client_id", "a-program", "read", "write");
        with(token)
                .contentType("application/json")
                .body(RECORD)
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201);

        String identity = "identity:" + idOf("a-program");
        with(token)
                .get(AuditLogFixture.LOGS + "?recorded_by=" + identity)
                .then()
                .statusCode(200)
                .body("results.recorded_by", equalTo(List.of(identity)));
        with(token)
                .get("/v1/whoami")
                .then()
                .statusCode(200)
                .body("project.id", equalTo(project.id().toString()))
                .body("identity.subject", equalTo("a-program"))
                .body("token_id", equalTo(null));
        admin().get("/v1/identities?limit=200").then().statusCode(200).body("identities.subject", hasItem("a-program"));
        with(token).put("/v1/sequences/s").then().statusCode(403).body("detail", containsString("\"sequence\""));
        log.checkFeed(project.id());
    }

    /** As docs/administration.md describes it. */
    private String idOf(String subject) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256")
                .digest((provider.issuer() + "\0" + subject).getBytes(StandardCharsets.UTF_8));
        hash[6] = (byte) ((hash[6] & 0x0f) | 0x80);
        hash[8] = (byte) ((hash[8] & 0x3f) | 0x80);
        return HexFormat.of().formatHex(hash, 0, 16).replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5");
    }

    @Test
    void aClaimOpensAProjectByEachOfItsValuesAndNamesWithinItself() throws Exception {
        String group = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "realm_access.roles", group, "read");
        with(provider.tokenOf(Map.of("realm_access", Map.of("roles", List.of("x", group)))))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(200);
        with(provider.tokenOf(Map.of("realm_access", Map.of("roles", List.of("x")), "roles", List.of(group))))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
    }

    @Test
    void aTokenMayHaveManyGroupsAndIsToldWhenItHasTooMany() throws Exception {
        String group = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "groups", group, "read");
        List<String> groups = new ArrayList<>(Collections.nCopies(350, "/a/group/with/a/path/of/forty/characters"));
        groups.add(group);
        String long20Kb = provider.tokenOf(Map.of("groups", groups));
        assertThat(long20Kb).hasSizeBetween(20_000, 24_576);
        with(long20Kb).get(AuditLogFixture.LOGS).then().statusCode(200);

        with(provider.tokenOf(Map.of("groups", Collections.nCopies(450, groups.get(0)))))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401)
                .body("detail", containsString("and may have 24576"));
    }

    /** Else a claim that people choose for themselves could open what another one is for. */
    @Test
    void aClaimIsNoOtherOneWhereItsNameHasADot() throws Exception {
        for (Map<String, Map<String, ?>> token : List.of(
                Map.<String, Map<String, ?>>of(
                        "role.name", Map.of("role", Map.of("name", "v")), "role\\.name", Map.of("role.name", "v")),
                Map.<String, Map<String, ?>>of(
                        "a.b", Map.of("a", Map.of("b", "v")), "a\\\\.b", Map.of("a\\", Map.of("b", "v"))),
                Map.<String, Map<String, ?>>of(
                        "groups", Map.of("groups", "v"), ".groups", Map.of("", Map.of("groups", "v"))),
                Map.<String, Map<String, ?>>of(
                        "https://example\\.org/roles",
                        Map.of("https://example.org/roles", "v"),
                        "https://example.org/roles",
                        Map.of("https://example", Map.of("org/roles", "v"))))) {
            for (String name : token.keySet()) {
                String value = somebody();
                Project project = log.newProject();
                grant(project.id().toString(), name, value, "read");
                for (String other : token.keySet()) {
                    String claims = JSON.writeValueAsString(token.get(other)).replace("\"v\"", "\"" + value + "\"");
                    assertThat(status(provider.tokenOf(JSON.readValue(claims, new TypeReference<>() {}))))
                            .as("a grant for %s, a token with %s", name, claims)
                            .isEqualTo(name.equals(other) ? 200 : 403);
                }
            }
        }
    }

    @Test
    void anAddressOfMailCountsIfTheProviderHasVerifiedIt() throws Exception {
        String mail = UUID.randomUUID() + "@example.org";
        Project project = log.newProject();
        grant(project.id().toString(), "email", mail, "read");
        with(provider.tokenOf(Map.of("email", mail)))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        for (Object unverified : List.of(false, 1, "true", "1", List.of(true), Map.of("a", true))) {
            with(provider.tokenOf(Map.of("email", mail, "email_verified", unverified)))
                    .get(AuditLogFixture.LOGS)
                    .then()
                    .statusCode(403);
        }
        with(provider.tokenOf(Map.of("email", List.of("another@example.org", mail), "email_verified", true)))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        with(provider.tokenOf(Map.of("email", mail, "email_verified", true)))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(200);
    }

    @Test
    void aGrantOfAnotherProviderOpensNothing() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        granted(
                        project.id().toString(),
                        Map.of(
                                "issuer",
                                "https://elsewhere.example.org",
                                "claim",
                                "sub",
                                "value",
                                subject,
                                "scopes",
                                List.of("read")))
                .statusCode(201);
        with(provider.tokenOf(Map.of("sub", subject)))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
    }

    @Test
    void anIdentityWithSeveralProjectsNamesOneAndAnAdministratorNeedsNot() throws Exception {
        String subject = somebody();
        Project first = log.newProject();
        Project second = log.newProject();
        Project other = log.newProject();
        grant(first.id().toString(), "sub", subject, "read");
        grant(second.id().toString(), "sub", subject, "read");
        grant(second.id().toString(), "groups", subject, "write");
        grant("annals", "sub", subject, "admin");
        String token = provider.tokenOf(Map.of("sub", subject, "groups", List.of(subject)));

        with(token)
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403)
                .body("type", equalTo("urn:annals:problem:project-needed"));
        with(token)
                .get("/v1/whoami/projects")
                .then()
                .statusCode(200)
                .body(
                        "projects.id",
                        equalTo(List.of(
                                first.id().toString(),
                                second.id().toString(),
                                log.text("select annals.administration()"))))
                .body("projects[1].scopes", equalTo(List.of("read", "write")));
        with(token)
                .header("Annals-Project", second.id())
                .contentType("application/json")
                .body(RECORD)
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201);
        with(token)
                .header("Annals-Project", first.id())
                .contentType("application/json")
                .body(RECORD)
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        with(token)
                .header("Annals-Project", other.id())
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(403);
        with(token)
                .header("Annals-Project", "annals")
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(200);
        with(token)
                .contentType("application/json")
                .body(Map.of("name", somebody()))
                .post("/v1/projects")
                .then()
                .statusCode(201);
        assertThat(log.text("""
                select concat_ws(' ', action, actor_type, actor_id) from annals.feed
                where project_id = annals.administration() order by sequence_id desc limit 1
                """)).isEqualTo("annals.project.create identity " + idOf(subject));
    }

    @Test
    void theLimitsOfAGrantCountForEachIdentity() throws Exception {
        String group = somebody();
        Project project = log.newProject();
        granted(
                        project.id().toString(),
                        Map.of(
                                "claim",
                                "groups",
                                "value",
                                group,
                                "scopes",
                                List.of("read"),
                                "limits",
                                Map.of("streams", 0)))
                .statusCode(201);
        String token = provider.tokenOf(Map.of("groups", List.of(group)));
        with(token)
                .get(AuditLogFixture.LOGS + "/stream")
                .then()
                .statusCode(429)
                .body("limit", equalTo("token-streams"));
        with(token).get(AuditLogFixture.LOGS).then().statusCode(200);
    }

    @Test
    void aStreamEndsWithTheGrantAndTheGrantAdmitsNoIdentity() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "sub", subject, "read");
        String token = provider.tokenOf(Map.of("sub", subject));
        CompletableFuture<Void> end = streamOf(token);
        // Not by way of this instance.
        log.run("select annals.revoke_identity_grant(project_id, id) from annals.identity_grant where project_id = '"
                + project.id() + "'");
        end.get(30, TimeUnit.SECONDS);
        with(token).get(AuditLogFixture.LOGS).then().statusCode(403);
    }

    @Test
    void aStreamEndsWithItsToken() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "sub", subject, "read");
        String token = provider.mint(Map.of("claims", Map.of("sub", subject), "seconds", 8));
        streamOf(token).get(60, TimeUnit.SECONDS);
        with(token)
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(401)
                .body("detail", startsWith("The token has expired"));
    }

    private CompletableFuture<Void> streamOf(String token) throws Exception {
        HttpResponse<InputStream> stream = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(logs + "/stream"))
                                .header("Authorization", "Bearer " + token)
                                .build(),
                        HttpResponse.BodyHandlers.ofInputStream());
        assertThat(stream.statusCode()).isEqualTo(200);
        return CompletableFuture.runAsync(() -> {
            try (InputStream body = stream.body()) {
                body.transferTo(OutputStream.nullOutputStream());
            } catch (IOException e) {
                // a connection that is cut off
            }
        });
    }

    @Test
    void newKeysOfTheProviderCountAndOldOnesNoMore() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "sub", subject, "read");
        String old = provider.tokenOf(Map.of("sub", subject));
        with(old).get(AuditLogFixture.LOGS).then().statusCode(200);
        provider.rotate();
        String token = provider.tokenOf(Map.of("sub", subject));
        Await.until("the new key counts", () -> status(token) == 200);
        Await.until("the old key counts no more", () -> status(old) == 401);
    }

    private int status(String token) {
        return with(token).get(AuditLogFixture.LOGS).statusCode();
    }

    @Test
    void whileTheProviderIsAwayItsKeysCountForAWhileAndThenItIsSaidThatItIsAway() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "sub", subject, "read");
        for (String way : List.of("failing", "silent", "endless", "redirecting")) {
            Await.until("its keys are known", () -> status(another(subject)) == 200);
            provider.become(way);
            int fetches = provider.keyFetches();
            // Keys stay valid for the configured outage.
            assertThat(status(another(subject))).as(way).isEqualTo(200);
            Await.until("its keys count no more while it is " + way, () -> status(another(subject)) == 503);
            with(another(subject))
                    .get(AuditLogFixture.LOGS)
                    .then()
                    .statusCode(503)
                    .header("Retry-After", "1")
                    .body("type", equalTo("urn:annals:problem:unavailable"))
                    .body("detail", startsWith("The OpenID provider cannot be reached"));
            with(project.token()).get(AuditLogFixture.LOGS).then().statusCode(200);
            assertThat(provider.keyFetches())
                    .as("it is asked again while it is " + way)
                    .isGreaterThan(fetches);
            provider.become("up");
        }
        Await.until("its keys are known again", () -> status(another(subject)) == 200);
    }

    /** Another token each time: none is known from before. */
    private String another(String subject) throws Exception {
        return provider.tokenOf(Map.of("sub", subject, "number", number.incrementAndGet()));
    }

    @Test
    void tokensWithUnknownKeysDoNotMakeTheServiceAskTheProviderMoreOften() throws Exception {
        status(provider.tokenOf(Map.of()));
        long begin = System.nanoTime();
        int before = provider.keyFetches();
        for (int i = 0; i < 300; i++) {
            assertThat(status(provider.mint(Map.of("header", Map.of("kid", "nobody's " + i)))))
                    .isEqualTo(401);
        }
        long intervals = Math.floorDiv(System.nanoTime() - begin, TimeUnit.MILLISECONDS.toNanos(200));
        assertThat(provider.keyFetches() - before).isBetween(1, (int) Math.min(200, intervals + 2));
    }

    @Test
    void anIdentityThatIsForgottenKeepsItsId() throws Exception {
        String subject = somebody();
        Project project = log.newProject();
        grant(project.id().toString(), "sub", subject, "read");
        with(provider.tokenOf(Map.of("sub", subject)))
                .get(AuditLogFixture.LOGS)
                .then()
                .statusCode(200);
        log.run("update annals.identity set subject = null where id = '" + idOf(subject) + "'");
        assertThat(log.text("select count(*) from annals.feed where feed::text like '%" + subject
                        + "%' and action <> 'annals.grant.make'"))
                .isEqualTo("0");
    }

    @Test
    void aWrongGrantIsExplained() {
        Project project = log.newProject();
        granted(project.id().toString(), Map.of("claim", "c", "value", "v", "scopes", List.of("admin")))
                .statusCode(422)
                .body("errors.pointer", equalTo(List.of("/scopes")));
        granted(project.id().toString(), Map.of("claim", "c", "value", "v", "scopes", List.of("link")))
                .statusCode(422);
        granted(project.id().toString(), Map.of("claim", " ", "scopes", List.of("read"), "limits", Map.of("x", 1)))
                .statusCode(422)
                .body("errors.pointer", equalTo(List.of("/claim", "/value", "/limits/x")));
        granted(project.id().toString(), Map.of("claim", "c", "value", "v", "scopes", List.of("read"), "limits", 3))
                .statusCode(422);
    }
}
