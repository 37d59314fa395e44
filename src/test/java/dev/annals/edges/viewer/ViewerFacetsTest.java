package dev.annals.edges.viewer;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Slow;
import dev.annals.edges.viewer.Chromium.Guarded;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
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
    void valuesOfChosenMetadataAreCountedAndFilterByKeysAlone() throws Exception {
        Project project = log.newProject();
        append(project, """
                {"action": "a", "metadata": {"region": "ams 3", "http": {"status": 200}, "<i>x</i>": 1}}""", """
                {"action": "b", "metadata": {"region": "ams 3", "http": {"status": 403}}}""", """
                {"action": "c", "metadata": {"region": "fra1"}}""");
        for (int width : new int[] {1440, 390}) {
            try (Guarded guarded =
                    chromium.open(new Browser.NewContextOptions().setViewportSize(width, 800), service)) {
                Page page = guarded.page;
                signIn(page, project);
                assertThat(page.locator("#rows tr")).hasCount(3);
                page.locator("#values").press("Enter");
                Locator path = page.locator("#facet-path");
                path.focus();
                assertThat(page.locator("#facet-paths option")).hasCount(3);
                assertThat(page.locator("#facet-paths option[value=region]")).hasCount(1);
                path.fill("region");
                path.press("Enter");
                assertThat(page.locator("#facet-path-0 + button + ul li")).hasText(new String[] {"ams 32", "fra11"});
                path.fill("http.status");
                path.press("Enter");
                assertThat(page.locator("#facet-path-1 ~ p")).hasText("1 without");
                checkAccess(page);
                page.reload();
                assertThat(page.locator("#facet-path-1 + button + ul li")).hasCount(2);

                page.getByLabel("Only this region: ams 3, 2").press("Enter");
                assertThat(page.locator("#rows tr")).hasCount(2);
                assertThat(page.locator("input[name=q]")).hasValue("metadata.region:\"ams 3\"");
                page.getByLabel("Any region: ams 3, 2").press("Enter");
                assertThat(page.locator("#rows tr")).hasCount(3);
                assertThat(page).hasURL(Pattern.compile("#$"));
                page.getByLabel("Exclude this region: ams 3").press("Enter");
                assertThat(page.locator("#rows tr")).hasCount(1);

                page.getByLabel("Do not count region").press("Enter");
                assertThat(page.locator("#facet-path-1")).hasCount(0);
                assertThat(path).isFocused();
                path.fill("a b");
                path.press("Enter");
                assertThat(page.locator("#facet-error")).containsText("no path");
            }
        }
        log.checkFeed(project.id());
    }

    @Test
    void valuesOpenedBeforeTheFirstPageAreShownWithIt() {
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
            assertThat(page.locator("#histogram-text")).hasText("At least 2 records match");

            page.unroute("**/facets?*");
            page.route(
                    "**/facets?*",
                    route -> route.fulfill(new Route.FulfillOptions()
                            .setStatus(503)
                            .setContentType("application/problem+json")
                            .setBody("{\"detail\": \"Try again.\"}")));
            page.navigate(service + "#actor=u-2");
            assertThat(page.locator("#facets-text")).hasText("The values cannot be counted: Try again.");
            assertThat(page.locator("#histogram-error")).hasText("The records cannot be counted: Try again.");
            assertThat(page.locator(".interval")).hasCount(0);
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

    @Test
    void nothingIsShownOfTheQueryBeforeOneThatIsRefusedOrFails() {
        Project project = log.newProject();
        append(project, RECORDS);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#values").click();
            assertCounted(page, 3);
            page.fill("input[name=q]", "acton:login");
            page.keyboard().press("Enter");
            assertThat(page.locator("#problem-text")).containsText("At character 1: there is no field \"acton\"");
            assertNothingCounted(page);
            page.goBack();
            assertThat(page.locator("#problem")).isHidden();
            assertCounted(page, 3);
            page.goForward();
            assertNothingCounted(page);
            page.navigate(service + "#action=login");
            assertCounted(page, 2);
            page.navigate(service + "#start=yesterday");
            assertNothingCounted(page);
            page.reload();
            assertThat(page.locator("#problem")).isVisible();
            assertNothingCounted(page);
            page.navigate(service + "#action=login");
            assertCounted(page, 2);
            page.route("**/v1/project-logs?*", Route::abort);
            page.navigate(service + "#outcome=denied");
            assertThat(page.locator("#problem-text")).hasText("The service cannot be reached. Check the network.");
            assertNothingCounted(page);
            page.unroute("**/v1/project-logs?*");
            page.locator("#reload").click();
            assertCounted(page, 1);
        }
    }

    @Test
    void anAnswerThatComesLateIsNotShownForALaterQuery() {
        Project project = log.newProject();
        append(project, RECORDS);
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            signIn(page, project);
            page.locator("#values").click();
            assertCounted(page, 3);
            List<Route> held = new ArrayList<>();
            page.route(Pattern.compile("action=login"), held::add);
            page.navigate(service + "#action=login");
            page.waitForCondition(() -> !held.isEmpty());
            assertThat(page.locator("#histogram")).hasAttribute("aria-busy", "true");
            assertThat(page.locator("#histogram-text")).hasText("Counting …");
            assertThat(page.locator("#facets-text")).hasText("Counting …");
            assertThat(page.locator("#live-text")).hasText("Connecting");
            // They are those of all records.
            page.getByLabel("Only this Actor: <i>Jane</i>, 2").click();
            page.locator("#bars .interval").last().dispatchEvent("click");
            assertThat(page).hasURL(Pattern.compile("#action=login$"));

            page.navigate(service + "#q=acton:login");
            assertThat(page.locator("#problem")).isVisible();
            held.forEach(Route::resume);
            page.navigate(service + "#q=acton:log");
            assertThat(page.locator("#problem")).isVisible();
            assertNothingCounted(page);

            page.navigate(service + "#q=absent");
            assertThat(page.locator("#histogram-text")).hasText("0 records match");
        }
    }

    /** The service's clock counts, whatever the browser's says. */
    @Test
    void theLastHoursEndNowAlsoWhileRecordsArrive() {
        Project project = log.newProject();
        append(project, "{'action': 'now'}".replace('\'', '"'), """
                {"action": "later", "timestamp": "2099-01-01T00:00:00Z"}""");
        try (Guarded guarded = open()) {
            Page page = guarded.page;
            page.clock().setSystemTime(System.currentTimeMillis() - 3_600_000);
            signIn(page, project);
            assertThat(page.locator("#rows tr")).hasCount(2);
            page.locator("#values").click();
            page.navigate(service + "#last=15m");
            assertThat(page.locator("#rows tr")).hasCount(1);
            assertThat(page.locator("#facets-text")).hasText("1 record up to #2");
            assertThat(page.locator("#live-text")).hasText("Live");
            append(project, """
                    {"action": "later", "timestamp": "2098-01-01T00:00:00Z"}""", """
                    {"action": "arrived"}""");
            assertThat(page.locator("#rows tr")).hasCount(2);
            assertThat(page.locator("#rows")).not().containsText("later");

            page.navigate(service + "#last=15m&q=arrived+OR+action:arrived");
            assertThat(page.locator("#rows tr")).hasCount(1);
            page.navigate(service + "#last=15m&q=x+acton:arrived");
            assertThat(page.locator("#problem-text")).containsText("At character 3: there is no field \"acton\"");
            assertThat(page.locator("input[name=q]")).isFocused();
            for (String refused : List.of("x) OR (y", "x NOT", "\"x")) {
                page.navigate(service + "#last=15m&q=" + URLEncoder.encode(refused, StandardCharsets.UTF_8));
                assertThat(page.locator("#problem")).isVisible();
                assertThat(page.locator("#rows tr")).hasCount(0);
            }
        }
    }

    private static void assertCounted(Page page, int records) {
        assertThat(page.locator("#rows tr")).hasCount(records);
        assertThat(page.locator("#histogram-text")).containsText(records + " record");
        assertThat(page.locator("#histogram")).hasAttribute("aria-busy", "false");
        assertThat(page.locator("#facets-text"))
                .containsText(records + (records == 1 ? " record" : " records") + " up to #3");
        assertThat(page.locator("#live-text")).hasText("Live");
    }

    private static void assertNothingCounted(Page page) {
        assertThat(page.locator("#rows tr")).hasCount(0);
        assertThat(page.locator("#loaded")).isEmpty();
        assertThat(page.locator("#histogram")).isHidden();
        assertThat(page.locator("#histogram-text")).isEmpty();
        assertThat(page.locator("#bars .interval")).hasCount(0);
        assertThat(page.locator("#facets-text")).hasText("Nothing is counted, because the records could not be read.");
        assertThat(page.locator("#facets-list section")).hasCount(0);
        assertThat(page.locator("#live-text")).hasText("Not live");
        assertThat(page.locator("#newest")).isHidden();
    }
}
