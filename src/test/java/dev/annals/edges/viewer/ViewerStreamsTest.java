package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.assertions.LocatorAssertions;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The viewer's list of a project's streams. */
@Slow
@QuarkusTest
class ViewerStreamsTest extends BrowserTest {

    private static final LocatorAssertions.HasTextOptions SOON =
            new LocatorAssertions.HasTextOptions().setTimeout(30_000);

    private final AtomicInteger status = new AtomicInteger(503);
    private HttpServer sink;
    private Project project;

    @BeforeEach
    void streamToASinkThatIsAway() throws Exception {
        sink = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        sink.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                exchange.sendResponseHeaders(status.get(), -1);
            }
        });
        sink.start();
        project = log.newProject("read", "write", "stream");
        append(project, "{\"action\": \"one\"}", "{\"action\": \"two\"}");
        project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                        + sink.getAddress().getPort()
                        + "/%3Cb%3E\", \"secret\": \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"}}")
                .put("/v1/streams/siem")
                .then()
                .statusCode(201);
    }

    @AfterEach
    void deleteTheStream() {
        project.request().delete("/v1/streams/siem");
        sink.stop(0);
    }

    @Test
    void theListSaysWhatIsWrongAndWhenItIsMended() {
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#streams-state").click();
            assertThat(page.locator("#streams-list .state")).hasText("Trying again", SOON);
            assertThat(page.locator("#streams-list")).containsText("It answered with HTTP status 503.");
            assertThat(page.locator("#streams-list")).containsText("2 records behind, 0 records delivered");
            assertThat(page.locator("#streams-state")).hasAttribute("data-state", "failing");
            page.locator("#streams-list button").click();
            assertThat(page.locator("#streams-answer"))
                    .hasText("siem could not be sent a test record: It answered with HTTP status 503.");
            checkAccess(page);
            status.set(204);
            project.request().post("/v1/streams/siem/resume").then().statusCode(200);
            assertThat(page.locator("#streams-list .state")).hasText("Delivering", SOON);
            assertThat(page.locator("#streams-list"))
                    .containsText(
                            "0 records behind, 2 records delivered",
                            new LocatorAssertions.ContainsTextOptions().setTimeout(30_000));
            page.locator("#streams-list button").click();
            assertThat(page.locator("#streams-answer"))
                    .hasText("siem took a test record: It answered with HTTP status 204.");
            page.locator("#close-streams").click();
            assertThat(page.locator("#streams")).isHidden();
        }
    }

    @Test
    void onAPhoneTheButtonHasItsNameAndOthersHaveNone() throws Exception {
        try (Guarded guarded = chromium.open(new Browser.NewContextOptions().setViewportSize(360, 740), service)) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#streams-state"))
                    .hasAttribute("aria-label", Pattern.compile("Streams: (delivering|trying again)"));
            checkAccess(page);
            page.locator("#streams-state").click();
            assertThat(page.locator("#streams")).isVisible();
            checkAccess(page);
            page.locator("#close-streams").click();
        }
        Project other = log.newProject("read", "write");
        append(other, "{\"action\": \"one\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, other);
            assertThat(page.locator("#rows tr")).hasCount(1);
            assertThat(page.locator("#streams-state")).isHidden();
        }
    }
}
