package dev.annals.access.openid;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.derived.log.GoPrograms;
import dev.annals.tools.embedded.TestDatabase;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.CookieManager;
import java.net.CookiePolicy;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * People and programs of another real provider than npm's: the one of zitadel/oidc, which writes its issuer with a slash at the end,
 * signs by ES384, and calls its tokens of access {@code JWT}.
 */
@Slow
@TakesLong
@Timeout(300)
class OtherProviderIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final CookieManager cookies = new CookieManager(null, CookiePolicy.ACCEPT_ALL);
    private final HttpClient browser = HttpClient.newBuilder()
            .cookieHandler(cookies)
            .followRedirects(HttpClient.Redirect.NORMAL)
            .build();
    private final HttpClient program = HttpClient.newHttpClient();

    /** As the browser knows it, whose cookies are those of a host. */
    private String url;

    private Process provider;
    private String issuer;
    private ServiceProcess service;
    private Project project;

    @BeforeEach
    void start() throws Exception {
        int port = Ports.free();
        url = "http://localhost:" + port;
        provider = new ProcessBuilder(GoPrograms.built("zitadel").toString(), url + "/v1/session/callback")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        issuer =
                new BufferedReader(new InputStreamReader(provider.getInputStream(), StandardCharsets.UTF_8)).readLine();
        service = ServiceProcess.start(Map.ofEntries(
                        Map.entry("ANNALS_PORT", Integer.toString(port)),
                        Map.entry("ANNALS_PUBLIC_URL", url),
                        Map.entry(
                                "ANNALS_DATABASE_URL",
                                TestDatabase.createDatabase().withPassword()),
                        Map.entry("ANNALS_ADMIN_TOKEN", ADMIN),
                        Map.entry("ANNALS_OPENID_ISSUER", issuer),
                        Map.entry("ANNALS_OPENID_AUDIENCE", OpenIdProvider.AUDIENCE),
                        Map.entry("ANNALS_OPENID_CLIENT_ID", "annals-viewer"),
                        Map.entry("ANNALS_OPENID_SCOPES", "openid email"),
                        Map.entry("ANNALS_OPENID_KEY_TIME", "1s"),
                        Map.entry("ANNALS_OPENID_KEY_OUTAGE", "1s")))
                .awaitListening();
        project = service.newProject(ADMIN, "read");
    }

    @AfterEach
    void stop() {
        if (service != null) {
            service.close();
        }
        if (provider != null) {
            provider.destroyForcibly();
        }
    }

    @Test
    void aPersonSignsInAndReadsByTheAddressThatTheProviderHasVerified() throws Exception {
        HttpResponse<String> form = browser.send(
                HttpRequest.newBuilder(URI.create(url + "/v1/session/sign-in")).build(), BodyHandlers.ofString());
        assertThat(form.uri().toString()).startsWith(issuer + "login/username?authRequestID=");
        HttpResponse<String> viewer = browser.send(
                HttpRequest.newBuilder(URI.create(issuer + "login/username"))
                        .header("Content-Type", "application/x-www-form-urlencoded")
                        .POST(BodyPublishers.ofString("id="
                                + form.uri().getQuery().replaceFirst(".*=", "")
                                + "&username=" + URLEncoder.encode("test-user@localhost", StandardCharsets.UTF_8)
                                + "&password=verysecure"))
                        .build(),
                BodyHandlers.ofString());
        assertThat(viewer.uri()).isEqualTo(URI.create(url + "/"));
        JsonNode session = JSON.readTree(browser.send(
                        HttpRequest.newBuilder(URI.create(url + "/v1/session")).build(), BodyHandlers.ofString())
                .body());
        assertThat(session.path("subject").asText()).isEqualTo("id1");

        HttpRequest read =
                HttpRequest.newBuilder(URI.create(url + "/v1/project-logs")).build();
        assertThat(browser.send(read, BodyHandlers.discarding()).statusCode()).isEqualTo(403);
        grant("email", "test-user@zitadel.ch", "read");
        Await.until(
                "the grant opens the project",
                () -> browser.send(read, BodyHandlers.discarding()).statusCode() == 200);
    }

    @Test
    void aProgramWritesByANamespacedClaimUntilTheKeyIsWithdrawnOrTheProviderIsGone() throws Exception {
        grant("https://example\\\\.org/roles", "archivist", "write");
        String old = programToken();
        assertThat(write(old)).isEqualTo(201);
        HttpRequest rotate = HttpRequest.newBuilder(URI.create(issuer + "test/rotate"))
                .POST(BodyPublishers.noBody())
                .build();
        assertThat(program.send(rotate, BodyHandlers.discarding()).statusCode()).isEqualTo(200);
        String token = programToken();
        Await.until("the new key counts", () -> write(token) == 201);
        Await.until("the old key counts no more", () -> write(old) == 401);
        assertThat(write(token)).isEqualTo(201);

        provider.destroyForcibly().waitFor();
        Await.until("its keys count no more", () -> write(token) == 503);
    }

    private String programToken() throws Exception {
        String secret = Base64.getEncoder().encodeToString("sid1:verysecret".getBytes(StandardCharsets.UTF_8));
        HttpRequest request = HttpRequest.newBuilder(URI.create(issuer + "oauth/token"))
                .header("Authorization", "Basic " + secret)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(BodyPublishers.ofString("grant_type=client_credentials"))
                .build();
        return JSON.readTree(program.send(request, BodyHandlers.ofString()).body())
                .path("access_token")
                .asText();
    }

    private int write(String token) throws Exception {
        return post(token, "/v1/project-logs", "{\"action\": \"a\"}");
    }

    private void grant(String claim, String value, String scope) throws Exception {
        assertThat(post(
                        ADMIN,
                        "/v1/projects/" + project.id() + "/grants",
                        "{\"claim\": \"" + claim + "\", \"value\": \"" + value + "\", \"scopes\": [\"" + scope
                                + "\"]}"))
                .isEqualTo(201);
    }

    private int post(String token, String path, String body) throws Exception {
        return program.send(
                        HttpRequest.newBuilder(service.uri(path))
                                .header("Authorization", "Bearer " + token)
                                .header("Content-Type", "application/json")
                                .POST(BodyPublishers.ofString(body))
                                .build(),
                        BodyHandlers.discarding())
                .statusCode();
    }
}
