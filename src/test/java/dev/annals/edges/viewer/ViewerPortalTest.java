package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Download;
import com.microsoft.playwright.FrameLocator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.ColorScheme;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.access.look.LookTest;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A link to a project shows the customer's own look, also in a frame of the application's pages, and in no other frame. */
@Slow
@QuarkusTest
class ViewerPortalTest extends BrowserTest {

    private static final String APPLICATION = "https://app.example.org";

    private Project project;
    private String maker;

    @BeforeEach
    void makeProject() {
        project = log.newProject("read", "write", "link", "stream");
        maker = project.token();
        append(project, "{\"action\": \"first\"}", "{\"action\": \"second\"}");
        look("\"name\": \"Shop\", \"colour\": \"#7a1fa2\", \"logo\": \"" + LookTest.PNG + "\"");
    }

    private void look(String fields) {
        given().auth()
                .preemptive()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{" + fields + ", \"embedders\": [\"" + APPLICATION + "\"]}")
                .put("/v1/projects/" + project.id() + "/look")
                .then()
                .statusCode(200);
    }

    private Response make(String capabilities) {
        return given().auth()
                .preemptive()
                .oauth2(maker)
                .contentType("application/json")
                .body("{\"whole_project\": true, \"capabilities\": [" + capabilities + "]}")
                .post("/v1/viewer-links");
    }

    private String link(String capabilities) {
        String url = make(capabilities).then().statusCode(201).extract().path("url");
        return service + url.substring(url.indexOf("?project="));
    }

    private void revoke(Response link) {
        given().auth()
                .preemptive()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .delete("/v1/projects/" + project.id() + "/tokens/" + link.path("id"))
                .then()
                .statusCode(204);
    }

    /** Opens a page of another origin with an address in a frame. */
    private static FrameLocator framed(Page page, String origin, String address) {
        // The browser asks before a page of the network loads one of this machine.
        page.context().grantPermissions(List.of("local-network-access"));
        page.route(
                origin + "/**",
                route -> route.fulfill(new Route.FulfillOptions()
                        .setContentType("text/html")
                        .setBody("<!doctype html><title>Application</title><iframe width=1200 height=800 src=\""
                                + address + "\"></iframe>")));
        page.navigate(origin + "/audit");
        return page.frameLocator("iframe");
    }

    @Test
    void theApplicationsPageShowsTheLinkInAFrameAndExportsFromThere() throws Exception {
        try (BrowserContext context = chromium.context(new Browser.NewContextOptions())) {
            Page page = context.newPage();
            FrameLocator frame = framed(page, APPLICATION, link("\"read\", \"export\""));
            assertThat(frame.locator("#rows tr")).hasCount(2);
            assertThat(frame.locator(".brand")).hasText("Shop");
            assertThat(frame.locator(".brand canvas")).isVisible();
            assertThat(frame.locator("#sign-out")).isHidden();
            assertThat(frame.locator("#proof-state")).isHidden();
            assertThat(frame.locator("#administration")).isHidden();
            frame.locator("#share").click();
            frame.getByLabel("NDJSON").check();
            Download download =
                    page.waitForDownload(() -> frame.locator("#export").click());
            assertThat(Files.readAllLines(download.path())).hasSize(2);
            assertThat(page.frames().get(1).evaluate("sessionStorage.length + localStorage.length"))
                    .isEqualTo(0);
            assertThat(page.frames().get(1).url()).doesNotContain("token");
        }
    }

    @Test
    void noOtherPageShowsItInAFrameAndNoPageTheAdministratorsOwn() {
        try (BrowserContext context = chromium.context(new Browser.NewContextOptions())) {
            Page page = context.newPage();
            List<String> console = new CopyOnWriteArrayList<>();
            page.onConsoleMessage(message -> console.add(message.text()));
            String link = link("\"read\"");
            signIn(page, project);
            String own = service + "?project=" + project.id();
            for (String[] tried : new String[][] {
                {"https://evil.example.org", link},
                {"https://app.example.org.evil.example", link},
                {"https://app.example.org:8443", link},
                {APPLICATION, service.toString()},
                {APPLICATION, service + "?x;project=" + project.id()},
                {APPLICATION, own + "&x"},
                {APPLICATION, service + "admin.html"},
                {APPLICATION, service + "admin.html?x&project=" + project.id()}
            }) {
                console.clear();
                framed(page, tried[0], tried[1]);
                page.waitForCondition(() -> console.stream().anyMatch(text -> text.contains("frame-ancestors")));
            }
            // A link's page in a frame knows nothing of the one who is signed in in this tab.
            for (String fragment : List.of("", "#token=session", "#token=")) {
                FrameLocator frame = framed(page, APPLICATION, own + fragment);
                assertThat(frame.locator("#link-ended")).isVisible();
                assertThat(frame.locator("#sign-in")).isHidden();
                assertThat(frame.locator("#rows tr")).hasCount(0);
            }
            FrameLocator administration = framed(page, APPLICATION, service + "admin.html?project=" + project.id());
            assertThat(administration.locator("#problem")).containsText("This link has ended");
            page.navigate(service.toString());
            assertThat(page.locator("#rows tr")).hasCount(2);
            page.navigate(own);
            assertThat(page.locator("#link-ended")).isVisible();
        }
    }

    @Test
    void aLinkThatIsRevokedWhileItIsOpenShowsNothingMore() {
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            Response made = make("\"read\"");
            String url = made.path("url");
            page.navigate(service + url.substring(url.indexOf("?project=")));
            assertThat(page.locator("#rows tr")).hasCount(2);
            page.reload();
            assertThat(page.locator("#rows tr")).hasCount(2);
            assertThat(page.locator("#share")).isHidden();
            assertThat(page.locator("#streams-state")).isHidden();
            revoke(made);
            assertThat(page.locator("#link-ended")).isVisible();
            assertThat(page.locator("#viewer")).isHidden();
            page.reload();
            assertThat(page.locator("#link-ended")).isVisible();
            checkAccess(page);
        }
    }

    @Test
    void aLinkWithStreamsManagesThemInTheFrame() {
        try (BrowserContext context = chromium.context(new Browser.NewContextOptions())) {
            Page page = context.newPage();
            FrameLocator frame = framed(page, APPLICATION, link("\"read\", \"streams\""));
            frame.locator("#administration").click();
            assertThat(frame.locator("#title")).hasText("Streams");
            assertThat(frame.locator("#areas")).hasText("Streams");
            frame.getByLabel("Name").fill("mine");
            frame.getByLabel("Address").fill("https://127.0.0.1/");
            frame.getByLabel("Secret").fill("whsec_" + "A".repeat(32));
            frame.getByText("Make the stream").click();
            assertThat(frame.locator("#area")).containsText("No sink may be at 127.0.0.1");
            frame.getByLabel("Address").fill("https://sink.invalid/");
            frame.getByText("Make the stream").click();
            assertThat(frame.locator("#title")).hasText("mine");
            frame.getByText("Delete …").click();
            frame.getByLabel("Type “mine”").fill("mine");
            frame.locator("dialog").getByText("Delete the stream").last().click();
            assertThat(frame.locator("#area")).containsText("None.");
            frame.locator("#records").click();
            assertThat(frame.locator("#rows tr")).hasCount(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"#ffff00", "#000000", "#ffffff", "#777777", "#ff0000"})
    void anyColourCanBeReadInLightAndDark(String colour) {
        look("\"colour\": \"" + colour + "\"");
        for (ColorScheme scheme : new ColorScheme[] {ColorScheme.LIGHT, ColorScheme.DARK}) {
            try (Guarded guarded = chromium.open(new Browser.NewContextOptions().setColorScheme(scheme), service)) {
                Page page = guarded.page;
                page.navigate(link("\"read\", \"export\", \"streams\""));
                assertThat(page.locator("#share")).isVisible();
                page.waitForFunction("document.documentElement.style.getPropertyValue('--accent') !== ''");
                page.locator("#more-filters").click();
                checkAccess(page);
            }
        }
    }

    @Test
    void aHostileNameIsTextAndAPictureThatCannotBeDrawnIsLeftOut() {
        String broken = "iVBORw0KGgoAAAAASUhEUgAAAAgAAAAEAAAAAAAA";
        look("\"name\": \"<img src=x onerror=alert(1)>\\u202e%s\", \"logo\": \"%s\"".formatted("n".repeat(40), broken));
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.navigate(link("\"read\""));
            assertThat(page.locator("#rows tr")).hasCount(2);
            assertThat(page.locator(".brand")).hasText("<img src=x onerror=alert(1)>\\u202e" + "n".repeat(40));
            assertThat(page.locator(".brand img, .brand canvas")).hasCount(0);
            page.setViewportSize(390, 800);
            checkAccess(page);
        }
    }
}
