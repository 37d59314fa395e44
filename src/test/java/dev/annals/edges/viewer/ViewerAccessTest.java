package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.assertions.LocatorAssertions;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.Media;
import com.microsoft.playwright.options.ReducedMotion;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each state of the page is accessible, in light and dark, on a desktop and on the narrowest phone. */
@Slow
@QuarkusTest
class ViewerAccessTest extends BrowserTest {

    /** From right to left, hostile, and longer than any column. */
    private static final String ODD = """
            {"action": "<b>\\u202egrant\\u0000-like", "actor": {"type": "user", "id": "u-1", "name": "\\u05d9\\u05e2\\u05dc \\u05db\\u05d4\\u05df"},
             "subject": {"type": "\\u0645\\u062c\\u0644\\u062f", "name": "%1$s"}, "outcome": "denied", "ip_address": "2001:db8::7",
             "message": "\\u05e9\\u05dc\\u05d5\\u05dd (abc) \\u0627\\u0644\\u0639\\u0631\\u0628\\u064a\\u0629 %1$s %1$s",
             "metadata": {"session_id": "s-1", "http": {"status": 403, "%1$.60s": true}, "tags": ["red", "\\u202eblue"], "deep": [[[[[[[[[1]]]]]]]]]}}""".formatted("x".repeat(400)).replace("\\u0000", "\\\\u0000");

    private static final String PLAIN = """
            {"action": "login", "actor": {"type": "user", "id": "u-2"}, "outcome": "success", "message": "Signed in"}""";

    private static final String OTHER = "{\"action\": \"note\", \"outcome\": \"later\"}";

    /** Every scheme and every width; and, with {@code -Dtests.long=true}, every pair of them. */
    static Stream<Arguments> windows() {
        return Stream.of(
                        Arguments.of(ColorScheme.LIGHT, 1440),
                        Arguments.of(ColorScheme.DARK, 320),
                        Arguments.of(ColorScheme.DARK, 1440),
                        Arguments.of(ColorScheme.LIGHT, 320))
                .limit(Load.times(2, 4));
    }

    private Guarded open(ColorScheme scheme, int width) {
        return chromium.open(
                new Browser.NewContextOptions()
                        .setColorScheme(scheme)
                        .setReducedMotion(ReducedMotion.REDUCE)
                        .setViewportSize(width, 800),
                service);
    }

    @ParameterizedTest
    @MethodSource("windows")
    void theSignInIsAccessible(ColorScheme scheme, int width) {
        Project empty = log.newProject("read", "write");
        Project other = log.newProject("read", "write");
        try (Guarded guarded = open(scheme, width)) {
            Page page = guarded.page;
            page.navigate(service.toString());
            assertThat(page.locator("#token")).isFocused();
            checkAccess(page);
            page.fill("#token", "annals_nobody_has_this");
            page.keyboard().press("Enter");
            assertThat(page.locator("#sign-in-error")).containsText("unknown");
            checkAccess(page);

            AtomicReference<Route> held = new AtomicReference<>();
            page.route(url -> url.contains("/project-logs?") && url.contains("limit=100"), held::set);
            signIn(page, empty);
            page.waitForCondition(() -> held.get() != null);
            assertThat(page.locator("#progress")).hasText("Loading …");
            checkAccess(page);
            page.unroute(url -> url.contains("/project-logs?") && url.contains("limit=100"));
            page.unrouteAll();
            held.get().resume();
            assertThat(page.locator("#progress")).containsText("No records yet");
            assertThat(page.locator("#live")).hasText("Live");
            checkAccess(page);

            page.locator("#project").click();
            checkAccess(page);
            page.fill("#project-token", "annals_nobody_has_this");
            page.keyboard().press("Enter");
            assertThat(page.locator("#project-error")).containsText("unknown");
            checkAccess(page);
            page.fill("#project-token", other.token());
            page.keyboard().press("Enter");
            assertThat(page.locator("#projects-dialog")).isHidden();
            page.locator("#project").click();
            assertThat(page.locator("#projects-list li")).hasCount(2);
            checkAccess(page);
            page.keyboard().press("Escape");

            page.evaluate("sessionStorage.setItem('annals.token', 'annals_taken_back')");
            page.reload();
            assertThat(page.locator("#still-open-list button")).hasCount(2);
            checkAccess(page);
        }
    }

    @ParameterizedTest
    @MethodSource("windows")
    void rowsAndFiltersAreAccessible(ColorScheme scheme, int width) {
        Project project = log.newProject("read", "write");
        append(project, ODD, PLAIN, OTHER);
        try (Guarded guarded = open(scheme, width)) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(rows(page)).hasCount(3);
            assertThat(page.locator("#live")).hasText("Live");
            assertThat(page.locator("#histogram")).isVisible();
            rows(page).first().hover();
            checkAccess(page);

            page.locator("#live").click();
            append(project, PLAIN, PLAIN);
            assertThat(page.locator("#newest")).hasText("2 new records");
            checkAccess(page);
            page.locator("#newest").click();
            assertThat(rows(page)).hasCount(5);
            page.locator("#live").click();

            page.locator("#values").click();
            assertThat(page.locator("#facets-list section").first()).isVisible();
            page.locator("#facets-list .only").first().hover();
            checkAccess(page);
            page.route("**/facets?*", route -> route.fulfill(problem(503, "Too much at once.")));
            page.locator("#values").click();
            page.locator("#values").click();
            // The values are counted again half a minute after the new records.
            assertThat(page.locator("#facets-text"))
                    .containsText("Too much at once.", new LocatorAssertions.ContainsTextOptions().setTimeout(60_000));
            checkAccess(page);
            page.unrouteAll();
            page.locator("#values").click();

            // The values that a filter offers, with it in the field.
            page.locator("#more-filters").click();
            assertThat(page.locator("#known-action option").first()).isAttached();
            page.getByLabel("Action").focus();
            page.keyboard().type("lo");
            page.keyboard().press("ArrowDown");
            checkAccess(page);
            page.keyboard().press("Escape");
            page.getByLabel("Action").fill("login");
            page.getByLabel("Actor").fill("u-2");
            page.keyboard().press("Enter");
            assertThat(rows(page)).hasCount(3);
            assertThat(page.locator("#chips button")).hasCount(3);
            checkAccess(page);

            page.locator("input[name=q]").fill("acton:foo");
            page.keyboard().press("Enter");
            assertThat(page.locator("#problem-text")).containsText("there is no field");
            checkAccess(page);

            page.locator("#range").click();
            assertThat(page.locator("#range-panel")).isVisible();
            checkAccess(page);
            page.keyboard().press("Escape");

            page.navigate(service + "#action=nothing_does_this");
            assertThat(page.locator("#progress"))
                    .hasText(Pattern.compile(
                            "^No records match these filters. Every field of all records up to #\\d+ was searched.$"));
            checkAccess(page);

            page.route("**/facets?*", route -> route.fulfill(problem(503, "Try again.")));
            page.navigate(service + "#action=login");
            assertThat(page.locator("#histogram-error")).containsText("Try again.");
            page.navigate(service + "#project=0197b1c0-5b1c-7cc4-8d5e-3f1d2c4b5a69");
            assertThat(page.locator("#problem-text")).containsText("another project");
            checkAccess(page);
            page.keyboard().press("?");
            assertThat(page.locator("#help")).isVisible();
            checkAccess(page);
        }
    }

    @ParameterizedTest
    @MethodSource("windows")
    void aRecordAndTheDialogsAreAccessible(ColorScheme scheme, int width) {
        Project project = log.newProject("read", "write", "stream");
        append(project, ODD, PLAIN, OTHER);
        project.request()
                .contentType("application/json")
                .body("""
                        {"sink": {"type": "webhook", "url": "http://127.0.0.1:1/", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}}""")
                .put("/v1/streams/siem")
                .then()
                .statusCode(201);
        try (Guarded guarded = open(scheme, width)) {
            Page page = guarded.page;
            signIn(page, project);
            assertThat(page.locator("#streams-state")).isVisible();
            rows(page).nth(2).locator("a").click();
            assertThat(page.locator("#detail pre")).isVisible();
            checkAccess(page);
            page.locator("#detail-proof").getByText("Pin a key").click();
            assertThat(page.locator("#offered")).not().isEmpty();
            checkAccess(page);
            page.fill("#vkey", "nothing");
            page.keyboard().press("Enter");
            assertThat(page.locator("#vkey-error")).isVisible();
            page.locator("#take-over").click();
            assertThat(page.locator("#pinned li")).hasCount(1);
            checkAccess(page);
            page.locator("#close-proof").click();
            assertThat(page.locator("#detail-proof")).containsText("Proved at size");
            checkAccess(page);
            page.getByText("same session").click();
            assertThat(page.locator("#rows tr.target")).hasCount(1);
            checkAccess(page);
            page.navigate(service + "#record=0197b1c0-5b1c-7cc4-8d5e-3f1d2c4b5a69");
            assertThat(page.locator("#detail-body [role=alert]")).isVisible();
            checkAccess(page);
            page.locator("#close-detail").click();

            page.locator("#columns").click();
            page.fill("#column-path", "session_id");
            page.keyboard().press("Enter");
            assertThat(page.locator("#columns-metadata li")).hasCount(1);
            page.fill("#column-path", "not a path");
            page.keyboard().press("Enter");
            assertThat(page.locator("#column-error")).isVisible();
            checkAccess(page);
            page.locator("#close-columns").click();
            assertThat(page.locator("td.metadata").first()).isVisible();
            checkAccess(page);

            page.locator("#views").click();
            page.fill("#view-name", "<b>Mine</b> \u202e " + "y".repeat(60));
            page.keyboard().press("Enter");
            assertThat(page.locator("#view-title")).isVisible();
            checkAccess(page);
            page.locator("#views").click();
            page.fill("#view-name", " ");
            page.keyboard().press("Enter");
            assertThat(page.locator("#view-error")).containsText("needs a name");
            checkAccess(page);
            page.locator("#close-views").click();

            page.locator("#share").click();
            page.route("**/export?*", route -> route.fulfill(problem(429, "Others are exporting.")));
            page.evaluate("() => { delete window.showSaveFilePicker; window.showSaveFilePicker = undefined; }");
            page.locator("#export").click();
            assertThat(page.locator("#export-error")).hasText("Others are exporting.");
            checkAccess(page);
            page.locator("#close-share").click();

            page.locator("#streams-state").click();
            assertThat(page.locator("#streams-list .error")).isVisible();
            page.locator("#streams-list button").click();
            assertThat(page.locator("#streams-answer")).containsText("siem");
            checkAccess(page);
            page.locator("#close-streams").click();

            page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.PRINT));
            page.evaluate("dispatchEvent(new Event('beforeprint'))");
            assertThat(page.locator("#paper h1")).isVisible();
            if (width > 1000) {
                // Sizes of touch targets do not matter on paper.
                checkAccess(page, "target-size");
            }
            page.emulateMedia(new Page.EmulateMediaOptions().setMedia(Media.SCREEN));
            page.evaluate("dispatchEvent(new Event('afterprint'))");
        } finally {
            project.request().delete("/v1/streams/siem");
        }
    }

    @Test
    void aFullPageIsAccessible() {
        Project project = log.newProject();
        append(project, ODD, PLAIN, OTHER);
        try (Guarded guarded = open(ColorScheme.DARK, 320)) {
            Page page = guarded.page;
            ViewerRowsTest.holdAtMost(page, "store.js", "MAX_CHARACTERS = 64 << 20;", "MAX_CHARACTERS = 700;");
            signIn(page, project);
            assertThat(page.locator("#go-on")).isVisible();
            assertThat(page.locator("#progress")).containsText(Pattern.compile("as much as this page holds"));
            checkAccess(page);
        }
    }

    private static Route.FulfillOptions problem(int status, String detail) {
        return new Route.FulfillOptions()
                .setStatus(status)
                .setContentType("application/problem+json")
                .setBody("{\"detail\": \"" + detail + "\"}");
    }

    private static Locator rows(Page page) {
        return page.locator("#rows tr");
    }
}
