package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.Cookie;
import dev.annals.AuditLogFixture.Project;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.access.openid.OpenIdProvider;
import dev.annals.tools.embedded.TestDatabase;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sign-in over TLS, with the viewer's secret for the provider in a file. */
@Slow
@Timeout(300)
class SignInOverTlsIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final char[] PASSWORD = "changeit".toCharArray();

    @TempDir
    Path directory;

    @Test
    void theSecretIsReadFromItsFileAndTheCookieIsForTlsAlone() throws Exception {
        Path secret = directory.resolve("secret");
        Files.writeString(secret, "not the secret");
        try (SSLServerSocket entrance = listen()) {
            URI address = URI.create("https://localhost:" + entrance.getLocalPort() + "/");
            Optional<OpenIdProvider.Started> provider =
                    OpenIdProvider.start(address + "v1/session/callback", "the secret + of % the viewer");
            need(provider.isPresent(), "Node and its registry");
            try (OpenIdProvider.Started started = provider.orElseThrow();
                    ServiceProcess service = ServiceProcess.start(Map.of(
                                    "ANNALS_DATABASE_URL",
                                    TestDatabase.createDatabase().withPassword(),
                                    "ANNALS_ADMIN_TOKEN",
                                    ADMIN,
                                    "ANNALS_PUBLIC_URL",
                                    address.toString(),
                                    "ANNALS_OPENID_ISSUER",
                                    started.provider().issuer(),
                                    "ANNALS_OPENID_AUDIENCE",
                                    OpenIdProvider.AUDIENCE,
                                    "ANNALS_OPENID_CLIENT_ID",
                                    "annals-viewer",
                                    "ANNALS_OPENID_CLIENT_SECRET_FILE",
                                    secret.toString()))
                            .awaitListening();
                    Chromium chromium = Chromium.start();
                    BrowserContext context =
                            chromium.context(new Browser.NewContextOptions().setIgnoreHTTPSErrors(true))) {
                inBackground(() -> pass(entrance, service.uri("").getPort()));
                grant(service);
                Page page = context.newPage();
                page.navigate(address.toString());
                page.click("#provider-sign-in");
                page.fill("input[name=login]", "jane");
                page.fill("input[name=password]", "any");
                page.click("button[type=submit]");
                page.click("button[type=submit]");
                assertThat(page.locator("#provider-sign-in")).isVisible();
                assertThat(context.cookies()).noneMatch(cookie -> cookie.name.endsWith("annals-session"));
                assertThat(service.output).anyMatch(line -> line.contains("The OpenID provider redeems no code"));

                // Platforms replace the file while the service runs.
                Files.writeString(secret, "the secret + of % the viewer\n");
                page.click("#provider-sign-in");
                assertThat(page.locator("#rows")).containsText("seen_over_tls");
                Cookie session = context.cookies().stream()
                        .filter(cookie -> cookie.name.equals("__Host-annals-session"))
                        .findFirst()
                        .orElseThrow();
                assertThat(session.secure).isTrue();
                assertThat(session.httpOnly).isTrue();
                assertThat(answerTo(service, "__Host-annals-session", session.value))
                        .isEqualTo(200);
                // A neighbouring host can set a cookie of any other name.
                assertThat(answerTo(service, "annals-session", session.value)).isEqualTo(401);
                assertThat(service.output).noneMatch(line -> line.contains("the secret +") || line.contains("eyJ"));
            }
        }
    }

    private Project project;

    private void grant(ServiceProcess service) throws Exception {
        project = service.newProject(ADMIN, "read", "write");
        post(service, project.token(), "/v1/project-logs", "{\"action\": \"seen_over_tls\"}");
        post(
                service,
                ADMIN,
                "/v1/projects/" + project.id() + "/grants",
                "{\"claim\": \"sub\", \"value\": \"jane\", \"scopes\": [\"read\"]}");
    }

    private static void post(ServiceProcess service, String token, String path, String body) throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri(path))
                                .header("Authorization", "Bearer " + token)
                                .header("Content-Type", "application/json")
                                .POST(HttpRequest.BodyPublishers.ofString(body))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
    }

    private int answerTo(ServiceProcess service, String cookie, String value) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri("/v1/project-logs"))
                                .header("Cookie", cookie + "=" + value)
                                .header("Annals-Project", project.id().toString())
                                .build(),
                        HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    private SSLServerSocket listen() throws Exception {
        Path store = directory.resolve("store.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keyalg",
                        "EC",
                        "-alias",
                        "localhost",
                        "-dname",
                        "CN=localhost",
                        "-storepass",
                        new String(PASSWORD),
                        "-keystore",
                        store.toString())
                .inheritIO()
                .start();
        assertThat(keytool.waitFor()).isZero();
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD);
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, PASSWORD);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(managers.getKeyManagers(), null, null);
        return (SSLServerSocket)
                tls.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    /** Passes on what arrives, as a proxy that ends TLS does. */
    private static void pass(SSLServerSocket entrance, int port) {
        while (!entrance.isClosed()) {
            try {
                Socket outside = entrance.accept();
                Socket inside = new Socket(InetAddress.getLoopbackAddress(), port);
                copy(outside, inside);
                copy(inside, outside);
            } catch (IOException e) {
                // a browser that goes away, or the end
            }
        }
    }

    private static void copy(Socket from, Socket to) {
        inBackground(() -> {
            try (from;
                    to;
                    InputStream sent = from.getInputStream()) {
                sent.transferTo(to.getOutputStream());
            } catch (IOException e) {
                // one of them has gone
            }
        });
    }

    private static void inBackground(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
