package dev.annals.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Which values the records have, how often, and what a click on one does. */
@Slow
@QuarkusTest
class ViewerFacetsTest extends BrowserTest {

    private static final String[] RECORDS = {"""
            {"action": "login", "actor": {"id": "u-1"}, "outcome": "success", "ip_address": "192.0.2.1",
             "timestamp": "2026-03-12T10:00:00Z"}""", """
            {"action": "login", "actor": {"id": "u-1", "name": "<i>Jane</i>"}, "outcome": "denied", "timestamp": "2026-03-12T11:00:00Z"}""", """
            {"action": "grant (all)", "actor": {"id": "u-2", "name": "Joe"}, "timestamp": "2026-03-13T10:00:00Z"}"""};

    @Test
    void valuesAreCountedAndAClickShowsOnlyOrAllButTheirRecords() throws Exception {
        Project project = log.newProject();
        append(project, RECORDS);
        for (int width : new int[] {1440, 360}) {
            try (Guarded guarded =
                    chromium.open(new Browser.NewContextOptions().setViewportSize(width, 800), service)) {
                Page page = guarded.page;
                signIn(page, project);
                assertThat(page.locator("#facets")).isHidden();
                page.locator("#values").click();
                assertThat(page.locator("#facets-text")).hasText("3 records up to #3");
                assertThat(page.locator("#facet-action + ul li")).hasText(new String[] {"login2", "grant (all)1"});
                assertThat(page.locator("#facet-outcome ~ p")).hasText("1 without");
                checkAccess(page);

                page.getByLabel("Only this Actor: <i>Jane</i>, 2").click();
                assertThat(page.locator("#rows tr")).hasCount(2);
                assertThat(page).hasURL(Pattern.compile("#actor=u-1$"));
                assertThat(page.locator("#facet-action + ul li")).hasText(new String[] {"login2"});
                page.getByLabel(Pattern.compile("Any Actor: <i>Jane</i>")).click();
                assertThat(page.locator("#rows tr")).hasCount(3);
                page.getByLabel("Exclude this Action: grant (all)").click();
                assertThat(page.locator("input[name=q]")).hasValue("-action:\"grant (all)\"");
                assertThat(page.locator("#rows tr")).hasCount(2);
                page.reload();
                assertThat(page.locator("#facets-text")).hasText("2 records up to #3");
            }
        }
        log.checkFeed(project.id());
    }

    @Test
    void whoOpensThemBeforeTheFirstPageIsThereSeesThemOnceItIs() {
        Project project = log.newProject();
        append(project, RECORDS);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            List<Route> held = new ArrayList<>();
            AtomicBoolean isSignedIn = new AtomicBoolean();
            page.route("**/v1/project-logs?*", route -> {
                // The first one asks whether the token is right.
                if (isSignedIn.getAndSet(true)) {
                    held.add(route);
                } else {
                    route.resume();
                }
            });
            signIn(page, project);
            page.waitForCondition(() -> !held.isEmpty());
            page.locator("#more-filters").click();
            page.locator("#values").click();
            assertThat(page.locator("#facets")).isVisible();
            page.unroute("**/v1/project-logs?*");
            held.forEach(Route::resume);
            assertThat(page.locator("#facets-text")).hasText("3 records up to #3");
            assertThat(page.locator("#known-actor option")).hasCount(2);
        }
    }

    @Test
    void countsThatAreNotCompleteAreCalledAtLeastAndFailuresAreTold() {
        Project project = log.newProject();
        append(project, RECORDS);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.route("**/facets?*", route -> {
                var answer = route.fetch();
                route.fulfill(new Route.FulfillOptions()
                        .setResponse(answer)
                        .setBody(answer.text()
                                .replace("\"complete\":true", "\"complete\":false")
                                .replace("\"from\":0", "\"from\":1")));
            });
            signIn(page, project);
            page.locator("#values").click();
            assertThat(page.locator("#facets-text"))
                    .hasText("At least 3 records: those behind #1, up to #3, are counted");
            assertThat(page.locator("#facet-action + ul li").first()).containsText("≥ 2");
            assertThat(page.getByLabel("Only this Action: login, at least 2")).isVisible();
            page.navigate(service + "#actor=u-1");
            assertThat(page.locator("#histogram-text")).hasText("At least 2 records in 60 days up to 13 Mar 2026");

            page.unroute("**/facets?*");
            page.route(
                    "**/facets?*",
                    route -> route.fulfill(new Route.FulfillOptions()
                            .setStatus(503)
                            .setContentType("application/problem+json")
                            .setBody("{\"detail\": \"Try again.\"}")));
            page.navigate(service + "#actor=u-2");
            assertThat(page.locator("#facets-text")).hasText("The values cannot be counted: Try again.");
            assertThat(page.locator("#histogram-note")).hasText("The bars do not follow this filter: Actor.");
            assertThat(page.locator("#rows tr")).hasCount(1);
        }
    }

    @Test
    void valuesAreOfferedWhileOneIsTypedIntoAFilter() {
        Project project = log.newProject();
        append(project, RECORDS);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#more-filters").click();
            Locator offered = page.locator("#known-actor option");
            assertThat(offered).hasCount(2);
            assertThat(offered.first()).hasAttribute("value", "u-1");
            assertThat(page.locator("#known-action option").nth(1)).hasAttribute("value", "grant (all)");
        }
    }
}
