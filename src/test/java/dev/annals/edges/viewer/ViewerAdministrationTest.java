package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.greaterThan;
import static org.hamcrest.Matchers.nullValue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.assertions.LocatorAssertions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ReducedMotion;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The pages of the administration do what the API does, for callers whose token has the scope, and for no others. */
@Slow
@QuarkusTest
class ViewerAdministrationTest extends BrowserTest {

    private static final String SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    private static final LocatorAssertions.HasTextOptions SOON =
            new LocatorAssertions.HasTextOptions().setTimeout(60_000);
    private static final LocatorAssertions.ContainsTextOptions SOON_CONTAINS =
            new LocatorAssertions.ContainsTextOptions().setTimeout(60_000);

    private static RequestSpecification admin() {
        return given().auth().preemptive().oauth2(AuditLogFixture.ADMIN_TOKEN);
    }

    private Page administer(Guarded guarded, String token) {
        Page page = guarded.page;
        page.navigate(service.toString());
        page.fill("#token", token);
        page.keyboard().press("Enter");
        assertThat(page.locator("#administration")).isVisible();
        assertThat(page.evaluate("""
                        (() => {
                          const bar = document.querySelector('body > .bar').getBoundingClientRect();
                          const shown = document.querySelectorAll('body > .bar > :not([hidden])');
                          return [...shown].every((one) => one.getBoundingClientRect().bottom <= bar.bottom);
                        })()""")).isEqualTo(true);
        page.locator("#administration").click();
        assertThat(page.locator("#caller")).containsText("With a token of the project");
        return page;
    }

    private static Locator button(Page page, String name) {
        return page.getByText(name, new Page.GetByTextOptions().setExact(true)).and(page.locator("button"));
    }

    private static Locator form(Page page, String button) {
        return page.locator("form:visible")
                .filter(new Locator.FilterOptions()
                        .setHas(page.locator("button", new Page.LocatorOptions().setHasText(button))))
                .last();
    }

    private static void done(Page page, String text) {
        assertThat(page.locator("#done")).hasText(text);
        assertThat(page.locator("#title")).isFocused();
    }

    /** Opens a project by its name. */
    private static void project(Page page, String name) {
        page.getByLabel("Name or id").fill(name);
        page.keyboard().press("Enter");
        assertThat(page.locator("#title")).hasText(name);
    }

    private static void confirm(Page page, String name) {
        page.getByLabel("Type “").fill("another name");
        page.keyboard().press("Enter");
        assertThat(page.locator("dialog .error").first()).hasText("This is something else.");
        page.getByLabel("Type “").fill(name);
        page.keyboard().press("Enter");
        assertThat(page.locator("dialog")).hasCount(0);
    }

    @Test
    void aProjectIsCreatedRenamedLimitedAndClosedWithKeysAlone() {
        String name = "<img src=x onerror=alert(1)> " + UUID.randomUUID();
        try (Guarded guarded = open()) {
            Page page = administer(guarded, AuditLogFixture.ADMIN_TOKEN);
            assertThat(page.locator("#title")).hasText("Projects");
            checkAccess(page);
            page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true)).focus();
            page.keyboard().type(name);
            page.keyboard().press("Enter");
            assertThat(page.locator("#title")).hasText(name);
            assertThat(page.locator("#title")).isFocused();
            checkAccess(page);

            Locator field = page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true));
            field.fill("default");
            page.keyboard().press("Enter");
            assertThat(form(page, "Rename").getByRole(AriaRole.ALERT))
                    .hasText("A project with this name exists. Choose another name.");
            field.fill(" ");
            page.keyboard().press("Enter");
            assertThat(field).hasAttribute("aria-invalid", "true");
            assertThat(field).isFocused();
            checkAccess(page);
            String renamed = "renamed " + UUID.randomUUID();
            field.fill(renamed);
            page.keyboard().press("Enter");
            done(page, "The project has its new name.");
            assertThat(page.locator("#title")).hasText(renamed);

            page.getByLabel("Requests per second").fill("0");
            page.getByLabel("Open streams").fill("7");
            page.evaluate("document.querySelectorAll('form').forEach((form) => (form.noValidate = true))");
            page.keyboard().press("Enter");
            assertThat(page.getByLabel("Requests per second")).hasAttribute("aria-invalid", "true");
            page.getByLabel("Requests per second").fill("50");
            page.keyboard().press("Enter");
            done(page, "The limits are set.");
            assertThat(page.getByLabel("Open streams")).hasValue("7");

            button(page, "Close the project …").focus();
            page.keyboard().press("Enter");
            checkAccess(page);
            page.keyboard().press("Escape");
            assertThat(page.locator("dialog")).hasCount(0);
            admin().get("/v1/projects/" + renamed).then().body("closed_at", nullValue());
            button(page, "Close the project …").press("Enter");
            confirm(page, renamed);
            done(page, "The project is closed.");
            admin().get("/v1/projects/" + renamed)
                    .then()
                    .body("closed_at.length()", greaterThan(10))
                    .body("limits.requests_per_second", equalTo(50))
                    .body("limits.streams", equalTo(7));
        }
    }

    @Test
    void aNewTokenIsShownOnceAndIsNeitherStoredNorInAnAddressNorInTheLog() {
        Project project = log.newProject();
        String name = project.request().get("/v1/whoami").path("project.name");
        List<String> seen = new CopyOnWriteArrayList<>();
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
            page.onConsoleMessage(message -> seen.add(message.text()));
            page.onRequest(request -> seen.add(request.url()));
            administer(guarded, AuditLogFixture.ADMIN_TOKEN);
            project(page, name);
            page.getByText("Tokens", new Page.GetByTextOptions().setExact(true)).click();
            page.getByLabel("What it is for").fill("the shop");
            page.getByLabel("Only from these networks").fill("127.0.0.0/8, here");
            button(page, "Issue a token").click();
            Locator scopes = page.locator("fieldset");
            assertThat(scopes).containsText("It must be an array of one or more");
            assertThat(page.locator("[aria-invalid=true]")).hasCount(2);
            checkAccess(page);
            page.getByLabel("read: reads records").check();
            page.getByLabel("Only from these networks").fill("127.0.0.0/8");
            page.getByLabel("Expires (UTC)").fill("2999-01-31T12:00");
            button(page, "Issue a token").click();
            Locator shown = page.locator("#secret-text");
            assertThat(shown).hasText(Pattern.compile("annals_[0-9A-Za-z]{49}"));
            assertThat(page.locator("#secret-title")).isFocused();
            checkAccess(page);
            String token = shown.textContent();
            page.getByText("Copy", new Page.GetByTextOptions().setExact(true)).click();
            assertThat(page.getByText("Copied").first()).isVisible();
            assertThat(page.evaluate("navigator.clipboard.readText()")).isEqualTo(token);
            assertThat(page.locator("#area")).containsText("expires 2999-01-31 12:00:00 UTC");
            given().auth().oauth2(token).get(AuditLogFixture.LOGS).then().statusCode(200);

            page.getByText("Legal holds", new Page.GetByTextOptions().setExact(true))
                    .click();
            assertThat(page.locator("#area")).containsText("Set a hold");
            assertThat(shown).hasText("");
            page.goBack();
            assertThat(page.locator("#area")).containsText("the shop");
            assertThat(page.locator("#secret")).isHidden();
            assertThat(page.content()).doesNotContain(token);
            assertThat(page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}]) + document.cookie")
                            .toString())
                    .doesNotContain(token);
            assertThat(seen).isNotEmpty().noneMatch(text -> text.contains(token));
        }
    }

    @Test
    void aTokenIsRotatedLimitedAndRevoked() {
        Project project = log.newProject();
        String token = admin().contentType("application/json")
                .body("{\"scopes\": [\"read\"], \"description\": \"the till\"}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .path("token");
        try (Guarded guarded = open()) {
            Page page = administer(guarded, AuditLogFixture.ADMIN_TOKEN);
            page.navigate(service + "admin.html#projects/" + project.id() + "/tokens");
            Locator card = page.locator(".cards > li")
                    .filter(new Locator.FilterOptions().setHasText("the till"))
                    .first();
            card.locator("summary").press("Enter");
            card.getByLabel("Requests per second").fill("50");
            page.keyboard().press("Enter");
            done(page, "The limits of the token are set.");
            assertThat(card).containsText("requests per second: 50");
            card.locator("summary").click();
            checkAccess(page);
            card.getByLabel("The old one stays valid").fill("0");
            page.keyboard().press("Enter");
            assertThat(page.locator("#secret-text")).hasText(Pattern.compile("annals_[0-9A-Za-z]{49}"));
            String next = page.locator("#secret-text").textContent();
            assertThat(next).isNotEqualTo(token);
            given().auth().oauth2(next).get(AuditLogFixture.LOGS).then().statusCode(200);
            assertThat(card).containsText("rotated");

            Locator last = page.locator(".cards > li:not([data-ended])")
                    .filter(new Locator.FilterOptions().setHasText("the till"));
            assertThat(last).hasCount(1);
            last.locator("summary").click();
            last.getByText("Revoke …").click();
            confirm(page, "the till");
            done(page, "The token is revoked.");
            assertThat(page.locator("#secret")).isHidden();
            given().auth().oauth2(next).get(AuditLogFixture.LOGS).then().statusCode(401);
        }
    }

    @Test
    void retentionAndHoldsAreSetInADarkNarrowWindow() {
        Project project = log.newProject();
        String name = project.request().get("/v1/whoami").path("project.name");
        try (Guarded guarded = chromium.open(
                new Browser.NewContextOptions()
                        .setViewportSize(390, 844)
                        .setColorScheme(ColorScheme.DARK)
                        .setReducedMotion(ReducedMotion.REDUCE),
                service)) {
            Page page = administer(guarded, AuditLogFixture.ADMIN_TOKEN);
            checkAccess(page);
            project(page, name);
            checkAccess(page);
            page.getByLabel("Days").fill("365");
            page.getByLabel("Only what is in an archive is removed").check();
            button(page, "Set retention").click();
            checkAccess(page);
            confirm(page, name);
            done(page, "The retention is set.");
            admin().get("/v1/projects/" + project.id())
                    .then()
                    .body("retention_days", equalTo(365))
                    .body("archive_required", equalTo(true));
            page.getByLabel("Days").fill("");
            button(page, "Set retention").click();
            done(page, "The retention is set.");
            admin().get("/v1/projects/" + project.id()).then().body("retention_days", nullValue());

            page.getByText("Legal holds", new Page.GetByTextOptions().setExact(true))
                    .click();
            page.getByLabel("It covers").selectOption("actor_id");
            page.getByLabel("Reason").fill("Case 12");
            button(page, "Set the hold").click();
            Locator id = page.getByLabel("Id of the actor or subject");
            assertThat(id).hasAttribute("aria-invalid", "true");
            id.fill("<b>u-4711</b>");
            button(page, "Set the hold").click();
            done(page, "The hold is in force.");
            assertThat(page.locator(".cards")).containsText("Actor <b>u-4711</b>");
            checkAccess(page);
            page.locator("summary").click();
            page.locator(".cards").getByLabel("Reason").fill("It is closed");
            checkAccess(page);
            page.keyboard().press("Enter");
            done(page, "The hold is lifted.");
            assertThat(page.locator(".cards")).containsText("It is closed");
            admin().get("/v1/projects/" + project.id() + "/holds")
                    .then()
                    .body("holds[0].lift_reason", equalTo("It is closed"));
        }
    }

    @Test
    void aCallerWithoutTheScopeSeesNoEntryAndTheServiceRefusesWhatHeTries() {
        Project project = log.newProject("read", "write");
        append(project, "{\"action\": \"one\"}");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#rows tr")).hasCount(1);
            assertThat(page.locator("#administration")).isHidden();
            page.navigate(service + "admin.html");
            assertThat(page.locator("#problem")).containsText("This token may not administer.");
            assertThat(page.locator("#areas a")).hasCount(0);
            for (String area : List.of("projects", "projects/" + project.id() + "/tokens")) {
                page.navigate(service + "admin.html#" + area);
                page.reload();
                assertThat(page.locator("#problem")).containsText("This operation needs a token with the scope");
                assertThat(page.locator("#area *")).hasCount(0);
            }
            checkAccess(page);
            assertThat(page.evaluate("""
                            async () => {
                              const {ask} = await import('./api.js');
                              return ask('v1/projects', {method: 'POST', body: {name: 'mine'}}).then(() => 0, ({status}) => status);
                            }""")).isEqualTo(403);
        }
        try (Guarded guarded = open()) {
            guarded.page.navigate(service + "admin.html#projects");
            assertThat(guarded.page.locator("#problem")).containsText("Sign in under Records first");
        }
    }

    @Test
    void aStreamWithAWrongAddressSaysSoWhenItIsTested() throws Exception {
        Project project = log.newProject("read", "write", "stream");
        append(project, "{\"action\": \"one\"}");
        try (Guarded guarded = open()) {
            Page page = administer(guarded, project.token());
            assertThat(page.locator("#areas a")).hasText(new String[] {"Streams", "Alerts"});
            page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true)).fill("siem");
            page.getByLabel("Address").fill("gopher://127.0.0.1/");
            page.getByLabel("Secret").fill(SECRET);
            page.keyboard().press("Enter");
            assertThat(page.getByLabel("Address")).hasAttribute("aria-invalid", "true");
            assertThat(page.getByLabel("Address")).isFocused();
            checkAccess(page);
            page.getByLabel("Address").fill("http://127.0.0.1:" + closedPort() + "/");
            page.keyboard().press("Enter");
            assertThat(page.locator("#title")).hasText("siem");
            button(page, "Send a test record").click();
            assertThat(page.locator("#area")).containsText("It could not be sent: ");
            assertThat(page.locator("#area .state")).hasText("Trying again", SOON);
            checkAccess(page);
            page.setViewportSize(390, 844);
            checkAccess(page);
            button(page, "Pause").click();
            done(page, "The stream is paused.");
            button(page, "Resume").click();
            done(page, "The stream goes on.");
            project.request()
                    .contentType("application/json")
                    .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:1/\", \"secret\": \"" + SECRET
                            + "\"}, \"action\": \"one\"}")
                    .put("/v1/streams/siem")
                    .then()
                    .statusCode(200);
            page.reload();
            page.getByLabel("Only records that match").fill("outcome:failure");
            button(page, "Change the stream").click();
            done(page, "The stream is changed.");
            project.request()
                    .get("/v1/streams/siem")
                    .then()
                    .body("filter.q", equalTo("outcome:failure"))
                    .body("filter.action", equalTo("one"))
                    .body("sink.has_secret", equalTo(true));

            page.locator("#areas a").first().click();
            assertThat(page.locator("#title")).hasText("Streams");
            assertThat(page.locator(".cards")).containsText("siem");
            page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true)).fill("siem");
            page.getByLabel("Address").fill("http://127.0.0.1:1/");
            page.keyboard().press("Enter");
            assertThat(page.locator("#area")).containsText("A stream with this name exists.");
            page.locator(".cards a").click();
            button(page, "Delete …").click();
            confirm(page, "siem");
            assertThat(page.locator("#title")).hasText("Streams");
            assertThat(page.locator("#area")).containsText("None.");
            project.request().get("/v1/streams/siem").then().statusCode(404);
        }
    }

    @Test
    void aDeadLetterIsSeenAndDeliveredAgainAndARefusedRecordIsSkipped() throws Exception {
        AtomicInteger status = new AtomicInteger(422);
        List<String> bodies = new CopyOnWriteArrayList<>();
        HttpServer sink = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
        sink.createContext("/", exchange -> {
            try (exchange) {
                String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
                int answer = status.get();
                if (answer == 204) {
                    bodies.add(body);
                }
                exchange.sendResponseHeaders(answer, -1);
            }
        });
        sink.start();
        Project project = log.newProject("read", "write", "stream");
        append(project, "{\"action\": \"first\"}");
        try (Guarded guarded = open()) {
            set(project, sink, "dead_letter");
            Page page = administer(guarded, project.token());
            page.locator(".cards a").click();
            assertThat(page.locator("#area")).containsText("1 record passed by", SOON_CONTAINS);
            page.reload();
            Locator letter = page.locator(".cards > li");
            assertThat(letter).containsText("It answered with HTTP status 422.");
            checkAccess(page);
            assertThat(letter.locator("a")).hasAttribute("href", Pattern.compile("^\\./#record=[0-9a-f-]{36}$"));
            status.set(204);
            letter.getByText("Deliver again from here").press("Enter");
            done(page, "The stream goes on from there.");
            assertThat(page.locator("#area")).containsText("1 record delivered", SOON_CONTAINS);
            assertThat(bodies).singleElement().asString().contains("\"first\"");

            status.set(422);
            set(project, sink, "stop");
            append(project, "{\"action\": \"second\"}", "{\"action\": \"third\"}");
            Locator state = page.locator("#area .state");
            assertThat(state).hasText("Stopped", SOON);
            page.reload();
            status.set(204);
            button(page, "Skip record 2").click();
            done(page, "The stream goes on from there.");
            assertThat(page.locator("#area")).containsText("2 records delivered", SOON_CONTAINS);
            assertThat(bodies).hasSize(2);
            assertThat(bodies.get(1)).contains("\"third\"").doesNotContain("\"second\"");
        } finally {
            project.request().delete("/v1/streams/siem");
            sink.stop(0);
        }
    }

    @Test
    void anAlertIsTriedMadeChangedAndDeleted() {
        Project project = log.newProject("read", "write", "stream");
        append(
                project,
                "{\"action\": \"door\", \"outcome\": \"denied\"}",
                "{\"action\": \"door\", \"outcome\": \"denied\"}");
        try (Guarded guarded = open()) {
            Page page = administer(guarded, project.token());
            page.locator("#areas a").last().click();
            assertThat(page.locator("#title")).hasText("Alerts");
            page.getByLabel("Name", new Page.GetByLabelOptions().setExact(true)).fill("denied");
            page.getByLabel("Records that match").fill("last:1h");
            page.getByLabel("In seconds").fill("86400");
            page.keyboard().press("Enter");
            assertThat(page.getByLabel("Records that match")).hasAttribute("aria-invalid", "true");
            checkAccess(page);
            page.getByLabel("Records that match").fill("outcome:denied");
            page.keyboard().press("Enter");
            done(page, "The alert counts from now on.");
            Locator card = page.locator(".cards > li");
            card.getByText("Try it on recent records").click();
            assertThat(card)
                    .containsText("2 records match, at most 2 in one interval. It would have been raised once.");
            checkAccess(page);
            page.setViewportSize(390, 844);
            card.locator("summary").click();
            checkAccess(page);
            card.getByLabel("More than").fill("2");
            page.keyboard().press("Enter");
            done(page, "The alert is changed.");
            card.getByText("Try it on recent records").click();
            assertThat(card).containsText("It would have been raised 0 times.");
            card.locator("summary").click();
            card.getByText("Delete …").click();
            confirm(page, "denied");
            done(page, "The alert is deleted.");
            project.request().get("/v1/alerts/denied").then().statusCode(404);
        }
    }

    private static void set(Project project, HttpServer sink, String onRefusal) {
        project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                        + sink.getAddress().getPort() + "/\", \"secret\": \"" + SECRET
                        + "\"}, \"max_refusals\": 1, \"on_refusal\": \"" + onRefusal + "\"}")
                .put("/v1/streams/siem");
    }

    private static int closedPort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
